#!/usr/bin/env python3
"""Measured figures in the pages: each stands once or several times between marks that name it, in README.md and docs/*.md:

    <!-- figure:NAME -->33.1 us<!-- /figure -->

figures.py --check               marks are well-formed, and a figure has one value in all pages
figures.py --write FILE...       figures of these files go into the pages; others stay as they are
figures.py --from PAGE           what a page says goes into the others: for pages that a bench writes itself
figures.py --names               every figure with its value and its pages
figures.py json NAME FILE PATH [SCALE [DECIMALS [UNIT]]]     prints a figure from a file of JSON, e.g. cost_after.value
figures.py objectives NAME FILE                              the same, the table of `gsub optimize --objectives --json`
figures.py builds NAME FILE                                  the same, compile times of `bench_passes --cold`
figures.py --self-test

A line of FILE is `figure NAME VALUE`, or an object of JSON `{"figure": NAME, "value": VALUE}`; other lines are passed over.
A value with several lines stands on lines of its own, between empty ones."""
import json
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
MARK = re.compile(r"<!-- figure:([a-z0-9_.]+) -->(.*?)<!-- /figure -->", re.S)
ANY = re.compile(r"<!--\s*/?figure\b.*?-->", re.S)
NAME = re.compile(r"[a-z0-9_.]+")


def pages(root):
    return [root / "README.md", *sorted((root / "docs").glob("*.md"))]


def figures_in(text):
    """All figures of a page: (name, value), in order."""
    return [(m.group(1), m.group(2).strip()) for m in MARK.finditer(text)]


def faults_of_marks(name, text):
    """Marks that are no pair, one inside of the other, or misspelt."""
    rest = text
    for found in MARK.finditer(text):
        if ANY.search(found.group(2)):
            yield f"{name}: figure {found.group(1)} is not closed before the next mark"
        if not found.group(2).strip():
            yield f"{name}: figure {found.group(1)} has no value"
        alone = "\n" in found.group(2)
        if not alone and text[:found.start()].endswith("\n"):
            yield f"{name}: figure {found.group(1)} begins a line, where Markdown takes its mark for a block of HTML"
    for mark in ANY.findall(MARK.sub("", rest)):
        line = text[:text.index(mark)].count("\n") + 1
        yield f"{name}:{line}: {mark} is no mark of a pair"


def check(texts):
    """Faults of pages, a text by name."""
    seen = {}
    for name, text in texts.items():
        yield from faults_of_marks(name, text)
        for figure, value in figures_in(text):
            seen.setdefault(figure, {}).setdefault(value, []).append(name)
    for figure, values in seen.items():
        if len(values) > 1:
            said = "; ".join(f"{value!r} in {', '.join(dict.fromkeys(where))}" for value, where in values.items())
            yield f"figure {figure} has {len(values)} values: {said}"


def with_values(text, values):
    """The page with these figures in their places."""
    def put(found):
        name = found.group(1)
        if name not in values:
            return found.group(0)
        value = str(values[name]).strip()
        value = f"\n\n{value}\n\n" if "\n" in value else value
        return f"<!-- figure:{name} -->{value}<!-- /figure -->"
    return MARK.sub(put, text)


def read_figures(lines):
    """Figures among lines that a bench has printed; the last of a name counts."""
    values = {}
    for line in lines:
        if line.startswith("figure "):
            name, _, value = line[len("figure "):].strip().partition(" ")
        elif line.startswith("{") and '"figure"' in line:
            row = json.loads(line)
            name, value = row["figure"], str(row["value"])
        else:
            continue
        if not NAME.fullmatch(name) or not value.strip() or "<!--" in value:
            raise SystemExit(f"this is no figure: {line.strip()}")
        values[name] = value.strip()
    return values


def write(root, values):
    placed = set()
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        placed |= {name for name, _ in figures_in(text)} & set(values)
        made = with_values(text, values)
        if made != text:
            page.write_text(made, encoding="utf-8")
            print(f"{page.relative_to(root)}: written")
    for name in sorted(set(values) - placed):
        print(f"figure {name} stands in no page: {values[name]}")
    return 0


def of_json(name, file, path, scale="1", decimals="", unit=""):
    value = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value *= float(scale) if "." in scale or "e" in scale else int(scale)
        value = f"{value:.{decimals}f}" if decimals else f"{value}"
    return f"figure {name} {value}" + (f" {unit}" if unit else "")


