#!/usr/bin/env python3
"""gsub beside ONNX Runtime, operator by operator; beside ONNX Runtime and OpenVINO, layer by layer of real networks; and
beside oneDNN and OpenVINO on grouped convolutions: one thread.

operators.py [--groups grouped,conv,gemm,pool,reduce,elementwise,movement] [--only TEXT] [--rounds 7] > operators.jsonl
operators.py --layers [--only TEXT] [--rounds 7] > layers.jsonl
operators.py --convolutions [--only TEXT] [--rounds 11] > grouped.jsonl
operators.py --from operators.jsonl

Each engine is one process that keeps its models; inputs are the same files. A round times gsub, the peer, the peer and
gsub again, each for --seconds, each the median of its runs; the ratio of a round is that of the geometric means, peer to
gsub: above 1 gsub is faster. gsub against itself is what the two turns of a round are apart. An operator's ratio is the
median of its shapes. A model that gsub does not import is given to it in operators that it knows (`instead`). JSON lines
on stdout, a table on stderr; exits with 1 where a bar is missed.

--layers: the faster of the two peers counts, and each shape by itself.

--convolutions: grouped 3x3 kernels alone, in the layout that each engine prefers, without changes of layout. oneDNN runs
in the layout of its choice and in blocks of channels; of OpenVINO the convolution counts, as its profile tells."""

import argparse
import json
import math
import os
import pathlib
import statistics
import sys

import compare
from processes import HERE, Server, call
from ratios import BOUND, interval

BARS = {"least": 0.8, "median": 1.0}
LAYER_BARS = {"least": 1.0, "median": 1.2}
CONVOLUTION_BARS = {"least": 1.0, "median": 1.2}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gsub", default="build/release/bench/bench_operators", help="the program bench_operators")
    parser.add_argument("--convolutions", action="store_true", help="grouped kernels beside oneDNN and OpenVINO")
    parser.add_argument("--layers", action="store_true", help="layers of real networks beside both peers")
    parser.add_argument("--groups", default="", help="which groups of operators; without: all")
    parser.add_argument("--only", default="", help="only operators whose names have this text, or one of those between |")
    parser.add_argument("--rounds", type=int, help="without: 7, with --convolutions 11")
    parser.add_argument("--seconds", type=float, default=0.02, help="of one turn")
    parser.add_argument("--work", default="build/compare", help="models, inputs and outputs are kept here")
    parser.add_argument("--venv", help="default: WORK/venv")
    parser.add_argument("--from", dest="from_file", metavar="FILE.jsonl", help="measure nothing, take these lines")
    options = parser.parse_args()
    options.rounds = options.rounds or (11 if options.convolutions else 7)
    if options.from_file:
        lines = [json.loads(line) for line in pathlib.Path(options.from_file).read_text().splitlines() if line]
    else:
        lines = []
        for line in measure(options):
            print(json.dumps(line), flush=True)
            lines.append(line)
    if any(line["bench"] == "convolution" for line in lines):
        return report_convolutions([line for line in lines if line["bench"] == "convolution"])
    return report(lines)


# ---- measuring


