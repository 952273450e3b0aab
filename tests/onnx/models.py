"""A whole model through gsub and ONNX Runtime: models.py GSUB MODEL SCRATCH [DATA].

MODEL is `digits`, `light/NAME` (a light model of the onnx package) or `exports/NAME` (below the folder DATA). The file
is converted, optimized and brought to other operator sets; every form must pass onnx's checker and compute what ONNX
Runtime computes of the file as it was, in ONNX Runtime and in gsub alike.

Quantized models have no one answer: where a sum in another order crosses a rounding step, later layers differ by whole
steps. There ONNX Runtime computes files node by node, and what gsub makes of a file must be equal in it; gsub's own
outputs may differ by twice what ONNX Runtime's own two ways (node by node, and with integer kernels) differ by, and what
it computes of its own file must be what it computes of the original.
"""
import collections
import json
import pathlib
import shutil
import sys

import numpy as np
import onnx
from onnx import version_converter

from networks import open_model, weights_apart, with_weights_apart
from support import TOLERANCE, Gsub, check, distance, random_inputs, session, verdict

BUDGET = 200  # graphs expanded


class Case:
    def __init__(self, gsub, original, quantized, scratch):
        self.gsub, self.scratch, self.failures = gsub, scratch, []
        self.quantized, self.bound, self.own = quantized, TOLERANCE, None
        of = session(original, quantized)
        self.names = [o.name for o in of.get_outputs()]
        self.inputs = random_inputs(of, 1)
        self.expected = of.run(None, self.inputs)
        if quantized:
            fused = session(original).run(None, self.inputs)
            self.bound = 2 * max(map(distance, fused, self.expected))
            print(f"quantized: ONNX Runtime is within {self.bound / 2:.2e} of itself, gsub must be within {self.bound:.2e}")
        # A dead network proves nothing: other inputs must give other outputs.
        others = of.run(None, random_inputs(of, 2))
        moved = [distance(a, b) for a, b in zip(others, self.expected)]
        print("outputs", [list(e.shape) for e in self.expected], "deviations", [float(f"{e.std():.3g}") for e in self.expected])
        # Probabilities of classes may hardly move where logits do.
        if max(moved) < 0.01:
            self.failures.append(f"the model is dead: another input moves its outputs by {max(moved):.2g} of their range")

    def equal(self, what, got, bound=TOLERANCE):
        far = max(distance(g, e) for g, e in zip(got, self.expected)) if len(got) == len(self.expected) else np.inf
        print(f"{what:32} within {far:.2e} of ONNX Runtime on the original")
        if not far <= bound:
            self.failures.append(f"{what}: differs by {far:.3g}")

    def in_runtime(self, what, model, bound=TOLERANCE):
        check(model)
        of = session(model, self.quantized)
        if [o.name for o in of.get_outputs()] != self.names or {i.name for i in of.get_inputs()} != set(self.inputs):
            self.failures.append(f"{what}: inputs or outputs have other names")
        self.equal(f"{what}, ONNX Runtime", of.run(None, self.inputs), bound)

    def in_gsub(self, what, model):
        got = self.gsub.run(model, self.inputs, self.scratch / "values")
        self.equal(f"{what}, gsub", got, self.bound)
        self.own = self.own or got
        if self.quantized and not max(map(distance, got, self.own)) <= TOLERANCE:
            self.failures.append(f"{what}: gsub differs from what it computes of the original")
        shutil.rmtree(self.scratch / "values")


def main(program, name, scratch, data=""):
    gsub = Gsub(program)
    scratch = pathlib.Path(scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        bare, fill = open_model(name, data)
        original, other = scratch / "original.onnx", scratch / "other.onnx"
        filled = onnx.ModelProto()
        filled.CopyFrom(bare)
        onnx.save(fill(filled), original)
        weights = weights_apart(bare, filled, scratch / "weights.bin")
        del filled
        case = Case(gsub, original, any(n.op_type == "QuantizeLinear" for n in bare.graph.node), scratch)

        case.in_gsub("original", original)
        print(gsub.must("convert", original, "-o", other).strip())
        case.in_runtime("converted", other)
        report = scratch / "report.json"
        print(gsub.must("optimize", original, "-o", other, "--cost", "roofline", "--budget", BUDGET, "--json", report))
        case.in_runtime("optimized", other)
        case.in_gsub("optimized", other)
        told = json.loads(report.read_text())
        if not told["cost_after"]["value"] < told["cost_before"]["value"]:
            case.failures.append("the optimized model is not cheaper")

        if case.quantized:
            fused = session(other).run(None, case.inputs)
            case.equal("optimized, ONNX Runtime, integers", fused, case.bound)
            if other.stat().st_size > 1.1 * original.stat().st_size:
                case.failures.append("the optimized model no longer stores its weights in few bits")
            print(gsub.must("optimize", original, "-o", other, "--passes", "fake-quantization-to-integer"))
            counts = collections.Counter(n.op_type for n in onnx.load(other).graph.node)
            wanted = sum(n.op_type == "Conv" for n in bare.graph.node)
            if counts["QLinearConv"] != wanted or counts["Conv"] + counts["Gemm"] + counts["MatMul"] > 0:
                case.failures.append(f"in integers: {wanted} convolutions became {dict(counts)}")
            case.in_runtime("in integers", other, case.bound)
            case.equal("in integers, gsub", gsub.run(other, case.inputs, scratch / "values"), case.bound)

        for opset in (13, 18, 21):
            if opset <= bare.opset_import[0].version:
                continue
            try:
                brought = version_converter.convert_version(bare, opset)
            except Exception as e:  # the converter lacks adapters for some operators
                print(f"operator set {opset}: onnx's converter refuses: {str(e).splitlines()[0][:150]}")
                continue
            onnx.save(with_weights_apart(brought, weights), original)
            case.in_gsub(f"operator set {opset}", original)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return verdict(case.failures)


sys.exit(main(*sys.argv[1:]))
