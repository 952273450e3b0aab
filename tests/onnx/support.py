"""What the comparisons with ONNX Runtime share."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

TOLERANCE = 1e-3  # max |a - b| / max |b| of an output
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def reason_of(done):
    """The error that a call ended with, on one line."""
    said = done.stderr.decode(errors="replace")
    found = re.search(r"^error\b.*", said, re.MULTILINE | re.DOTALL)
    return " ".join((found[0] if found else said).split())


class Gsub:
    """The command line, each call in a process of its own."""

    def __init__(self, program):
        self.program = program

    def call(self, *arguments):
        done = subprocess.run([self.program, "--quiet", *map(str, arguments)], capture_output=True, timeout=600)
        if done.returncode not in range(7):
            raise SystemExit(f"gsub {' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stderr.decode()}")
        return done

    def must(self, *arguments):
        done = self.call(*arguments)
        if done.returncode != 0:
            raise SystemExit(f"gsub {' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stderr.decode()}")
        return done.stdout.decode()

    def run(self, model, inputs, folder):
        """Outputs for inputs given by name."""
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        arguments = []
        for i, (name, value) in enumerate(inputs.items()):
            np.save(folder / f"input_{i}.npy", np.ascontiguousarray(value))
            arguments += ["--input", f"{name}={folder / f'input_{i}.npy'}"]
        self.must("run", model, "--output-dir", folder, *arguments)
        count = len(list(folder.glob("output_*.npy")))
        return [np.load(folder / f"output_{i}.npy") for i in range(count)]

    def operators(self):
        """Names of the operators that are listed as supported."""
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "ops.json")
            self.must("--json", report, "ops")
            return {o["name"] for o in json.loads(report.read_text())["operators"]}


def verdict(failures):
    """The exit status of a comparison, with what failed printed."""
    for f in failures:
        print("FAILED:", f)
    return 1 if failures else 0


def session(model, as_written=False):
    """`as_written`: nodes are computed one by one, as the file has them."""
    options = onnxruntime.SessionOptions()
    if as_written:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64, "tensor(int32)": np.int32}


def random_inputs(of, seed):
    """Seeded values: images with coarse and fine structure, other floating inputs normal, integers zeros and ones; open
    dimensions are 1. (White noise would not do for images: after pooling all of it looks the same.)"""
    rng = np.random.default_rng(seed)
    values = {}
    for i in of.get_inputs():
        shape = [d if isinstance(d, int) else 1 for d in i.shape]
        kind = TYPES[i.type]
        if kind not in (np.float32, np.float64):
            values[i.name] = rng.integers(0, 2, shape, dtype=kind)
            continue
        value = rng.normal(size=shape)
        if len(shape) == 4:
            coarse = rng.normal(size=[*shape[:2], -(-shape[2] // 32), -(-shape[3] // 32)])
            value += 2 * np.kron(coarse, np.ones((32, 32)))[:, :, : shape[2], : shape[3]] + rng.normal(size=[*shape[:2], 1, 1])
        values[i.name] = value.astype(kind)
    return values


def distance(got, expected):
    """max |a - b| / max |b|; infinite where shapes or special values differ."""
    got, expected = np.asarray(got), np.asarray(expected)
    if got.shape != expected.shape:
        return np.inf
    if got.size == 0:
        return 0.0
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    special = ~np.isfinite(expected)
    if not np.array_equal(special, ~np.isfinite(got)) or not np.array_equal(got[special], expected[special], equal_nan=True):
        return np.inf
    got, expected = got[~special], expected[~special]
    if got.size == 0:
        return 0.0
    return float(np.abs(got - expected).max() / max(np.abs(expected).max(), 1e-30))


def check(model):
    """ONNX's own checker, by path: models may be large and have external data."""
    onnx.checker.check_model(str(model), full_check=True)
