"""The programs that compare.py starts, and what their answers mean."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def call(*command, allowed=(0,), **environment):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode not in allowed:
        sys.exit(f"{' '.join(map(str, command[:6]))} ...: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def gsub_json(gsub, *arguments, negative=False, **environment):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "answer.json"
        call(gsub, "--quiet", "--json", report, *arguments, allowed=(0, 1) if negative else (0,), **environment)
        return json.loads(report.read_text())


def peer(python, *arguments):
    return json.loads(call(python, HERE / "peer.py", *arguments))


class Server:
    """A process that answers lines of JSON with lines of JSON."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)

    def ask(self, **request):
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"error": f"ended with status {self.process.wait()}"}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def steps_of(gsub, file, threads, *options, **environment):
    """How many steps a model has, and how many of each operator are on the reference runtime."""
    told = gsub_json(gsub, "--threads", threads, "bench", file, "--profile", "--warmup", 0, "--runs", 1, *options, **environment)
    return counted_steps(told["steps"])


def counted_steps(steps):
    """Of the steps that `gsub bench --profile` tells. Nothing else knows how a step of the reference runtime is told."""
    mark, reference = "reference ", {}
    for step in steps:
        if step["kind"].startswith(mark):
            name = step["kind"][len(mark):]
            reference[name] = reference.get(name, 0) + 1
    return {"all": len(steps), "reference": reference}


# Networks with operators that gsub reads as graphs of others: what is measured is a file with these operators.
NATIVE = ["yolo", "unet", "lstm_lm", "decoder"]


def built_in(gsub, name, work, python=None):
    """The file of one of gsub's own models, as exporters write it where a python with onnx is given."""
    native = name in NATIVE and python
    file = (work / "native" if native else work) / f"{name}.onnx"
    if file.exists() and file.stat().st_mtime >= pathlib.Path(gsub).stat().st_mtime:
        return file
    if native:
        file.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            plain = pathlib.Path(folder) / file.name
            call(gsub, "--quiet", "models", name, "-o", plain)
            call(python, HERE / "native.py", plain, file)
    else:
        call(gsub, "--quiet", "models", name, "-o", file)
    return file


def random_networks(program, seed, count, folder):
    """Files of the first networks of a seed, in their order."""
    call(program, "--seed", seed, "--count", count, "--write", folder)
    return sorted(folder.glob("*.onnx"), key=lambda file: int(file.stem.rpartition("_")[2]))
