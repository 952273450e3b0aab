"""Tests of compare.py on rows made by hand; neither gsub nor a peer nor a network is needed."""

import argparse
import contextlib
import io
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import baseline
import compare
import operators
import processes
import ratios
import render

MACHINE = {"bench": "machine", "date": "2026-01-02", "processor": "A <fast> one", "cores": 2, "isa": "avx512", "compiler": "g++ 12",
           "load": 0.25, "rounds": 3, "seconds": 1.5, "optimize": "", "winograd": "default",
           "versions": {"gsub": "abc-dirty", "onnxruntime": "1.2.3", "openvino": "2026.1.0-22345-abc-releases"}}


def row(model, threads, ours, kind="model", variant=""):
    """Peers take 4 and 2 ms, but in the last of three rounds 4 and 3."""
    memory = {"gsub": 50 * 2**20, "onnxruntime": 100 * 2**20, "openvino": -1.0}
    error = {engine: {"max": 1.5e-6, "mean": 5e-7} for engine in ("gsub", "onnxruntime", "openvino")}
    return {"bench": "compare", "model": model, "kind": kind, "variant": variant, "threads": threads, "weights": 2**20,
            "error": error, "memory": memory, "steps": {"all": 10, "reference": {"Split": 2, "Conv": 1}},
            **ratios.of_best_peer([ours] * 3, {"onnxruntime": [4, 4, 4], "openvino": [2, 2, 3]})}


def older(model, theirs, again, rounds=21, same=False, threads=1):
    """gsub takes 1 ms; what the others take is in turns one of two numbers."""
    times = [{"gsub": [1, 1], "baseline": [theirs[i % 2]] * 2, "again": [again[i % 2]] * 2} for i in range(rounds)]
    return {"bench": "baseline", "model": model, "kind": "model", "threads": threads, "attempts": 1, "same": same,
            "steps": {"all": 1, "reference": {}}, **ratios.of_baseline(times)}


ROWS = [row("a", 1, 1), row("a", 1, 2, "variant", "no F4"), row("b<c", 1, 4), row("export", 1, 0.1, "file"),
        row("a", 2, 0.5), row("b<c", 2, 0.5)]
RANDOM = [row("rnd_conv_1_0", 1, 1, "random"), row("rnd_conv_1_2", 1, 4, "random")]
OLDER = [older("better", (1.2, 1.3), (1, 1.01)), older("worse", (0.8, 0.9), (1, 1.01)),
         older("near", (0.99, 1.02), (1, 1.01)), older("noisy", (2, 2), (0.9, 1.1)),
         older("equal", (2, 2), (0.9, 1.1), same=True), older("short", (2, 2), (1, 1), rounds=5)]


