"""A model with operators that gsub does not compute in place of some activations: foreign.py GSUB NAME SCRATCH DATA.

`gsub run` must refuse it and name every such operator at once; `gsub optimize` must keep those nodes, say so, and give a
model that ONNX Runtime finds equal.
"""
import pathlib
import shutil
import sys

import onnx

from networks import open_model
from support import TOLERANCE, Gsub, check, distance, random_inputs, session, verdict

# Operators that gsub lacks: of a domain of ONNX Runtime, and of one of ONNX beside its own.
TRIANGLE, IMPUTER = ("com.microsoft", "Trilu"), ("ai.onnx.ml", "Imputer")


def name_of(node):
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


def main(program, name, scratch, data=""):
    model, fill = open_model(f"exports/{name}", data)
    gsub = Gsub(program)
    scratch = pathlib.Path(scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    failures = []
    try:
        fill(model)
        for n, (n.domain, n.op_type) in zip([n for n in model.graph.node if n.op_type == "Relu"], (TRIANGLE, IMPUTER)):
            if n.op_type == IMPUTER[1]:
                n.attribute.extend([onnx.helper.make_attribute("imputed_value_floats", [0.0]),
                                    onnx.helper.make_attribute("replaced_value_float", 1e30)])
        model.opset_import.extend([onnx.helper.make_opsetid(TRIANGLE[0], 1), onnx.helper.make_opsetid(IMPUTER[0], 1)])
        original, optimized = scratch / "original.onnx", scratch / "optimized.onnx"
        onnx.save(model, original)
        missing = {name_of(n) for n in model.graph.node} - gsub.operators()

        refused = gsub.call("run", original, "--fill", 1)
        told = refused.stderr.decode()
        unnamed = [op for op in missing if f" {op}-" not in told]
        print(f"gsub run: exit {refused.returncode}, names {len(missing) - len(unnamed)} of {len(missing)} operators: {sorted(missing)}")
        if refused.returncode != 3 or unnamed:
            failures.append(f"gsub run: exit {refused.returncode}, does not name {unnamed}")

        done = gsub.call("optimize", original, "-o", optimized, "--budget", 100)
        print(done.stdout.decode())
        kept = done.stderr.decode()
        unsaid = [op for op in missing if op not in kept]
        if done.returncode != 0 or unsaid:
            failures.append(f"gsub optimize: exit {done.returncode}, does not say that it keeps {unsaid}: {kept}")
        check(optimized)
        after = onnx.load(optimized)
        for op in sorted(missing):
            count = [sum(name_of(n) == op for n in m.graph.node) for m in (model, after)]
            print(f"{op:24} {count[0]:4} -> {count[1]:4}")
        before = session(original)
        for seed in (1, 2):
            inputs = random_inputs(before, seed)
            far = max(map(distance, session(optimized).run(None, inputs), before.run(None, inputs)))
            print(f"inputs {seed}: optimized within {far:.2e} of the original in ONNX Runtime")
            if not far <= TOLERANCE:
                failures.append(f"the optimized model differs by {far:.3g}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return verdict(failures)


sys.exit(main(*sys.argv[1:]))
