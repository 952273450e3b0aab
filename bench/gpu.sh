#!/bin/sh
# Networks on a GPU: checks them against the reference evaluator and times them. A build that is there is used, also one
# copied from another machine; else gsub is built. Options are those of bench/gpu.py; bench/README.md has examples.
#   GSUB=FILE   the program to use
set -eu
cd "$(dirname "$0")/.."
program=${GSUB:-build/release/bin/gsub}
if [ ! -x "$program" ]; then
    . scripts/packages.sh
    # shellcheck disable=SC2086
    require_packages $build_packages
    cmake --preset release >/dev/null
    cmake --build --preset release --target gsub_cli >&2
fi
"$program" doctor >&2 || true
exec python3 bench/gpu.py "$program" "$@"
