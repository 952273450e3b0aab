#!/bin/sh
# Builds gsub and runs its tests. With --all also everything that a release needs: a second compiler with sanitizers,
# install and consume, comparison with ONNX Runtime, a short fuzz run. Installs the Debian packages that are missing.
# GSUB_TEST_DATA may name a folder with models made by others; tests that need them say so when they are skipped.
set -eu
cd "$(dirname "$0")"
. scripts/packages.sh

case "${1-}" in
"") packages=$build_packages all=OFF selection="-LE ^all$" ;;
--all) packages="$build_packages $check_packages" all=ON selection="" ;;
*) echo "usage: ./test.sh [--all]" >&2 && exit 2 ;;
esac
# shellcheck disable=SC2086
require_packages $packages
# shellcheck disable=SC2086
[ $all = OFF ] || wish_for_packages $emulation_packages $mpi_packages $device_packages

step "building (build/release)"
# What benchmarks are tested for here takes less than to optimise them.
cmake --preset release -DGSUB_TEST_ALL=$all -DGSUB_BENCH_OPTIONS=-O1 ${GSUB_TEST_DATA:+"-DGSUB_TEST_DATA=$GSUB_TEST_DATA"} >/dev/null
cmake --build --preset release >&2

step "testing"
# shellcheck disable=SC2086
exec ctest --preset release --parallel "$(nproc)" $selection