class SelfTest(unittest.TestCase):
    def test_ratios_are_of_the_better_peer_in_each_round(self):
        self.assertEqual({key: ROWS[0][key] for key in ("ratio", "least", "most", "rounds")}, {"ratio": 2, "least": 2, "most": 3, "rounds": 3})
        crossing = ratios.of_best_peer([1, 1, 1], {"onnxruntime": [1, 9, 9], "openvino": [9, 2, 3]})
        self.assertEqual((crossing["least"], crossing["ratio"], crossing["most"]), (1, 2, 3))

    def test_the_interval_of_a_median_is_that_of_order_statistics(self):
        # The known ranks: with six values least and most, with 21 the sixth and the sixteenth.
        self.assertIsNone(ratios.interval([]))
        self.assertIsNone(ratios.interval([1] * 5))
        self.assertEqual(ratios.interval([3, 1, 2, 6, 5, 4]), [1, 6])
        self.assertEqual(ratios.interval(range(9, 0, -1)), [2, 8])
        self.assertEqual(ratios.interval(range(1, 22)), [6, 16])
        self.assertEqual(ratios.of_best_peer([1] * 9, {"onnxruntime": [9] * 9, "openvino": range(1, 10)})["interval"], [2, 8])

    def test_a_round_times_every_arm_there_and_back(self):
        calls = []
        times = baseline.one_round(1, lambda arm: calls.append(arm) or len(calls))
        self.assertEqual(calls, ["baseline", "again", "gsub", "gsub", "again", "baseline"])
        self.assertEqual(times, {"baseline": [1, 6], "again": [2, 5], "gsub": [3, 4]})  # an even drift cancels

    def test_a_row_counts_where_gsub_against_itself_is_sure(self):
        self.assertEqual([ratios.verdict(r) for r in OLDER],
                         ["faster", "slower", "no difference", "not counted", "same program", "not counted"])
        mid, least, count = ratios.of_counted(OLDER)
        self.assertEqual((count, least), (4, OLDER[1]["ratio"]))
        self.assertAlmostEqual(mid, math.prod(r["ratio"] for r in OLDER[:3]) ** 0.25)  # an equal program is 1
        self.assertEqual(ratios.of_counted(OLDER[3:4]), (None, None, 0))

    def test_the_table_of_a_baseline_has_intervals_and_verdicts(self):
        lines = render.baseline_table(OLDER + [older("noisy", (2, 2), (0.9, 1.1), threads=2)]).split("\n")
        line = {r["model"]: next(text for text in lines if text.startswith(r["model"])) for r in OLDER}
        self.assertIn("1.200–1.300", line["better"])
        self.assertIn("1.000–1.010", line["better"])
        self.assertTrue(line["better"].endswith("  faster"))
        self.assertTrue(line["noisy"].endswith("  not counted"))
        self.assertIn("–  ", line["short"])
        self.assertIn("4 of 6 rows counted: geometric mean", "\n".join(lines))
        self.assertEqual(lines[-1], "0 of 1 row counted")

    def test_rounds_of_operators_go_there_and_back_and_take_the_fastest_peer(self):
        calls = []
        def arm(name, us):
            return lambda: calls.append(name) or us
        found = operators.rounds_of(argparse.Namespace(rounds=6), arm("gsub", 2.0), {"a": arm("a", 6.0), "b": arm("b", 4.0)})
        self.assertEqual(calls[:12], ["gsub", "a", "b", "b", "a", "gsub", "b", "a", "gsub", "gsub", "a", "b"])
        self.assertEqual((found["ratio"], found["interval"], found["again_interval"]), (2, [2, 2], [1, 1]))
        self.assertTrue(operators.sure(found))

    def test_bars_of_operators_are_of_the_least_and_of_the_median(self):
        with contextlib.redirect_stderr(io.StringIO()):
            for values, met in (([0.8, 1, 2], True), ([0.7, 1, 2], False), ([0.9, 0.9, 2], False)):
                self.assertEqual(operators.verdict("x", dict(enumerate(values)), operators.BARS), met)

    def test_steps_of_the_reference_runtime_are_counted(self):
        steps = [{"kind": kind} for kind in ("conv2d", "reference Split", "reference Split", "reference Conv")]
        self.assertEqual(processes.counted_steps(steps), {"all": 4, "reference": {"Split": 2, "Conv": 1}})

    def test_random_networks_have_a_line_of_their_own(self):
        said = ("2 random networks, best peer / gsub: least 0.50 (rnd_conv_1_2), geometric mean 1.00; 6 of 20 steps on the "
                "reference runtime: 2 Conv, 4 Split")
        self.assertIn(said, render.table(RANDOM))
        self.assertIn(said + ".", render.markdown(MACHINE, ROWS + RANDOM))
        self.assertNotIn("random", render.table(ROWS))
        self.assertEqual(render.mean(ROWS + RANDOM, 1), render.mean(ROWS, 1))
        self.assertEqual(render.mean(RANDOM, 1)[1], 2)

    def test_a_peer_alone_has_the_only_column(self):
        alone = {**row("a", 1, 1), **ratios.of_best_peer([1] * 3, {"onnxruntime_plain": [2, 2, 3]})}
        for key in ("error", "memory"):
            alone[key] = {**alone[key], "onnxruntime_plain": alone[key]["onnxruntime"]}
        self.assertIn("gsub ms  plain ms  best/gsub", render.table([alone]))
        self.assertIn("| model | gsub | ONNX Runtime, optimizations off | best peer / gsub |", render.markdown(MACHINE, [alone]))
        self.assertEqual(compare.arguments().parse_args(["--peers", "onnxruntime_plain"]).peers, "onnxruntime_plain")

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

    def test_stored_lines_of_a_baseline_are_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            stored = pathlib.Path(folder) / "rows.jsonl"
            stored.write_text("\n".join(map(json.dumps, [MACHINE, *OLDER])) + "\n")
            command = [sys.executable, compare.__file__, "--from", stored]
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
            self.assertIn("4 of 6 rows counted", done.stderr)
            self.assertEqual(subprocess.run([*command, "--plot", stored], capture_output=True).returncode, 1)

    def test_lines_stored_without_an_interval_are_shown_too(self):
        old = {key: value for key, value in ROWS[0].items() if key not in ("interval", "steps")}
        self.assertIn("–", render.table([old]))
        self.assertIn("| – |", render.markdown(MACHINE, [old]))

    def test_the_command_line_has_the_models_of_the_goals(self):
        def given(*text):
            return compare.completed(compare.arguments().parse_args(text))
        self.assertEqual(len(given().models.split(",")), 18)
        self.assertEqual((given().threads, given().rounds, given().seconds), ("1,2", 9, 0.8))
        self.assertEqual((given("--baseline", "x").rounds, given("--baseline", "x").seconds), (21, 0.4))
        self.assertEqual((given("--random", "7").models, given("--random", "7").count), ("", 20))
        self.assertEqual(given("--random", "7", "--models", "a").models, "a")
        self.assertEqual(given("--gsub", "/b/bin/gsub").networks, pathlib.Path("/b/bench/bench_networks"))


def run():
    result = unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(SelfTest))
    return 0 if result.wasSuccessful() else 1
