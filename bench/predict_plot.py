#!/usr/bin/env python3
"""Draws what bench_predict printed: predicted over measured time, a dot a kernel. Usage: predict_plot.py IN.jsonl... OUT.svg"""

import json
import math
import sys
from xml.sax.saxutils import escape

WIDTH, HEIGHT, MARGIN = 780, 560, 80
COLOURS = ["#3b6ea8", "#c0504d", "#5b9a4f", "#8064a2", "#d68a2c", "#4bacc6", "#7f7f7f", "#a8723b"]


def kernels_of(paths):
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                if record.get("bench") == "predict" and "whole" not in record and record["measured"] > 1e-6:
                    yield record["kind"], record["measured"], max(record["predicted"], 1e-7)


def main(paths, out):
    found = list(kernels_of(paths))
    times = [t for _, measured, predicted in found for t in (measured, predicted)]
    low, high = max(math.floor(math.log10(min(times))), -7), math.ceil(math.log10(max(times)))
    weight = {}
    for kind, measured, _ in found:
        weight[kind] = weight.get(kind, 0) + measured
    shown = sorted(weight, key=weight.get, reverse=True)[: len(COLOURS) - 1]
    colour = {kind: COLOURS[i] for i, kind in enumerate(shown)}

    def x(t):
        return MARGIN + (math.log10(t) - low) / (high - low) * (WIDTH - MARGIN - 190)

    def y(t):
        return HEIGHT - MARGIN - (math.log10(t) - low) / (high - low) * (HEIGHT - 2 * MARGIN)

    def unit(power):
        return {-9: "1 ns", -8: "10 ns", -7: "100 ns", -6: "1 us", -5: "10 us", -4: "100 us", -3: "1 ms", -2: "10 ms", -1: "100 ms", 0: "1 s"}[power]

    text = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for power in range(low, high + 1):
        t = 10.0 ** power
        text.append(f'<path d="M{x(t):.1f} {y(10.0 ** low):.1f}V{y(10.0 ** high):.1f}M{x(10.0 ** low):.1f} {y(t):.1f}H{x(10.0 ** high):.1f}" stroke="#ddd"/>')
        text.append(f'<text x="{x(t):.1f}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">{unit(power)}</text>')
        text.append(f'<text x="{MARGIN - 6}" y="{y(t) + 4:.1f}" text-anchor="end">{unit(power)}</text>')
    for factor, dash in ((1, ""), (0.8, ' stroke-dasharray="4 4"'), (1.25, ' stroke-dasharray="4 4"')):
        first, last = 10.0 ** low / min(factor, 1), 10.0 ** high / max(factor, 1)
        text.append(f'<path d="M{x(first):.1f} {y(first * factor):.1f}L{x(last):.1f} {y(last * factor):.1f}" stroke="#888"{dash}/>')
    for kind, measured, predicted in found:
        text.append(f'<circle cx="{x(measured):.1f}" cy="{y(predicted):.1f}" r="2.2" fill="{colour.get(kind, COLOURS[-1])}" fill-opacity="0.5"/>')
    for i, kind in enumerate(shown + ["others"]):
        top = MARGIN + 18 * i
        text.append(f'<circle cx="{WIDTH - 175}" cy="{top}" r="4" fill="{colour.get(kind, COLOURS[-1])}"/>')
        text.append(f'<text x="{WIDTH - 165}" y="{top + 4}">{escape(kind)}</text>')
    text.append(f'<text x="{x(10.0 ** ((low + high) / 2)):.1f}" y="{HEIGHT - 14}" text-anchor="middle">measured</text>')
    text.append(f'<text x="16" y="{HEIGHT / 2}" transform="rotate(-90 16 {HEIGHT / 2})" text-anchor="middle">predicted</text>')
    text.append(f'<text x="{MARGIN}" y="28">{len(found)} kernels; dashed: 0.8 and 1.25 times the clock</text></svg>')
    with open(out, "w", encoding="utf-8") as file:
        file.write("\n".join(text) + "\n")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1:-1], sys.argv[-1])
