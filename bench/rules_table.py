#!/usr/bin/env python3
"""What bench_rules measured as a page in Markdown: rules_table.py RULES.jsonl [PAGE]. With PAGE, a file that has the lines
`<!-- rules: begin` and `<!-- rules: end -->`, it is put between them."""
import datetime
import json
import pathlib
import sys


def ratio(row):
    if row["same_graph"]:
        return "the same graph"
    beyond = row["low"] > 1 or row["high"] < 1
    text = f"{row['ratio']:.3f} ({row['low']:.3f}–{row['high']:.3f})"
    return f"**{text}**" if beyond else text


def page(lines):
    rows = [json.loads(line) for line in lines]
    machine = next(r for r in rows if "machine" in r)
    found = [r for r in rows if "costs" in r]
    worth = [r for r in rows if "without" in r]
    out = [f"Measured on {datetime.date.today()} on {machine['machine']}, {machine['threads']} threads: medians in turns, with "
           "95 % intervals; bold where 1 lies outside.", "",
           "| network | costs | found / as it came | rules on the way |", "|---|---|--:|---|"]
    for r in found:
        rules = ", ".join(f"{times} `{rule}`" for rule, times in r["rules"].items()) or "none"
        out.append(f"| {r['network']} | {r['costs']} | {ratio(r)} | {rules} |")
    out += ["", "Under predicted kernels, without one rule: the graph found then beside the one with it. Above 1 the rule buys "
            "that much; where the graph is the same, others get there too.", "",
            "| network | rule | times | without / with |", "|---|---|--:|--:|"]
    for r in worth:
        out.append(f"| {r['network']} | `{r['without']}` | {r['times']} | {ratio(r)} |")
    return "\n".join(out) + "\n"


def main(measured, *target):
    made = page(l for l in pathlib.Path(measured).read_text().splitlines() if l.startswith("{"))
    if not target:
        return print(made, end="")
    text = pathlib.Path(target[0]).read_text()
    begin = text.index("\n", text.index("<!-- rules: begin")) + 1
    pathlib.Path(target[0]).write_text(text[:begin] + "\n" + made + "\n" + text[text.index("<!-- rules: end -->"):])


main(*sys.argv[1:])
