"""What compare.py shows of its rows: a table for a terminal, a block of Markdown, a drawing. No other package is needed."""

import statistics
from html import escape

BEGIN = "<!-- compare: begin, written by bench/compare/compare.py --markdown -->"
END = "<!-- compare: end -->"
NAMES = {"gsub": "gsub", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}


def label(row):
    return ", ".join(filter(None, [row["model"], row["variant"]]))


def thread_counts(rows):
    return sorted({row["threads"] for row in rows})


def plural(count, noun):
    return f"{count} {noun}" + ("" if count == 1 else "s")


def mean(rows, threads):
    """Geometric mean over the built-in models; over files where there are no others."""
    chosen = [r for r in rows if r["threads"] == threads and r["kind"] == "model"]
    chosen = chosen or [r for r in rows if r["threads"] == threads and r["kind"] == "file"]
    return statistics.geometric_mean(r["ratio"] for r in chosen), len(chosen)


def scientific(x):
    return "NaN" if x is None else f"{x:.1e}"


def mib(x):
    return str(round(x / 2**20))


def memory_ratio(row):
    ours, theirs = row["memory"]["gsub"], row["memory"]["onnxruntime"]
    return f"{ours / theirs:.2f}" if ours > 0 and theirs > 0 else "–"


def latency_cells(row):
    return [label(row), *(f"{row['ms'][e]:.2f}" for e in NAMES), f"{row['ratio']:.2f}", f"{row['least']:.2f}–{row['most']:.2f}"]


def fact_cells(row):
    errors = [scientific(row["error"][e][key]) for key in ("max", "mean") for e in NAMES]
    return [label(row), *errors, *(mib(row["memory"][e]) for e in NAMES), memory_ratio(row)]


# ---- text


