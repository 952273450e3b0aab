"""Tests of compare.py on rows made by hand; neither gsub nor a peer nor a network is needed."""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import compare
import render

MACHINE = {"bench": "machine", "date": "2026-01-02", "processor": "A <fast> one", "cores": 2, "isa": "avx512", "compiler": "g++ 12",
           "load": 0.25, "rounds": 3, "seconds": 1.5, "optimize": "", "winograd": "default",
           "versions": {"gsub": "abc-dirty", "onnxruntime": "1.2.3", "openvino": "2026.1.0-22345-abc-releases"}}


def row(model, threads, ours, kind="model", variant=""):
    """Peers take 4 and 2 ms, but in the last of three rounds 4 and 3."""
    memory = {"gsub": 50 * 2**20, "onnxruntime": 100 * 2**20, "openvino": -1.0}
    error = {engine: {"max": 1.5e-6, "mean": 5e-7} for engine in render.NAMES}
    return {"bench": "compare", "model": model, "kind": kind, "variant": variant, "threads": threads, "weights": 2**20,
            "error": error, "memory": memory, **compare.ratios([ours] * 3, {"onnxruntime": [4, 4, 4], "openvino": [2, 2, 3]})}


ROWS = [row("a", 1, 1), row("a", 1, 2, "variant", "no F4"), row("b<c", 1, 4), row("export", 1, 0.1, "file"),
        row("a", 2, 0.5), row("b<c", 2, 0.5)]


class SelfTest(unittest.TestCase):
    def test_ratios_are_of_the_better_peer_in_each_round(self):
        self.assertEqual({key: ROWS[0][key] for key in ("ratio", "least", "most", "rounds")}, {"ratio": 2, "least": 2, "most": 3, "rounds": 3})
        crossing = compare.ratios([1, 1, 1], {"onnxruntime": [1, 9, 9], "openvino": [9, 2, 3]})
        self.assertEqual((crossing["least"], crossing["ratio"], crossing["most"]), (1, 2, 3))

    def test_the_mean_is_over_built_in_models_alone(self):
        self.assertEqual(render.mean(ROWS, 1)[1], 2)
        self.assertAlmostEqual(render.mean(ROWS, 1)[0], math.sqrt(2 * 0.5))
        self.assertAlmostEqual(render.mean([row("export", 1, 0.5, "file")], 1)[0], 4)

    def test_the_table_has_a_line_a_row_and_a_mean_a_number_of_threads(self):
        lines = render.table(ROWS).split("\n")
        self.assertEqual(sum(line.startswith("geometric mean") for line in lines), 2)
        for r in ROWS:
            self.assertTrue(any(line.startswith(render.label(r)) and f"{r['ratio']:.2f}" in line for line in lines))

    def test_every_line_of_a_markdown_table_has_as_many_cells(self):
        block = render.markdown(MACHINE, ROWS, "plot.svg")
        for part in block.split("\n\n"):
            if part.startswith("|"):
                self.assertEqual(len({line.count("|") for line in part.split("\n")}), 1, part)
        self.assertIn("(plot.svg)", block)
        self.assertIn("OpenVINO 2026.1.0 |", block)
        self.assertIn("a, no F4", block)
        self.assertIn("| 50 | 100 | 0 | 0.50 |", block)

    def test_what_is_no_number_is_told(self):
        self.assertEqual(render.scientific(None), "NaN")
        self.assertEqual(render.memory_ratio({"memory": {"gsub": 1, "onnxruntime": -1}}), "–")

    def test_a_page_keeps_what_is_outside_of_the_marks(self):
        page = f"before\n{render.BEGIN}\nold\n{render.END}\nafter\n"
        once = render.between_markers(page, render.markdown(MACHINE, ROWS))
        self.assertTrue(once.startswith("before\n") and once.endswith("\nafter\n"))
        self.assertNotIn("old", once)
        self.assertEqual(render.between_markers(once, render.markdown(MACHINE, ROWS)), once)
        with self.assertRaises(SystemExit):
            render.between_markers("no marks", "block")

    def test_the_drawing_is_well_formed_and_has_a_bar_a_ratio(self):
        root = xml.etree.ElementTree.fromstring(render.svg(MACHINE, ROWS))
        shapes = [e for e in root.iter() if e.get("class", "").startswith("bar") and e.get("x") and float(e.get("y")) > 60]
        self.assertEqual(len(shapes), len(ROWS) + 2)
        width = float(root.get("width"))
        for e in root.iter():
            for key in ("x", "x1", "x2"):
                self.assertTrue(0 <= float(e.get(key, 0)) <= width)
        self.assertIn("b<c", [e.text for e in root.iter()])

    def test_a_dark_page_has_a_colour_for_every_class_of_a_light_one(self):
        light, dark = render.STYLE.split("@media")
        for name in ("page", "text", "soft", "grid", "one", "bar0", "bar1", "bar2", "spread"):
            self.assertIn(f".{name} {{", light)
            self.assertIn(f".{name} {{", dark)

    def test_stored_lines_are_shown_without_measuring(self):
        with tempfile.TemporaryDirectory() as folder:
            at = pathlib.Path(folder)
            (at / "rows.jsonl").write_text("\n".join(map(json.dumps, [MACHINE, *ROWS])) + "\n")
            (at / "page.md").write_text(f"{render.BEGIN}\n{render.END}\n")
            done = subprocess.run([sys.executable, compare.__file__, "--from", at / "rows.jsonl", "--plot", at / "plot.svg",
                                   "--markdown", at / "page.md"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, "")
            self.assertEqual((at / "plot.svg").read_text(), render.svg(MACHINE, ROWS))
            self.assertIn("(plot.svg)", (at / "page.md").read_text())

    def test_the_command_line_has_the_models_of_the_goals(self):
        options = compare.arguments().parse_args([])
        self.assertEqual(len(options.models.split(",")), 8)
        self.assertEqual((options.threads, options.rounds), ("1,2", 5))


def run():
    result = unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(SelfTest))
    return 0 if result.wasSuccessful() else 1
