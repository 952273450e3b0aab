#!/usr/bin/env python3
"""gsub beside ONNX Runtime and OpenVINO, or beside an older gsub: whole networks, batch 1, f32, all in turns.

compare.py --gsub build/release/bin/gsub [--models resnet50,mobilenet_v2] [--files a.onnx,b.onnx] [--threads 1,2]
compare.py --random SEED [--count 20]
compare.py --passes none --peers onnxruntime_plain
compare.py --baseline OTHER/bin/gsub [--models resnet50] [--random SEED]
compare.py --tune "tuned=" --tune "static=--method static"
compare.py --from compare.jsonl --markdown docs/performance.md --plot docs/performance.svg
compare.py --self-test

Each round times every engine once, in a process of its own, one after the other, each round beginning with another
engine. gsub runs the file that `gsub optimize` wrote, as its users would, or with --passes the original through a list
of passes; the peers get the original, which they optimize themselves, but for `onnxruntime_plain`. Ratios are of the better peer to gsub in each round: above 1 gsub is faster. Outputs are held against
`gsub run --precision f64` of the original. JSON lines on stdout, a table on stderr; docs/performance.md explains the
columns. With --tune each model has further rows, of networks that are tuned, with what tuning took. Peers are installed from PyPI
into a virtual environment (--venv).

With --baseline there are no peers. A round times gsub, the other command line and gsub again, then the three in reverse
order; ratios are of the other one's time to gsub's: above 1 gsub is faster now. A row counts only where the interval of
gsub against itself lies within 4 % of 1; a row that does not is measured again."""

import argparse
import datetime
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import venv

import baseline
import render
from processes import HERE, built_in, call, gsub_json, peer, random_networks, steps_of
from ratios import of_best_peer
PACKAGES = ["onnx", "onnxruntime", "openvino", "numpy"]
ENGINES = "onnxruntime,openvino"
MODELS = ",".join(re.findall(r'"(\w+)"', (HERE.parent / "compared_networks.hpp").read_text()))


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
    older = [line for line in lines if line["bench"] == "baseline"]
    if not machine or not rows + older:
        sys.exit("nothing was measured")
    if older:
        print(render.baseline_table(older), file=sys.stderr)
    if rows:
        print(render.table(rows), file=sys.stderr)
    elif options.plot or options.markdown:
        sys.exit("--plot and --markdown show peers, and none was measured")
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
    parser.add_argument("--baseline", metavar="GSUB", help="another command line of gsub, which takes the peers' place")
    parser.add_argument("--attempts", type=int, default=3, help="how often at most a row is measured until it counts")
    parser.add_argument("--models", help=f"built-in models; without: none with --random, else {MODELS}")
    parser.add_argument("--files", default="", help="ONNX files with static shapes")
    parser.add_argument("--random", type=int, metavar="SEED", help="also random networks of this seed")
    parser.add_argument("--count", type=int, default=20, help="how many random networks")
    parser.add_argument("--networks", help="the program bench_networks; without: that of the build folder of --gsub")
    parser.add_argument("--no-f4", default="resnet50,vgg16", help="models with a second row, without Winograd F(4x4)")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, help="without: 9, with --baseline 21")
    parser.add_argument("--seconds", type=float, help="for one engine in one round; without: 0.8, with --baseline 0.4")
    parser.add_argument("--winograd", choices=["off", "f2", "f4"], help="what gsub may use; without: as gsub does by default")
    parser.add_argument("--passes", metavar="LIST", help="gsub runs the original through these passes")
    parser.add_argument("--peers", default=ENGINES, help=f"{ENGINES}; onnxruntime_plain has its optimizations off")
    parser.add_argument("--tune", action="append", default=[], metavar="NAME=OPTIONS",
                        help="a further row of each model: its kernels as `gsub tune` with these options chooses them; "
                             "records that WORK has of that name are taken as they are")
    parser.add_argument("--optimize", default="", metavar="OPTIONS", help="further options of `gsub optimize`")
    parser.add_argument("--work", default="build/compare", help="models, inputs and outputs are kept here")
    parser.add_argument("--venv", help="default: WORK/venv")
    parser.add_argument("--plot", metavar="FILE.svg", help="draw the ratios")
    parser.add_argument("--markdown", metavar="FILE.md", help="write the tables between the two marks of this page")
    parser.add_argument("--from", dest="from_file", metavar="FILE.jsonl", help="measure nothing, take these lines")
    parser.add_argument("--self-test", action="store_true", help="test the script itself, without gsub and peers")
    return parser


# ---- measuring


def completed(options):
    """What stands for options that were not given."""
    if options.models is None:
        options.models = "" if options.random is not None else MODELS
    options.rounds = options.rounds or (21 if options.baseline else 9)
    options.seconds = options.seconds or (0.4 if options.baseline else 0.8)
    options.peers = options.peers.split(",")
    if unknown := set(options.peers) - (set(render.NAMES) - {"gsub"}):
        sys.exit(f"no peers: {', '.join(sorted(unknown))}")
    options.networks = options.networks or pathlib.Path(options.gsub).resolve().parent.parent / "bench" / "bench_networks"
    return options


