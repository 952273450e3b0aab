#!/usr/bin/env python3
"""What bench_passes measured as a table in Markdown: passes_table.py [--worth] PASSES.jsonl [PAGE]. With PAGE, a file that
has the lines `<!-- passes: begin` and `<!-- passes: end`, or `worth` for what `bench_passes --worth` measured, it is put
between them."""
import collections
import datetime
import json
import pathlib
import sys

def figures(lines):
    """The machine, and the rows that were measured there."""
    rows = [json.loads(line) for line in lines]
    return next((r["machine"] for r in rows if "machine" in r), ""), [r for r in rows if "what" in r]


def table(lines):
    cells, order, means, shares = collections.defaultdict(dict), {}, {}, {}
    machine, rows = figures(lines)
    for row in rows:
        model, _, variant = row["on"].partition(", ")
        what, median = row["what"], row["median"]
        if what == "geometric mean over models":
            means[row["on"].removesuffix(" / auto")] = median
        elif what == "time of auto over that of tvm_o3":
            shares[model] = median
        else:
            order.setdefault((model, variant))
            name, _, count = what.partition(", ")
            cells[model, variant][name] = row
            if count:
                cells[model, variant]["count"] = count
    out = [f"Measured on {datetime.date.today()} on {machine}. Time over lists in ms, medians; MiB of arena and weights.", "",
           "| model | list | passes | but folding | without effect | nodes | latency | to `auto` | spread | MiB |", "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for model, variant in order:
        c = cells[model, variant]
        idle = c["passes without effect"]
        over = c.get("latency over that of auto")
        out.append("| " + " | ".join([
            pathlib.Path(model).stem, f"`{variant}`", f"{c['passes']['median'] * 1e3:.2f}",
            f"{c['passes without folding']['median'] * 1e3:.2f}",
            f"{c['count']}: {idle['median'] * 1e3:.2f}", f"{c['nodes']['median']:.0f}" if "nodes" in c else "",
            f"{c['latency']['median'] * 1e3:.2f}" if "latency" in c else "", f"{over['median']:.3f}" if over else "",
            ("the same program, " if "the program of auto" in c else "") + f"{over['least']:.2f}–{over['most']:.2f}"
            if over else "",
            f"{c['memory of arena and weights']['median'] / 2**20:.0f}" if "memory of arena and weights" in c else ""]) + " |")
    if shares:
        out += ["", "Time of `auto` over that of `tvm_o3`: " +
                ", ".join(f"{pathlib.Path(m).stem} {s:.3f}" for m, s in shares.items()) + "."]
    if means:
        out += ["Latency over that of `auto`, geometric means over models: " +
                ", ".join(f"`{v}` {m:.3f}" for v, m in means.items()) + "."]
    return "\n".join(out) + "\n"


def worth(lines):
    ratios, programs, models = {}, {}, {}
    machine, rows = figures(lines)
    for row in rows:
        model, _, variant = row["on"].partition(", ")
        model = pathlib.Path(model).stem
        if row["what"].startswith("latency over that of "):
            ratios[model, variant] = row
            models[model] = None
        elif row["what"].startswith("program "):
            programs[model, variant] = row["what"].removeprefix("program ").replace(", the pass", "; it")
    passes = dict.fromkeys(v.removesuffix(" alone") for _, v in ratios if v.endswith(" alone"))
    text = lambda r: f"{r['median']:.3f} ({r['least']:.2f}–{r['most']:.2f})" if r else ""
    out = [f"Measured on {datetime.date.today()} on {machine}. Ratios of latencies, medians and spread of the rounds.", "",
           "| model | pass | alone / `none` | `auto` without / `auto` | `auto` with / `auto` | program |", "|---|---|--:|--:|--:|---|"]
    for model in models:
        for p in passes:
            without, added = f"auto without {p}", f"auto with {p}"
            program = programs.get((model, without)) or programs.get((model, added), "")
            out.append(f"| {model} | `{p}` | " + " | ".join(
                text(ratios.get((model, v))) for v in (f"{p} alone", without, added)) + f" | {program} |")
        swapped = ratios.get((model, "auto, fuse-ops first"))
        out.append(f"| {model} | `fuse-ops` before `alter-op-layout` |  |  | {text(swapped)} | "
                   f"{programs.get((model, 'auto, fuse-ops first'), '')} |")
    return "\n".join(out) + "\n"


def main(*arguments):
    name, make = ("worth", worth) if arguments[0] == "--worth" else ("passes", table)
    measured, *page = arguments[name == "worth":]
    made = make(l for l in pathlib.Path(measured).read_text().splitlines() if l.startswith("{"))
    if not page:
        return print(made, end="")
    text = pathlib.Path(page[0]).read_text()
    begin = text.index("\n", text.index(f"<!-- {name}: begin")) + 1
    pathlib.Path(page[0]).write_text(text[:begin] + "\n" + made + "\n" + text[text.index(f"<!-- {name}: end -->"):])


main(*sys.argv[1:])
