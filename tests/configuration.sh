#!/bin/sh
# Builds and tests the tree of another preset: configuration.sh PRESET
set -eu
cd "$(dirname "$0")/.."
cmake --preset "$1" >/dev/null
cmake --build --preset "$1"
exec ctest --preset "$1" --parallel "$(nproc)"
