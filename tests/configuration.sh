#!/bin/sh
# Builds and tests the tree of another preset: configuration.sh PRESET
# or one test program of it alone: configuration.sh PRESET PROGRAM
set -eu
cd "$(dirname "$0")/.."
cmake --preset "$1" >/dev/null
if [ $# -gt 1 ]; then
    cmake --build --preset "$1" --target "$2"
    exec "build/$1/tests/$2"
fi
cmake --build --preset "$1"
# What only reads the sources is tested in the first tree, and so is what computes for long and touches nothing that
# other tests do not: proofs of rules, searches by brute force and those that are repeated in many ways, the weights of
# all networks, whole networks on the reference runtime.
exec ctest --preset "$1" --parallel "$(nproc)" --label-exclude "layering|docs" --exclude-regex \
    "every rule of the library is proved|what trying everything finds|TASO's rules|for a thousand random graphs|activations \
alive|right without any one|beyond the budget of|the same whatever admits|the same where (a node's|prices of)|a \
relaxation without bound|relaxed search with atomic|every model of the catalogue (is legal|comes back)|VGG-19 has"
