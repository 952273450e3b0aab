"""The node cases of the installed onnx wheel: node_cases.py GSUB [--markdown FILE] [--refused FILE] [--only TEXT]

Takes each case of ONNX's own domain, but those of training, strings, sequences, optional values, random results, and floats
of 8 and integers of 4 bits or less. Runs it on the reference evaluator and on generated kernels, each in a process of its own. A case
passes where the outputs are right, or is refused with exit code 3. A wrong answer, or another exit code, is a failure. Of cases
that are no expanded bodies of functions those are counted that have a step on the reference runtime among generated kernels.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

BACKENDS = ("reference", "simd")
REFUSED = 3
LEFT = "note: on the reference runtime: "
TOLD = " Why they have no kernel is told by [driver](driver.md)."
RANDOM = {"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"}
TRAINING = {"Adagrad", "Adam", "Gradient", "GraphCall", "Momentum"}
T = onnx.TensorProto
TYPES = {T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16, T.BOOL, T.INT8, T.INT16, T.INT32, T.INT64, T.UINT8, T.UINT16, T.UINT32, T.UINT64}
COARSE = {T.FLOAT16, T.BFLOAT16}


def kind_of(value):
    """Element type of a graph's input or output; nothing where it is no tensor."""
    return value.type.tensor_type.elem_type if value.type.HasField("tensor_type") else None


def belongs(case):
    graph = case.model.graph
    if any(n.domain not in ("", "ai.onnx") or n.op_type in RANDOM | TRAINING for n in graph.node):
        return False
    return all(kind_of(v) in TYPES for v in [*graph.input, *graph.output])


def array_of(value, kind):
    value = onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)
    if kind == T.BFLOAT16:  # .npy files have no bf16: gsub takes and gives it as f32
        value = value.astype(np.float32) if value.dtype != np.uint16 else (value.astype(np.uint32) << 16).view(np.float32)
    return value


def close(got, expected, kind, case):
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    if expected.dtype.kind != "f":
        return np.array_equal(got, expected)
    coarse = kind in COARSE
    rtol, atol = (1e-2, 1e-3) if coarse else (max(case.rtol, 1e-4), max(case.atol, 1e-6))
    return np.allclose(got.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=atol, equal_nan=True)


def attempt(program, case, backend, scratch):
    """('pass' | 'refused' | 'wrong', reason, operators that ran on the reference runtime)"""
    left = set()
    graph = case.model.graph
    given = [i for i in graph.input if i.name not in {t.name for t in graph.initializer}]
    model = scratch / "model.onnx"
    onnx.save(case.model, model)
    for inputs, outputs in case.data_sets:
        arguments = []
        for i, (value, declared) in enumerate(zip(inputs, given)):
            array = array_of(value, kind_of(declared))
            np.save(scratch / f"input_{i}.npy", np.ascontiguousarray(array).reshape(array.shape))
            arguments += ["--input", f"{declared.name}={scratch / f'input_{i}.npy'}"]
        for old in scratch.glob("output_*.npy"):
            old.unlink()
        try:
            done = subprocess.run([program, "run", model, "--device" if ":" in backend else "--backend", backend, "--output-dir", scratch, *arguments],
                                  capture_output=True, timeout=120)
        except subprocess.TimeoutExpired:
            return "wrong", "no answer in two minutes", left
        said = done.stderr.decode(errors="replace")
        if done.returncode != 0:
            reason = said[max(said.find("error["), 0):]
            return "refused" if done.returncode == REFUSED else "wrong", " ".join(reason.split()), left
        left |= {name for line in said.splitlines() if line.startswith(LEFT) for name in re.findall(r"\d+ (\w+)", line)}
        for i, (value, declared) in enumerate(zip(outputs, graph.output)):
            expected, got = array_of(value, kind_of(declared)), np.load(scratch / f"output_{i}.npy")
            if not close(got, expected, kind_of(declared), case):
                return "wrong", f"output {i}: got {got.dtype}{list(got.shape)} {got.ravel()[:4]}, expected {expected.dtype}{list(expected.shape)} {expected.ravel()[:4]}", left
    return "pass", "", left


def operator_of(case):
    """The operator that a case is about: its one node's, or that whose body was expanded."""
    nodes = case.model.graph.node
    return nodes[0].op_type if len(nodes) == 1 else case.name.removeprefix("test_").split("_")[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gsub")
    parser.add_argument("--markdown", help="write a table by operator to this file")
    parser.add_argument("--refused", help="write what is refused, with the reasons, to this file")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--backends", default=",".join(BACKENDS), help="separated by commas; devices too, as opencl:0")
    options = parser.parse_args()
    backends = options.backends.split(",")
    cases = [c for c in collect_testcases(None) if c.kind == "node" and options.only in c.name and belongs(c)]
    by_operator, listed = collections.defaultdict(collections.Counter), {"refused": [], "wrong": []}
    computed, left_over = 0, collections.Counter()  # of cases as they are
    with_steps = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            name = operator_of(case)
            by_operator[name]["cases"] += 1
            for backend in backends:
                verdict, reason, left = attempt(options.gsub, case, backend, pathlib.Path(folder))
                if backend == "simd" and verdict == "pass" and "_expanded" not in case.name:
                    computed, with_steps = computed + 1, with_steps + bool(left)
                    left_over.update(left)
                by_operator[name][backend, verdict] += 1
                if verdict != "pass":
                    listed[verdict].append(f"{case.name} ({backend}): {reason.splitlines()[0] if reason else ''}")
    for line in listed["wrong"]:
        print("wrong:", line)
    if options.refused:
        pathlib.Path(options.refused).write_text("\n".join(listed["refused"]) + "\n")
    head = ["operator", "cases"] + [f"{b}: {v}" for b in backends for v in ("pass", "refused", "wrong")]
    rows = [[name, c["cases"], *(c[b, v] for b in backends for v in ("pass", "refused", "wrong"))] for name, c in sorted(by_operator.items())]
    total = ["all", *(sum(column) for column in list(zip(*rows))[1:])]
    table = "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [head, ["---"] * len(head), *rows, total])
    operators = ", ".join(f"{name} {count}" for name, count in sorted(left_over.items()))
    steps = f"{with_steps} of {computed} cases that are no expanded bodies of functions have a step on the reference runtime: {operators}."
    if options.markdown:
        version = f"onnx {onnx.__version__}, operator sets to {onnx.defs.onnx_opset_version()}"
        pathlib.Path(options.markdown).write_text(
            f"# Conformance\n\nMade by `tests/conformance/node_cases.py build/release/bin/gsub --markdown docs/conformance.md`: the node cases of the\n"
            f"Python package of {version}.\n\n{table}\n\n{textwrap.fill(steps + TOLD, 120)}\n")
    print(dict(zip(head, total)))
    print(steps)
    return 1 if listed["wrong"] or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
