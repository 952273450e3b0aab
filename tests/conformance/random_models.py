"""Random models against ONNX Runtime: random_models.py GSUB [--first-seed N] [--count N] [--ways A,B,...] [--scratch DIR] [--keep]

Each seed makes a valid model (random_recipes.py), which is computed by the reference evaluator and by generated kernels for AVX2
and AVX-512: without passes, with those of a build, and with a random list in a random order. A search rewrites it too,
and what it writes is computed by gsub and by ONNX Runtime. All must equal what ONNX Runtime computes of the model, not
optimized; where that refuses a model, onnx's reference evaluator. A refusal by gsub, exit code 3, is listed and no failure.
"""
import argparse
import collections
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx

from random_builder import CONDITION, computed, distance
from random_recipes import random_model

REFUSED = 3
LEAST_OPERATORS, MODELS_FOR_THAT = 70, 40
FAST_MATH = 1e-2  # fast-math errs by 1e-3 at each place
BACKENDS = {
    "reference": ["--backend", "reference"],
    "avx2": ["--backend", "simd", "--target", "x86-64-avx2"],
    "avx512": ["--backend", "simd", "--target", "x86-64-avx512"],
}
WAYS = [f"{b}-{passes}" for b in BACKENDS for passes in ("off", "on", "random")] + ["search", "rewritten"]
# Not among these: passes that change precision or outputs. Of pairs, the first must come before the second, or both must not meet.
PASSES = [
    "alter-op-layout", "dead-code-elimination", "defuse-ops", "fuse-ops", "backward-fold-scale-axis", "forward-fold-scale-axis",
    "fold-explicit-padding", "combine-parallel-conv2d", "combine-parallel-dense", "combine-parallel-batch-matmul",
    "batching-ops", "convert-layout", "convert-layout(NHWC)", "simplify-inference", "simplify-expr", "fold-constant",
    "eliminate-common-subexpr", "canonicalize-ops", "canonicalize-cast", "merge-composite", "partition-graph",
    "remove-unused-functions", "annotate-spans", "to-graph-normal-form", "dynamic-to-static", "simplify-fc-transpose",
    "fast-math",
]
ORDERED = [("canonicalize-ops", "convert-layout"), ("canonicalize-ops", "convert-layout(NHWC)"), ("fuse-ops", "defuse-ops")]
EXCLUSIVE = ("simplify-inference", "merge-composite")


def random_passes(seed):
    """A list of passes in an order that gsub takes."""
    rng = random.Random(seed)
    chosen = rng.sample(PASSES, rng.randint(2, 10))
    if set(EXCLUSIVE) <= set(chosen):
        chosen.remove(rng.choice(EXCLUSIVE))
    for first, second in ORDERED:
        if first in chosen and second in chosen and chosen.index(first) > chosen.index(second):
            chosen.remove(first)
            chosen.insert(chosen.index(second), first)
    return chosen


class Failure(Exception):
    pass


class Refusal(Exception):
    pass


