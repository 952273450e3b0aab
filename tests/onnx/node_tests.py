"""ONNX's own node tests: node_tests.py GSUB DATA.

Takes every test whose operators gsub lists. A test passes where the outputs are right, or is refused with exit code 3;
a wrong answer, another exit code or fewer than 95 % passing is a failure.
"""
import collections
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

from support import Gsub, reason_of, skip

OLDEST_OPSET = 7  # of docs/operators.md


def load_tensor(path, kind):
    """The array in a .pb file; nothing where it holds a sequence or an optional value."""
    if not kind.HasField("tensor_type"):
        return None
    value = numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))
    if kind.tensor_type.elem_type == onnx.TensorProto.BFLOAT16 and value.dtype != np.float32:
        # .npy files have no bf16: gsub takes and gives it as f32. The tests store its bits.
        value = (value.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    # Some expanded CastLike tests store one element for an operand that is declared larger, of which the type alone counts.
    declared = [d.dim_value for d in kind.tensor_type.shape.dim]
    if value.size == 1 and all(declared) and list(value.shape) != declared:
        value = np.broadcast_to(value, declared)
    return value


def numbered(folder, stem):
    return sorted(folder.glob(f"{stem}_*.pb"), key=lambda p: int(re.search(r"_(\d+)\.pb$", p.name).group(1)))


def close(got, expected, kind):
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    if expected.dtype.kind == "f":
        # Half precision: in the last of 8 or 11 bits rounding and truncation differ, and the tests of bf16 truncate.
        coarse = kind.tensor_type.elem_type in (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
        return np.allclose(got.astype(np.float64), expected.astype(np.float64), rtol=1e-2 if coarse else 1e-3, atol=1e-3 if coarse else 1e-6, equal_nan=True)
    return np.array_equal(got, expected)


def attempt(gsub, folder, model, scratch):
    """('pass' | 'refused' | 'wrong', reason)"""
    weights = {t.name for t in model.graph.initializer}
    kinds = [(i.name, i.type) for i in model.graph.input if i.name not in weights]
    for data in sorted(folder.glob("test_data_set_*")):
        arguments = []
        for i, (path, (name, kind)) in enumerate(zip(numbered(data, "input"), kinds)):
            value = load_tensor(path, kind)
            if value is None or value.dtype.kind not in "fiub":
                # Let gsub say itself why not.
                done = gsub.call("run", folder / "model.onnx", "--fill", 1)
                return ("refused" if done.returncode == 3 else "wrong", reason_of(done))
            np.save(scratch / f"input_{i}.npy", np.asarray(value, order="C"))
            arguments += ["--input", f"{name}={scratch / f'input_{i}.npy'}"]
        done = gsub.call("run", folder / "model.onnx", "--output-dir", scratch, *arguments)
        if done.returncode != 0:
            return ("refused" if done.returncode == 3 else "wrong", reason_of(done))
        for i, (path, output) in enumerate(zip(numbered(data, "output"), model.graph.output)):
            expected = load_tensor(path, output.type)
            got = np.load(scratch / f"output_{i}.npy")
            if expected is None or not close(got, expected, output.type):
                return ("wrong", f"output {i}: got {got.ravel()[:4]}, expected {expected.ravel()[:4] if expected is not None else None}")
    return ("pass", "")


def main(program, data):
    data = pathlib.Path(data)
    if not data.is_dir():
        skip(f"no node tests in {data}; they are in the package libonnx-testdata")
    gsub = Gsub(program)
    listed = gsub.operators()
    outcome, by_operator = collections.defaultdict(list), collections.defaultdict(collections.Counter)
    older = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for group in ("node", "simple", "pytorch-operator", "pytorch-converted"):
            for path in sorted((data / group).glob("*/model.onnx")):
                model = onnx.load(path)
                used = {(n.domain, n.op_type) for n in model.graph.node}
                if not all(domain in ("", "ai.onnx") and name in listed for domain, name in used):
                    continue
                verdict, reason = attempt(gsub, path.parent, model, pathlib.Path(scratch))
                # Before the first operator set that docs/operators.md lists, a test may pass but need not.
                if model.opset_import[0].version < OLDEST_OPSET:
                    older[verdict] += 1
                    if verdict != "wrong":
                        continue
                outcome[verdict].append((f"{group}/{path.parent.name}", reason))
                for _, name in used:
                    by_operator[name][verdict] += 1
    total = sum(map(len, outcome.values()))
    for name in sorted(listed):
        counts = by_operator[name]
        print(f"{name:22} {counts['pass']:4} pass {counts['refused']:4} refused {counts['wrong']:4} wrong")
    for verdict in ("refused", "wrong"):
        for name, reason in outcome[verdict]:
            print(f"{verdict}: {name}: {reason}")
    print(f"of operator sets before {OLDEST_OPSET}: {older['pass']} pass, {older['refused']} refused, {older['wrong']} wrong")
    share = len(outcome["pass"]) / total
    print(f"{total} tests: {len(outcome['pass'])} pass ({100 * share:.1f} %), {len(outcome['refused'])} refused, {len(outcome['wrong'])} wrong")
    return 1 if outcome["wrong"] or share < 0.95 or total < 200 else 0


sys.exit(main(*sys.argv[1:]))