def measure(options):
    """Yields the machine's line, then one a model, variant and number of threads."""
    options = completed(options)
    work = pathlib.Path(options.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    python = None if options.baseline else environment(pathlib.Path(options.venv) if options.venv else work / "venv")
    threads = [int(t) for t in options.threads.split(",")]
    load = os.getloadavg()[0]
    if load > 1.3:
        print(f"the machine is busy (load {load:.1f}): ratios will scatter", file=sys.stderr)
    yield machine_line(options, python, load)

    with tempfile.TemporaryDirectory() as folder:
        models = chosen(options, work, pathlib.Path(folder), python)
        if len({model.stem for _, model in models}) < len(models):
            sys.exit("two models have the same name")
        for kind, model in models:
            if options.baseline:
                yield from baseline.measure_model(options, work, kind, model, threads)
            else:
                yield from measure_model(options, python, work, kind, model, threads)


def chosen(options, work, folder, python):
    """Kinds and files of the models: `model` is one of gsub's own, `file` the caller's, `random` of no catalogue."""
    names, files = (list(filter(None, text.split(","))) for text in (options.models, options.files))
    models = [("model", built_in(options.gsub, name, work, python)) for name in names]
    models += [("file", pathlib.Path(file).resolve()) for file in files]
    if options.random is not None:
        models += [("random", file) for file in random_networks(options.networks, options.random, options.count, folder)]
    return models


def variants_of(options, model):
    """Rows of a model, each with the options of gsub."""
    passes = ["--passes", options.passes] if options.passes else []
    variants = {"": passes + (["--winograd", options.winograd] if options.winograd else [])}
    if model.stem in options.no_f4.split(","):
        variants["no F4"] = passes + ["--winograd", "f2"]
    for command in ("bench", "run"):
        if any("--winograd" in extra for extra in variants.values()) and "--winograd" not in call(options.gsub, command, "--help"):
            print(f"`gsub {command}` has no --winograd: {model.stem} is run as it is, without further rows", file=sys.stderr)
            variants = {"": passes}
    return variants


def tuned(options, folder, model, threads):
    """Rows of a model that are tuned: their options, and what tuning took."""
    variants, took = {}, {}
    for name, how in (text.partition("=")[::2] for text in options.tune):
        records, told = folder / f"{name}.jsonl", folder / f"{name}.json"
        if not records.exists():
            call(options.gsub, "--quiet", "--threads", threads, "--json", told, "tune", model, "--records", records,
                 "--no-check", *shlex.split(how))
            records.touch()  # where nothing is better
        variants[name] = ["--records", str(records)]
        if told.exists():
            took[name] = {key: json.loads(told.read_text())[key] for key in ("method", "seconds", "scored", "trials")}
    return variants, took


def measure_model(options, python, work, kind, model, threads):
    variants = variants_of(options, model)
    folder = work / model.stem
    folder.mkdir(exist_ok=True)
    better = model if options.passes else folder / "optimized.onnx"
    if not options.passes:
        call(options.gsub, "--quiet", "optimize", model, "-o", better, *shlex.split(options.optimize))
    ways, took = tuned(options, folder, better, max(threads))
    variants |= ways
    made = peer(python, "inputs", model, folder / "inputs")
    facts = once(options, python, folder, model, better, made, variants, max(threads))
    for count in threads:
        ours = {variant: [] for variant in variants}
        theirs = {engine: [] for engine in options.peers}
        for turn in range(options.rounds):
            order = [*ours, *options.peers]
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
                   "threads": count, **of_best_peer(ours[variant], theirs), "weights": made["weights"],
                   "steps": facts["steps"][variant]} | ({"tuning": took[variant]} if variant in took else {})
            for key in ("error", "memory"):
                row[key] = {e: facts[key][e] for e in options.peers} | {"gsub": facts[key][variant]}
            yield row


def once(options, python, folder, model, better, made, variants, threads):
    """Errors against double precision, peak memory beyond the weights in bytes, for each variant and peer; gsub's steps."""
    given = [f"--input={name}={file}" for name, file in made["inputs"].items()]
    reference = folder / "f64"
    call(options.gsub, "--quiet", "--threads", threads, "run", model, "--precision", "f64", *given, "--output-dir", reference)
    facts = {"error": {}, "memory": {}, "steps": {}}
    for variant, extra in variants.items():
        outputs = folder / ("gsub " + variant).strip().replace(" ", "_")
        # The first run compiles and fills the cache of kernels; memory is that of the second.
        for _ in range(2):
            told = gsub_json(options.gsub, "--threads", threads, "run", better, "--backend", "simd", *extra, *given,
                             "--output-dir", outputs)
        facts["memory"][variant] = told["peak_rss_mib"] * 2**20 - made["weights"]
        facts["error"][variant] = peer(python, "errors", reference, outputs)
        facts["steps"][variant] = steps_of(options.gsub, better, threads, *extra)
    for engine in options.peers:
        told = peer(python, "once", engine, model, threads, folder / engine, json.dumps(made["inputs"]))
        facts["memory"][engine] = told["bytes"] - made["weights"]
        facts["error"][engine] = peer(python, "errors", reference, folder / engine)
    return facts


def machine_line(options, python, load):
    cpu = [line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    doctor = gsub_json(options.gsub, "doctor", negative=True)
    versions = {} if options.baseline else json.loads(call(
        python, "-c", "import json, onnxruntime, openvino\n"
        "print(json.dumps({m.__name__: m.__version__ for m in (onnxruntime, openvino)}))"))
    git = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return {"bench": "machine", "date": datetime.date.today().isoformat(), "processor": cpu[0] if cpu else "unknown",
            "cores": len(os.sched_getaffinity(0)), "isa": doctor.get("instruction set", "unknown"),
            "compiler": subprocess.run([doctor.get("compiler") or "c++", "--version"], capture_output=True,
                                       text=True).stdout.partition("\n")[0],
            "load": load, "rounds": options.rounds, "seconds": options.seconds, "optimize": options.optimize,
            "passes": options.passes or "",
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


if __name__ == "__main__":
    sys.exit(main())
