#!/bin/sh
# Builds a fuzz target and runs it on its seed corpus for GSUB_FUZZ_SECONDS (60). New inputs stay in the build folder.
# usage: tests/fuzz/run.sh TARGET [PRESET [built]], e.g. onnx_import; the tree is that of the preset `fuzz` unless told;
#        `built`: the tree is up to date, so that several targets may start side by side
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
target=${1:?usage: run.sh TARGET}
preset=${2:-fuzz}
build=$root/build/$preset

cd "$root"
if [ "${3-}" != built ]; then
    cmake --preset "$preset" >/dev/null
    cmake --build --preset "$preset" --target "fuzz_$target"
fi

seeds=$root/tests/fuzz/corpus/$target
[ -n "$(ls "$seeds" 2>/dev/null)" ] || { echo "no seeds in $seeds" >&2; exit 1; }
found=$build/found/$target
mkdir -p "$found/corpus"
# Freed memory need not be kept long: gsub interns attributes for good, and the limit is for those.
export ASAN_OPTIONS="quarantine_size_mb=32:${ASAN_OPTIONS:-}"
exec "$build/tests/fuzz/fuzz_$target" "$found/corpus" "$seeds" -artifact_prefix="$found/" \
  -max_total_time="${GSUB_FUZZ_SECONDS:-60}" -rss_limit_mb=2048 -timeout=10 -max_len=65536 -print_final_stats=1 -verbosity=0
