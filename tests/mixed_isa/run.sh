#!/bin/sh
# Programs whose units are compiled for several instruction sets: run.sh FOLDER
# Each program is named after the unit that the linker takes inline functions from.
set -eu
cd "$1"
GSUB_CACHE=$(mktemp -d)
export GSUB_CACHE
trap 'rm -rf "$GSUB_CACHE"' EXIT
skipped=0
run() {
    status=0
    "$@" || status=$?
    echo "$*: $status"
    case $status in
    0) ;;
    77) skipped=77 ;;
    *) exit 1 ;;
    esac
}
run ./mixed_isa_plain plain
for first in plain avx512; do run "./mixed_isa_$first" plain avx512; done

# A processor without AVX, on the cache of this one.
if command -v qemu-x86_64 >/dev/null; then
    run qemu-x86_64 -cpu qemu64 ./mixed_isa_plain plain
else
    echo "qemu-x86_64 is not here"
    skipped=77
fi
exit $skipped
