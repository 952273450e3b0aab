#!/usr/bin/env python3
"""The table of the static-analysis paper from the lines of `compare.py --tune`: tuning_table.py COMPARE.jsonl [--price-per-hour X].

A row of each network and way to get it: the better framework, gsub as it is, and gsub with each of the tuners that were
named; its latency, the seconds that tuning took, what these cost at a price, and the latency of the row `static` over
its own: above 1 static tuning is faster. The last lines are geometric means over networks."""
import argparse
import json
import math
import sys


def rows_of(lines, threads):
    """Networks with their rows: name, milliseconds, seconds of tuning or None."""
    networks = {}
    for line in lines:
        row = json.loads(line)
        if row["bench"] != "compare" or (threads and row["threads"] != threads):
            continue
        rows = networks.setdefault(row["model"], [])
        peers = {name: ms for name, ms in row["ms"].items() if name != "gsub"}
        if not row["variant"]:
            best = min(peers, key=peers.get)
            rows.append((f"framework: {best}", peers[best], None))
        rows.append((row["variant"] or "untuned", row["ms"]["gsub"], row.get("tuning", {}).get("seconds")))
    return networks


def table(networks, price):
    out = ["| network | | latency, ms | tuning, s | cost | over `static` |", "|---|---|--:|--:|--:|--:|"]
    ratios = {}
    for network, rows in networks.items():
        static = next((ms for name, ms, _ in rows if name == "static"), None)
        for name, ms, seconds in rows:
            over = ms / static if static else None
            if over:
                ratios.setdefault(name.partition(":")[0], []).append(over)
            out.append(f"| {network} | {name} | {ms:.2f} | {'' if seconds is None else f'{seconds:.1f}'} | "
                       f"{'' if seconds is None else f'{seconds / 3600 * price:.4f}'} | {f'{over:.2f}' if over else ''} |")
    for name, all_of in ratios.items():
        if len(all_of) > 1 and name != "static":
            mean = math.exp(sum(map(math.log, all_of)) / len(all_of))
            out.append(f"| mean | {name} | | | | {mean:.2f} |")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--price-per-hour", type=float, default=1.0)
    parser.add_argument("--threads", type=int, help="rows of so many; without: all")
    options = parser.parse_args()
    with open(options.file, encoding="utf-8") as lines:
        print(table(rows_of(lines, options.threads), options.price_per_hour))
    return 0


if __name__ == "__main__":
    sys.exit(main())
