"""A model after each pass of the library, as a file: passes.py GSUB MODEL SCRATCH [DATA]; MODEL as open_model has it.

A file that is written must pass onnx's checker, and compute in ONNX Runtime what the original does, within 1e-3, or 0.05
where a pass changes precision. Quantized models are computed node by node, and there a pass that changes precision may
differ by twice what ONNX Runtime's own two ways differ by, as models.py says. Where there is no file, gsub must say which
operator has no form in files.
"""
import json
import pathlib
import shutil
import sys

import onnx

from networks import open_model
from support import TOLERANCE, Gsub, check, distance, random_inputs, reason_of, session, verdict

PRECISION = 0.05  # bound of passes that change precision
WITH_ARGUMENTS = ["convert-layout(NCHW8c)", "annotate-target(dsp: Conv MatMul)",
                  "annotate-target(dsp: Conv MatMul), merge-compiler-regions, partition-graph",
                  "to-a-normal-form, to-graph-normal-form", "fuse-ops, defuse-ops"]
# Operators that have no form in files, by what makes them.
INTERNAL = {"to-a-normal-form": "Let", "annotate-target(dsp: Conv MatMul)": "CompilerAnnotation"}
RANDOM = {"PO-1", "PO-2", "PO-3"}  # lists with passes that change precision


def main(program, name, scratch, data=""):
    gsub = Gsub(program)
    scratch = pathlib.Path(scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    failures, seen = [], {}
    try:
        original, other, report = scratch / "original.onnx", scratch / "other.onnx", scratch / "report.json"
        gsub.must("--json", report, "passes")
        known = json.loads(report.read_text())
        model, fill = open_model(name, data)
        onnx.save(fill(model), original)
        quantized = any(n.op_type == "QuantizeLinear" for n in model.graph.node)
        of = session(original, quantized)
        outputs = [o.name for o in of.get_outputs()]
        inputs = random_inputs(of, 1)
        expected = of.run(outputs, inputs)
        precision = PRECISION
        if quantized:
            apart = max(map(distance, session(original).run(outputs, inputs), expected))
            precision = max(PRECISION, 2 * apart)
            print(f"quantized: ONNX Runtime is within {apart:.2e} of itself, passes that change precision within {precision:.2e}")
        lists = {p["pass"]: precision if p["exactness"] == "precision-changing" else TOLERANCE for p in known["passes"]}
        lists |= dict.fromkeys(WITH_ARGUMENTS, TOLERANCE)
        lists |= {l["list"]: precision if l["list"] in RANDOM else TOLERANCE for l in known["lists"]} | {"auto": TOLERANCE}
        for passes, bound in lists.items():
            other.unlink(missing_ok=True)
            done = gsub.call("optimize", original, "-o", other, "--passes", passes)
            if done.returncode == 3:
                told = reason_of(done)
                print(f"{passes:32} refused: {told}")
                named = passes in INTERNAL and f" {INTERNAL[passes]} " in told and "has no form in ONNX files" in told
                if not named or other.exists():
                    failures.append(f"{passes}: {told}")
                continue
            if done.returncode != 0:
                failures.append(f"{passes}: exit {done.returncode}: {done.stderr.decode()}")
                continue
            bytes_of = other.read_bytes()
            if (same := seen.setdefault(hash(bytes_of), passes)) != passes:
                print(f"{passes:32} the same file as {same}")
                continue
            check(other)
            far = max(map(distance, session(other, quantized).run(outputs, inputs), expected))
            print(f"{passes:32} within {far:.2e} of the original in ONNX Runtime")
            if not far <= bound:
                failures.append(f"{passes}: differs by {far:.3g}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return verdict(failures)


sys.exit(main(*sys.argv[1:]))
