#!/usr/bin/env python3
"""What bench_passes measured as a table in Markdown: passes_table.py PASSES.jsonl [PAGE]. With PAGE, a file that has the
lines `<!-- passes: begin` and `<!-- passes: end`, it is put between them."""
import collections
import datetime
import json
import pathlib
import sys

BEGIN, END = "<!-- passes: begin", "<!-- passes: end -->"


def table(lines):
    cells, order, means, shares, machine = collections.defaultdict(dict), {}, {}, {}, ""
    for line in lines:
        row = json.loads(line)
        machine = row.get("machine", machine)
        if "what" not in row:
            continue
        model, _, variant = row["on"].partition(", ")
        what, median = row["what"], row["median"]
        if what == "geometric mean over models":
            means[row["on"].split(" / ")[0]] = median
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
            f"{over['least']:.2f}–{over['most']:.2f}" if over else "",
            f"{c['memory of arena and weights']['median'] / 2**20:.0f}" if "memory of arena and weights" in c else ""]) + " |")
    if shares:
        out += ["", "Time of `auto` over that of `tvm_o3`: " +
                ", ".join(f"{pathlib.Path(m).stem} {s:.3f}" for m, s in shares.items()) + "."]
    if means:
        out += ["Latency over that of `auto`, geometric means over models: " +
                ", ".join(f"`{v}` {m:.3f}" for v, m in means.items()) + "."]
    return "\n".join(out) + "\n"


def main(measured, page=None):
    made = table(l for l in pathlib.Path(measured).read_text().splitlines() if l.startswith("{"))
    if not page:
        return print(made, end="")
    text = pathlib.Path(page).read_text()
    begin = text.index("\n", text.index(BEGIN)) + 1
    pathlib.Path(page).write_text(text[:begin] + "\n" + made + "\n" + text[text.index(END):])


main(*sys.argv[1:])
