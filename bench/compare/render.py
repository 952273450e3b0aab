"""What compare.py shows of its rows: a table for a terminal, a block of Markdown, a drawing. No other package is needed."""

import statistics
from html import escape

import ratios

BEGIN = "<!-- compare: begin, written by bench/compare/compare.py --markdown -->"
END = "<!-- compare: end -->"
NAMES = {"gsub": "gsub", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO",
         "onnxruntime_plain": "ONNX Runtime, optimizations off"}
SHORT = {"gsub": "gsub", "onnxruntime": "ORT", "openvino": "OV", "onnxruntime_plain": "plain"}


def label(row):
    return ", ".join(filter(None, [row["model"], row["variant"]]))


def thread_counts(rows):
    return sorted({row["threads"] for row in rows})


def engines(rows):
    """Those that were measured; all rows of a run have the same."""
    return [e for e in NAMES if e in rows[0]["ms"]]


def plural(count, noun):
    return f"{count} {noun}" + ("" if count == 1 else "s")


def of_kind(rows, threads, kind):
    return [r for r in rows if r["threads"] == threads and r["kind"] == kind]


def mean(rows, threads):
    """Geometric mean over the built-in models; where there are none over files, else over random networks."""
    chosen = next(filter(None, (of_kind(rows, threads, kind) for kind in ("model", "file", "random"))))
    return statistics.geometric_mean(r["ratio"] for r in chosen), len(chosen)


def figure(name, value):
    """A value that stands in other pages as well: scripts/figures.py compares them."""
    return f"<!-- figure:{name} -->{value}<!-- /figure -->"


def random_summary(rows, threads, named=lambda name, value: value):
    """What is said of random networks, or None. `named` marks a figure."""
    chosen = of_kind(rows, threads, "random")
    if not chosen:
        return None
    worst, middle = min(chosen, key=lambda r: r["ratio"]), statistics.geometric_mean(r["ratio"] for r in chosen)
    reference, steps, operators = reference_steps(chosen)
    return (f"{plural(len(chosen), 'random network')}, best peer / gsub: least {worst['ratio']:.2f} ({worst['model']}), "
            f"geometric mean {named('compare_random', f'{middle:.2f}')}; {reference} of {plural(steps, 'step')} on the reference runtime" +
            (f": {operators}" if operators else ""))


def reference_steps(rows):
    """How many steps are on the reference runtime, of how many, and their operators."""
    every, steps = {}, 0
    for row in rows:
        steps += row["steps"]["all"]
        for name, count in row["steps"]["reference"].items():
            every[name] = every.get(name, 0) + count
    return sum(every.values()), steps, ", ".join(f"{count} {name}" for name, count in sorted(every.items()))


def interval(bounds, decimals=2):
    return f"{bounds[0]:.{decimals}f}–{bounds[1]:.{decimals}f}" if bounds else "–"


def scientific(x):
    return "NaN" if x is None else f"{x:.1e}"


def mib(x):
    return str(round(x / 2**20))


def memory_ratio(row):
    ours, theirs = row["memory"]["gsub"], row["memory"].get("onnxruntime", 0)
    return f"{ours / theirs:.2f}" if ours > 0 and theirs > 0 else "–"


def latency_cells(row):
    return [label(row), *(f"{row['ms'][e]:.2f}" for e in engines([row])), f"{row['ratio']:.2f}",
            interval(row.get("interval")), interval((row["least"], row["most"]))]


def fact_cells(row):
    errors = [scientific(row["error"][e][key]) for key in ("max", "mean") for e in engines([row])]
    return [label(row), *errors, *(mib(row["memory"][e]) for e in engines([row])), memory_ratio(row)]


# ---- text


def line(name, cells, widths):
    return f"{name:26}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths))


