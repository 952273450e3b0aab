#!/bin/sh
# Builds gsub and shows what it does: optimizes a trained classifier of handwritten digits and a ResNet-50, proves the
# results equal to the originals, runs both, and builds the ResNet-50 with generated kernels. Installs the Debian packages that are missing. Cheap to repeat.
set -eu
cd "$(dirname "$0")"
. scripts/packages.sh
# shellcheck disable=SC2086
require_packages $build_packages

step "building (build/release)"
cmake --preset release >/dev/null
cmake --build --preset release --target gsub_cli digits >&2

gsub=build/release/bin/gsub
out=build/run
mkdir -p $out

step "handwritten digits: a trained network before and after"
build/release/bin/digits examples/digits

step "ResNet-50 with random weights and BatchNorm: cost before and after, applied rules"
[ -f $out/resnet50.onnx ] || $gsub --quiet models resnet50 -o $out/resnet50.onnx >/dev/null
$gsub optimize $out/resnet50.onnx -o $out/resnet50_optimized.onnx --verify --json $out/resnet50.json

step "both files on the same random input"
$gsub --quiet compare $out/resnet50.onnx $out/resnet50_optimized.onnx
step "generated kernels: ResNet-50 built, run and timed; the reference runtime beside it"
$gsub bench $out/resnet50_optimized.onnx --runs 30
$gsub --quiet run $out/resnet50_optimized.onnx --fill 1 --backend simd --output-dir $out/simd >/dev/null
for model in resnet50 resnet50_optimized; do
    printf '%s: ' $model
    $gsub --quiet run $out/$model.onnx --fill 1 --repeat 5 --output-dir $out/$model | tail -n 1
done
