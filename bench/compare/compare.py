#!/usr/bin/env python3
"""gsub beside ONNX Runtime and OpenVINO: whole networks, batch 1, f32, all engines interleaved in one run.

compare.py --gsub build/release/bin/gsub [--models resnet50,mobilenet_v2] [--files a.onnx,b.onnx] [--threads 1,2]
compare.py --from compare.jsonl --markdown docs/performance.md --plot docs/performance.svg
compare.py --self-test

Each round times every engine once, in a process of its own, one after the other, each round beginning with another
engine. gsub runs the file that `gsub optimize` wrote, as its users would; the peers get the original, which they
optimize themselves. Ratios are of the better peer to gsub in each round: above 1 gsub is faster. Outputs are held against
`gsub run --precision f64` of the original. JSON lines on stdout, a table on stderr; docs/performance.md explains the
columns. Peers are installed from PyPI into a virtual environment (--venv)."""

import argparse
import datetime
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import venv

import render

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = ["onnx", "onnxruntime", "openvino", "numpy"]
ENGINES = ["onnxruntime", "openvino"]
MODELS = "resnet50,mobilenet_v2,inception_v3,squeezenet1_1,ssd_resnet50,bert_base,vgg16,densenet121"


def main():
    options = arguments().parse_args()
    if options.self_test:
        import self_test
        return self_test.run()
    if options.from_file:
        lines = [json.loads(line) for line in pathlib.Path(options.from_file).read_text().splitlines() if line]
    else:
        lines = []
        for line in measure(options):
            print(json.dumps(line), flush=True)
            lines.append(line)
    machine = next((line for line in reversed(lines) if line["bench"] == "machine"), None)
    rows = [line for line in lines if line["bench"] == "compare"]
    if not machine or not rows:
        sys.exit("nothing was measured")
    print(render.table(rows), file=sys.stderr)
    if options.plot:
        pathlib.Path(options.plot).write_text(render.svg(machine, rows))
    if options.markdown:
        page = pathlib.Path(options.markdown)
        plot = os.path.relpath(options.plot, page.parent) if options.plot else None
        page.write_text(render.between_markers(page.read_text(), render.markdown(machine, rows, plot)))
    return 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gsub", default="build/release/bin/gsub", help="the command line")
    parser.add_argument("--models", default=MODELS, help="built-in models")
    parser.add_argument("--files", default="", help="ONNX files with static shapes")
    parser.add_argument("--no-f4", default="resnet50,vgg16", help="models with a second row, without Winograd F(4x4)")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5, help="for one engine in one round")
    parser.add_argument("--winograd", choices=["off", "f2", "f4"], help="what gsub may use; without: as gsub does by default")
    parser.add_argument("--optimize", default="", metavar="OPTIONS", help="further options of `gsub optimize`")
    parser.add_argument("--work", default="build/compare", help="models, inputs and outputs are kept here")
    parser.add_argument("--venv", help="default: WORK/venv")
    parser.add_argument("--plot", metavar="FILE.svg", help="draw the ratios")
    parser.add_argument("--markdown", metavar="FILE.md", help="write the tables between the two marks of this page")
    parser.add_argument("--from", dest="from_file", metavar="FILE.jsonl", help="measure nothing, take these lines")
    parser.add_argument("--self-test", action="store_true", help="test the script itself, without gsub and peers")
    return parser


# ---- measuring


