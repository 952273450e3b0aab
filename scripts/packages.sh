# Functions for run.sh, test.sh and bench.sh: telling what goes on, and installing Debian packages that are missing.

build_packages="g++ cmake ninja-build libeigen3-dev libfmt-dev nlohmann-json3-dev libprotozero-dev libcli11-dev libxbyak-dev catch2 python3"
# For ./test.sh --all: the second compiler with sanitizers and fuzzer, the formatter, Python and ONNX's own node tests.
check_packages="clang-14 lld-14 libclang-rt-14-dev libfuzzer-14-dev clang-format-14 python3-venv libonnx-testdata"
# Used by tests which are skipped without them: kernels and programs for other processors.
emulation_packages="g++-aarch64-linux-gnu qemu-user"
# Used by tests which are skipped without them: a device of OpenCL that is the processor.
device_packages="ocl-icd-libopencl1 pocl-opencl-icd"
# Used by a component and its tests, which are left out without them: searches over the ranks of an MPI job.
mpi_packages="libopenmpi-dev openmpi-bin"

step() {
    printf '== %s\n' "$*" >&2
}

# Prints those of the given packages that are not installed.
missing_packages() {
    for package in "$@"; do
        state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$state" = installed ] || printf '%s ' "$package"
    done
}

# Installs what is missing among the given packages, as root or through sudo.
require_packages() {
    if ! command -v dpkg-query >/dev/null; then
        step "not a Debian system; these must be there under their local names: $*"
        return 0
    fi
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" = 0 ]; then
        as_root=""
    elif command -v sudo >/dev/null; then
        as_root="sudo"
    else
        step "as root, install what is missing, then start again: apt-get install $missing"
        exit 5
    fi
    step "installing $missing"
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update >&2
    # shellcheck disable=SC2086 # the list is split on purpose
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing >&2
}

# The same for packages that tests can do without.
wish_for_packages() {
    (require_packages "$@") || step "going on without: $(missing_packages "$@")"
}
