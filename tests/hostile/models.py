"""Hostile models, each through `gsub optimize` and `gsub run` under limits: models.py GSUB SCRATCH [--only TEXT] [--verbose]

Cases bear the names of the rows of docs/threat-model.md. Each process has a stack of 256 KiB, an address space of 2 GiB and 20
seconds of the processor. What is refused must take no more memory than a fixed part and 4 times its files, and must leave no file.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import onnx.reference

import files
import graphs
import operators
import use
from support import Model

GUARD = pathlib.Path(__file__).with_name("guard.py")
STACK = 256 << 10
ADDRESS_SPACE = 2 << 30
REFUSED_BYTES = 64 << 20  # and 4 times the model and what lies beside it
MESSAGE_BYTES = 1 << 16
DONE = 0
ESCAPED_TEXT = re.compile(rb'"(?:[^"\\\n?*]|\\[0-7]{3})*"')

Ended = collections.namedtuple("Ended", "status seconds peak late message")


class Breach(Exception):
    """What a model did and must not do: its kind is a column of the summary."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


def attempt(case, folder, program, *arguments):
    """A process of the command line; crashes, hangs and excesses are breaches."""
    log = folder.with_suffix(".log")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder), **case.environment}
    with open(log, "wb") as out:
        subprocess.run([sys.executable, "-S", "-E", GUARD, str(case.seconds), str(ADDRESS_SPACE), str(STACK), folder.with_suffix(".end"),
                        program, "--quiet", "--threads", "1", *map(str, arguments)],
                       stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, cwd=folder, check=True)
    seconds, peak, status, late = folder.with_suffix(".end").read_text().split()
    with open(log, "rb") as said:
        message = said.read(MESSAGE_BYTES + 1)
    ended = Ended(int(status), float(seconds), int(peak), late == "1", message.decode(errors="replace").strip())
    what = f"gsub {arguments[0]}: {ended.message[:400]}"
    if ended.late:
        raise Breach("hang", f"no answer in {case.seconds} s of the processor: {what}")
    if ended.status < 0 or ended.status not in range(7):
        raise Breach("crash", f"ended by {ended.status}: {what}")
    if "Sanitizer" in ended.message or "terminate called" in ended.message or ended.status == 6:
        raise Breach("crash", f"exit {ended.status}: {what}")
    if "bad_alloc" in ended.message or "out of memory" in ended.message.lower():
        raise Breach("memory", what)
    if len(message) > MESSAGE_BYTES and ended.status != DONE:
        raise Breach("verdict", f"a message of more than {MESSAGE_BYTES} bytes: {what[:200]}")
    return ended


def refuses(case, ended, folder, program, piece, status):
    """Whether the end is a clean refusal that names its reason."""
    size = sum(f.stat().st_blocks * 512 for f in folder.rglob("*") if f.is_file())
    if ended.status not in status:
        raise Breach("verdict", f"exit {ended.status}, not {' or '.join(map(str, status))}: {ended.message[:400]}")
    if piece not in ended.message:
        raise Breach("verdict", f"does not say {piece!r}: {ended.message[:400]}")
    if ended.peak > REFUSED_BYTES + 4 * size:
        raise Breach("memory", f"{ended.peak >> 20} MiB to refuse files of {size} bytes: {ended.message[:200]}")


def equal(got, expected):
    expected = np.asarray(expected)
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    if expected.dtype.kind == "f":
        return np.allclose(got, expected, rtol=1e-4, atol=1e-6, equal_nan=True)
    return np.array_equal(got, expected)


def compute(case, model, inputs, folder, program, out):
    out.mkdir()
    given = []
    for i, (name, value) in enumerate(inputs.items()):
        file = value if isinstance(value, pathlib.Path) else folder / f"input_{i}.npy"
        if isinstance(value, (np.ndarray, np.generic)):
            np.save(file, value)
        elif isinstance(value, bytes):
            file.write_bytes(value)
        given += ["--input", f"{name}={file}"]
    return attempt(case, folder, program, "run", model, "--output-dir", out, *(given or ["--fill", "1"]))


def check_outputs(case, made, expected, out, what):
    for i, e in enumerate(expected):
        got = np.load(out / f"output_{i}.npy")
        if not equal(got, e):
            raise Breach("verdict", f"output {i} of {what}: {got.dtype}{list(got.shape)} {got.ravel()[:6]}, "
                                    f"expected {np.asarray(e).dtype}{list(np.shape(e))} {np.ravel(e)[:6]}")


