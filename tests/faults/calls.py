"""The n-th call on files fails, for n = 1, 2, ... until a command ends as it does without: calls.py GSUB SHIM SCRATCH [--every]

Each command of the list below runs with SHIM loaded, which lets the n-th call on a file of its folder fail. It must end with 0, or
with 5 and a message that names a file of its folder or what the compiler lacks. Output files are as before or complete, nothing else
is left, and the next run succeeds. Then the same with 16 descriptors and with files of 4 KiB at most. Not all calls fail with each
error: the errors take turns; `--every` lets each call fail with each. Streams of the C library open and read within it: they are not seen.
"""
import argparse
import errno
import filecmp
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys

DONE, ENVIRONMENT = 0, 5
ERRORS = (errno.EIO, errno.ENOSPC, errno.EMFILE)
MOST_CALLS = 2000


class Command:
    """A command of gsub in a folder of its own: inputs lie in `in`, what it writes in `out`, kernels in `cache`."""

    def __init__(self, name, arguments, written, same=True):
        self.name, self.arguments, self.written, self.same = name, arguments, written, same


COMMANDS = (
    Command("optimize", ("optimize", "in/m.onnx", "--budget", "2", "-o", "out/y.onnx"), ["y.onnx"]),
    Command("convert", ("convert", "in/m.onnx", "-o", "out/y.onnx"), ["y.onnx"]),
    Command("run", ("run", "in/m.onnx", "--fill", "1", "--backend", "simd", "--compiled", "--output-dir", "out"), ["output_0.npy"]),
    Command("tune", ("tune", "in/m.onnx", "--method", "static", "--points", "4", "--no-check", "--records", "out/records"),
            ["records"], False),
    Command("compile", ("compile", "in/m.onnx", "-o", "out/sources"), ["sources"]),
)


# A compiler that keeps what it has made: compiling would take nearly all of the time.
COMPILER = """#!/bin/sh
for a; do
    case "$a" in --version | -dumpmachine) exec @REAL@ "$a" ;; *.cpp) source=$a ;; esac
    [ "$before" = -o ] && out=$a
    before=$a
done
kept=$0.$(sha256sum <"$source" | cut -c1-32)
[ -f "$kept" ] || { @REAL@ "$@" && cp "$out" "$kept"; } || exit 1
exec cp "$kept" "$out"
"""


class Fault(Exception):
    pass


def equal(a, b):
    if a.is_dir() != b.is_dir():
        return False
    if not a.is_dir():
        return filecmp.cmp(a, b, shallow=False)
    names = sorted(p.name for p in a.iterdir())
    return names == sorted(p.name for p in b.iterdir()) and all(equal(a / n, b / n) for n in names)