def measure(options):
    """Yields the machine's line, then one a model, variant and number of threads."""
    work = pathlib.Path(options.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    python = environment(pathlib.Path(options.venv) if options.venv else work / "venv")
    threads = [int(t) for t in options.threads.split(",")]
    load = os.getloadavg()[0]
    if load > 1.3:
        print(f"the machine is busy (load {load:.1f}): ratios will scatter", file=sys.stderr)
    yield machine_line(options, python, load)

    names, files = (list(filter(None, text.split(","))) for text in (options.models, options.files))
    models = [("model", built_in(options.gsub, name, work)) for name in names]
    models += [("file", pathlib.Path(file).resolve()) for file in files]
    if len({model.stem for _, model in models}) < len(models):
        sys.exit("two models have the same name")
    for kind, model in models:
        variants = {"": ["--winograd", options.winograd] if options.winograd else []}
        if model.stem in options.no_f4.split(","):
            variants["no F4"] = ["--winograd", "f2"]
        for command in ("bench", "run"):
            if any(variants.values()) and "--winograd" not in call(options.gsub, command, "--help"):
                print(f"`gsub {command}` has no --winograd: {model.stem} is run as it is, without further rows", file=sys.stderr)
                variants = {"": []}
        yield from measure_model(options, python, work, kind, model, variants, threads)


def measure_model(options, python, work, kind, model, variants, threads):
    folder = work / model.stem
    folder.mkdir(exist_ok=True)
    better = folder / "optimized.onnx"
    call(options.gsub, "--quiet", "optimize", model, "-o", better, *shlex.split(options.optimize))
    made = peer(python, "inputs", model, folder / "inputs")
    facts = once(options, python, folder, model, better, made, variants, max(threads))
    for count in threads:
        ours = {variant: [] for variant in variants}
        theirs = {engine: [] for engine in ENGINES}
        for turn in range(options.rounds):
            order = [*ours, *ENGINES]
            for engine in order[turn % len(order):] + order[:turn % len(order)]:
                if engine in ours:
                    told = gsub_json(options.gsub, "--threads", count, "bench", better, "--warmup", 3, "--time",
                                     options.seconds, *variants[engine])
                    ours[engine].append(told["latency_ms"]["median"])
                else:
                    told = peer(python, "time", engine, model, count, options.seconds, json.dumps(made["inputs"]))
                    theirs[engine].append(told["ms"])
        for variant in variants:
            row = {"bench": "compare", "model": model.stem, "kind": "variant" if variant else kind, "variant": variant,
                   "threads": count, **ratios(ours[variant], theirs), "weights": made["weights"]}
            for key in ("error", "memory"):
                row[key] = {e: facts[key][e] for e in ENGINES} | {"gsub": facts[key][variant]}
            yield row


def ratios(ours, theirs):
    """Medians over rounds, and the ratio of the better peer to gsub, round by round."""
    best = [min(turn) for turn in zip(*theirs.values())]
    found = sorted(b / g for b, g in zip(best, ours))
    return {"rounds": len(ours), "ms": {e: statistics.median(t) for e, t in ({"gsub": ours} | theirs).items()},
            "ratio": statistics.median(found), "least": found[0], "most": found[-1]}


def once(options, python, folder, model, better, made, variants, threads):
    """Errors against double precision, and peak memory beyond the weights in bytes, for each variant and peer."""
    given = [f"--input={name}={file}" for name, file in made["inputs"].items()]
    reference = folder / "f64"
    call(options.gsub, "--quiet", "--threads", threads, "run", model, "--precision", "f64", *given, "--output-dir", reference)
    facts = {"error": {}, "memory": {}}
    for variant, extra in variants.items():
        outputs = folder / ("gsub " + variant).strip().replace(" ", "_")
        # The first run compiles and fills the cache of kernels; memory is that of the second.
        for _ in range(2):
            told = gsub_json(options.gsub, "--threads", threads, "run", better, "--backend", "simd", *extra, *given,
                             "--output-dir", outputs)
        facts["memory"][variant] = told["peak_rss_mib"] * 2**20 - made["weights"]
        facts["error"][variant] = peer(python, "errors", reference, outputs)
    for engine in ENGINES:
        told = peer(python, "once", engine, model, threads, folder / engine, json.dumps(made["inputs"]))
        facts["memory"][engine] = told["bytes"] - made["weights"]
        facts["error"][engine] = peer(python, "errors", reference, folder / engine)
    return facts


def machine_line(options, python, load):
    cpu = [line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    doctor = gsub_json(options.gsub, "doctor", negative=True)
    versions = json.loads(call(python, "-c", "import json, onnxruntime, openvino\n"
                               "print(json.dumps({m.__name__: m.__version__ for m in (onnxruntime, openvino)}))"))
    git = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return {"bench": "machine", "date": datetime.date.today().isoformat(), "processor": cpu[0] if cpu else "unknown",
            "cores": len(os.sched_getaffinity(0)), "isa": doctor.get("instruction set", "unknown"),
            "compiler": subprocess.run([doctor.get("compiler") or "c++", "--version"], capture_output=True,
                                       text=True).stdout.partition("\n")[0],
            "load": load, "rounds": options.rounds, "seconds": options.seconds, "optimize": options.optimize,
            "winograd": options.winograd or "default",
            "versions": {"gsub": git.stdout.strip() or "unknown"} | versions}


# ---- processes


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
    if not file.exists() or file.stat().st_mtime < pathlib.Path(gsub).stat().st_mtime:
        call(gsub, "--quiet", "models", name, "-o", file)
    return file


def peer(python, *arguments):
    return json.loads(call(python, HERE / "peer.py", *arguments))


def gsub_json(gsub, *arguments, negative=False):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "answer.json"
        call(gsub, "--quiet", "--json", report, *arguments, allowed=(0, 1) if negative else (0,))
        return json.loads(report.read_text())


def call(*command, allowed=(0,)):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode not in allowed:
        sys.exit(f"{' '.join(map(str, command[:6]))} ...: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