def check(case, program, scratch):
    folder = scratch / case.name
    folder.mkdir(parents=True)
    described = case.model if isinstance(case.model, Model) else Model(case.model)
    content = described.content(folder) if callable(described.content) else described.content
    file, written = folder / "model.onnx", folder / "out.onnx"
    if isinstance(content, onnx.ModelProto):
        content = content.SerializeToString()
    if content is not None:
        file.write_bytes(content)
    before = set(folder.rglob("*"))
    verdict, inputs = case.verdict, described.inputs
    ended = attempt(case, folder, program, "optimize", file, "-o", written, *case.options)
    new = set(folder.rglob("*")) - before
    if verdict.kind == "refused" or (verdict.kind == "either" and ended.status != DONE):
        refuses(case, ended, folder, program, verdict.piece, verdict.status)
        if new:
            raise Breach("verdict", f"refused, and wrote {sorted(f.name for f in new)}")
        return ended
    if ended.status != DONE:
        raise Breach("verdict", f"exit {ended.status}: {ended.message[:400]}")
    if new - {written, folder / "out.onnx.data"} or not written.exists():
        raise Breach("verdict", f"wrote {sorted(f.name for f in new)}")
    if case.compile:
        check_source(case, file, folder, program)
    if not case.run:
        return ended
    first = compute(case, file, inputs, folder, program, folder / "first")
    if verdict.kind == "carried" or (verdict.kind == "either" and first.status != DONE):
        refuses(case, first, folder, program, verdict.piece, verdict.status)
        return first
    if first.status != DONE:
        raise Breach("verdict", f"run: exit {first.status}: {first.message[:400]}")
    expected = verdict.expected
    if expected == "reference":
        expected = onnx.reference.ReferenceEvaluator(onnx.load_from_string(content)).run(None, inputs)
    if expected is not None:
        check_outputs(case, first, expected, folder / "first", "the model")
        again = compute(case, written, inputs, folder, program, folder / "again")
        if again.status != DONE:
            raise Breach("verdict", f"run of the optimized model: exit {again.status}: {again.message[:400]}")
        check_outputs(case, again, expected, folder / "again", "the optimized model")
    return ended


def check_source(case, file, folder, program):
    """Poison is in the names of no files, and in source nowhere but in texts where all that is special is escaped."""
    ended = attempt(case, folder, program, "compile", file, "-o", folder / "compiled", "--name", "hostile")
    if ended.status != DONE:
        raise Breach("verdict", f"compile: exit {ended.status}: {ended.message[:400]}")
    for f in (folder / "compiled").rglob("*"):
        if f.name == "README.txt":  # tells the names, escaped
            continue
        source = ESCAPED_TEXT.sub(b"", f.read_bytes()) if f.is_file() else b""
        if case.compile in os.fsencode(f.name) or case.compile in source:
            raise Breach("verdict", f"{f.name} holds {case.compile!r}")
    shutil.rmtree(folder / "compiled")


def all_cases():
    for module in (files, graphs, operators, use):
        yield from module.cases()


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("gsub", type=lambda p: str(pathlib.Path(p).resolve()))
    arguments.add_argument("scratch", type=lambda p: pathlib.Path(p).resolve())
    arguments.add_argument("--only", default="", help="part of a name")
    arguments.add_argument("--verbose", action="store_true", help="tell of each model how it ended")
    given = arguments.parse_args()
    shutil.rmtree(given.scratch, ignore_errors=True)
    given.scratch.mkdir(parents=True)
    cases = [c for c in all_cases() if given.only in c.name]
    if len({c.name for c in cases}) != len(cases):
        sys.exit(f"two models have the name {collections.Counter(c.name for c in cases).most_common(1)[0][0]}")
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        for case, job in [(c, workers.submit(check, c, given.gsub, given.scratch)) for c in cases]:
            try:
                ended = job.result()
                if given.verbose:
                    print(f"{case.name}: exit {ended.status}, {ended.seconds:.2f} s, {ended.peak >> 20} MiB {ended.message[:200]}")
            except Breach as e:
                counts[e.kind] += 1
                print(f"FAILED: {case.name}: expected {case.verdict.kind}; {e.kind}: {e}")
    strays = {f.name for f in given.scratch.rglob("*") if "PWNED" in f.name}
    if strays:
        counts["verdict"] += 1
        print(f"FAILED: names of models became files: {sorted(strays)}")
    if not cases:
        sys.exit("no model has such a name")
    print(f"{len(cases)} models: {counts['crash']} crashes, {counts['hang']} hangs, {counts['memory']} over the limit of memory, "
          f"{counts['verdict']} other verdicts")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
