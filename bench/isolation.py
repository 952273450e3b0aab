#!/usr/bin/env python3
"""What a process of its own costs a tuner: `gsub tune` with and without `--no-isolation`, in turns.

Usage: isolation.py GSUB [--rounds N] [--points N] [NETWORK ...]

Prints for each network and both ways the seconds of tuning and of processors, least and median of the rounds, and the
sum of what the untuned kernels take, each the least of the rounds: a worker must time as the command itself does.
"""

import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import tempfile

WAYS = {"isolated": [], "not isolated": ["--no-isolation"]}


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tuned(options, model, told, flags):
    command = [options.gsub, "--quiet", "--json", told, "tune", model, "--no-check", *flags]
    if options.points:
        command += ["--points", options.points]
    before = processor_seconds()
    subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL)
    done = json.loads(told.read_text(encoding="utf-8"))
    kernels = [k["kernels"] * k["untuned_seconds"] for k in done["kernels"]]
    return done["seconds"], processor_seconds() - before, kernels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gsub")
    parser.add_argument("networks", nargs="*", default=["squeezenet1_1", "resnet18"], metavar="NETWORK")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--points", type=int, help="candidates that the cost model scores: few, and timing is most")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        for name in options.networks:
            model, told = pathlib.Path(made) / f"{name}.onnx", pathlib.Path(made) / "told.json"
            subprocess.run([options.gsub, "--quiet", "models", name, "-o", model], check=True, stdout=subprocess.DEVNULL)
            runs = {way: [] for way in WAYS}
            for round_ in range(options.rounds):
                for way in list(WAYS)[:: 1 if round_ % 2 == 0 else -1]:
                    runs[way].append(tuned(options, model, told, WAYS[way]))
            for way, all_of in runs.items():
                seconds, processors, kernels = zip(*all_of)
                untuned = sum(min(times) for times in zip(*kernels))
                print(f"{name}, {way}: tuning {min(seconds):.2f} to {statistics.median(seconds):.2f} s, processors "
                      f"{min(processors):.2f} to {statistics.median(processors):.2f} s, untuned kernels "
                      f"{untuned * 1e3:.4f} ms")


if __name__ == "__main__":
    main()
