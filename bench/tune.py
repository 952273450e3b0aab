#!/usr/bin/env python3
"""What tuning is worth: the networks of bench/compare tuned by `gsub tune`, each built untuned and tuned and timed in turns.

Usage: tune.py GSUB [--method static|hybrid|measured] [--budget SECONDS] [--threads N] [--records FOLDER] [NETWORK ...]

Prints a line of JSON a network, and a table in Markdown behind them. GSUB is the program of the command line; records go
into FOLDER, or nowhere. The exit status: 1 where a network computes other numbers.
"""

import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

NETWORKS = pathlib.Path(__file__).with_name("compared_networks.hpp")


def compared():
    text = NETWORKS.read_text(encoding="utf-8")
    return re.findall(r'"([a-z0-9_]+)"', text.partition("compared_networks{")[2])


def tune(options, name, folder):
    model, told = folder / f"{name}.onnx", folder / f"{name}.json"
    if not model.exists():
        subprocess.run([options.gsub, "--quiet", "models", name, "-o", model], check=True, stdout=subprocess.DEVNULL)
    command = [options.gsub, "--quiet", "--json", told, "tune", model, "--method", options.method]
    if options.threads:
        command[1:1] = ["--threads", str(options.threads)]
    if options.budget:
        command += ["--budget", str(options.budget)]
    if options.records:
        command += ["--records", pathlib.Path(options.records) / f"{name}.jsonl"]
    subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL)
    model.unlink()
    return json.loads(told.read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gsub")
    parser.add_argument("--method", default="hybrid")
    parser.add_argument("--budget", type=float)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--records")
    parser.add_argument("networks", nargs="*")
    options = parser.parse_intermixed_args()
    rows, ratios, wrong = [], [], False
    with tempfile.TemporaryDirectory() as folder:
        for name in options.networks or compared():
            told = tune(options, name, pathlib.Path(folder))
            check = told["check"]
            wrong |= check["relative_difference"] > 1e-2
            ratios.append(check["ratio"])
            print(json.dumps({"bench": "tune", "network": name, "method": options.method, **{
                k: told[k] for k in ("target", "tasks", "tuned", "seconds", "scored", "trials", "failed", "ratio")},
                "check": check}), flush=True)
            rows.append(f"| {name} | {told['tasks']} | {told['seconds']:.1f} | {told['scored']} | {told['trials']} | "
                        f"{check['untuned_seconds'] * 1e3:.2f} | {check['tuned_seconds'] * 1e3:.2f} | "
                        f"{1 / check['ratio']:.3f} | {1 / check['high']:.3f} to {1 / check['low']:.3f} |")
    mean = math.exp(-sum(map(math.log, ratios)) / len(ratios))
    print("\n| network | tasks | tuning, s | scored | timed | untuned, ms | tuned, ms | untuned / tuned | 95 % |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    print("\n".join(rows))
    print(f"\nGeometric mean of untuned / tuned: {mean:.3f}, least {1 / max(ratios):.3f}.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