def files_of(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def limits(descriptors, size):
    def set_them():
        if descriptors:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
        if size:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return set_them


class Trial:
    def __init__(self, gsub, shim, scratch, command):
        self.gsub, self.shim, self.command = gsub, shim, command
        self.folder = scratch / command.name
        self.compiler = scratch / "compiler"
        self.complete = scratch / f"{command.name}.complete"
        self.old = scratch / f"{command.name}.old"
        self.counted = scratch / f"{command.name}.counted"
        self.has_old = False  # an older output lies where the new one comes

    def prepare(self, kept_cache, old_output):
        for name in ("out", "cache", "tmp"):
            if name != "cache" or not kept_cache:
                shutil.rmtree(self.folder / name, ignore_errors=True)
            (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        if old_output and self.old.exists():
            shutil.copytree(self.old, self.folder / "out", dirs_exist_ok=True)

    def run(self, call=0, error=0, preexec=None, shim=True):
        """Exit code and what was said."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "TMPDIR": str(self.folder / "tmp"),
                       "GSUB_CACHE": str(self.folder / "cache")}
        if self.compiler.exists():
            environment["GSUB_CXX"] = str(self.compiler)
        if shim:
            environment |= {"LD_PRELOAD": str(self.shim), "GSUB_FAULT_BELOW": str(self.folder), "GSUB_FAULT_CALL": str(call),
                            "GSUB_FAULT_ERROR": str(error), "GSUB_FAULT_COUNT": str(self.counted)}
            self.counted.unlink(missing_ok=True)
        arguments = [str(self.folder / a) if re.match(r"(in|out)(/|$)", a) else a for a in self.command.arguments]
        done = subprocess.run([self.gsub, "--quiet", "--threads", "1", *arguments], env=environment, cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                              preexec_fn=preexec)
        return done.returncode, done.stdout.decode(errors="replace")

    def succeed(self, what):
        code, said = self.run(shim=False)
        if code != DONE:
            raise Fault(f"{what}: exit {code}: {said}")
        self.check_outputs(what, complete=True)

    def check_outputs(self, what, complete=False):
        out = self.folder / "out"
        for name in self.command.written:
            there, whole = out / name, self.complete / name
            old = (self.old if self.has_old else self.folder / "none") / name
            if not there.exists():
                if complete or old.exists():
                    raise Fault(f"{what}: {name} is not there")
            elif self.command.same and not (equal(there, whole) or (not complete and old.exists() and equal(there, old))):
                if there.is_file() or complete:
                    raise Fault(f"{what}: {name} is half written: {there.stat().st_size} bytes")
                # A folder may lack files, and then builds nothing; those that are there are whole.
                project = there / "CMakeLists.txt"
                if not project.exists() and not files_of(there):
                    continue
                if b"files are missing" not in project.read_bytes():
                    raise Fault(f"{what}: {name} builds, and has files of two exports")
                for file in there.rglob("*"):
                    if file == project and b"files are missing" in file.read_bytes():
                        continue
                    same = [other / file.relative_to(there) for other in (whole, old)]
                    if file.is_file() and not any(other.exists() and equal(file, other) for other in same):
                        raise Fault(f"{what}: {file.relative_to(out)} is half written or left behind")
            elif not self.command.same and there.read_bytes()[-1:] not in (b"\n", b""):
                raise Fault(f"{what}: {name} ends amid a line")
        extra = [f for f in files_of(out) if f.split("/")[0] not in self.command.written]
        if extra:
            raise Fault(f"{what}: {', '.join(extra)} is left behind")

    def judge(self, what, code, said, failed=""):
        if code not in (DONE, ENVIRONMENT):
            raise Fault(f"{what}: exit {code}: {said[:600]}")
        if code == ENVIRONMENT and str(self.folder) not in said and "compiler" not in said:
            raise Fault(f"{what}: no file is named: {said[:600]}")
        if not failed.startswith("unlink"):
            self.check_outputs(what, complete=code == DONE)
            if (left := files_of(self.folder / "tmp")) and failed != "openat":  # which opens what is to be removed
                raise Fault(f"{what}: {', '.join(left)} is left in TMPDIR")

    def first(self, older, model):
        (self.folder / "in").mkdir(parents=True)
        for given, kept in ((older, self.old), (model, self.complete)):
            shutil.copy(given, self.folder / "in" / "m.onnx")
            self.prepare(False, False)
            code, said = self.run(shim=False)
            if code != DONE:
                raise Fault(f"{self.command.name}: exit {code}: {said}")
            shutil.copytree(self.folder / "out", kept)

    def loop(self, state, kept_cache, old_output, every):
        counts = {DONE: 0, ENVIRONMENT: 0}
        for n in range(1, MOST_CALLS):
            for error in ERRORS if every else ERRORS[n % len(ERRORS):][:1]:
                self.prepare(kept_cache, old_output)
                self.has_old = old_output
                code, said = self.run(n, error)
                made, failed = self.counted.read_text().split() if self.counted.exists() else ("0", "?")
                if failed == "none":
                    if code != DONE:
                        raise Fault(f"{self.command.name}, nothing failed: exit {code}: {said}")
                    print(f"{self.command.name}, {state}: {n - 1} calls, {counts[DONE]} runs went on, {counts[ENVIRONMENT]} ended with 5",
                          flush=True)
                    return
                what = f"{self.command.name}, {state}, call {n} ({failed}) gives {errno.errorcode[error]}"
                self.judge(what, code, said, failed)
                counts[code] += 1
                self.succeed(f"{what}, the run behind it")
        raise Fault(f"{self.command.name}: more than {MOST_CALLS} calls")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gsub")
    parser.add_argument("shim", type=pathlib.Path)
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--every", action="store_true")
    options = parser.parse_args()
    shutil.rmtree(options.scratch, ignore_errors=True)
    options.scratch.mkdir(parents=True)
    scratch = options.scratch.resolve()
    model, older = scratch / "model.onnx", scratch / "older.onnx"
    for path, seed in ((model, "1"), (older, "2")):
        subprocess.run([options.gsub, "models", "t14", "--seed", seed, "-o", path], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    if real := shutil.which("g++") or shutil.which("c++") or shutil.which("clang++"):
        compiler = scratch / "compiler"
        compiler.write_text(COMPILER.replace("@REAL@", real))
        compiler.chmod(0o755)
    faults = []
    for command in COMMANDS:
        trial = Trial(options.gsub, options.shim.resolve(), scratch, command)
        try:
            trial.first(older, model)
            trial.loop("nothing there", False, False, options.every)
            if command.same:
                trial.loop("an older output", True, True, options.every)
            trial.has_old = False
            for descriptors, size, what in ((16, 0, "16 descriptors"), (0, 4096, "files of 4 KiB")):
                trial.prepare(False, False)
                code, said = trial.run(preexec=limits(descriptors, size), shim=False)
                trial.judge(f"{command.name}, {what}", code, said)
                trial.succeed(f"{command.name}, behind {what}")
        except Fault as fault:
            faults.append(str(fault))
            print(f"FAULT {fault}", flush=True)
    print(f"{len(COMMANDS)} commands, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
