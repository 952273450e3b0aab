"""Random models against ONNX Runtime:
random_models.py GSUB [--first-seed N] [--count N] [--cross | --ways A,B,...] [--jobs N] [--scratch DIR] [--keep]

Each seed makes a valid model (random_recipes.py), which is computed by the reference evaluator and by generated kernels for AVX2
and AVX-512: without passes, with those of a build, and with a random list in a random order. A search rewrites it too,
and what it writes is computed by gsub and by ONNX Runtime. All must equal what ONNX Runtime computes of the model, not
optimized; where that refuses a model, onnx's reference evaluator. A refusal by gsub, exit code 3, is listed and no failure.

--cross: in place of all that each model is exported ahead of time for AArch64, with these three choices of passes, built by
Debian's cross compiler and run under qemu. Ends with 77 where a tool is missing.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import cross_build
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
CHOICES = ("off", "on", "random")
WAYS = [f"{b}-{passes}" for b in BACKENDS for passes in CHOICES] + ["search", "rewritten"]
EXPORTED = "neon"
CROSS_WAYS = [f"{EXPORTED}-{passes}" for passes in CHOICES]
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
        self.forget_outputs()
        self.call("run", model, "--output-dir", self.scratch, *self.arguments, *options)
        return self.outputs()

    def run_exported(self, *options):
        """The outputs of the model's sources for AArch64, on an emulated processor."""
        self.forget_outputs()
        sources = self.scratch / "sources"
        self.call("compile", self.model, "-o", sources, "--name", cross_build.NAME, "--target", cross_build.TARGET, *options)
        files = [self.scratch / f"{name}.npy" for name, _, _ in cross_build.inputs_of(sources)]
        try:
            cross_build.build(sources, 1)
            cross_build.emulate(sources, files, self.scratch / "output_")
        except cross_build.CommandFailed as failed:
            raise Failure(" ".join(str(failed).split())) from None
        return self.outputs()

    def forget_outputs(self):
        for old in self.scratch.glob("output_*.npy"):
            old.unlink()

    def outputs(self):
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
            self.compare("", self.outputs_by(backend, "--passes", ", ".join(chosen)), FAST_MATH if "fast-math" in chosen else 0.0)
        else:
            of_list = {"off": "none", "on": "default"}[passes]
            # A build runs its passes without being asked.
            options = [] if backend != "reference" and passes == "on" else ["--passes", of_list]
            self.compare("", self.outputs_by(backend, *options))

    def outputs_by(self, backend, *passes):
        return self.run_exported(*passes) if backend == EXPORTED else self.run(self.model, *BACKENDS[backend], *passes)

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


def without_nodes(told):
    """What a refusal says without the names of nodes, each problem once."""
    told = re.sub(r' \(node "[^"]*"\)', "", " ".join(told.split()))
    problems = re.findall(r"error\[.*?(?= error\[|$)", told)
    return "; ".join(sorted(set(problems))) or told


def first_line(problem):
    return next(iter(str(problem).strip().splitlines()), "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gsub")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--ways", default=",".join(WAYS))
    ways.add_argument("--cross", dest="ways", action="store_const", const=",".join(CROSS_WAYS), help=f"--ways {','.join(CROSS_WAYS)}")
    parser.add_argument("--jobs", type=int, default=1, help="models at a time (1)")
    parser.add_argument("--scratch", help="folder for files (a temporary one)")
    parser.add_argument("--keep", action="store_true", help="keep the models that fail, in the scratch folder")
    options = parser.parse_args()
    options.ways = options.ways.split(",")
    if set(options.ways) & set(CROSS_WAYS) and (tool := cross_build.missing_tool()):
        print(f"skipped: there is no {tool}")
        return 77
    with tempfile.TemporaryDirectory() as temporary:
        return try_all(options, pathlib.Path(options.scratch or temporary))


def follow_all(options, scratch, seed):
    """The seed's trial, and of each way a `Refusal`, another exception, or None where the outputs are equal."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        trial = Trial(options.gsub, seed, pathlib.Path(folder))

        def followed(way):
            try:
                trial.follow(way)
            except Exception as problem:
                return problem
            return None

        return trial, [(way, followed(way)) for way in options.ways]


def try_all(options, scratch):
    failures, operators, nodes, by_reference, runs = 0, collections.Counter(), 0, 0, 0
    refusals = collections.Counter()
    scratch.mkdir(parents=True, exist_ok=True)
    seeds = range(options.first_seed, options.first_seed + options.count)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for trial, ways in pool.map(lambda seed: follow_all(options, scratch, seed), seeds):
            nodes += len(trial.made.proto.graph.node)
            operators.update(trial.made.operators())
            by_reference += not trial.by_runtime
            for way, outcome in ways:
                if outcome is None:
                    runs += 1
                elif isinstance(outcome, Refusal):
                    refusals[way, without_nodes(str(outcome))] += 1
                else:
                    failures += 1
                    reason = outcome if isinstance(outcome, Failure) else f"{type(outcome).__name__}: {first_line(outcome)}"
                    print(f"FAILED: seed {trial.seed}, {way}{trial.passes_of(way)}: {reason}", flush=True)
                    if options.keep:
                        onnx.save(trial.made.proto, scratch / f"{trial.seed}.onnx")
    for (way, reason), count in refusals.most_common():
        print(f"refused {count} times, {way}: {reason}")
    print(f"{options.count} models, {nodes} nodes, {len(operators)} operator types, {by_reference} that ONNX Runtime refuses; "
          f"{runs} runs equal, {sum(refusals.values())} refused, {failures} failed")
    scarce = options.count >= MODELS_FOR_THAT and len(operators) < LEAST_OPERATORS
    if scarce:
        print(f"FAILED: fewer than {LEAST_OPERATORS} operator types")
    return 1 if failures or scarce or not runs else 0


sys.exit(main())
