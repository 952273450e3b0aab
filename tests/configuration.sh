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
# What only reads the sources is tested in the first tree.
exec ctest --preset "$1" --parallel "$(nproc)" --label-exclude "layering|docs"