def of_objectives(name, file):
    """The table in Markdown: a row for each objective."""
    rows = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["objectives"]
    lines = ["| objective | rewrites | MFLOP | MB moved | operators | kernels | roofline, us | predicted, us | peak memory, kB |",
             "|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for row in rows:
        cells = [row["objective"], row["rewrites"], f"{row['flop'] / 1e6:.1f}", f"{row['bytes_moved'] / 1e6:.2f}", row["operators"],
                 row["kernels"], f"{row['roofline_s'] * 1e6:.1f}", f"{row['predicted_s'] * 1e6:.1f}", f"{row['peak_bytes'] / 1e3:.0f}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return json.dumps({"figure": name, "value": "\n".join(lines)})


def of_builds(name, file):
    """Passes and builds of each list, in Markdown; the last column beside `tvm_o3`."""
    rows = [json.loads(line) for line in pathlib.Path(file).read_text(encoding="utf-8").splitlines() if line.startswith("{")]
    times = {}
    for row in rows:
        if row.get("what") in ("passes", "build"):
            times.setdefault(tuple(row["on"].split(", ")), {})[row["what"]] = row["median"]
    lines = ["| network | list | passes, ms | build, s | both, to `tvm_o3` |", "|---|---|--:|--:|--:|"]
    for (model, passes), found in times.items():
        if "build" not in found or passes == "auto again":
            continue
        base = times.get((model, "tvm_o3"))
        ratio = f"{(found['passes'] + found['build']) / (base['passes'] + base['build']):.2f}" if base else ""
        lines.append(f"| {pathlib.Path(model).stem} | `{passes}` | {found['passes'] * 1e3:.2f} | {found['build']:.2f} | {ratio} |")
    return json.dumps({"figure": name, "value": "\n".join(lines)})


class SelfTest(unittest.TestCase):
    def test_figures_are_put_into_their_places_and_others_stay(self):
        page = "a <!-- figure:x -->1 us<!-- /figure --> and <!-- figure:y -->2<!-- /figure -->.\n"
        self.assertEqual(with_values(page, {"x": "3 us"}), page.replace("1 us", "3 us"))
        table = with_values(page, {"y": "| a |\n|---|"})
        self.assertIn("-->\n\n| a |\n|---|\n\n<!--", table)
        self.assertEqual(dict(figures_in(table))["y"], "| a |\n|---|")
        self.assertEqual(with_values(table, {"y": "| a |\n|---|"}), table)

    def test_one_figure_has_one_value(self):
        page = "<!-- figure:x -->{}<!-- /figure -->"
        self.assertEqual(list(check({"a": page.format(1), "b": page.format(1)})), [])
        faults = list(check({"a": page.format(1), "b": page.format(2)}))
        self.assertEqual(len(faults), 1)
        self.assertIn("figure x has 2 values", faults[0])

    def test_broken_marks_are_told(self):
        for text in ("<!-- figure:x -->1", "1<!-- /figure -->", "<!-- figure:X -->1<!-- /figure -->",
                     "<!-- figure:x --><!-- /figure -->", "<!-- figure:x -->1 <!-- figure:y -->2<!-- /figure -->"):
            self.assertTrue(list(check({"a": text})), text)

    def test_lines_of_benches_are_read(self):
        lines = ["figure a 1.5 us", '{"figure": "b", "value": "x\\ny"}', '{"bench": "search"}', "noise", "figure a 2 us"]
        self.assertEqual(read_figures(lines), {"a": "2 us", "b": "x\ny"})
        for bad in ("figure A 1", "figure a", "figure a <!-- /figure -->"):
            self.assertRaises(SystemExit, read_figures, [bad])


def main(arguments):
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command == "--check" and not rest:
        texts = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in pages(ROOT)}
        faults = list(check(texts))
        print("\n".join([*faults, f"{len(faults)} faults in {sum(len(figures_in(t)) for t in texts.values())} places"]))
        return 1 if faults else 0
    if command == "--write" and rest:
        return write(ROOT, read_figures(line for file in rest for line in pathlib.Path(file).read_text(encoding="utf-8").splitlines()))
    if command == "--from" and len(rest) == 1:
        return write(ROOT, dict(figures_in(pathlib.Path(rest[0]).read_text(encoding="utf-8"))))
    if command == "--names" and not rest:
        for page in pages(ROOT):
            for name, value in figures_in(page.read_text(encoding="utf-8")):
                print(f"{page.relative_to(ROOT)}: {name}: {value.splitlines()[0]}")
        return 0
    if command == "json" and 3 <= len(rest) <= 6:
        print(of_json(*rest))
        return 0
    if command == "objectives" and len(rest) == 2:
        print(of_objectives(*rest))
        return 0
    if command == "builds" and len(rest) == 2:
        print(of_builds(*rest))
        return 0
    if command == "--self-test":
        return 0 if unittest.main(argv=["figures.py"], exit=False).result.wasSuccessful() else 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
