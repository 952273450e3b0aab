#!/usr/bin/env python3
"""What gsub costs to compile: user seconds and peak memory of the compiler, medians over repeats.

Budgets are ratios to `#include <Eigen/Dense>` in an empty main, timed in turns with the cases in the same run.
JSON lines on stdout, a table on stderr. Exit status 1 where a budget is exceeded."""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

EXAMPLE = """#include <gsub/gsub.hpp>
#include <iostream>
int main(int, char** argv) {
    auto const model = gsub::io::load_onnx(argv[1]).value();
    auto const better = gsub::optimize(model, gsub::cost::roofline{}, {.alpha = 1.05, .verify = true}).value();
    auto const outputs = gsub::evaluate_graph(better, gsub::random_inputs(better, 1)).value();
    gsub::io::save_onnx(better, argv[2]).value();
    std::cout << gsub::report::to_text(better.report) << outputs[0] << '\\n';
}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", required=True, help="folder that holds gsub/")
    parser.add_argument("--library", help="libgsub.a; without it the figures of gsub::compiled are left out")
    parser.add_argument("--example", help="source of the ten-line example; default: one like it")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--level", default="-O0", help="of optimisation; budgets are those of -O0")
    parser.add_argument("--flag", action="append", default=[], help="a further compiler flag, e.g. --flag=-I/opt/x")
    options = parser.parse_args()
    if not os.path.exists(os.path.join(options.include, "gsub", "gsub.hpp")):
        parser.error(f"no gsub/gsub.hpp under {options.include}")
    if not shutil.which(options.compiler):
        parser.error(f"no compiler called {options.compiler}")
    eigen = "/usr/include/eigen3"
    if shutil.which("pkg-config"):
        found = subprocess.run(["pkg-config", "--variable=includedir", "eigen3"], capture_output=True, text=True)
        prefix = found.stdout.strip()
        if found.returncode == 0 and prefix:
            eigen = prefix if prefix.endswith("eigen3") else os.path.join(prefix, "eigen3")

    example = open(options.example).read() if options.example else EXAMPLE
    empty = "#include <gsub/{}>\nint main() {{}}\n"
    compiled = ["-DGSUB_COMPILED"]
    # What is compiled, its source, flags, whether it is linked, times the first one's seconds, bytes.
    cases = [
        ("empty main with Eigen/Dense", "#include <Eigen/Dense>\nint main() {}\n", [], False, None, None),
        ("empty main with gsub/gsub.hpp", empty.format("gsub.hpp"), [], False, 15, None),
        ("empty main with gsub/ir.hpp", empty.format("ir.hpp"), [], False, 3.5, None),
        ("ten-line example, header-only", example, [], True, 36, 2e9),
    ]
    if options.library:
        cases += [
            ("ten-line example, gsub::compiled", example, compiled, True, 5, None),
            ("empty main with gsub/gsub.hpp, gsub::compiled", empty.format("gsub.hpp"), compiled, False, None, None),
            ("empty main with gsub/ir.hpp, gsub::compiled", empty.format("ir.hpp"), compiled, False, None, None),
        ]

    version = subprocess.run([options.compiler, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    flags_of_all = ["-std=c++20", options.level]
    print(json.dumps({"bench": "compile_time", "compiler": version, "flags": " ".join(flags_of_all)}), flush=True)
    print(f"{version}, {' '.join(flags_of_all)}, median of {options.repeats}", file=sys.stderr)
    seconds, memory = [[] for _ in cases], [[] for _ in cases]
    with tempfile.TemporaryDirectory(prefix="gsub-compile-") as folder:
        source, out = os.path.join(folder, "main.cpp"), os.path.join(folder, "out")
        for _ in range(options.repeats):
            for i, (_, text, flags, link, _, _) in enumerate(cases):
                with open(source, "w") as file:
                    file.write(text)
                command = [options.compiler, *flags_of_all, *flags, *options.flag, "-I", options.include,
                           "-isystem", eigen, source, "-o", out]
                command += [options.library] * (link and bool(flags)) + ["-pthread", "-lfmt"] * link
                command += ["-c"] * (not link)
                user, peak = run(command)
                seconds[i].append(user)
                memory[i].append(peak)
    exceeded = 0
    rows = [("what", "user s", "least", "most", "peak MB", "/ Eigen", "budget", "within")]
    for i, (what, _, _, _, budget, memory_budget) in enumerate(cases):
        median, peak = statistics.median(seconds[i]), statistics.median(memory[i])
        ratio = statistics.median(s / e for s, e in zip(seconds[i], seconds[0]))
        within = (budget is None or ratio <= budget) and (memory_budget is None or peak <= memory_budget)
        exceeded += not within and options.level == "-O0"
        record = {"bench": "compile_time", "what": what, "unit": "s", "median": median, "least": min(seconds[i]),
                  "most": max(seconds[i]), "peak_bytes": peak, "repeats": options.repeats, "ratio": ratio}
        if budget is not None:
            record.update(budget=budget, within=within)
        print(json.dumps(record), flush=True)
        limits = [f"{budget:g}" if budget else "", f"{memory_budget / 1e9:g} GB" if memory_budget else ""]
        rows.append((what, f"{median:.2f}", f"{min(seconds[i]):.2f}", f"{max(seconds[i]):.2f}", f"{peak / 1e6:.0f}",
                     f"{ratio:.1f}", ", ".join(filter(None, limits)), "" if not budget else "yes" if within else "NO"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip(), file=sys.stderr)
    return 1 if exceeded else 0


def run(command):
    """User seconds of the compiler with all that it starts, and the memory of the largest of these processes."""
    # The compiler's children are counted by wait4 of a child that waits for them, hence one Python between.
    helper = ("import os, resource, subprocess, sys\n"
              "code = subprocess.run(sys.argv[1:], env={**os.environ, 'CCACHE_DISABLE': '1'}).returncode\n"
              "usage = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
              "print(code, usage.ru_utime, usage.ru_maxrss * 1024)\n")
    done = subprocess.run([sys.executable, "-c", helper, *command], capture_output=True, text=True)
    fields = done.stdout.split()
    if len(fields) != 3 or fields[0] != "0":
        sys.exit("compilation failed:\n" + done.stderr[-3000:])
    return float(fields[1]), float(fields[2])


if __name__ == "__main__":
    sys.exit(main())