def table(rows):
    lines, names = [], [SHORT[e] for e in engines(rows)]
    for threads in thread_counts(rows):
        head = [*(f"{name} ms" for name in names), "best/gsub", "95 %", "spread", "reference"]
        widths = (10,) * len(names) + (11, 12, 12, 11)
        lines.append("\n" + line(plural(threads, "thread"), head, widths))
        for row in (r for r in rows if r["threads"] == threads):
            name, *cells = latency_cells(row)
            cells.append(str(reference_steps([row])[0]) if "steps" in row else "–")
            lines.append(line(name, cells, widths))
        lines.append("geometric mean of {1}: {0:.2f}".format(*mean(rows, threads)))
        lines += filter(None, [random_summary(rows, threads)])
    count = len(names)
    lines.append("\n" + line(", ".join(names), ["max error", "mean error", "MiB", "/ORT"],
                             (10 * count, 10 * count, 8 * count, 8)))
    for row in facts(rows):
        name, *cells = fact_cells(row)
        lines.append(line(name, cells, (10,) * 2 * count + (8,) * (count + 1)))
    return "\n".join(lines)


def baseline_table(rows):
    lines, widths = [], (10, 10, 11, 14, 11, 14, 8)
    for threads in thread_counts(rows):
        head = ["gsub ms", "base ms", "base/gsub", "95 %", "gsub/gsub", "95 %", "rounds"]
        lines.append("\n" + line(plural(threads, "thread"), head, widths) + "  verdict")
        chosen = [row for row in rows if row["threads"] == threads]
        for row in chosen:
            cells = [f"{row['ms'][arm]:.2f}" for arm in ("gsub", "baseline")]
            for key in ("", "again_"):
                cells += [f"{row[key + 'ratio']:.3f}", interval(row[key + "interval"], 3)]
            lines.append(line(row["model"], [*cells, str(row["rounds"])], widths) + "  " + ratios.verdict(row))
        mid, least, count = ratios.of_counted(chosen)
        lines.append(f"{count} of {plural(len(chosen), 'row')} counted" +
                     (f": geometric mean {mid:.3f}, least {least:.3f}" if count else ""))
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
            "| versions | " + ", ".join(f"{NAMES[e]} {versions[e.removesuffix('_plain')]}" for e in engines(rows)) + " |",
            f"| kernels compiled by | {machine['compiler']} |",
            f"| rounds | {machine['rounds']}, {machine['seconds']:g} s an engine |"]
    if machine["optimize"]:
        out.append(f"| `gsub optimize` | `{machine['optimize']}` |")
    if machine.get("passes"):
        out.append(f"| `--passes` | `{machine['passes']}` |")
    if machine["winograd"] != "default":
        out.append(f"| `--winograd` | {machine['winograd']} |")
    if plot:
        out += ["", f"![Latency of the better peer divided by gsub's, a bar a model]({plot})"]
    present = engines(rows)
    for threads in thread_counts(rows):
        out += ["", f"Latency with {plural(threads, 'thread')}, in ms:", ""]
        out += ["| model | " + " | ".join(NAMES[e] for e in present) + " | best peer / gsub | interval | spread |",
                "|---" + "|--:" * (len(present) + 3) + "|"]
        out += ["| " + " | ".join(latency_cells(row)) + " |" for row in rows if row["threads"] == threads]
        ratio, count = mean(rows, threads)
        most = threads == thread_counts(rows)[-1]  # what the README tells too
        named = lambda name, value: figure(name, value) if most else value
        out.append(f"| **geometric mean** of {count} |{' |' * len(present)} **{named('compare_networks', f'{ratio:.2f}')}** | | |")
        if summary := random_summary(rows, threads, named):
            out += ["", summary + "."]
    out += ["", "Errors against double precision, and peak memory beyond the weights in MiB:", "",
            "| model | " + " | ".join(f"{what}: {' | '.join(SHORT[e] for e in present)}" for what in ("max", "mean", "memory")) +
            " | gsub / ORT |", "|---" + "|--:" * (3 * len(present) + 1) + "|"]
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
