"""The command line as its users meet it: cli.py GSUB. Exit codes, what goes where, keys of the JSON, files written."""
import array
import json
import os
import pathlib
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

os.environ["GSUB_CHECK_STAGES"] = "1"  # graphs are verified between stages, as in the other tests

GSUB = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCES = pathlib.Path(__file__).resolve().parents[2]
DIGITS = SOURCES / "examples/digits"


def field(number, value):
    """A protobuf field: an integer as varint, anything else as bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def model(*nodes):
    """An ONNX model of f32[4] `x` to `y`; nodes are (op type, name, inputs, outputs)."""
    shape = field(2, field(1, field(1, 4)))
    kind = field(1, field(1, 1) + shape)
    graph = b"".join(
        field(1, b"".join(field(1, i) for i in ins) + b"".join(field(2, o) for o in outs) + field(3, name) + field(4, op))
        for op, name, ins, outs in nodes)
    graph += field(2, "g") + field(11, field(1, "x") + field(2, kind)) + field(12, field(1, "y") + field(2, kind))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


def declared(name, element, *sizes):
    """A value of a graph: sizes are numbers, or names of dimensions."""
    shape = field(2, b"".join(field(1, field(1 if isinstance(size, int) else 2, size)) for size in sizes))
    return field(1, name) + field(2, field(1, field(1, element) + shape))


def model_of(node, *parts, opset=13):
    """An ONNX model of one node (op type, name, inputs) that makes f32[4] `y`, and other fields of its graph."""
    op, name, inputs = node
    made = b"".join(field(1, i) for i in inputs) + field(2, "y") + field(3, name) + field(4, op)
    graph = field(1, made) + field(2, "g") + b"".join(parts) + field(12, declared("y", 1, 4))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, opset))


def reshape_of_any_size():
    """An ONNX model of f32[rows,6] `x` and i64[rank] `to`, reshaped and halved below zero."""
    graph = field(1, field(1, "x") + field(1, "to") + field(2, "a") + field(4, "Reshape"))
    graph += field(1, field(1, "a") + field(2, "y") + field(4, "Relu"))
    graph += field(2, "g") + field(11, declared("x", 1, "rows", 6)) + field(11, declared("to", 7, "rank"))
    graph += field(12, field(1, "y") + field(2, field(1, field(1, 1))))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


def npy(*values):
    return npy_of("<f4", len(values), struct.pack(f"<{len(values)}f", *values))


def npy_of(kind, count, data):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({count},), }}"
    header += " " * (118 - len(header) - 1) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


class Cli(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.at = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def gsub(self, *arguments, exit=0, memory=resource.RLIM_INFINITY, **variables):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (memory, resource.RLIM_INFINITY))
        done = subprocess.run([GSUB, *map(str, arguments)], capture_output=True, text=True, cwd=self.at, timeout=300,
                              env={**os.environ, "GSUB_CACHE": str(self.at / "cache"), **variables},
                              preexec_fn=limit if memory != resource.RLIM_INFINITY else None)
        self.assertEqual(done.returncode, exit, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def file(self, name, data):
        (self.at / name).write_bytes(data)
        return name

    def test_help_is_there_for_every_command(self):
        out = self.gsub("--help").stdout
        for command in ("optimize", "explain", "run", "compare", "check", "convert", "bench", "tasks", "tune", "calibrate", "cache", "doctor", "verify-rules", "rules", "passes", "bisect", "inspect", "models", "ops", "errors"):
            self.assertIn(command, out)
            self.assertIn("Exit codes", self.gsub(command, "--help").stdout)

    def test_usage_errors_exit_2(self):
        for arguments in ([], ["fly"], ["optimize"], ["optimize", "a.onnx", "--cost", "love"], ["models", "nonesuch", "-o", "x"],
                          ["optimize", DIGITS / "digits.onnx", "--alpha", "0.5"], ["optimize", DIGITS / "digits.onnx", "--rules", "nonesuch"],
                          ["optimize", DIGITS / "digits.onnx", "--roofline", "1,2"], ["optimize", DIGITS / "digits.onnx", "--roofline", "0,0,0"],
                          ["run", DIGITS / "digits.onnx"], ["run", DIGITS / "digits.onnx", "--input", "nonesuch=x.npy"]):
            done = self.gsub(*arguments, exit=2)
            self.assertTrue(done.stderr)
            self.assertFalse(done.stdout)

    def files_that_are_wrong(self):
        """What the table below runs on: a file for each fault."""
        x, w = field(11, declared("x", 1, 4)), field(1, 4) + field(2, 1) + field(8, "w")
        relu, add = ("Relu", "r", ["x"]), ("Add", "a", ["x", "w"])
        elsewhere = field(13, field(1, "location") + field(2, "none.bin")) + field(14, 1)
        for name, data in {
                "relu": model(("Relu", "r", ["x"], ["y"])), "wobble": model(("Wobble", "w", ["x"], ["y"])),
                "unique": model(("Unique", "u", ["x"], ["y"])), "sigmoid": model(("Sigmoid", "r", ["x"], ["y"])),
                "bad": b"\x0a\xff\xff", "concat": model(("Concat", "c", ["x"], ["y"])),
                "gemm": model(("Gemm", "g", ["x", "x"], ["y"])), "nowhere": model(("Relu", "r", ["nowhere"], ["y"])),
                "sparse": model_of(relu, x, field(15, b"")), "newer": model_of(relu, x, opset=99),
                "external": model_of(add, x, field(5, w + elsewhere)),
                "declared": model_of(add, x, field(11, declared("w", 7, 4)), field(5, w + field(9, bytes(16)))),
                "strings": model_of(relu, field(11, declared("x", 8, 4))),
                "huge": model_of(relu, field(11, declared("x", 1, 1 << 40, 1 << 40))),
                "terabytes": model_of(relu, field(11, declared("x", 1, 1 << 40))),
                "megabytes": model_of(relu, field(11, declared("x", 1, 12_000_000))),
                "gather": model_of(("Gather", "pick", ["x", "i"]), x, field(11, declared("i", 7, 1, 1))),
                "any": reshape_of_any_size()}.items():
            self.file(f"{name}.onnx", data)
        self.file("two.npy", npy(1, 2))
        self.file("x.npy", npy(1, 2, 3, 4))
        self.file("swapped.npy", npy(1, 2, 3, 4).replace(b"<f4", b">f4"))
        self.file("nine.npy", npy(0).replace(b"<f4", b"<i8").replace(b"(1,), }", b"(1,1) }")[:-4] + struct.pack("<q", 9))
        self.file("wrong.rules", b"rule r\n a = love(x)\n")
        self.file("long.rules", b"rule r\n" + b"".join(b" a%d = relu(x)\n" % i for i in range(70)))
        with open(self.at / "large.rules", "wb") as large:
            large.truncate(17 << 20)
        self.file("costs.jsonl", b'{"op": "Conv", "seconds": 1e-3}\n')
        self.file("wrong.jsonl", b'{"op": "Conv", "seconds": -1}\n')
        self.file("wrong.kernels", b"target avx512\n\nconv9d{} = tile=1\n")
        self.gsub("optimize", DIGITS / "digits.onnx", "--cost", "roofline", "--trace", "t.jsonl")
        lines = (self.at / "t.jsonl").read_text().splitlines(keepends=True)
        self.file("headless.jsonl", "".join(lines[1:]).encode())
        (self.at / "open").mkdir()
        (self.at / "open").chmod(0o777)

    def test_errors_have_numbers_that_are_explained(self):
        self.files_that_are_wrong()
        digits, optimize = DIGITS / "digits.onnx", ("optimize", "relu.onnx")
        table = (
            (("errors", "G9999"), 2, "G0002", 'no error has the number "G9999"'),
            (("inspect", "bad.onnx"), 4, "G0101", "malformed protobuf"),
            (("run", "wobble.onnx", "--fill", 1), 3, "G0102", 'not supported: Wobble-13 (node "w")'),
            (("inspect", "sparse.onnx"), 3, "G0103", "sparse initializers"),
            (("inspect", "concat.onnx"), 4, "G0104", "no axis"),
            (("inspect", "newer.onnx"), 3, "G0105", "operator set 99 is newer"),
            (("inspect", "external.onnx"), 4, "G0106", "external data"),
            (("inspect", "declared.onnx"), 4, "G0107", "is declared as i64[4]"),
            (("run", "strings.onnx", "--fill", 1), 3, "G0108", "an input that is no tensor of a type"),
            (("inspect", "huge.onnx"), 3, "G0109", "more than 2^62 elements"),
            (("run", "any.onnx", "--fill", 1, "--dim", "columns=1"), 2, "G0110", "no input has a dimension"),
            (("run", "any.onnx", "--fill", 1, "--dim", "rows"), 2, "G0110", "NAME=..."),
            (("convert", "unique.onnx", "-o", "o.onnx", "--opset", 9), 3, "G0111", "needs operator set 11"),
            (("run", "relu.onnx", "--input", "x=relu.onnx"), 4, "G0112", "this is no .npy file"),
            (("run", "relu.onnx", "--input", "x=swapped.npy"), 3, "G0113", "'>f4'"),
            (("inspect", "nowhere.onnx"), 4, "G0114", 'input "nowhere" does not exist'),
            (("inspect", "gemm.onnx"), 4, "G0201", "both must be matrices"),
            (("run", "gather.onnx", "--input", "x=x.npy", "--input", "i=nine.npy"), 4, "G0206", "index 9"),
            (("run", "terabytes.onnx", "--fill", 1), 3, "G0207", "exceed the limit"),
            (("run", "relu.onnx", "--input", "x=two.npy"), 2, "G0209", "f32[2] was given"),
            ((*optimize, "--passes", "c"), 2, "G0301", 'there is no pass "c"'),
            ((*optimize, "--passes", "DCE(1)"), 2, "G0302", "takes no arguments"),
            ((*optimize, "--passes", "DefuseOps, FuseOps"), 2, "G0303", "must come before"),
            (("optimize", "wobble.onnx", "--passes", "first-order-gradient"), 3, "G0306", "no gradient"),
            ((*optimize, "--passes", "convert-layout(NHCW)"), 2, "G0307", "no layout"),
            (("explain", digits, "--kernels", "--passes", "annotate-target(dsp: Conv), partition-graph"), 3, "G0308",
             'for the compiler "dsp"'),
            ((*optimize, "--rules", "nonesuch"), 2, "G0401", 'there is no rule "nonesuch"'),
            ((*optimize, "--rules-file", "wrong.rules"), 4, "G0402", 'no operator "love"'),
            ((*optimize, "--rules-file", "long.rules"), 3, "G0403", "more than 64 operators"),
            ((*optimize, "--apply", "fuse_conv_relu@r"), 1, "G0404", "the pattern wants Conv"),
            ((*optimize, "--alpha", "0.5"), 2, "G0405", "it must be at least 1"),
            ((*optimize, "--cost", "roofline", "--resume", "t.jsonl"), 2, "G0406", "of another model"),
            ((*optimize, "--cost", "roofline", "--resume", "headless.jsonl"), 4, "G0407", "the header of a trace"),
            ((*optimize, "--cost", "table:costs.jsonl"), 3, "G0410", "has no cost for"),
            ((*optimize, "--cost", "table:wrong.jsonl"), 4, "G0411", "is -1"),
            ((*optimize, "--goal", "latency:0,energy:0"), 2, "G0412", "above 0"),
            (("run", "any.onnx", "--fill", 1, "--backend", "simd"), 3, "G0501", "static shapes"),
            ((*optimize, "--target", "abacus"), 2, "G0507", '"abacus"'),
            (("compile", "relu.onnx", "-o", "sources", "--name", "No Name"), 2, "G0509", '"No Name"'),
            (("compile", "unique.onnx", "-o", "sources"), 3, "G0510", "part of gsub"),
            (("bench", "relu.onnx", "--schedules", "wrong.kernels"), 4, "G0511", "conv9d"),
            (("inspect", "none.onnx"), 5, "G0901", "No such file"),
            (("inspect", "open"), 4, "G0902", "is no regular file"),
            ((*optimize, "--rules-file", "large.rules"), 3, "G0904", "the limit is"),
            (("cache", "--folder", "open"), 5, "G0905", "can be written by others"))
        for arguments, code, number, words in table:
            with self.subTest(number=number, arguments=arguments):
                told = self.gsub(*arguments, exit=code).stderr
                self.assertIn(f"error[{number}]: ", told)
                self.assertIn(words, told)
                self.assertIn(f"exit code {code}", self.gsub("errors", number).stdout)
        told = self.gsub("calibrate", exit=5, GSUB_CXX=str(self.at / "nonesuch")).stderr
        self.assertIn("error[G0508]: ", told)
        self.assertIn("no C++ compiler", told)
        if not any(name in GSUB.read_bytes() for name in (b"__asan_init", b"__tsan_init")):  # they take all addresses
            told = self.gsub("run", "megabytes.onnx", "--fill", 1, "--threads", 1, exit=5, memory=100 << 20).stderr
            self.assertIn("error[G0907]: environment: out of memory", told)

    def test_an_error_is_told_in_lines_and_in_the_report(self):
        self.file("m.onnx", model(("Wobble", "w", ["x"], ["a"]), ("Flip", "f", ["a"], ["y"])))
        told = self.gsub("check", "m.onnx", "--json", "j", exit=3).stderr
        lines = told[told.index("error:"):].splitlines()
        self.assertEqual(lines[:3], ["error: 2 problems", "  in:      m.onnx", 'error[G0102]: not supported: Wobble-13 (node "w")'])
        self.assertTrue(lines[3].startswith("  because: "))
        self.assertTrue(lines[4].startswith("  try:     "))
        error = json.loads((self.at / "j").read_text())["error"]
        self.assertEqual(error["id"], "G0102")
        self.assertEqual([p["id"] for p in error["problems"]], ["G0102", "G0102"])
        self.assertEqual(error["context"], ["m.onnx"])

        entry = self.gsub("errors", "G0102").stdout
        for words in ("the operator is not known", "exit code 3", "What to do"):
            self.assertIn(words, entry)
        all_of_them = self.gsub("errors", "--json", "j").stdout
        listed = json.loads((self.at / "j").read_text())["errors"]
        self.assertEqual(len({e["id"] for e in listed}), len(listed))
        for entry in listed:
            self.assertIn(entry["id"], all_of_them)
            self.assertIn(entry["code"], range(1, 7))
            self.assertTrue(entry["title"] and entry["cause"] and entry["remedy"])
        self.gsub("errors", "G0102", "--json", "j")
        self.assertEqual([e["id"] for e in json.loads((self.at / "j").read_text())["errors"]], ["G0102"])

    def test_every_error_is_shown_by_a_test(self):
        header = (SOURCES / "include/gsub/core/error_id.hpp").read_text()
        named = re.findall(r"inline constexpr error_id (\w+)\{error_code::\w+, (\d+)\};", header)
        self.assertTrue(named)
        self.assertEqual(len(named), len(re.findall(r"^inline constexpr error_id", header, re.MULTILINE)))
        tests = [p for end in ("cpp", "hpp", "py") for p in (SOURCES / "tests").rglob(f"*.{end}")]
        text = "\n".join(p.read_text() for p in tests if p != SOURCES / "tests/core/error_id.cpp")
        shown = set(re.findall(r"\berrors::(\w+)|\b(G0\d{3})\b", text))
        words = {word for pair in shown for word in pair}
        self.assertEqual([name for name, number in named if name not in words and f"G{int(number):04}" not in words], [])

    def test_graphs_of_a_search_are_checked_where_that_is_asked(self):
        digits = DIGITS / "digits.onnx"
        plain = self.gsub("optimize", digits, "--cost", "roofline")
        checked = self.gsub("optimize", digits, "--cost", "roofline", "--check")
        self.assertEqual(re.sub(r"[0-9.]+ s,", "", plain.stdout), re.sub(r"[0-9.]+ s,", "", checked.stdout))
        self.gsub("optimize", digits, "--check", "--apply", "fuse_conv_bn@x", exit=2)  # no search, nothing to check

    def test_optimize_tells_what_it_did(self):
        done = self.gsub("optimize", DIGITS / "digits.onnx", "-o", "out.onnx", "--cost", "roofline", "--verify", "--json", "report.json", "--dot", "out.dot")
        self.assertIn("verified: equal", done.stdout)
        report = json.loads((self.at / "report.json").read_text())
        for key in ("cost_before", "cost_after"):
            self.assertEqual(set(report[key]), {"value", "unit"})
        self.assertLess(report["cost_after"]["value"], report["cost_before"]["value"])
        self.assertEqual(report["cost_after"]["unit"], "s")
        self.assertGreater(report["graphs_explored"], 1)
        self.assertGreaterEqual(report["seconds"], 0)
        self.assertEqual(report["stop_reason"], "exhausted")
        self.assertTrue(report["applied"])
        for entry in report["applied"]:
            self.assertEqual(set(entry), {"rule", "site", "cost_after", "verified"})
            self.assertIn(entry["verified"], ("equal", "skipped"))
        self.assertTrue((self.at / "out.dot").read_text().startswith("digraph"))
        self.assertIn("equal", self.gsub("compare", DIGITS / "digits.onnx", "out.onnx").stdout)

    def test_a_report_a_picture_and_a_trace_are_written(self):
        digits = DIGITS / "digits.onnx"
        self.gsub("optimize", digits, "--verify", "--report", "out.html", "--svg", "out.svg", "--trace", "t.jsonl", "--json", "r.json")
        report = json.loads((self.at / "r.json").read_text())
        page = ElementTree.parse(self.at / "out.html").getroot()
        self.assertTrue(page.tag.endswith("html"))
        text = "".join(page.itertext())
        for entry in report["applied"]:
            self.assertIn(entry["rule"], text)
        for name in ("out.html", "out.svg"):
            source = (self.at / name).read_text()
            self.assertNotIn("<script", source)
            self.assertNotIn("src=", source)
        self.assertTrue(ElementTree.parse(self.at / "out.svg").getroot().tag.endswith("svg"))
        events = [json.loads(line) for line in (self.at / "t.jsonl").read_text().splitlines()]
        self.assertEqual(sum(e["event"] == "expand" for e in events), report["graphs_explored"])
        self.assertEqual(events[-1]["event"], "stop")
        self.assertEqual(events[-1]["reason"], report["stop_reason"])
        self.gsub("inspect", digits, "--svg", "in.svg")
        ElementTree.parse(self.at / "in.svg")
        self.gsub("optimize", digits, "--passes", "DCE", "--svg", "p.svg")
        ElementTree.parse(self.at / "p.svg")
        self.gsub("optimize", digits, "--passes", "DCE", "--report", "no.html", exit=2)

    def test_a_search_goes_on_from_its_trace_and_a_trace_is_replayed(self):
        self.gsub("models", "squeezenet1_1", "-o", "m.onnx")
        report = lambda name: json.loads((self.at / name).read_text())
        told = ("applied", "cost_after", "history", "graphs_explored", "graphs_distinct", "stop_reason", "split")
        for split in ("none", "8"):
            optimize = ("optimize", "m.onnx", "--split", split, "--alpha", "1.1")
            self.gsub(*optimize, "--budget", "60", "-o", "whole.onnx", "--json", "whole.json")
            self.gsub(*optimize, "--budget", "7", "--trace", "t.jsonl")
            self.gsub(*optimize, "--budget", "25", "--resume", "t.jsonl", "--trace", "t.jsonl")  # of one name
            done = self.gsub(*optimize, "--budget", "60", "--resume", "t.jsonl", "--trace", "u.jsonl", "-o", "on.onnx", "--json", "on.json",
                             "--report", "on.html", "--threads", "3")
            self.assertIn("known before)", done.stdout)
            self.assertIn("t.jsonl", "".join(ElementTree.parse(self.at / "on.html").getroot().itertext()))
            self.assertGreater(report("on.json")["graphs_known_before"], 0)
            self.assertEqual([report("on.json")[k] for k in told], [report("whole.json")[k] for k in told])
            self.assertEqual((self.at / "on.onnx").read_bytes(), (self.at / "whole.onnx").read_bytes())
            done = self.gsub("optimize", "m.onnx", "--split", split, "--replay", "u.jsonl", "-o", "again.onnx", "--json", "again.json",
                             "--report", "again.html")
            self.assertIn("replay ", done.stdout)
            self.assertEqual((self.at / "again.onnx").read_bytes(), (self.at / "whole.onnx").read_bytes())
            self.assertEqual([report("again.json")[k] for k in told], [report("whole.json")[k] for k in told])
            self.assertIn("Replay of", "".join(ElementTree.parse(self.at / "again.html").getroot().itertext()))

    def test_a_trace_of_another_search_or_a_damaged_one_is_refused(self):
        digits = DIGITS / "digits.onnx"
        roofline = ("--cost", "roofline")
        self.gsub("optimize", digits, *roofline, "--trace", "t.jsonl")
        self.file("m.onnx", model(("Relu", "a", ["x"], ["z"]), ("Relu", "b", ["z"], ["y"])))
        for how in ("--resume", "--replay"):
            self.assertIn("another model", self.gsub("optimize", "m.onnx", *roofline, how, "t.jsonl", exit=2).stderr)
            self.assertIn("other rules", self.gsub("optimize", digits, *roofline, how, "t.jsonl", "--rules", "atomic", exit=2).stderr)
            self.assertIn("in the trace and", self.gsub("optimize", digits, *roofline, how, "t.jsonl", "--roofline", "1e-5,1e13,5e11", exit=2).stderr)
            self.assertIn("another cost model", self.gsub("optimize", digits, *roofline, how, "t.jsonl", "--split-cost", "copy", exit=2).stderr)
            self.assertIn("in the trace and", self.gsub("optimize", digits, how, "t.jsonl", exit=2).stderr)  # kernels of this machine
            self.gsub("optimize", digits, how, "nonesuch.jsonl", exit=5)
        self.gsub("optimize", digits, "--resume", "t.jsonl", "--replay", "t.jsonl", exit=2)
        self.gsub("optimize", digits, *roofline, "--replay", "t.jsonl", "--alpha", "1.2", exit=2)
        self.gsub("optimize", digits, "--passes", "DCE", "--resume", "t.jsonl", exit=2)
        lines = (self.at / "t.jsonl").read_text().splitlines(keepends=True)
        self.file("half.jsonl", "".join(lines[:5] + [lines[5][:20]]).encode())
        self.assertIn("half.jsonl, line 6", self.gsub("optimize", digits, *roofline, "--resume", "half.jsonl", exit=4).stderr)
        self.file("part.jsonl", "".join(lines[:-1]).encode())
        self.assertIn("to resume", self.gsub("optimize", digits, *roofline, "--replay", "part.jsonl", exit=2).stderr)
        self.gsub("optimize", digits, *roofline, "--resume", "part.jsonl", "--verify")

    def test_rules_of_one_name_from_another_file_are_other_rules(self):
        rule = ("rule mine\n  a = relu(x)\n  b = relu(y)\n  c = concat(a, b, axis={0}, rank=2)\n=>\n"
                "  d = concat(x, y, axis={0}, rank=2)\n  e = relu(d)\n  replace c by e\n")
        self.file("m.onnx", model(("Relu", "a", ["x"], ["z"]), ("Relu", "b", ["z"], ["y"])))
        self.file("a.txt", rule.format(0).encode())
        self.file("b.txt", rule.format(1).encode())
        self.gsub("optimize", "m.onnx", "--rules-file", "a.txt", "--trace", "t.jsonl")
        self.gsub("optimize", "m.onnx", "--rules-file", "a.txt", "--replay", "t.jsonl")
        self.assertIn("other rules", self.gsub("optimize", "m.onnx", "--rules-file", "b.txt", "--resume", "t.jsonl", exit=2).stderr)

    def test_hostile_names_stay_names_in_pictures_and_reports(self):
        name = "</title><script>alert(1)</script>&\""
        self.file("m.onnx", model(("Relu", name, ["x"], [name]), ("Relu", "b", [name], ["y"])))
        self.gsub("optimize", "m.onnx", "--report", "m.html", "--svg", "m.svg", "--trace", "m.jsonl")
        for written in ("m.html", "m.svg"):
            self.assertFalse([e for e in ElementTree.parse(self.at / written).iter() if e.tag.endswith("script")])

    def test_explain_tells_kernels_with_what_they_cover_and_why_no_more(self):
        digits = DIGITS / "digits.onnx"
        done = self.gsub("explain", digits, "--kernels", "--json", "k.json", "--dump-passes", "stages")
        told = json.loads((self.at / "k.json").read_text())
        self.assertTrue(any(k["kind"].endswith("conv2d") or k["kind"].startswith("winograd") for k in told["kernels"]))
        self.assertTrue(all(k["ms"] >= 0 for k in told["kernels"]))
        self.assertTrue(any(k["schedule"].startswith("tile_") for k in told["kernels"]))
        self.assertIn("ends before", done.stdout)
        self.assertEqual(len(list((self.at / "stages").glob("lowering-*.txt"))), 4)
        self.gsub("explain", digits, "--kernels", "--rule", "fuse_conv_bn", exit=2)
        self.gsub("explain", digits, exit=2)

    def test_explain_tells_the_features_of_kernels(self):
        digits = DIGITS / "digits.onnx"
        done = self.gsub("explain", digits, "--kernels", "--features", "--json", "k.json")
        told = [k for k in json.loads((self.at / "k.json").read_text())["kernels"] if "features" in k]
        self.assertTrue(any(k["kind"].endswith("conv2d") or k["kind"].startswith("winograd") for k in told))
        for kernel in told:
            self.assertGreater(kernel["predicted_ms"], 0)
            self.assertEqual(kernel["features"]["call"]["count"], 1)
            self.assertAlmostEqual(sum(f["share"] for f in kernel["features"].values()), 1)
            self.assertTrue(all(f["count"] > 0 and f["cycles"] >= 0 for f in kernel["features"].values()))
        self.assertIn("coefficient", done.stdout)
        self.gsub("explain", digits, "--rule", "fuse_conv_bn", "--features", exit=2)

    def test_a_list_of_passes_decides_what_is_built(self):
        digits = DIGITS / "digits.onnx"
        kernels = {}
        for passes in ("", "none", "default", "tvm_o2", "fuse-ops, defuse-ops"):
            self.gsub("explain", digits, "--kernels", "--json", "k.json", *(("--passes", passes) if passes else ()))
            kernels[passes] = len(json.loads((self.at / "k.json").read_text())["kernels"])
        self.assertEqual(kernels["default"], kernels[""])
        self.assertGreater(kernels["none"], kernels["default"])
        self.assertEqual(kernels["fuse-ops, defuse-ops"], kernels["none"])
        self.assertLess(kernels["tvm_o2"], kernels["none"])
        numbers = lambda way: struct.unpack("<10f", (self.at / way / "output_0.npy").read_bytes()[-40:])
        self.gsub("run", digits, "--fill", 1, "--output-dir", "reference")
        for passes in ("none", "auto"):
            self.gsub("run", digits, "--fill", 1, "--backend", "simd", "--passes", passes, "--output-dir", passes)
            for a, b in zip(numbers("reference"), numbers(passes)):
                self.assertLess(abs(a - b), 1e-4 * max(map(abs, numbers("reference"))))
        self.gsub("compile", digits, "-o", "sources", "--passes", "default")
        self.assertIn("fuse-ops", self.gsub("bench", digits, "--runs", 1, "--passes", "fuse-opz", exit=2).stderr)

    def test_explain_tells_where_a_rule_applies_and_why_not(self):
        digits = DIGITS / "digits.onnx"
        done = self.gsub("explain", digits, "--rule", "fuse_conv_bn", "--cost", "roofline", "--json", "e.json")
        self.assertIn("applies", done.stdout)
        data = json.loads((self.at / "e.json").read_text())
        self.assertGreater(data["applies"], 0)
        applying = [p for p in data["places"] if p["outcome"] == "applies"]
        self.assertEqual(len(applying), data["applies"])
        self.assertLess(applying[0]["cost_after"], data["cost"]["value"])
        self.gsub("explain", digits, "--rule", "fuse_conv_bn", "--node", applying[0]["site"], "--cost", "flops")
        self.file("m.onnx", model(("Tanh", "a", ["x"], ["z"]), ("Relu", "b", ["z"], ["y"])))
        self.assertIn("is Tanh \"a\", the pattern wants Conv", self.gsub("explain", "m.onnx", "--rule", "fuse_conv_relu", exit=1).stdout)
        self.assertIn("fuse_conv_bn", self.gsub("explain", digits, "--rule", "fuse_conv_bm", exit=2).stderr)
        self.assertIn("there is no node", self.gsub("explain", digits, "--rule", "fuse_conv_bn", "--node", "nonesuch", exit=2).stderr)

    def test_explain_prints_the_weights_that_rewrites_read_and_build(self):
        self.gsub("models", "resnet_module", "-o", "m.onnx")
        explain = lambda *more, **how: self.gsub("explain", "m.onnx", "--weights", "--cost", "roofline", "--json", "w.json", *more, **how).stdout
        weights = lambda: next(p["weights"] for p in json.loads((self.at / "w.json").read_text())["places"] if "weights" in p)
        # A kernel of 1x1 with zeros around it.
        out = explain("--rule", "enlarge_conv")
        self.assertIn('built  f32[256,256,3,3] Pad("shortcut.weight") of Conv, operand 1: "shortcut"', out)
        self.assertEqual(weights()["read"][0]["type"], "f32[256,256,1,1]")
        # A convolution and an addition: identity kernels beside its own.
        out = explain("--rule", "add_fuse", exit=1)
        self.assertIn("of 131072 kernels 65280 are zero and 256 identities", out)
        self.assertEqual(weights()["built"][0]["kernels"], {"all": 131072, "zero": 65280, "identity": 256})
        self.assertNotIn("elements", weights()["built"][0])
        self.gsub("explain", "m.onnx", "--kernels", "--weights", exit=2)
        # Without the option nothing is computed.
        self.gsub("explain", "m.onnx", "--rule", "enlarge_conv", "--json", "w.json")
        self.assertTrue(all("weights" not in p for p in json.loads((self.at / "w.json").read_text())["places"]))

    def test_one_rule_is_applied_at_one_node(self):
        self.gsub("models", "resnet_module", "-o", "m.onnx")
        apply = lambda *rules, **how: self.gsub("optimize", "m.onnx", "--cost", "roofline", *(x for r in rules for x in ("--apply", r)), **how)
        done = self.gsub("optimize", "m.onnx", "--cost", "roofline", "--apply", "enlarge_conv@shortcut", "-o", "large.onnx", "--verify", "--json", "a.json")
        self.assertIn("(+10.5 %)", done.stdout)
        self.assertRegex(done.stdout, r'- Conv "shortcut" \("x", f32\[256,256,1,1\]\) .*pads = \[0, 0, 0, 0\]')
        self.assertRegex(done.stdout, r'\+ Conv "shortcut" \("x", f32\[256,256,3,3\]\) .*pads = \[1, 1, 1, 1\]')
        made = json.loads((self.at / "a.json").read_text())
        self.assertGreater(made["cost_after"]["value"], made["cost_before"]["value"])
        self.assertEqual(made["made"][0]["verified"], "equal")
        self.gsub("compare", "m.onnx", "large.onnx")
        # The path that a relaxed search finds, by hand.
        done = apply("enlarge_conv@shortcut", "fuse_conv_relu@relu1", "fuse_conv_relu@relu2", "merge_conv_siblings@conv1", "add_fuse@add", "fuse_conv_relu@relu3")
        self.assertIn("48.2 us -> 33.1 us", done.stdout)
        done = self.gsub("optimize", "m.onnx", "--cost", "roofline", "--rules", "atomic", "--alpha", 1.15)
        self.assertIn("48.2 us -> 33.1 us", done.stdout)
        # What cannot be done says why.
        self.assertIn('"enlarge_conv"', apply("enlarge_com@conv1", exit=2).stderr)
        self.assertIn('"shortcut"', apply("enlarge_conv@shortcat", exit=2).stderr)
        self.assertIn("no RULE@NODE", apply("enlarge_conv", exit=2).stderr)
        self.assertIn("no other Conv reads", apply("enlarge_conv@conv2", exit=1).stderr)
        self.gsub("optimize", "m.onnx", "--apply", "enlarge_conv@shortcut", "--alpha", 1.1, exit=2)
        # A hostile name stays a name.
        self.file("h.onnx", model(("Tanh", "a\x1b[31m@b", ["x"], ["z"]), ("Relu", "b", ["z"], ["y"])))
        done = self.gsub("optimize", "h.onnx", "--apply", "fuse_conv_relu@a\x1b[31m@b", exit=1)
        self.assertNotIn("\x1b", done.stderr)

    def test_every_objective_has_its_metrics(self):
        self.gsub("models", "t1", "-o", "t1.onnx")
        done = self.gsub("optimize", "t1.onnx", "--objectives", "--alpha", 1.15, "--rules", "atomic", "--json", "o.json")
        self.assertIn("peak memory", done.stdout)
        rows = json.loads((self.at / "o.json").read_text())["objectives"]
        first = rows[0]
        self.assertEqual([row["objective"] for row in rows], ["as it came", "predicted time", "roofline", "FLOP", "bytes moved", "peak memory"])
        own = {"predicted time": "predicted_s", "roofline": "roofline_s", "FLOP": "flop", "bytes moved": "bytes_moved", "peak memory": "peak_bytes"}
        for row in rows[1:]:  # each is best at its own, or as it came
            self.assertLessEqual(row[own[row["objective"]]], first[own[row["objective"]]] * (1 + 1e-9))
        roofline = rows[2]
        self.assertLess(roofline["roofline_s"], first["roofline_s"])
        self.assertGreater(roofline["flop"], first["flop"])  # fewer operators for more arithmetic
        self.assertEqual((first["operators"], roofline["operators"]), (7, 2))
        self.gsub("optimize", "t1.onnx", "--objectives", "--cost", "flops", exit=2)
        self.gsub("optimize", "t1.onnx", "--objectives", "-o", "x.onnx", exit=2)

    def test_the_same_call_gives_the_same_bytes(self):
        for out in ("a.onnx", "b.onnx"):
            self.gsub("optimize", DIGITS / "digits.onnx", "-o", out, "--budget", 10)
        self.assertEqual((self.at / "a.onnx").read_bytes(), (self.at / "b.onnx").read_bytes())

    def test_every_cost_and_choice_is_taken(self):
        for extra in (["--cost", "flops"], ["--cost", "bytes", "--split-cost", "copy"], ["--cost", "peak_memory"], ["--cost", "measured", "--profile", "p.jsonl"],
                      ["--admit", "parent", "--plateau", "--alpha", "1"], ["--admit", "first"], ["--rules", "-fuse_conv_bn"], ["--rules", "fuse_conv_bn,fuse_conv_relu"],
                      ["--time", "0.5"], ["--split", "none"], ["--split", "2"], ["--split", "auto"], ["--cost", "roofline", "--roofline", "1e-6,1e12,1e11"],
                      ["--cost", "lowered"], ["--target", "aarch64-neon,threads=4,cpu=neoverse-v1"]):
            self.gsub("optimize", DIGITS / "digits.onnx", "-o", "out.onnx", "--budget", 5, *extra)
        self.gsub("optimize", DIGITS / "digits.onnx", "-o", "out.onnx", "--budget", 0)
        self.assertTrue((self.at / "p.jsonl").read_text())

    def test_costs_from_a_file_are_kept_to(self):
        self.gsub("models", "t13", "-o", "t13.onnx")
        times = {32: 0.304, 16: 0.167, 8: 0.112, 4: 0.124}
        line = '{"op": "Conv", "attributes": {"group": %d}, "seconds": %ge-3}\n'
        self.file("costs.jsonl", "".join(line % pair for pair in times.items()).encode())
        self.gsub("optimize", "t13.onnx", "-o", "out.onnx", "--verify", "--cost", "table:costs.jsonl", "--alpha", 1, "--json", "r.json")
        report = json.loads((self.at / "r.json").read_text())
        self.assertEqual([entry["rule"] for entry in report["applied"]], ["widen_groups", "widen_groups"])
        self.assertAlmostEqual(report["cost_after"]["value"], 0.112e-3)
        self.assertIn("group = 8", self.gsub("inspect", "out.onnx", "--text").stdout)
        self.gsub("optimize", "t13.onnx", "--json", "r.json")  # no clock, no widening
        self.assertFalse(json.loads((self.at / "r.json").read_text())["applied"])
        # A cost that is missing is named, and so is a line that is none.
        done = self.gsub("optimize", DIGITS / "digits.onnx", "--cost", "table:costs.jsonl", exit=3)
        self.assertIn("costs.jsonl has no cost for", done.stderr)
        for bad, why in (('{"op": "Conv", "seconds": -1}', "is -1"), ('{"op": "Conv", "seconds": NaN}', "parse error"), ("Conv 1", "parse error")):
            self.file("bad.jsonl", ("\n" + bad).encode())
            done = self.gsub("optimize", "t13.onnx", "--cost", "table:bad.jsonl", exit=4)
            self.assertIn("bad.jsonl, line 2: ", done.stderr)
            self.assertIn(why, done.stderr)
        self.gsub("optimize", "t13.onnx", "--cost", "table:nonesuch.jsonl", exit=5)
        self.gsub("optimize", "t13.onnx", "--cost", "table:", exit=2)

    def test_a_goal_stands_for_a_cost_model(self):
        self.gsub("models", "squeezenet1_1", "-o", "s.onnx")
        units = {}
        for goal, model in (("latency", "lowered"), ("memory", "peak_memory"), ("energy", "energy"), ("flops", "flops")):
            results = []
            for option in (("--goal", goal), ("--cost", model)):
                self.gsub("optimize", "s.onnx", *option, "--budget", 20, "--json", "r.json")
                results.append({k: v for k, v in json.loads((self.at / "r.json").read_text()).items() if k != "seconds"})
            self.assertEqual(*results)
            units[goal] = results[0]["cost_after"]["unit"]
            self.assertLessEqual(results[0]["cost_after"]["value"], results[0]["cost_before"]["value"])
        self.assertEqual(units, {"latency": "s", "memory": "B", "energy": "J", "flops": "FLOP"})
        self.gsub("optimize", "s.onnx", "--goal", "energy", "--cost", "flops", exit=2)
        self.gsub("optimize", "s.onnx", "--goal", "energy", "--joules", "-1,1", exit=2)

    def test_the_machine_is_calibrated_and_the_roofline_takes_its_rates(self):
        digits = DIGITS / "digits.onnx"
        optimize = ("optimize", digits, "--budget", 5, "--threads", 1, "--json", "r.json")
        self.file("m.onnx", model(("Relu", "r", ["x"], ["y"])))
        measure = ("optimize", "m.onnx", "--threads", 1, "--json", "r.json", "--cost", "measured", "--profile", "p.jsonl")
        self.gsub(*measure)  # a file of times alone
        older = (self.at / "p.jsonl").read_text()
        done = self.gsub(*optimize, "--cost", "fused", "--profile", "p.jsonl", exit=2)
        self.assertIn("gsub calibrate --profile p.jsonl --threads 1", done.stderr)
        done = self.gsub(*optimize, "--goal", "latency", "--profile", "nonesuch.jsonl")
        self.assertIn("it is not used", done.stderr)
        self.assertIn("not calibrated", done.stdout)

        done = self.gsub("calibrate", "--threads", 1, "--profile", "p.jsonl", "--json", "c.json")
        for words in ("FLOP/s", "B/s", "a kernel", "p.jsonl"):
            self.assertIn(words, done.stdout)
        found = json.loads((self.at / "c.json").read_text())
        rates = {key: found[f"{name}"] for key, name in (("launch", "launch_s"), ("flop_per_second", "flop_per_s"), ("bytes_per_second", "bytes_per_s"))}
        self.assertTrue(all(rate > 0 for rate in rates.values()))
        self.assertTrue((self.at / "p.jsonl").read_text().startswith(older))
        line = json.loads((self.at / "p.jsonl").read_text().splitlines()[-1])
        self.assertEqual(line, {"machine": found["machine"], "roofline": rates})

        given = ",".join(repr(rate) for rate in rates.values())
        for choice in (("--cost", "roofline"), ("--cost", "fused")):
            costs = []
            for way, words in ((("--profile", "p.jsonl"), "calibrated, from p.jsonl"), (("--roofline", given), "as given"), ((), "not calibrated")):
                done = self.gsub(*optimize, *choice, *way)
                report = json.loads((self.at / "r.json").read_text())
                self.assertIn(words, report["cost_model"])
                self.assertIn(words, done.stdout)
                costs.append(report["cost_after"]["value"])
            self.assertEqual(costs[0], costs[1])
            self.assertNotEqual(costs[1], costs[2])
        # Predicted kernels are those of the target's threads, whatever the search runs on.
        ports = ("--ports", "ports.json") if "ports" in found else ()  # none without machine code in memory that could be timed
        told = self.gsub("calibrate", "--threads", len(os.sched_getaffinity(0)), "--profile", "all.jsonl", *ports).stdout
        for choice in ((), ("--goal", "latency"), ("--goal", "latency:1,flops:1")):
            costs = []
            for way, words in ((("--profile", "all.jsonl"), "calibrated, from all.jsonl"), ((), "not calibrated")):
                self.assertIn(words, self.gsub(*optimize, *choice, *way).stdout)
                costs.append(json.loads((self.at / "r.json").read_text())["cost_before"]["value"])
            self.assertEqual(costs[0] == costs[1], ":" in "".join(choice))  # in percent, or seconds
        self.gsub(*optimize, "--roofline", "1,1,1", exit=2)
        self.gsub(*optimize, "--split-cost", "copy", exit=2)
        # What is given is taken; rates of other threads are not; what takes no rates takes no profile.
        self.gsub(*optimize, "--cost", "fused", "--profile", "p.jsonl", "--roofline", "1,1,1")
        self.assertIn("as given", json.loads((self.at / "r.json").read_text())["cost_model"])
        done = self.gsub("optimize", digits, "--cost", "fused", "--profile", "p.jsonl", "--threads", 3, exit=2)
        self.assertIn("threads=1", done.stderr)
        for choice in (("--cost", "flops"), ("--goal", "memory"), ("--goal", "energy:1,latency:0")):
            self.assertIn("--profile", self.gsub(*optimize, *choice, "--profile", "p.jsonl", exit=2).stderr)
        self.gsub(*measure)
        self.assertIn("calibrated, from", self.gsub("explain", digits, "--rule", "fuse_conv_bn", "--cost", "fused", "--threads", 1, "--profile", "p.jsonl").stdout)
        # Damaged rates are told, and do not count.
        self.file("p.jsonl", (json.dumps(line) + "\n" + json.dumps({**line, "roofline": {"launch": -1}}) + "\n").encode())
        self.assertIn("1 lines are no records", self.gsub(*optimize, "--cost", "fused", "--profile", "p.jsonl").stderr)
        self.gsub("calibrate", "--profile", "no/such/folder/p.jsonl", exit=5)
        if ports:
            self.check_calibrated_ports(digits, found, told)
        else:
            self.assertIn("AVX2", self.gsub("calibrate", "--ports", "ports.json", exit=5).stderr)

    def check_calibrated_ports(self, digits, found, told):
        self.assertLessEqual({"fma", "load", "store", "branch"}, {use["class"] for use in found["ports"]["uses"]})
        for words in ("beside the built-in row", "written  ports.json"):
            self.assertIn(words, told)
        tune = ("tune", digits, "--method", "static", "--points", 20, "--no-check", "--ports", "ports.json", "--json", "t.json")
        self.gsub(*tune)
        self.assertEqual(json.loads((self.at / "t.json").read_text())["ports"], "ports.json")
        other = "zen3" if found["ports"]["core"] == "zen2" else "zen2"
        self.assertIn(other, self.gsub(*tune, "--target", f"x86-64-avx2,cpu={other}", exit=2).stderr)
        ports = json.loads((self.at / "ports.json").read_text())
        ports["uses"][0]["latency"] = -1
        self.file("ports.json", json.dumps(ports).encode())
        self.assertIn("use 0", self.gsub(*tune, exit=4).stderr)

    def test_costs_are_those_of_the_machine_that_is_named(self):
        self.gsub("models", "t2", "-o", "t2.onnx")

        def after(*target):
            out = self.gsub("optimize", "t2.onnx", "--alpha", "1.2", "-o", "out.onnx", *target).stdout
            return out, (self.at / "out.onnx").read_bytes()
        small, few = after("--target", "x86-64-avx512,threads=1,cpu=zen5")
        large, many = after("--target", "x86-64-avx512,threads=64,cpu=sapphire-rapids")
        self.assertNotEqual(few, many)
        self.assertIn("AMD Zen 5 (server), 1 thread", small)
        self.assertIn("Sapphire Rapids", large)
        self.assertIn("modelled only", large)
        self.assertIn("the processor is not known", after("--target", "x86-64-avx2,threads=2")[0])
        self.assertIn("x86-64-avx512", self.gsub("optimize", "t2.onnx", "--target", "abacus", exit=2).stderr)
        # What the search runs on does not matter.
        self.assertEqual(after("--threads", 1)[1], after("--threads", 3)[1])

    def test_tasks_are_listed_and_their_schedules_written_edited_and_read_back(self):
        self.gsub("models", "t4", "-o", "t4.onnx")
        out = self.gsub("tasks", "t4.onnx", "--schedules", "s.txt", "--json", "t.json").stdout
        listed = json.loads((self.at / "t.json").read_text())
        self.assertIn(f"{len(listed['tasks'])} tasks of", out)
        for task in listed["tasks"]:
            self.assertGreater(task["predicted_seconds"], 0)
            self.assertGreater(task["bytes"], 0)
            self.assertGreaterEqual(task["points"], 1)
        text = (self.at / "s.txt").read_text()
        self.assertEqual(text.count(" = "), sum(task["points"] > 1 for task in listed["tasks"]))
        self.assertTrue(text.startswith("target "))
        kernels = {}
        for name, how in (("counted", ()), ("written", ("--schedules", "s.txt"))):
            self.gsub("explain", "t4.onnx", "--kernels", *how, "--json", "k.json")
            kernels[name] = [k["schedule"] for k in json.loads((self.at / "k.json").read_text())["kernels"]]
        self.assertEqual(kernels["written"], kernels["counted"])
        self.gsub("run", "t4.onnx", "--fill", 1, "--output-dir", "before", "--backend", "simd")
        edited = text.replace("oc_inner=false", "oc_inner=true")
        self.assertNotEqual(edited, text)
        self.file("e.txt", edited.encode())
        self.gsub("explain", "t4.onnx", "--kernels", "--schedules", "e.txt", "--json", "k.json")
        self.assertNotEqual([k["schedule"] for k in json.loads((self.at / "k.json").read_text())["kernels"]], kernels["counted"])
        self.gsub("run", "t4.onnx", "--fill", 1, "--output-dir", "after", "--backend", "simd", "--schedules", "e.txt")
        self.gsub("compile", "t4.onnx", "-o", "sources", "--schedules", "e.txt")
        lines = edited.splitlines()
        self.file("bad.txt", "\n".join([lines[0], lines[1].replace("unroll_ic", "unroll_oc"), "conv9d{} = tile=1", *lines[2:]]).encode())
        done = self.gsub("bench", "t4.onnx", "--schedules", "bad.txt", exit=4)
        for words in ("bad.txt", "line 2", "unroll_oc", "line 3", "conv9d"):
            self.assertIn(words, done.stderr)
        self.gsub("bench", "t4.onnx", "--schedules", "nonesuch.txt", exit=5)

    def check_tuning_page(self, method, told, out):
        page = (self.at / f"{method}.html").read_text()
        ElementTree.fromstring(page)
        self.assertIn(f"report   {method}.html", out)
        self.assertEqual(page.count("<details>"), told["tasks"])
        for words in ("t4.onnx", "Network", "costs ", "How the best came down"):
            self.assertIn(words, page)
        if method == "static":
            self.assertIn("Nothing was timed", page)
            self.assertFalse((self.at / "static.svg").exists())
            return
        self.assertIn("Kendall's tau within tasks is", page)
        picture = ElementTree.parse(self.at / f"{method}.svg").getroot()
        self.assertEqual(len(picture.findall(".//{*}title")), told["trials"] - told["failed"])

    def test_a_model_is_tuned_by_each_score(self):
        self.gsub("models", "t4", "-o", "t4.onnx")
        for score in ("counted", "scheduled", "linear"):
            self.gsub("tune", "t4.onnx", "--model", score, "--method", "static", "--points", 20, "--no-check", "--json",
                      "t.json")
            told = json.loads((self.at / "t.json").read_text())
            self.assertEqual(told["score"], score)
            self.assertGreater(told["scored"], 0)
        self.gsub("tune", "t4.onnx", "--model", "nonesuch", exit=2)
        self.gsub("tune", "t4.onnx", "--from-random", exit=2)

    def test_a_model_is_tuned_and_built_from_its_records(self):
        self.gsub("models", "t4", "-o", "t4.onnx")
        told = {}
        for method in ("static", "hybrid", "measured"):
            out = self.gsub("tune", "t4.onnx", "--method", method, "--points", 40, "--trials", 3, "--records", "r.jsonl",
                            "--price-per-hour", 3.6, "--json", "t.json", "--report", f"{method}.html", "--svg",
                            f"{method}.svg").stdout
            told[method] = json.loads((self.at / "t.json").read_text())
            self.check_tuning_page(method, told[method], out)
            for words in ("candidates scored", "the network", "written  r.jsonl", "price"):
                self.assertIn(words, out)
            self.assertEqual(told[method]["tuned"], told[method]["tasks"])
            self.assertEqual(told[method]["failed"], 0)
            self.assertEqual(told[method]["stopped_by"], "exhausted")
            self.assertLess(told[method]["check"]["relative_difference"], 1e-3)
            self.assertAlmostEqual(told[method]["price"], told[method]["seconds"] / 1000)
        self.assertEqual(told["static"]["trials"], 0)
        self.assertEqual(told["measured"]["scored"], 0)
        self.assertGreater(told["hybrid"]["scored"], 0)
        self.assertGreater(told["hybrid"]["trials"], 0)
        lines = (self.at / "r.jsonl").read_text().splitlines()
        self.assertGreaterEqual(len(lines), told["hybrid"]["trials"] + told["measured"]["trials"])
        for line in lines:
            self.assertEqual(json.loads(line)["version"], 0.2)
        for verb in (("run", "--fill", 1, "--backend", "simd"), ("bench", "--runs", 2), ("compile", "-o", "sources"),
                     ("explain", "--kernels")):
            done = self.gsub(verb[0], "t4.onnx", *verb[1:], "--records", "r.jsonl")
            self.assertIn("kernels have recorded schedules", done.stderr)
        self.gsub("run", "t4.onnx", "--records", "r.jsonl", "--schedules", "s.txt", exit=2)
        self.gsub("run", "t4.onnx", "--fill", 1, "--backend", "simd", "--records", "nonesuch.jsonl", exit=5)

    def test_records_that_are_none_are_told_by_line(self):
        self.gsub("models", "t4", "-o", "t4.onnx")
        self.file("bad.jsonl", b'# a comment\n{"v": 1}\nnonsense\n')
        done = self.gsub("bench", "t4.onnx", "--runs", 1, "--records", "bad.jsonl")
        for words in ("bad.jsonl:2", "bad.jsonl:3"):
            self.assertIn(words, done.stderr)

    def test_tuning_ends_with_its_budget_and_for_other_machines_nothing_runs(self):
        self.gsub("models", "squeezenet1_1", "-o", "m.onnx")
        self.gsub("tune", "m.onnx", "--budget", 0.05, "--no-check", "--json", "t.json")
        told = json.loads((self.at / "t.json").read_text())
        self.assertEqual(told["stopped_by"], "time")
        self.assertLess(told["tuned"], told["tasks"])
        self.gsub("tune", "m.onnx", "--budget", 0.05, "--no-check", "--no-isolation")
        self.gsub("tune", "m.onnx", "--method", "static", "--target", "aarch64-neon", "--points", 20, "--records", "n.jsonl",
                  "--model", "counted", "--json", "t.json")
        told = json.loads((self.at / "t.json").read_text())
        self.assertNotIn("check", told)
        self.assertTrue(told["modelled_only"])
        self.gsub("tune", "m.onnx", "--target", "aarch64-neon", exit=5)
        other = self.gsub("tune", "m.onnx", "--target", "x86-64-avx2,cpu=zen9", exit=5)
        self.assertRegex(other.stderr, "zen9|avx2")
        self.gsub("tune", "m.onnx", "--method", "guess", exit=2)

    def test_graphs_and_kernels_are_found_for_a_gpu_that_is_not_here(self):
        self.gsub("models", "squeezenet1_1", "-o", "m.onnx")
        done = self.gsub("tune", "m.onnx", "--method", "static", "--target", "sm_90", "--points", 100, "--records", "g.jsonl",
                         "--json", "t.json")
        told = json.loads((self.at / "t.json").read_text())
        self.assertEqual((told["target"], told["score"], told["modelled_only"]), ("h100", "static_gpu", True))
        self.assertNotIn("check", told)
        self.assertEqual(told["tuned"], told["tasks"])
        self.assertIn("NVIDIA H100", done.stdout)
        for line in (self.at / "g.jsonl").read_text().splitlines():
            self.assertIn("model=h100", line)
        self.assertIn("NVIDIA H200", self.gsub("tasks", "m.onnx", "--target", "h200").stdout)
        found = self.gsub("optimize", "m.onnx", "-o", "o.onnx", "--target", "h200", "--verify")
        self.assertIn("NVIDIA H200 (SXM5); modelled only", found.stdout)
        # Any device takes its schedules, one of the table its records.
        if "opencl:0" in self.gsub("doctor").stdout:
            self.gsub("models", "t2", "-o", "t2.onnx")
            self.gsub("tasks", "t2.onnx", "--target", "h200", "--schedules", "s.txt")
            self.gsub("run", "t2.onnx", "--fill", 1, "--output-dir", "host")
            self.gsub("run", "t2.onnx", "--fill", 1, "--output-dir", "there", "--device", "opencl:0", "--schedules", "s.txt")
            host, there = (array.array("f", (self.at / way / "output_0.npy").read_bytes()[128:]) for way in ("host", "there"))
            self.assertEqual(len(host), 128 * 13 * 13)
            self.assertGreater(max(host), 0)
            self.assertLess(max(abs(a - b) for a, b in zip(host, there, strict=True)), 1e-5 * max(host))
            refused = self.gsub("run", "t2.onnx", "--fill", 1, "--device", "opencl:0", "--records", "g.jsonl", exit=2)
            self.assertIn("opencl:0", refused.stderr)
        # What runs or is exported is for processors, and for devices that are here.
        self.gsub("tune", "m.onnx", "--target", "h200", exit=3)
        self.gsub("tune", "m.onnx", "--target", "h200", "--method", "static", "--model", "scheduled", exit=2)
        self.gsub("compile", "m.onnx", "-o", "sources", "--target", "x86-64-avx2,h200", exit=3)
        self.assertIn("G0512", self.gsub("bench", "m.onnx", "--target", "h200", exit=5).stderr)

    def test_kernels_are_tuned_for_a_processor_that_is_not_here_by_its_assembly(self):
        self.gsub("models", "t12", "-o", "t12.onnx")
        target = "aarch64-neon,cpu=neoverse-n1"
        done = self.gsub("tune", "t12.onnx", "--method", "static", "--target", target, "--points", 40, "--records", "n.jsonl",
                         "--json", "t.json")
        told = json.loads((self.at / "t.json").read_text())
        self.assertIn("modelled only", done.stdout)
        for line in (self.at / "n.jsonl").read_text().splitlines() if (self.at / "n.jsonl").exists() else []:
            self.assertIn("aarch64-neon", line)
            self.assertTrue(json.loads(line)["modelled_only"])
        if shutil.which("aarch64-linux-gnu-g++") is None:
            self.assertIn("aarch64-linux-gnu-g++", done.stderr)
            self.gsub("tune", "t12.onnx", "--method", "static", "--target", target, "--model", "assembled", exit=5)
            return
        self.assertEqual(told["second_model"], "assembled")
        self.assertGreater(told["assembled"]["predicted"], 0)
        self.assertEqual(told["assembled"]["unknown"], 0)
        made = self.gsub("compile", "t12.onnx", "-o", "sources", "--target", target, "--records", "n.jsonl")
        self.assertIn("recorded schedules", made.stderr)

    def test_input_and_result_are_timed_and_the_faster_one_is_kept(self):
        self.gsub("models", "t12", "-o", "m.onnx")
        out = self.gsub("optimize", "m.onnx", "--measure", "-o", "out.onnx", "--json", "r.json").stdout
        self.assertIn("measured", out)
        told = json.loads((self.at / "r.json").read_text())["measured"]
        self.assertLessEqual(told["low"], told["ratio"])
        self.assertLessEqual(told["ratio"], told["high"])
        self.assertEqual(told["kept"], "input" if told["ratio"] > 1 else "result")
        self.gsub("optimize", "m.onnx", "--measure", "--passes", "DCE", exit=2)

    def test_goals_are_weighed(self):
        self.gsub("models", "squeezenet1_1", "-o", "s.onnx")

        def after(goal, *more):
            self.gsub("optimize", "s.onnx", "--goal", goal, "--budget", 20, "-o", "out.onnx", "--json", "r.json", *more)
            return json.loads((self.at / "r.json").read_text()), (self.at / "out.onnx").read_bytes()
        for goal in ("latency", "memory", "energy", "flops"):
            plain, plain_bytes = after(goal)
            others = ",".join(f"{other}:0" for other in ("flops", "energy", "memory", "latency") if other != goal)
            for weighed in (f"{goal}:0.25,{others}", f"{others},{goal}"):
                report, made = after(weighed)
                self.assertEqual(made, plain_bytes, weighed)
                self.assertEqual(report["cost_after"], plain["cost_after"])
        one, one_bytes = after("latency:0.7,energy:0.3,flops:0.1")
        other, other_bytes = after("flops:0.1,latency:0.7,energy:0.3")
        self.assertEqual(one["cost_after"], other["cost_after"])
        self.assertEqual(one_bytes, other_bytes)
        self.assertEqual(one["cost_before"]["unit"], "%")
        self.assertAlmostEqual(one["cost_before"]["value"], 100)
        self.assertLess(one["cost_after"]["value"], 100)
        self.assertIn("0.7 latency + 0.3 energy + 0.1 flops", one["cost_model"])
        self.assertEqual(after("latency,memory")[1], after("memory:2,latency:2")[1])
        self.gsub("explain", DIGITS / "digits.onnx", "--rule", "fuse_conv_bn", "--goal", "latency:1,energy:1")
        for goal, why in (("love", "love"), ("latency:1,love:1", "love"), ("latency:-1", ">= 0"), ("latency:nan", ">= 0"), ("latency:inf,energy:1", ">= 0"),
                          ("latency:", ">= 0"), ("latency:1x", ">= 0"), ("latency:1,latency:2", "two weights"), ("latency:1,", "no goal"), ("", "--goal"),
                          ("latency:0,energy:0", "above 0")):
            self.assertIn(why, self.gsub("optimize", "s.onnx", f"--goal={goal}", exit=2).stderr, goal)
        self.gsub("optimize", "s.onnx", "--goal", "latency:1,energy:1", "--cost", "flops", exit=2)
        self.file("r.onnx", model(("Identity", "r", ["x"], ["y"])))
        self.assertIn("costs 0 FLOP", self.gsub("optimize", "r.onnx", "--goal", "flops:1,memory:1", exit=3).stderr)

    def test_alpha_may_rise(self):
        self.gsub("models", "t1", "-o", "t1.onnx")
        cost = {}
        for way in ((), ("--schedule", "1.02,1.05"), ("--schedule", "1.05", "--queue", 2)):
            self.gsub("optimize", "t1.onnx", "--cost", "roofline", "--rules", "atomic", "--alpha", 1, *way, "--json", "r.json")
            cost[len(way)] = json.loads((self.at / "r.json").read_text())["cost_after"]["value"]
        self.assertLess(cost[2], cost[0])
        self.assertLessEqual(cost[4], cost[0])
        self.assertIn("schedule", self.gsub("optimize", "t1.onnx", "--schedule", "1.05", exit=2).stderr)
        self.assertIn("queue", self.gsub("optimize", "t1.onnx", "--queue", 1, exit=2).stderr)

    def test_a_graph_is_searched_in_parts(self):
        self.gsub("models", "t19", "-o", "chain.onnx")
        for split, parts in (("none", 0), ("8", 8), ("auto", 2)):
            self.gsub("optimize", "chain.onnx", "--cost", "roofline", "--split", split, "--json", "r.json")
            report = json.loads((self.at / "r.json").read_text())
            self.assertEqual(report["split"]["parts"], parts)
            self.assertEqual(report["kernels_after"], 16)
        for wrong in ("0", "-1", "8x", "some"):
            self.assertIn("--split", self.gsub("optimize", "chain.onnx", "--split", wrong, exit=2).stderr)

    def test_a_rule_that_is_switched_off_is_not_applied(self):
        self.gsub("optimize", DIGITS / "digits.onnx", "--cost", "roofline", "--rules", "-fuse_conv_bn", "--json", "r.json")
        rules = {a["rule"] for a in json.loads((self.at / "r.json").read_text())["applied"]}
        self.assertTrue(rules)
        self.assertNotIn("fuse_conv_bn", rules)

    def test_passes_are_listed_with_their_facts_and_lists(self):
        out = self.gsub("passes", "--json", "p.json").stdout
        listed = json.loads((self.at / "p.json").read_text())
        for entry in listed["passes"]:
            self.assertIn(entry["pass"], out)
            self.assertTrue(entry["effect"])
            self.assertIn(entry["exactness"], ("bit-exact", "reassociating", "approximate", "precision-changing"))
        self.assertLessEqual({"BL", "tvm_o3", "AS-0", "AS-1", "PO-0", "PO-3"}, {entry["list"] for entry in listed["lists"]})

    def test_optimize_runs_the_passes_that_it_is_given_and_dumps_them(self):
        digits = DIGITS / "digits.onnx"
        done = self.gsub("optimize", digits, "-o", "out.onnx", "--passes", "DCE, FuseOps, defuse_ops", "--verify",
                         "--dump-passes", "dump", "--json", "r.json")
        self.assertIn("fuse-ops", done.stdout)
        records = json.loads((self.at / "r.json").read_text())["passes"]
        self.assertEqual([r["pass"] for r in records], ["dead-code-elimination", "fuse-ops", "defuse-ops"])
        self.assertTrue(records[0]["not_run"])
        self.assertTrue(records[1]["verified"])
        self.assertEqual(records[1]["error"], 0)
        self.assertIn("equal", self.gsub("compare", digits, "out.onnx").stdout)
        index = (self.at / "dump/index.html").read_text()
        for name in ("000-start.onnx", "002-fuse-ops.onnx", "002-fuse-ops.txt", "002-fuse-ops.dot"):
            self.assertTrue((self.at / "dump" / name).stat().st_size)
            self.assertIn(name, index)
        self.gsub("compare", digits, "dump/002-fuse-ops.onnx")
        self.assertIn("no pass of the list", self.gsub("bisect", digits, "--passes", "fuse-ops, defuse-ops").stdout)

    def test_a_file_has_no_layouts(self):
        digits = DIGITS / "digits.onnx"
        for passes in ("alter-op-layout", "convert-layout(NCHW8c)", "convert-layout(NHWC)", "default"):
            done = self.gsub("optimize", digits, "-o", "out.onnx", "--passes", passes)
            self.assertEqual("a file has none" in done.stderr + done.stdout, "NHWC" not in passes)
            self.assertIn("equal", self.gsub("compare", digits, "out.onnx").stdout)

    def test_unknown_passes_and_broken_orders_are_usage_errors(self):
        digits = DIGITS / "digits.onnx"
        self.assertIn("fuse-ops", self.gsub("optimize", digits, "--passes", "FuseOp", exit=2).stderr)
        self.assertIn("must come before", self.gsub("optimize", digits, "--passes", "DefuseOps, FuseOps", exit=2).stderr)
        self.gsub("optimize", digits, "--dump-passes", "dump", exit=2)
        self.assertIn("--alpha", self.gsub("optimize", digits, "--passes", "auto", "--alpha", "1.1", exit=2).stderr)

    def test_run_writes_outputs_in_order(self):
        self.file("m.onnx", model(("Relu", "r", ["x"], ["y"])))
        self.file("x.npy", npy(-1, 2, -3, 4))
        self.gsub("run", "m.onnx", "--input", "x=x.npy", "--output-dir", "new/folder")
        self.assertEqual((self.at / "new/folder/output_0.npy").read_bytes()[-16:], struct.pack("<4f", 0, 2, 0, 4))

    def test_generated_kernels_compute_what_the_reference_does(self):
        digits = DIGITS / "digits.onnx"
        self.gsub("run", digits, "--fill", 1, "--output-dir", "reference")
        numbers = lambda way: struct.unpack("<10f", (self.at / way / "output_0.npy").read_bytes()[-40:])
        expected = numbers("reference")
        for isa in ("host", "baseline"):
            done = self.gsub("--json", "j", "run", digits, "--fill", 1, "--backend", "simd", "--target", isa, "--output-dir", isa)
            self.assertNotIn("Conv", done.stderr)
            self.assertEqual(json.loads((self.at / "j").read_text())["backend"], "simd")
            self.assertLess(max(abs(a - b) for a, b in zip(expected, numbers(isa))), 1e-4 * max(map(abs, expected)))

    def test_double_precision_is_the_reference_runtimes(self):
        digits = DIGITS / "digits.onnx"
        self.gsub("run", digits, "--fill", 1, "--output-dir", "single")
        self.gsub("--json", "j", "run", digits, "--fill", 1, "--precision", "f64", "--output-dir", "double")
        told = json.loads((self.at / "j").read_text())
        self.assertEqual(told["precision"], "f64")
        self.assertGreater(told["peak_rss_mib"], 1)
        single = struct.unpack("<10f", (self.at / "single/output_0.npy").read_bytes()[-40:])
        double = struct.unpack("<10d", (self.at / "double/output_0.npy").read_bytes()[-80:])
        apart = max(abs(a - b) for a, b in zip(single, double))
        self.assertTrue(0 < apart < 1e-5 * max(map(abs, double)))
        self.gsub("run", digits, "--fill", 1, "--precision", "f64", "--backend", "simd", exit=2)

    def test_the_cache_is_listed_collected_and_verified(self):
        self.assertIn("0 kernels", self.gsub("cache").stdout)
        self.gsub("run", DIGITS / "digits.onnx", "--fill", 1, "--backend", "simd", "--compiled")
        self.gsub("--json", "j", "cache", "ls")
        entries = json.loads((self.at / "j").read_text())["entries"]
        self.assertGreater(len(entries), 3)
        with open(self.at / "cache" / entries[0]["name"], "r+b") as damaged:
            damaged.write(b"damage")
        self.assertIn("1 kernels removed", self.gsub("cache", "verify").stdout)
        self.gsub("cache", "gc", "--limit", 0)
        self.assertIn("0 kernels", self.gsub("cache", "ls").stdout)
        self.gsub("cache", "burn", exit=2)

    def test_kernels_are_emitted_in_memory_where_there_is_no_compiler(self):
        self.gsub("--json", "j", "doctor")
        if json.loads((self.at / "j").read_text())["emitter in memory"] != "on":
            self.skipTest("this program emits no kernels in memory, or the machine has no vectors for them")
        self.gsub("models", "t4", "-o", "t4.onnx")
        self.gsub("run", "t4.onnx", "--fill", 1, "--backend", "simd", "--compiled", "--output-dir", "compiled")
        os.environ["GSUB_CXX"] = str(self.at / "nonesuch")
        try:
            done = self.gsub("run", "t4.onnx", "--fill", 1, "--backend", "simd", "--output-dir", "emitted")
            self.assertNotIn("reference runtime", done.stderr)
            self.gsub("doctor")
            done = self.gsub("run", "t4.onnx", "--fill", 1, "--backend", "simd", "--compiled")
            self.assertIn("reference runtime", done.stderr)
        finally:
            del os.environ["GSUB_CXX"]
        for name in ("compiled", "emitted"):
            self.assertTrue((self.at / name / "output_0.npy").exists())
        values = [array.array("f", (self.at / name / "output_0.npy").read_bytes()[128:]) for name in ("compiled", "emitted")]
        most = max(map(abs, values[0]))
        self.assertLess(max(abs(a - b) for a, b in zip(*values)), 1e-4 * most)

    def test_doctor_names_processor_compiler_and_cache(self):
        self.gsub("--json", "j", "doctor")
        found = json.loads((self.at / "j").read_text())
        self.assertTrue({"processor", "instruction set", "target", "caches", "compiler", "cache"} <= set(found))

    def test_bench_times_runs_and_steps(self):
        done = self.gsub("--json", "j", "bench", DIGITS / "digits.onnx", "--runs", 20, "--warmup", 2, "--profile")
        self.assertIn("conv2d", done.stdout)
        found = json.loads((self.at / "j").read_text())
        times = found["latency_ms"]
        self.assertTrue(0 < times["min"] <= times["median"] <= times["p90"] <= times["p99"])
        self.assertTrue(times["min"] <= times["mean"])
        self.assertEqual(found["runs"] + found["outliers"], 20)
        for key in ("throughput_per_s", "build_ms", "peak_rss_mib"):
            self.assertGreater(found[key], 0)
        self.assertTrue(all({"name", "kind", "ms", "operations"} <= set(step) for step in found["steps"]))
        self.gsub("bench", DIGITS / "digits.onnx", "--backend", "reference", "--time", 0.05)
        self.file("m.onnx", model(("Relu", "r", ["x"], ["y"])))
        self.assertIn("runs a second", self.gsub("--json", "j", "bench", "m.onnx", "--paper").stdout)
        found = json.loads((self.at / "j").read_text())
        self.assertEqual(found["runs"] + found["outliers"], 1000)
        self.gsub("bench", DIGITS / "digits.onnx", "--paper", "--runs", 3, exit=2)

    def test_kernels_are_measured_once_and_their_times_kept(self):
        self.gsub("models", "t4", "-o", "t4.onnx")
        how = ("--cost", "measured", "--backend", "simd", "--profile", "p.jsonl", "--budget", 5)
        self.gsub("optimize", "t4.onnx", "-o", "a.onnx", "--verify", *how)
        known = (self.at / "p.jsonl").read_bytes()
        self.assertTrue(all("seconds" in json.loads(line) for line in known.splitlines()))
        self.assertTrue(known)
        for out in ("b.onnx", "c.onnx"):
            self.gsub("optimize", "t4.onnx", "-o", out, *how)
            self.assertEqual((self.at / "p.jsonl").read_bytes(), known)
        self.assertEqual((self.at / "b.onnx").read_bytes(), (self.at / "c.onnx").read_bytes())
        self.gsub("compare", "t4.onnx", "a.onnx")
        self.gsub("optimize", "t4.onnx", "--backend", "simd", exit=2)

    @unittest.skipUnless(shutil.which("cmake"), "needs CMake")
    def test_a_compiled_model_is_built_and_run_without_gsub(self):
        self.file("m.onnx", model(("Neg", "n", ["x"], ["a"]), ("Relu", "r", ["a"], ["y"])))
        self.file("x.npy", npy(1, -2, 3, -0.5))
        self.gsub("compile", "m.onnx", "-o", "out", "--name", "net")
        for step in (["cmake", "-G", "Ninja", "-S", "out", "-B", "build"], ["cmake", "--build", "build"],
                     ["build/net_demo", "out/weights.bin", "x.npy", "--threads", "2", "--save", "y"]):
            done = subprocess.run(step, capture_output=True, text=True, cwd=self.at, timeout=300)
            self.assertEqual(done.returncode, 0, f"{step}\n{done.stdout}\n{done.stderr}")
        self.assertEqual(struct.unpack("<4f", (self.at / "y0.npy").read_bytes()[-16:]), (0, 2, 0, 0.5))

    @unittest.skipUnless(shutil.which("cmake"), "needs CMake")
    def test_the_program_of_a_compiled_model_reads_and_writes_all_element_types(self):
        # ONNX's number of the type, NumPy's name of it.
        kinds = [(11, "<f8"), (1, "<f4"), (10, "<f2"), (7, "<i8"), (6, "<i4"), (5, "<i2"), (3, "|i1"), (2, "|u1"), (13, "<u8"), (12, "<u4"),
                 (4, "<u2"), (9, "|b1")]
        graph = field(2, "g")
        for i, (element, kind) in enumerate(kinds):
            graph += field(1, field(1, f"x{i}") + field(2, f"y{i}") + field(4, "Identity"))
            graph += field(11, declared(f"x{i}", element, 2)) + field(12, declared(f"y{i}", element, 2))
            size = int(kind[2])
            self.file(f"x{i}.npy", npy_of(kind, 2, bytes(size) + b"\1" + bytes(size - 1)))
        self.file("m.onnx", field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13)))
        self.gsub("compile", "m.onnx", "-o", "out", "--name", "net")
        given = [f"x{i}.npy" for i in range(len(kinds))]
        for step in (["cmake", "-G", "Ninja", "-S", "out", "-B", "build"], ["cmake", "--build", "build"],
                     ["build/net_demo", "out/weights.bin", *given, "--save", "y"]):
            done = subprocess.run(step, capture_output=True, text=True, cwd=self.at, timeout=300)
            self.assertEqual(done.returncode, 0, f"{step}\n{done.stdout}\n{done.stderr}")
        for i, (_, kind) in enumerate(kinds):
            written = (self.at / f"y{i}.npy").read_bytes()
            self.assertIn(f"'{kind}'".encode(), written)
            size = 2 * int(kind[2])
            self.assertEqual(written[-size:], (self.at / f"x{i}.npy").read_bytes()[-size:], kind)

    def test_compile_writes_a_folder_and_tells_what_is_in_it(self):
        done = self.gsub("--json", "j", "compile", DIGITS / "digits.onnx", "-o", "out", "--target", "x86-64-avx2", "--optimize")
        self.assertIn("model digits", done.stdout)
        found = json.loads((self.at / "j").read_text())
        self.assertEqual(sorted(found["files"]), sorted(p.name for p in (self.at / "out").iterdir()))
        self.assertIn("digits.h", found["files"])
        self.assertEqual(found["weight_bytes"], (self.at / "out/weights.bin").stat().st_size)
        self.assertGreater(found["kernels"], 3)
        self.gsub("compile", DIGITS / "digits.onnx", "-o", "out", "--name", "other", "--target", "baseline", "--no-threads")
        self.gsub("compile", DIGITS / "digits.onnx", "-o", "out", "--name", "No Name", "--optimize", exit=2)
        self.gsub("compile", DIGITS / "digits.onnx", "-o", "out", "--target", "mmx", exit=2)
        self.gsub("compile", DIGITS / "digits.onnx", exit=2)
        self.gsub("compile", DIGITS / "digits.onnx", "-o", DIGITS, "--optimize", exit=2)
        self.gsub("compile", "none.onnx", "-o", "none", exit=5)
        self.file("m.onnx", model(("Wobble", "w", ["x"], ["a"]), ("Flip", "f", ["a"], ["y"])))
        self.gsub("compile", "m.onnx", "-o", "none", "--json", "j", exit=3)
        self.assertEqual([p["node"] for p in json.loads((self.at / "j").read_text())["error"]["problems"]], ["w", "f"])
        self.assertFalse((self.at / "none").exists())

    def test_check_tells_all_problems_at_once_or_how_a_model_runs(self):
        self.file("m.onnx", model(("Wobble", "w", ["x"], ["a"]), ("Flip", "f", ["a"], ["y"])))
        refused = self.gsub("check", "m.onnx", "--json", "j", exit=3)
        self.assertEqual([(p["node"], p["op"]) for p in json.loads((self.at / "j").read_text())["error"]["problems"]],
                         [("w", "Wobble-13"), ("f", "Flip-13")])
        self.assertIn("2 problems", refused.stderr)
        self.assertNotIn("note", refused.stderr)
        many = model(*[("Wobble", f"w{i}", [f"v{i}" if i else "x"], [f"v{i + 1}" if i < 299 else "y"]) for i in range(300)])
        self.file("many.onnx", many)
        refused = self.gsub("check", "many.onnx", "--json", "j", exit=3)
        self.assertIn("and 200 more", refused.stderr)
        self.assertEqual(len(json.loads((self.at / "j").read_text())["error"]["problems"]), 300)
        done = self.gsub("check", DIGITS / "digits.onnx", "--json", "j")
        found = json.loads((self.at / "j").read_text())
        self.assertEqual(found["reference"], {})
        self.assertGreater(found["steps"], 3)
        self.assertGreater(found["operators"]["Conv"], 0)
        self.assertEqual([i["name"] for i in found["inputs"]], ["image"])
        self.assertIn("on the reference runtime: none", done.stdout)
        self.file("n.onnx", model(("Unique", "n", ["x"], ["y"])))
        self.gsub("check", "n.onnx", "--target", "aarch64-neon", "--json", "j")
        found = json.loads((self.at / "j").read_text())
        self.assertEqual(found["reference"], {"Unique": 1})

    def test_run_fills_inputs_from_a_seed(self):
        self.file("m.onnx", model(("Relu", "r", ["x"], ["y"])))
        outs = [self.gsub("--json", "j", "run", "m.onnx", "--fill", seed).stdout.splitlines()[0] for seed in (1, 1, 2)]
        self.assertEqual(outs[0], outs[1])
        self.assertNotEqual(outs[0], outs[2])

    def test_inputs_that_do_not_fit_are_told(self):
        self.file("m.onnx", model(("Relu", "r", ["x"], ["y"])))
        self.file("short.npy", npy(1, 2))
        self.assertIn('"x"', self.gsub("run", "m.onnx", "--input", "x=short.npy", exit=2).stderr)
        self.file("bad.npy", b"no npy")
        self.gsub("run", "m.onnx", "--input", "x=bad.npy", exit=4)
        self.gsub("run", "m.onnx", "--input", "x=none.npy", exit=5)

    def test_a_model_of_any_size_is_built_for_the_sizes_and_settings_that_are_given(self):
        self.file("m.onnx", reshape_of_any_size())
        refused = self.gsub("run", "m.onnx", "--fill", 1, "--backend", "simd", exit=3).stderr
        self.assertIn('--dim "rows"=1', refused)
        built = self.gsub("run", "m.onnx", "--fill", 1, "--backend", "simd", "--dim", "rows=2", "--value", "to=3,4")
        self.assertIn("f32[3,4]", built.stdout)
        for command in ("bench", "tasks"):
            self.gsub(command, "m.onnx", "--shape", "x=2x6", "--value", "to=-1")
        self.gsub("convert", "m.onnx", "-o", "fixed.onnx", "--dim", "rows=2", "--value", "to=3,4")
        self.assertIn("f32[3,4]", self.gsub("run", "fixed.onnx", "--fill", 1, "--backend", "simd").stdout)
        # What is given to a run tells both.
        self.file("x.npy", npy(*range(6)).replace(b"(6,), }", b"(1,6) }"))
        self.file("to.npy", npy(0, 0).replace(b"<f4", b"<i8")[:-8] + struct.pack("<2q", 3, 2))
        run = self.gsub("run", "m.onnx", "--input", "x=x.npy", "--input", "to=to.npy", "--backend", "simd")
        self.assertIn("f32[3,2]", run.stdout)
        for wrong, words in ((["--dim", "columns=1"], "there are"), (["--dim", "rows"], "NAME=..."), (["--dim", "rows=x"], "NAME=8"), (["--shape", "x=2x7"], "dimension 1 is 6, not 7"),
                             (["--value", "z=1"], "there is no such input"), (["--dim", "rows=-1"], "a dimension of -1")):
            self.assertIn(words, self.gsub("run", "m.onnx", "--fill", 1, *wrong, exit=2).stderr)

    def test_unknown_operators_are_all_named(self):
        self.file("m.onnx", model(("Wobble", "w", ["x"], ["a"]), ("Flip", "f", ["a"], ["y"])))
        done = self.gsub("run", "m.onnx", "--fill", 1, "--json", "j", exit=3)
        self.assertIn("Wobble", done.stderr)
        self.assertIn("Flip", done.stderr)
        problems = json.loads((self.at / "j").read_text())["error"]["problems"]
        self.assertEqual([p["node"] for p in problems], ["w", "f"])
        self.assertIn("Wobble", self.gsub("optimize", "m.onnx", "-o", "out.onnx").stderr)
        self.assertIn("Wobble", self.gsub("inspect", "out.onnx").stdout)

    def test_broken_files_exit_4_and_missing_ones_5(self):
        self.file("bad.onnx", b"\x0a\xff\xff")
        for command in (["run", "bad.onnx", "--fill", 1], ["optimize", "bad.onnx", "-o", "out.onnx"], ["inspect", "bad.onnx"], ["compare", "bad.onnx", "bad.onnx"]):
            self.assertIn("bad.onnx", self.gsub(*command, exit=4).stderr)
        self.file("ill.onnx", model(("Relu", "r", ["nowhere"], ["y"])))
        self.assertIn("nowhere", self.gsub("optimize", "ill.onnx", "-o", "out.onnx", exit=4).stderr)
        self.gsub("inspect", "none.onnx", exit=5)
        self.assertFalse((self.at / "out.onnx").exists())

    def test_where_a_file_cannot_be_written_nothing_is_left(self):
        self.gsub("models", "t9", "-o", "no/such/folder/m.onnx", exit=5)
        (self.at / "taken").mkdir()
        self.gsub("models", "t9", "-o", "taken", exit=5)
        self.assertEqual(sorted(p.name for p in self.at.rglob("*")), ["taken"])

    def test_models_that_differ_exit_1(self):
        self.file("a.onnx", model(("Relu", "r", ["x"], ["y"])))
        self.file("b.onnx", model(("Sigmoid", "r", ["x"], ["y"])))
        done = self.gsub("compare", "a.onnx", "b.onnx", "--json", "j", exit=1)
        self.assertIn("DIFFERS", done.stdout)
        report = json.loads((self.at / "j").read_text())
        self.assertFalse(report["equal"])
        self.assertEqual(report["outputs"][0]["name"], "y")
        self.gsub("compare", "a.onnx", "b.onnx", "--rtol", 1e9)

    def test_rules_of_the_library_are_proved(self):
        # All of them take long: the test "every rule of the library is proved" of the layer rewrite proves each.
        self.gsub("rules", "--json", "j")
        family = {r["rule"] for r in json.loads((self.at / "j").read_text())["rules"] if "fuse_" in r["rule"]}
        self.assertGreater(len(family), 3)
        out = self.gsub("verify-rules", "--quiet", "--rules", ",".join(family), "--json", "j").stdout
        rules = json.loads((self.at / "j").read_text())["rules"]
        self.assertEqual({r["rule"] for r in rules if r["verdict"] == "proved"}, family)
        self.assertEqual(out.splitlines()[-1], f"{len(family)} rules: {len(family)} proved, 0 refuted")
        self.assertIn("--rules LIST=all", self.gsub("verify-rules", "--help").stdout)

    def test_rules_of_a_file_are_proved_and_used(self):
        self.file("rules", b"rule rows # of one matrix\n p = mat_mul(x, w)\n q = mat_mul(x, v)\n=>\n"
                           b" c = concat(w, v, axis=1, rank=2)\n d = mat_mul(x, c)\n e, f = split(d, axis=1)\n"
                           b" replace p by e\n replace q by f\n")
        out = self.gsub("verify-rules", "--quiet", "--rules-file", "rules", "--json", "j").stdout
        self.assertEqual(out.splitlines()[-1], "1 rules: 1 proved, 0 refuted")
        self.assertIn("rows is typed where w has rank 2", out)
        self.assertEqual(json.loads((self.at / "j").read_text())["rules"][0]["condition"], "w has rank 2")
        self.gsub("models", "t12", "-o", "m.onnx")
        out = self.gsub("optimize", "m.onnx", "--rules", "none", "--rules-file", "rules", "--verify").stdout
        self.assertIn("loaded   rules: 1 rules, 1 used; left out: 0 refuted", out)
        self.assertIn("x rows", out)

    def test_wrong_rules_of_a_file_are_refuted_and_not_used(self):
        wrong = b"rule wrong\n a = relu(x)\n b = sigmoid(a)\n=>\n c = sigmoid(x)\n replace b by c\n"
        self.file("rules", wrong)
        out = self.gsub("verify-rules", "--quiet", "--rules-file", "rules", exit=1).stdout
        self.assertEqual(out.splitlines()[-1], "1 rules: 0 proved, 1 refuted")
        for words in ("output 0 differs at element 0", '"x": f32[1]', "becomes"):
            self.assertIn(words, out)
        self.gsub("models", "t2", "-o", "m.onnx")
        done = self.gsub("optimize", "m.onnx", "--rules", "none", "--rules-file", "rules", exit=2)
        self.assertIn("leaves no rule", done.stderr)
        self.assertIn("1 refuted", self.gsub("optimize", "m.onnx", "--rules-file", "rules").stdout)

    def test_files_that_are_no_rules_exit_4(self):
        self.gsub("models", "t2", "-o", "m.onnx")
        for option, data, reason in (("--rules-file", b"rule r\n a = love(x)\n", 'r: line 2'),
                                     ("--taso", b"no protobuf", "rules"),
                                     ("--taso", field(1, field(1, field(1, 99))), "taso_0: source operator 0")):
            self.file("rules", data)
            for command in (["verify-rules"], ["optimize", "m.onnx"]):
                done = self.gsub(*command, option, "rules", exit=4)
                self.assertIn(reason, done.stderr)
                self.assertIn("rules", done.stderr)
        self.gsub("verify-rules", "--taso", "nonesuch", exit=5)
        self.gsub("verify-rules", "--taso", "rules", "--rules", "atomic", exit=2)
        self.gsub("optimize", "m.onnx", "--taso", "rules", "--passes", "O1", exit=2)

    def test_models_are_listed_written_and_read_back(self):
        self.assertIn("resnet50", self.gsub("models").stdout)
        for name in ("resnet_module", "t2", "t12"):
            self.gsub("models", name, "-o", f"{name}.onnx", "--seed", 7)
            self.assertIn("parameters", self.gsub("inspect", f"{name}.onnx", "--text").stdout)
            self.assertIn("same graph", self.gsub("convert", f"{name}.onnx", "-o", "again.onnx").stdout)

    def test_models_have_the_options_of_their_builders(self):
        listed = self.gsub("models", "--json", "models.json").stdout
        self.assertIn("--batch 1 --image 300 --classes 91\n    ssd_mobilenet_v2 ssd_inception_v2\n", listed)
        models = {m["name"]: m["options"] for m in json.loads((self.at / "models.json").read_text())["models"]}
        self.assertEqual(models["inception_v3"][1],
                         {"name": "image", "summary": "height and width of images", "usual": 299, "least": 75, "most": 4096})
        self.assertEqual(models["t2"], [])
        for option in {o["name"] for options in models.values() for o in options}:
            self.assertIn(f"--{option} ", self.gsub("models", "--help").stdout)

        self.gsub("models", "squeezenet1_1", "--image", 244, "-o", "m.onnx")
        self.assertIn("f32[1,3,244,244]", self.gsub("inspect", "m.onnx").stdout)
        self.gsub("models", "squeezenet1_1", "--image", 33, "--batch", 2, "--classes", 10, "--seed", 3, "-o", "m.onnx")
        out = self.gsub("inspect", "m.onnx").stdout
        self.assertIn("f32[2,3,33,33]", out)
        self.assertIn("f32[2,10]", out)
        self.gsub("models", "bert_base", "--sequence", 4, "--layers", 1, "--hidden", 8, "--heads", 2, "--intermediate", 8,
                  "--vocabulary", 5, "--positions", 4, "-o", "m.onnx")
        self.assertIn("f32[1,4,8]", self.gsub("inspect", "m.onnx").stdout)
        self.gsub("models", "t12", "-o", "a.onnx")
        self.gsub("models", "t12", "--seed", 1, "-o", "b.onnx")
        self.assertEqual((self.at / "a.onnx").read_bytes(), (self.at / "b.onnx").read_bytes())

        for wrong, words in ((["squeezenet1_1", "--layers", 3], "seed, batch, image and classes"),
                             (["squeezenet1_1", "--image", 24], "25 to 4096"), (["t2", "--batch", 2], 'no option "batch"'),
                             (["bert_small", "--heads", 7], "divides"), (["squeezenet1_1", "--image", "2x"], "--image"),
                             (["squeezenet1_1", "--image", 30, "--image", 31], "--image"), (["--image", 30], "which model")):
            self.assertIn(words, self.gsub("models", *wrong, "-o", "never.onnx", exit=2).stderr)
        self.assertFalse((self.at / "never.onnx").exists())

    def test_results_go_to_stdout_and_talk_to_stderr(self):
        loud = self.gsub("optimize", DIGITS / "digits.onnx", "--budget", 5)
        quiet = self.gsub("--quiet", "optimize", DIGITS / "digits.onnx", "--budget", 5)
        self.assertIn("search", loud.stderr)
        self.assertNotIn("\r", loud.stderr)  # no moving line where there is no terminal
        self.assertEqual(quiet.stderr, "")
        self.assertTrue(quiet.stdout)

    def test_names_from_a_model_cannot_steer_the_terminal(self):
        self.file("m.onnx", model(("Wob\x1b[2Jble", "n\x1b]0;x", ["x"], ["y"])))
        done = self.gsub("run", "m.onnx", "--fill", 1, exit=3)
        self.assertNotIn("\x1b", done.stderr + self.gsub("inspect", "m.onnx", "--text").stdout)

    def test_inspect_tells_the_stages_of_a_network(self):
        self.gsub("models", "resnet18", "-o", "r.onnx")
        done = self.gsub("inspect", "r.onnx", "--stages", "--json", "i.json")
        self.assertIn("[3x3 128 x 2] x 2", done.stdout)
        stages = json.loads((self.at / "i.json").read_text())["stages"]
        self.assertEqual([s["size"] for s in stages][:5], ["112x112", "56x56", "28x28", "14x14", "7x7"])
        self.assertEqual(stages[2]["beside"], "1x1 128")

    def test_operators_are_listed(self):
        self.assertIn("BatchNormalization", self.gsub("ops").stdout)


unittest.main(verbosity=1)