def table(rows):
    lines = []
    for threads in thread_counts(rows):
        lines.append(f"\n{plural(threads, 'thread'):26}{'gsub ms':>10}{'ORT ms':>10}{'OV ms':>10}{'best/gsub':>11}{'spread':>12}")
        for row in (r for r in rows if r["threads"] == threads):
            name, *cells = latency_cells(row)
            lines.append(f"{name:26}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, (10, 10, 10, 11, 12))))
        lines.append("geometric mean of {1}: {0:.2f}".format(*mean(rows, threads)))
    lines.append(f"\n{'':26}{'max error: gsub, ORT, OV':>30}{'mean error: gsub, ORT, OV':>30}{'MiB: gsub, ORT, OV':>24}{'/ORT':>8}")
    for row in facts(rows):
        name, *cells = fact_cells(row)
        lines.append(f"{name:26}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, (10,) * 6 + (8,) * 4)))
    return "\n".join(lines)


def facts(rows):
    """Errors and memory are those of a model and variant, whatever the threads."""
    return list({label(row): row for row in rows}.values())


# ---- Markdown


def markdown(machine, rows, plot=None):
    versions = {**machine["versions"], "openvino": machine["versions"]["openvino"].partition("-")[0]}  # without the build
    out = [BEGIN, "", f"Measured on {machine['date']}:", ""]
    out += ["| | |", "|---|---|",
            f"| machine | {machine['processor']}, {plural(machine['cores'], 'core')}, {machine['isa']}; load before: {machine['load']:.1f} |",
            "| versions | " + ", ".join(f"{name} {versions[e]}" for e, name in NAMES.items()) + " |",
            f"| kernels compiled by | {machine['compiler']} |",
            f"| rounds | {machine['rounds']}, {machine['seconds']:g} s an engine |"]
    if machine["optimize"]:
        out.append(f"| `gsub optimize` | `{machine['optimize']}` |")
    if machine["winograd"] != "default":
        out.append(f"| `--winograd` | {machine['winograd']} |")
    if plot:
        out += ["", f"![Latency of the better peer divided by gsub's, a bar a model]({plot})"]
    for threads in thread_counts(rows):
        out += ["", f"Latency with {plural(threads, 'thread')}, in ms:", ""]
        out += ["| model | gsub | ONNX Runtime | OpenVINO | best peer / gsub | spread |", "|---|--:|--:|--:|--:|--:|"]
        out += ["| " + " | ".join(latency_cells(row)) + " |" for row in rows if row["threads"] == threads]
        ratio, count = mean(rows, threads)
        out.append(f"| **geometric mean** of {count} | | | | **{ratio:.2f}** | |")
    out += ["", "Errors against double precision, and peak memory beyond the weights in MiB:", "",
            "| model | max: gsub | ORT | OV | mean: gsub | ORT | OV | memory: gsub | ORT | OV | gsub / ORT |",
            "|---" + "|--:" * 10 + "|"]
    out += ["| " + " | ".join(fact_cells(row)) + " |" for row in facts(rows)]
    return "\n".join([*out, "", END])


def between_markers(page, block):
    """The page with everything from the first mark to the second replaced."""
    begin, end = page.find(BEGIN), page.find(END)
    if not 0 <= begin < end:
        raise SystemExit(f"the page needs a line {BEGIN} and then a line {END}")
    return page[:begin] + block + page[end + len(END):]


# ---- SVG

STYLE = """
.page { fill: #ffffff } .text { fill: #1f2328 } .soft { fill: #59636e } .grid { stroke: #d1d9e0 } .one { stroke: #1f2328 }
.bar0 { fill: #8bb8e8 } .bar1 { fill: #2f6fb5 } .bar2 { fill: #17406e } .spread { stroke: #1f2328 }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 } .text { fill: #e6edf3 } .soft { fill: #9198a1 } .grid { stroke: #30363d } .one { stroke: #e6edf3 }
.bar0 { fill: #2c5d92 } .bar1 { fill: #5fa3e6 } .bar2 { fill: #b4d6f7 } .spread { stroke: #e6edf3 }
}
text { font: 13px system-ui, sans-serif } .title { font-size: 15px; font-weight: 600 } .small { font-size: 11px }
"""


def svg(machine, rows):
    """A group of bars a model, one bar a number of threads: the ratio, its spread as a line, the mark at 1."""
    counts = thread_counts(rows)
    groups = {}
    for row in rows:
        groups.setdefault(label(row), {})[row["threads"]] = (row["ratio"], row["least"], row["most"])
    groups["geometric mean"] = {t: (mean(rows, t)[0],) * 3 for t in counts}

    bar, gap, left, right, top = 14, 12, 190, 60, 74
    width, step = 780, len(counts) * bar + gap
    height = top + len(groups) * step + 46
    bottom = top + len(groups) * step
    most = max(1.0, *(value[2] for group in groups.values() for value in group.values()))
    tick = next(s for s in (0.25, 0.5, 1, 2, 5, 10, 20, 50, 1e9) if most / s <= 8)
    scale = (width - left - right) / most
    x = lambda value: left + value * scale

    def text(at, y, content, classes="text", anchor="start"):
        return f'<text x="{at:.1f}" y="{y:.1f}" class="{classes}" text-anchor="{anchor}">{escape(content)}</text>'

    def line(x1, y1, x2, y2, classes):
        return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{classes}"/>'

    title = "How many times as fast as the better of ONNX Runtime and OpenVINO"
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
           f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>",
           f'<rect width="{width}" height="{height}" class="page"/>', text(20, 28, title, "text title")]
    at = left
    for i, threads in enumerate(counts):
        out.append(f'<rect x="{at}" y="44" width="12" height="12" class="bar{i % 3}"/>')
        out.append(text(at + 18, 54, plural(threads, "thread")))
        at += 100
    out.append(text(at, 54, "line: least to most of all rounds", "soft small"))
    for i in range(int(most / tick) + 1):
        out.append(line(x(i * tick), top - 6, x(i * tick), bottom, "grid"))
        out.append(text(x(i * tick), bottom + 16, f"{i * tick:g}", "soft small", "middle"))
    y = top
    for name, group in groups.items():
        out.append(text(left - 10, y + len(counts) * bar / 2 + 4, name, "text", "end"))
        for i, threads in enumerate(counts):
            if threads in group:
                ratio, least, highest = group[threads]
                middle = y + i * bar + bar / 2
                out.append(f'<rect x="{left}" y="{y + i * bar + 1}" width="{ratio * scale:.1f}" height="{bar - 2}" class="bar{i % 3}"/>')
                if highest > least:
                    out.append(line(x(least), middle, x(highest), middle, "spread"))
                out.append(text(width - 20, middle + 4, f"{ratio:.2f}", "text small", "end"))
        y += step
    out.append(line(x(1), top - 6, x(1), bottom, "one"))
    note = f"{machine['date']}, {machine['processor']}, {machine['isa']}, batch 1, f32; above 1 gsub is faster"
    out.append(text(20, height - 10, note, "soft small"))
    return "\n".join([*out, "</svg>", ""])
