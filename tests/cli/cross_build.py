"""Exported models for AArch64: built by Debian's cross compiler, run under qemu."""
import shutil
import subprocess

TOOLS = ("aarch64-linux-gnu-g++", "aarch64-linux-gnu-gcc", "qemu-aarch64", "cmake")
TARGET = "aarch64-neon,cpu=neoverse-n1,threads=1"
NAME = "net"  # of the model in its sources


class CommandFailed(Exception):
    pass


def run(*command):
    words = [str(c) for c in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=600)
    except subprocess.TimeoutExpired:
        raise CommandFailed(f"{' '.join(words)}: no end in ten minutes") from None
    if done.returncode != 0:
        raise CommandFailed(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def missing_tool():
    return next((tool for tool in TOOLS if not shutil.which(tool)), None)


def inputs_of(sources):
    """(name, element type, shape) of each input in the program's order, as the folder's README tells them."""
    for line in (sources / "README.txt").read_text().splitlines():
        if line.startswith("input "):
            kind, dims = line.split()[-1][:-1].split("[")
            yield line.split('"')[1], kind, [int(d) for d in dims.split(",") if d]


def build(sources, jobs):
    """Builds an exported folder as docs/aot.md says, with the compiler options that it has itself."""
    run("cmake", "-S", sources, "-B", sources / "build", "-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
        "-DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc", "-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++", "-DCMAKE_EXE_LINKER_FLAGS=-static")
    run("cmake", "--build", sources / "build", "-j", jobs)


def emulate(sources, files, prefix):
    """Runs what `build` built on a .npy file for each input; writes PREFIX0.npy and so on."""
    run("qemu-aarch64", sources / "build" / f"{NAME}_demo", sources / "weights.bin", *files, "--save", prefix)
