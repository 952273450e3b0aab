#!/usr/bin/env python3
"""Networks on a device: checked against the reference evaluator, timed beside ONNX Runtime on the same GPU where its
package is there.

Usage: gpu.py GSUB [--device cuda:0] [--part check|networks] [--networks A,B] [--option NAME=N] [--out FILE.json]

Each part ends in a few minutes on a GPU and can be run alone. Prints a line for each network; the file has one JSON
object, with what was not there among `missing`.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

NETWORKS = ["squeezenet1_1", "mobilenet_v2", "resnet50", "inception_v3", "bert_base", "nasrnn"]
PARTS = ["check", "networks"]

# What ONNX Runtime takes on the GPU: seeded inputs that stay there, the median of many runs.
PEER = """
import json, sys, time
import numpy as np, onnxruntime as ort
if "CUDAExecutionProvider" not in ort.get_available_providers(): raise SystemExit("no CUDAExecutionProvider")
s = ort.InferenceSession(sys.argv[1], providers=["CUDAExecutionProvider"])
b, r = s.io_binding(), np.random.default_rng(1)
for i in s.get_inputs():
    x = r.standard_normal(i.shape).astype("float32") if "float" in i.type else np.zeros(i.shape, i.type[7:-1])
    b.bind_ortvalue_input(i.name, ort.OrtValue.ortvalue_from_numpy(x, "cuda", 0))
for o in s.get_outputs(): b.bind_output(o.name, "cuda", 0)
times = []
for k in range(130):
    begin = time.perf_counter(); s.run_with_iobinding(b); b.synchronize_outputs(); times.append(time.perf_counter() - begin)
print(json.dumps({"ms": sorted(times[30:])[50] * 1e3, "version": ort.__version__}))
"""


def answer_of(options, folder, *arguments):
    """What a command of gsub gives, or the error that it tells."""
    told = folder / "told.json"
    done = subprocess.run([options.gsub, "--quiet", "--json", told, *arguments], capture_output=True, text=True,
                          timeout=480, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(" ".join(done.stderr.split())[:500])
    return json.loads(told.read_text(encoding="utf-8"))


def check(options, folder, model):
    """Both ways with one seed; the error is that of the worst output."""
    outputs = {}
    for way, flags in {"device": ["--device", options.device], "reference": []}.items():
        outputs[way] = folder / way
        shutil.rmtree(outputs[way], ignore_errors=True)
        answer_of(options, folder, "run", model, "--fill", "1", "--output-dir", outputs[way], *flags)
    import numpy as np # of the machine, or of ONNX Runtime's package
    errors = [0.0]
    for file in sorted(outputs["reference"].glob("*.npy")):
        expected, got = np.load(file).astype("f8"), np.load(outputs["device"] / file.name).astype("f8")
        if expected.size > 0:
            errors.append(abs(got - expected).max() / max(abs(expected).max(), 1e-30))
    worst = float(np.max(errors)) # a NaN is kept, and not right
    return {"error": worst, "right": worst < 1e-4}


def networks(options, folder, model):
    own = answer_of(options, folder, "bench", model, "--device", options.device, "--time", str(options.seconds))
    out = {"ms": own["latency_ms"]["median"], "build_seconds": own["build_ms"] / 1e3}
    peer = subprocess.run([sys.executable, "-c", PEER, model], capture_output=True, text=True, timeout=480, check=False)
    if peer.returncode == 0:
        told = json.loads(peer.stdout.splitlines()[-1])
        out |= {"onnxruntime_ms": told["ms"], "onnxruntime": told["version"], "ratio": told["ms"] / out["ms"]}
    else:
        out["missing"] = ["ONNX Runtime on a GPU: " + (peer.stderr.strip().splitlines() or ["?"])[-1]]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gsub")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--networks", default=",".join(NETWORKS), help="built-in ones, separated by commas")
    parser.add_argument("--option", action="append", default=[], help="of their builders, as image=64", metavar="NAME=N")
    parser.add_argument("--seconds", type=float, default=1.0, help="of timed runs of each network")
    parser.add_argument("--out", help="write what was found to this file")
    options = parser.parse_args()
    options.gsub = pathlib.Path(options.gsub).resolve()
    found = {"device": options.device, "parts": {}}
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        flags = [f"--{name}={value}" for name, _, value in (o.partition("=") for o in options.option)]
        for part in [options.part] if options.part else PARTS:
            results = found["parts"][part] = {}
            for name in options.networks.split(","):
                try:
                    model = folder / f"{name}.onnx"
                    if not model.exists():
                        answer_of(options, folder, "models", name, *flags, "-o", model)
                    results[name] = {"check": check, "networks": networks}[part](options, folder, model)
                except (RuntimeError, subprocess.TimeoutExpired, ImportError, KeyError) as e:
                    results[name] = {"failed": f"{type(e).__name__}: {e}"}
                failed = failed or "failed" in results[name] or results[name].get("right") is False
                print(part, name, json.dumps(results[name]), flush=True)
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
