#!/bin/sh
# Programs whose units are compiled for several instruction sets: run.sh BUILD FOLDER
# Each program is named after the unit that the linker takes inline functions from.
set -eu
if ! grep -qw avx512vl /proc/cpuinfo; then
    echo "skipped: this processor has no AVX-512"
    exit 77
fi
cmake --build "$1" --target mixed_isa_plain mixed_isa_avx512
cd "$2"
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