def measure(options):
    work = pathlib.Path(options.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    python = compare.environment(pathlib.Path(options.venv) if options.venv else work / "venv")
    load = os.getloadavg()[0]
    if load > 1.3:
        print(f"the machine is busy (load {load:.1f}): ratios will scatter", file=sys.stderr)
    yield {"bench": "machine", "load": load, "rounds": options.rounds, "seconds": options.seconds}
    gsub = Server(options.gsub)
    if options.convolutions:
        yield from convolutions(options, work / "convolutions", python, gsub)
        return
    peers = {name: Server(python, HERE / "peer.py", "serve", name) for name in (["onnxruntime", "openvino"] if options.layers else ["onnxruntime"])}
    models = call(python, HERE / "layer_models.py", work / "operators") if options.layers else call(
        python, HERE / "operator_models.py", "cases", work / "operators", options.groups)
    for case in map(json.loads, models.splitlines()):
        if wanted(options, case["operator"]):
            yield {"bench": "operator", **{k: case[k] for k in ("group", "operator", "shape")},
                   **one_case(options, work, case, gsub, peers)}
    for server in (gsub, *peers.values()):
        server.close()


def wanted(options, name):
    return not options.only or any(text in name for text in options.only.split("|"))


def one_case(options, work, case, gsub, peers):
    folders = {who: work / "operators" / f"outputs_{who}" for who in ("gsub", *peers)}
    for folder in folders.values():
        folder.mkdir(exist_ok=True)
        for old in folder.glob("*.npy"):
            old.unlink()
    found, ours = {}, case["file"]
    told = gsub.ask(load=ours, inputs=list(case["inputs"].values()), outputs=str(folders["gsub"]))
    if "error" in told and case["instead"]:
        ours, found["instead"] = case["instead"], told["error"]
        told = gsub.ask(load=ours, inputs=list(case["inputs"].values()), outputs=str(folders["gsub"]))
    if "error" in told:
        return {"refused": told["error"]}
    found["steps"] = told["steps"]
    refusals, theirs = [], {}
    for name, peer in peers.items():
        told = peer.ask(load=case["file"], inputs=case["inputs"], outputs=str(folders[name]))
        if "error" in told:
            refusals.append(f"{name}: {told['error']}")
            continue
        found.setdefault("apart", peer.ask(errors=[str(folders[name]), str(folders["gsub"])]))
        theirs[name] = lambda peer=peer: peer.ask(time=case["file"], seconds=options.seconds)["us"]
    if not theirs:
        return {**found, "peer_refused": "; ".join(refusals)}
    return {**found, **rounds_of(options, lambda: gsub.ask(time=ours, seconds=options.seconds)["us"], theirs)}


def rounds_of(options, ours, theirs):
    """Rounds there and back; of several peers the fastest of a round counts."""
    us, ratios, again = {name: [] for name in ("gsub", *theirs)}, [], []
    for turn in range(options.rounds):
        times = {name: [] for name in us}
        arms = list(us.items() if turn % 2 == 0 else reversed(us.items()))
        for name, _ in arms + arms[::-1]:
            times[name].append(ours() if name == "gsub" else theirs[name]())
        mean = {name: math.sqrt(t[0] * t[1]) for name, t in times.items()}
        for name, value in mean.items():
            us[name].append(value)
        ratios.append(min(mean[name] for name in theirs) / mean["gsub"])
        again.append(times["gsub"][1] / times["gsub"][0])
    return {"us": {name: statistics.median(values) for name, values in us.items()}, "ratio": statistics.median(ratios),
            "interval": interval(ratios), "again_interval": interval(again)}


def convolutions(options, folder, python, gsub):
    layers = gsub.ask(layers=True)["layers"]
    openvino = Server(python, HERE / "peer.py", "serve", "openvino_convolution")
    models = call(python, HERE / "operator_models.py", "grouped", folder, json.dumps(layers))
    (folder / "outputs").mkdir(exist_ok=True)
    for number, (layer, case) in enumerate(zip(layers, map(json.loads, models.splitlines()))):
        if not wanted(options, layer["name"]):
            continue
        engine = lambda name: lambda: gsub.ask(layer=number, engine=name, seconds=options.seconds)["us"]
        theirs = {"openvino": lambda: openvino.ask(time=case["file"], seconds=options.seconds)["us"]}
        told = openvino.ask(load=case["file"], inputs=case["inputs"], outputs=str(folder / "outputs"))
        if "error" in told:
            sys.exit(f"OpenVINO: {told['error']}")
        first = theirs["openvino"]()
        for name in ("onednn", "onednn_blocked"):
            told = [gsub.ask(layer=number, engine=name, seconds=0) for _ in range(3)]
            if "error" in told[0]:
                print(f"{name}: {told[0]['error']}", file=sys.stderr)
            elif min(t["us"] for t in told) < 20 * first:  # where a layout has no fast kernel, a run takes seconds
                theirs[name] = engine(name)
        yield {"bench": "convolution", **layer, **rounds_of(options, engine("gsub"), theirs)}
    gsub.close(), openvino.close()


# ---- tables


def print_table(head, rows):
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip(), file=sys.stderr)


