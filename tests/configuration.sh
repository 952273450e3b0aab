#!/bin/sh
# Builds and tests the tree of another preset: configuration.sh PRESET
set -eu
cd "$(dirname "$0")/.."
cmake --preset "$1" >/dev/null
cmake --build --preset "$1"
# What only reads the sources is tested in the first tree.
exec ctest --preset "$1" --parallel "$(nproc)" --label-exclude "layering|docs"
