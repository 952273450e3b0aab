"""The rules published with TASO, verified and used by the command line: taso.py GSUB [DATA]."""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

GSUB = pathlib.Path(sys.argv[1]).resolve()
FILE = pathlib.Path(*sys.argv[2:3], "taso_graph_subst.pb").resolve()
# Laws that forget about groups, or that groups of a convolution have equally many outputs.
WRONG = [98, 99, 100, 105, 125, 126, 127, 128, 129, 130, 131]


def gsub(*arguments, at, exit=0):
    done = subprocess.run([GSUB, "--quiet", *map(str, arguments)], capture_output=True, text=True, cwd=at, timeout=200)
    assert done.returncode == exit, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def check(at):
    begin = time.monotonic()
    out = gsub("verify-rules", "--taso", FILE, "--json", "j", at=at, exit=1)
    seconds = time.monotonic() - begin
    assert out.splitlines()[-1] == "133 rules: 122 proved, 11 refuted", out.splitlines()[-1]
    assert seconds < 30, seconds
    rules = json.loads((at / "j").read_text())["rules"]
    assert [int(r["rule"].removeprefix("taso_")) for r in rules if r["verdict"] == "refuted"] == WRONG
    for r in rules:
        assert (r["verdict"] == "refuted") == ("differs at element" in r["counterexample"]), r
        assert (r["verdict"] == "proved where typed") == bool(r["condition"]), r
    # Other instances come to the same end.
    for seed in (2, 3):
        out = gsub("verify-rules", "--taso", FILE, "--seed", seed, at=at, exit=1)
        assert out.splitlines()[-1] == "133 rules: 122 proved, 11 refuted", seed

    for model, rules, better in (("t12", "none", 0.6), ("t12", "all", 0.3), ("t2", "all", 0.3), ("resnet_module", "all", 0.9)):
        gsub("models", model, "-o", "m.onnx", at=at)
        out = gsub("optimize", "m.onnx", "--taso", FILE, "--rules", rules, "--cost", "roofline", "--verify", "--budget", 100, "--json", "j", at=at)
        assert "133 rules, 116 used; left out: 11 refuted, 6 of parts that share no value" in out, out
        report = json.loads((at / "j").read_text())
        assert report["loaded_rules"]["used"] == 116 and report["loaded_rules"]["refuted"] == 11
        assert report["verification"]["equal"], model
        before, after = report["cost_before"]["value"], report["cost_after"]["value"]
        assert after < better * before, (model, rules, before, after)
        assert not {f"taso_{i}" for i in WRONG} & {step["rule"] for step in report["applied"]}
    print(f"verified in {seconds:.1f} s")


if not FILE.is_file():
    print("skipped: GSUB_TEST_DATA names no folder with taso_graph_subst.pb")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    check(pathlib.Path(folder))
