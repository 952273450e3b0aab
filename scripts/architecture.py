#!/usr/bin/env python3
"""Draws docs/architecture.svg from docs/architecture.txt: the way of a model through the stages, row by row.

Usage: architecture.py SOURCE [--check PICTURE]
Prints the picture; with --check it compares instead, and exits with 1 where the picture is out of date.
"""
import html
import sys

BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y, MARGIN, TOP = 128, 46, 82, 116, 16, 64


def parse(text):
    """Rows of stages (name, value, layer), what feeds them, and the line below all."""
    rows, feeds, below = [[]], [], ""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line == "-":
            rows.append([])
        elif line.startswith("feeds "):
            what, _, stage = line[6:].partition(" -> ")
            feeds.append((what, stage))
        elif line.startswith("checks "):
            below = line[7:]
        elif line.count(" | ") == 2:
            rows[-1].append(tuple(line.split(" | ")))
        else:
            sys.exit(f"line {number}: no stage, no feed and no check: {line}")
    known = {name for row in rows for name, _, _ in row}
    for what, stage in feeds:
        if stage not in known:
            sys.exit(f"{what} feeds {stage}, which is no stage")
    return rows, feeds, below


def text(x, y, words, size=12, anchor="middle", weight="normal", fill="#222"):
    return (f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" fill="{fill}">'
            f"{html.escape(words)}</text>")


def arrow(points, color="#555", dashed=False):
    path = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return f'<path d="{path}" fill="none" stroke="{color}" stroke-width="1.4"{dash} marker-end="url(#head)"/>'


def draw(rows, feeds, below):
    columns = max(len(row) for row in rows)
    width = 2 * MARGIN + columns * BOX_WIDTH + (columns - 1) * GAP_X + 40
    height = TOP + len(rows) * BOX_HEIGHT + (len(rows) - 1) * GAP_Y + 80
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
           "<title>The way of a model through gsub</title>",
           '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
           'orient="auto"><path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>',
           f'<rect width="{width}" height="{height}" fill="#fff"/>']
    place = {}
    for r, row in enumerate(rows):
        for c, (name, _, _) in enumerate(row):
            column = c if r % 2 == 0 else columns - 1 - c
            place[name] = (MARGIN + column * (BOX_WIDTH + GAP_X), TOP + r * (BOX_HEIGHT + GAP_Y))
    way = [stage for row in rows for stage in row]
    for (name, value, _), (following, _, _) in zip(way, way[1:]):
        (x, y), (nx, ny) = place[name], place[following]
        if y == ny:
            right = nx > x
            begin, end = (x + BOX_WIDTH, nx) if right else (x, nx + BOX_WIDTH)
            out.append(arrow([(begin, y + BOX_HEIGHT / 2), (end, y + BOX_HEIGHT / 2)]))
            for i, part in enumerate(value.split(": ")):
                out.append(text((begin + end) / 2, y + BOX_HEIGHT / 2 - 6 + 20 * i, part, 10))
        else:  # round the corner, beside the feeds
            middle = x + BOX_WIDTH - 18
            out.append(arrow([(middle, y + BOX_HEIGHT), (middle, ny)]))
            out.append(text(middle - 6, y + BOX_HEIGHT + 20, value, 10, "end"))
    last, (x, y) = way[-1], place[way[-1][0]]
    side = 1 if (len(rows) - 1) % 2 == 0 else -1
    begin = x + (BOX_WIDTH if side > 0 else 0)
    out.append(arrow([(begin, y + BOX_HEIGHT / 2), (begin + side * 60, y + BOX_HEIGHT / 2)]))
    out.append(text(begin + side * 64, y + BOX_HEIGHT / 2 + 4, last[1], 12, "start" if side > 0 else "end", "bold"))
    count = {}
    for what, stage in feeds:
        x, y = place[stage]
        i = count[stage] = count.get(stage, 0) + 1
        at = x + 22 + 50 * (i - 1)
        out.append(arrow([(at, y - 14), (at, y - 1)], dashed=True))
        out.append(text(x + 4, y - 18 - 13 * (i - 1), what, 10.5, "start", fill="#06c"))
    for name, _, layer in way:
        x, y = place[name]
        out.append(f'<rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" fill="#eef4fb" '
                   'stroke="#345"/>')
        out.append(text(x + BOX_WIDTH / 2, y + 20, name, 13, weight="bold"))
        out.append(text(x + BOX_WIDTH / 2, y + 37, layer, 10, fill="#567"))
    words, line, y = below.split(), "", height - 34
    for word in [*words, None]:
        if word is None or len(line) + len(word) > 110:
            out.append(text(MARGIN, y, line.strip(), 11, "start", fill="#444"))
            line, y = "", y + 16
        if word is not None:
            line += " " + word
    return "\n".join([*out, "</svg>"]) + "\n"


def main(arguments):
    if len(arguments) not in (1, 3) or (len(arguments) == 3 and arguments[1] != "--check"):
        print(__doc__)
        return 2
    with open(arguments[0], encoding="utf-8") as f:
        picture = draw(*parse(f.read()))
    if len(arguments) == 1:
        sys.stdout.write(picture)
        return 0
    with open(arguments[2], encoding="utf-8") as f:
        if f.read() == picture:
            return 0
    print(f"{arguments[2]} is out of date: scripts/architecture.py {arguments[0]} > {arguments[2]}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