class Trial:
    """One model and its right outputs."""

    def __init__(self, program, seed, scratch):
        self.program, self.scratch, self.seed = program, scratch, seed
        self.made = random_model(seed)
        onnx.checker.check_model(self.made.proto, full_check=True)
        self.model = scratch / "model.onnx"
        onnx.save(self.made.proto, self.model)
        self.arguments = []
        for name, value in self.made.inputs.items():
            np.save(scratch / f"{name}.npy", value)
            self.arguments += ["--input", f"{name}={scratch / f'{name}.npy'}"]
        self.expected, self.by_runtime = self.made.expected()

    def call(self, *arguments):
        environment = os.environ | {"GSUB_CACHE": str(self.scratch.parent / "cache")}
        command = [self.program, "--quiet", *map(str, arguments)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=300, env=environment)
        except subprocess.TimeoutExpired:
            raise Failure("no answer in five minutes") from None
        told = " ".join(l.strip() for l in done.stderr.decode(errors="replace").splitlines() if not l.startswith("note: "))
        if done.returncode == REFUSED:
            raise Refusal(told or "no reason")
        if done.returncode != 0:
            raise Failure(f"exit code {done.returncode}: {told}")

    def run(self, model, *options):
        for old in self.scratch.glob("output_*.npy"):
            old.unlink()
        self.call("run", model, "--output-dir", self.scratch, *self.arguments, *options)
        return [np.load(self.scratch / f"output_{i}.npy") for i in range(len(self.expected))]

    def compare(self, what, outputs, least=0.0):
        """`least`: bound where errors are larger than those of rounding."""
        for value, got, expected, epsilon in zip(self.made.proto.graph.output, outputs, self.expected, self.made.epsilons):
            far = distance(got, expected)
            if not far <= (max(3 * CONDITION * epsilon, least) if epsilon else 0.0):
                raise Failure(f"{what}output {value.name}: differs by {far:.2g}: got {short(got)}, expected {short(expected)}")

    def follow(self, way):
        backend, _, passes = way.partition("-")
        if way == "search":
            better = self.scratch / "better.onnx"
            self.call("optimize", self.model, "-o", better, "--budget", "30", "--time", "2", "--split", "none")
            self.check_file(better)
            self.compare("reference evaluator, ", self.run(better))
        elif way == "rewritten":
            better = self.scratch / "rewritten.onnx"
            chosen = random_passes(f"file {self.seed}")
            self.call("optimize", self.model, "-o", better, "--passes", ", ".join(chosen))
            self.check_file(better, FAST_MATH if "fast-math" in chosen else 0.0)
        elif passes == "random":
            chosen = random_passes(f"{backend} {self.seed}")
            self.compare("", self.run(self.model, *BACKENDS[backend], "--passes", ", ".join(chosen)), FAST_MATH if "fast-math" in chosen else 0.0)
        else:
            of_list = {"off": "none", "on": "default"}[passes]
            # A build runs its passes without being asked.
            options = [] if backend != "reference" and passes == "on" else ["--passes", of_list]
            self.compare("", self.run(self.model, *BACKENDS[backend], *options))

    def check_file(self, path, least=0.0):
        """A file that gsub wrote is valid and means the same to others."""
        written = onnx.load(path)
        onnx.checker.check_model(written, full_check=True)
        (outputs,), _ = computed(written, {i.name: self.made.inputs[i.name] for i in written.graph.input})
        self.compare("in ONNX Runtime, ", [np.asarray(o) for o in outputs], least)

    def passes_of(self, way):
        start = {"rewritten": "file"}.get(way, way.partition("-")[0])
        return f" ({', '.join(random_passes(f'{start} {self.seed}'))})" if way == "rewritten" or way.endswith("-random") else ""


def short(array):
    return f"{array.dtype}{list(array.shape)} {array.ravel()[:4]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gsub")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--scratch", help="folder for files (a temporary one)")
    parser.add_argument("--keep", action="store_true", help="keep the models that fail, in the scratch folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        return try_all(options, pathlib.Path(options.scratch or temporary))


def try_all(options, scratch):
    failures, operators, nodes, by_reference, runs = 0, collections.Counter(), 0, 0, 0
    refusals = collections.Counter()
    for seed in range(options.first_seed, options.first_seed + options.count):
        folder = scratch / "now"
        folder.mkdir(parents=True, exist_ok=True)
        trial = Trial(options.gsub, seed, folder)
        nodes += len(trial.made.proto.graph.node)
        operators.update(trial.made.operators())
        by_reference += not trial.by_runtime
        for way in options.ways.split(","):
            try:
                trial.follow(way)
                runs += 1
            except Refusal as refusal:
                refusals[way, str(refusal)] += 1
            except Exception as failure:
                failures += 1
                reason = failure if isinstance(failure, Failure) else f"{type(failure).__name__}: {str(failure).strip().splitlines()[0]}"
                print(f"FAILED: seed {seed}, {way}{trial.passes_of(way)}: {reason}", flush=True)
                if options.keep:
                    onnx.save(trial.made.proto, scratch / f"{seed}.onnx")
    for (way, reason), count in refusals.most_common():
        print(f"refused {count} times, {way}: {reason}")
    print(f"{options.count} models, {nodes} nodes, {len(operators)} operator types, {by_reference} that ONNX Runtime refuses; "
          f"{runs} runs equal, {sum(refusals.values())} refused, {failures} failed")
    scarce = options.count >= MODELS_FOR_THAT and len(operators) < LEAST_OPERATORS
    if scarce:
        print(f"FAILED: fewer than {LEAST_OPERATORS} operator types")
    return 1 if failures or scarce or not runs else 0


sys.exit(main())
