#!/usr/bin/env python3
"""gsub beside ONNX Runtime and OpenVINO: latency of whole networks, batch 1, f32, all three interleaved in one run.

compare.py --gsub build/release/bin/gsub [--models resnet50,mobilenet_v2] [--files a.onnx,b.onnx] [--threads 1,2]

Peers are installed from PyPI into a virtual environment beside the results (--venv). Each round times every engine once, in
a process of its own, one after the other; ratios are medians over rounds. A ratio above 1 means that gsub is faster. JSON
lines on stdout, a table on stderr."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import venv

PACKAGES = ["onnx", "onnxruntime", "openvino", "numpy"]
ENGINES = ["onnxruntime", "openvino"]

# Run in the virtual environment: engine, model, threads, seconds, output. The inputs are those that gsub makes.
PEER = r"""
import json, sys, time
import numpy as np
engine, model, threads, seconds, inputs = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), json.loads(sys.argv[5])
values = {name: np.load(file) for name, file in inputs.items()}
if engine == "onnxruntime":
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    run = lambda: session.run(None, values)
    version = ort.__version__
else:
    import openvino as ov
    core = ov.Core()
    compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32",
                                                 "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"})
    request = compiled.create_infer_request()
    run = lambda: list(request.infer(values).values())
    version = ov.__version__
for _ in range(3):
    outputs = run()
times, start = [], time.perf_counter()
while time.perf_counter() - start < seconds or len(times) < 5:
    begin = time.perf_counter()
    outputs = run()
    times.append(time.perf_counter() - begin)
print(json.dumps({"ms": sorted(times)[len(times) // 2] * 1e3, "version": version}))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gsub", required=True, help="the command line")
    parser.add_argument("--models", default="resnet50,mobilenet_v2,inception_v3,squeezenet1_1", help="built-in models")
    parser.add_argument("--files", default="", help="ONNX files with static shapes")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5, help="for one engine in one round")
    parser.add_argument("--work", default="build/compare", help="models and inputs are kept here")
    parser.add_argument("--venv", help="default: WORK/venv")
    options = parser.parse_args()
    work = pathlib.Path(options.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    python = environment(pathlib.Path(options.venv) if options.venv else work / "venv")

    models = [built_in(options.gsub, name, work) for name in options.models.split(",") if name]
    models += [pathlib.Path(file).resolve() for file in options.files.split(",") if file]
    rows = []
    for model in models:
        better = work / f"{model.stem}.gsub.onnx"
        call(options.gsub, "--quiet", "optimize", model, "-o", better)
        inputs = make_inputs(python, model, work)
        for threads in map(int, options.threads.split(",")):
            times = {engine: [] for engine in ["gsub", *ENGINES]}
            versions = {}
            for _ in range(options.rounds):
                report = work / "bench.json"
                call(options.gsub, "--quiet", "--json", report, "--threads", threads, "bench", better, "--warmup", 3,
                     "--time", options.seconds)
                times["gsub"].append(json.loads(report.read_text())["latency_ms"]["median"])
                for engine in ENGINES:
                    found = json.loads(call(python, "-c", PEER, engine, model, threads, options.seconds, json.dumps(inputs)))
                    times[engine].append(found["ms"])
                    versions[engine] = found["version"]
            best = [min(times[e][i] for e in ENGINES) for i in range(options.rounds)]
            ratios = sorted(b / g for b, g in zip(best, times["gsub"]))
            row = {"bench": "compare", "model": model.stem, "threads": threads, "rounds": options.rounds,
                   "ms": {e: statistics.median(t) for e, t in times.items()}, "ratio": statistics.median(ratios),
                   "least": ratios[0], "most": ratios[-1], "versions": versions}
            print(json.dumps(row), flush=True)
            rows.append(row)
    table(rows)


def table(rows):
    print(f"{'model':24}{'threads':>8}{'gsub':>10}{'ORT':>10}{'OpenVINO':>10}{'best/gsub':>11}{'least':>8}{'most':>8}", file=sys.stderr)
    for r in rows:
        print(f"{r['model']:24}{r['threads']:8}{r['ms']['gsub']:10.2f}{r['ms']['onnxruntime']:10.2f}{r['ms']['openvino']:10.2f}"
              f"{r['ratio']:11.2f}{r['least']:8.2f}{r['most']:8.2f}", file=sys.stderr)
    for threads in sorted({r["threads"] for r in rows}):
        ratios = [r["ratio"] for r in rows if r["threads"] == threads]
        print(f"geometric mean, {threads} threads: {statistics.geometric_mean(ratios):.2f}", file=sys.stderr)


def environment(folder):
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    missing = subprocess.run([python, "-c", "import " + ", ".join(PACKAGES)], capture_output=True)
    if missing.returncode:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return str(python)


def built_in(gsub, name, work):
    file = work / f"{name}.onnx"
    if not file.exists():
        call(gsub, "--quiet", "models", name, "-o", file)
    return file


def make_inputs(python, model, work):
    """Normal values for every input that is no initializer."""
    script = r"""
import json, sys
import numpy as np, onnx
model, folder = onnx.load(sys.argv[1], load_external_data=False), sys.argv[2]
stored, r, made = {i.name for i in model.graph.initializer}, np.random.default_rng(1), {}
for i, value in enumerate(v for v in model.graph.input if v.name not in stored):
    dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
    file = f"{folder}/input_{i}.npy"
    np.save(file, r.standard_normal(dims, dtype=np.float32))
    made[value.name] = file
print(json.dumps(made))
"""
    return json.loads(call(python, "-c", script, model, work))


def call(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                          env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"})
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command[:4]))} ...: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    main()