def sure(row):
    """Whether gsub against itself is told within the bound."""
    own = row["again_interval"]
    return bool(own) and 1 - BOUND <= own[0] and own[1] <= 1 + BOUND


def verdict(name, values, bars):
    """A line about all operators; whether the bars are met."""
    least, mid = min(values, key=values.get), statistics.median(values.values())
    met = values[least] >= bars["least"] and mid >= bars["median"]
    print(f"{name}: {len(values)}; median {mid:.2f} (bar {bars['median']}), least {values[least]:.2f} (bar {bars['least']}): {least}; "
          f"{sum(v < bars['least'] for v in values.values())} below the bar: {'met' if met else 'NOT MET'}", file=sys.stderr)
    return met


def report(lines):
    rows = [line for line in lines if line["bench"] == "operator"]
    operators = {}
    for row in rows:
        operators.setdefault((row["group"], row["operator"]), []).append(row)
    values, table, refused = {}, [], []
    for (group, name), shapes in operators.items():
        measured = [s for s in shapes if "ratio" in s]
        for s in shapes:
            if "ratio" not in s:
                refused.append(f"{name}, {s['shape']}: " + (f"gsub: {s['refused']}" if "refused" in s else f"the peer: {s['peer_refused']}"))
        if not measured:
            continue
        ratio = statistics.median(s["ratio"] for s in measured)
        values |= {f"{name}, {s['shape']}": s["ratio"] for s in measured} if group == "layer" else {f"{group}: {name}": ratio}
        apart = max((s["apart"].get("max") or 0.0) for s in measured)
        kinds = sorted({kind for s in measured for kind, _ in s["steps"]})
        table.append((ratio, [name, f"{ratio:.2f}", " ".join(f"{s['ratio']:.2f}" for s in measured),
                              " ".join(f"{s['us']['gsub']:.0f}/{min(t for who, t in s['us'].items() if who != 'gsub'):.0f}" for s in measured),
                              f"{apart:.0e}",
                              ("" if all(map(sure, measured)) else "unsure ") + ("instead " if any("instead" in s for s in measured) else "")
                              + ", ".join(kinds)[:90]]))
    print_table(["operator", "peer/gsub", "of each shape", "us, gsub/peer", "apart", "kernels"], [row for _, row in sorted(table, key=lambda t: t[0])])
    for line in refused:
        print(f"not measured: {line}", file=sys.stderr)
    if not values:
        sys.exit("nothing was measured")
    layers = all(row["group"] == "layer" for row in rows)
    return 0 if verdict("layers, fastest peer/gsub" if layers else "operators, peer/gsub", values, LAYER_BARS if layers else BARS) else 1


def report_convolutions(rows):
    table = [[r["name"], f"{r['ratio']:.2f}", "" if sure(r) else "unsure", *(f"{r['us'].get(e, math.nan):.0f}" for e in
              ("gsub", "onednn", "onednn_blocked", "openvino")), f"{r['operations'] / r['us']['gsub'] / 1e3:.0f}"] for r in rows]
    print_table(["convolution", "fastest peer/gsub", "", "gsub, us", "oneDNN", "in blocks", "OpenVINO", "gsub, GFLOP/s"], table)
    return 0 if verdict("grouped convolutions, fastest peer/gsub", {r["name"]: r["ratio"] for r in rows}, CONVOLUTION_BARS) else 1


if __name__ == "__main__":
    sys.exit(main())
