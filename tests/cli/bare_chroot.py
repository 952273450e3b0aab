"""The command line in a bare root directory: bare_chroot.py GSUB. What it needs of a system is its shared libraries.

The directory has the program, the libraries that `ldd` names, their loader and models of the catalogue: no compiler, no
shell, no /proc, /sys, /dev or /tmp, and the environment is empty. Kernels are then made in memory or not at all."""
import array
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

GSUB = pathlib.Path(sys.argv[1]).resolve()
SKIPPED = 77
MODELS = {
    "convolutions": ("squeezenet1_1", "--image", 32, "--classes", 10),
    "attention": ("bert_small", "--layers", 1, "--sequence", 16, "--hidden", 64, "--heads", 2, "--intermediate", 128, "--vocabulary", 100,
                  "--positions", 32),
}


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


def tool(name):
    """The path of a program of the system, also where a user's PATH lacks the administrator's folders."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin")


def libraries():
    """The shared libraries of the program and their loader, as absolute paths."""
    done = subprocess.run([tool("ldd"), GSUB], capture_output=True, text=True)
    if done.returncode != 0:
        skip("ldd tells no shared libraries of the program")
    assert "not found" not in done.stdout, done.stdout
    return re.findall(r"(?:^|\s)(/\S+)", done.stdout)


def way_in():
    """A command that enters a root directory: of the administrator, or of a user who has namespaces."""
    chroot, unshare, true = tool("chroot"), tool("unshare"), tool("true")
    for way in ([chroot], [unshare, "--user", "--map-root-user", chroot]):
        if None not in way and subprocess.run([*way, "/", true], capture_output=True).returncode == 0:
            return way
    skip("neither chroot nor user namespaces may be used here")


def run(command, env=None):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=250, env=env)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def files(root):
    return {str(p.relative_to(root)) for p in root.rglob("*") if not p.is_dir()}


def floats(npy):
    """The numbers of a file of f32."""
    data = npy.read_bytes()
    return array.array("f", data[10 + int.from_bytes(data[8:10], "little"):])


def check(root):
    way = way_in()
    for library in libraries():
        (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, root / library[1:])  # what links lead to, not links
    shutil.copy(GSUB, root / "gsub")
    for name, what in MODELS.items():
        run([GSUB, "models", *what, "-o", root / f"{name}.onnx"])

    written = files(root)

    def inside(*arguments, makes):
        """Runs gsub there; all that it writes is what it was told to write."""
        done = run([*way, root, "/gsub", *arguments], env={})
        written.update(makes)
        assert files(root) == written, (arguments, files(root) ^ written)
        return done

    def answer(name="j.json"):
        return json.loads((root / name).read_text())

    doctor = inside("doctor", "--json", "/j.json", makes=["j.json"]).stdout
    assert re.search(r"^compiler +none .*install g\+\+ or clang\+\+", doctor, re.M), doctor
    assert answer()["compiler"] == "none" and answer()["cache"] == "off", answer()
    if answer()["emitter in memory"] != "on":
        skip("this program emits no kernels in memory, or the machine has no vectors for them")
    machine = ("--target", answer()["target"])

    for name in MODELS:
        how = ("--backend", "simd", "--fill", 7, *machine)
        done = inside("run", f"/{name}.onnx", *how, "--output-dir", f"/{name}", makes=[f"{name}/output_0.npy"])
        assert "reference runtime" not in done.stderr, done.stderr  # kernels, not the evaluator in their place
        run([GSUB, "run", root / f"{name}.onnx", *how, "--output-dir", root.parent / name])
        run([GSUB, "run", root / f"{name}.onnx", "--fill", 7, "--output-dir", root.parent / "reference"])
        here, there = (folder / name / "output_0.npy" for folder in (root.parent, root))
        assert there.read_bytes() == here.read_bytes(), f"{name}: outputs inside and outside differ"
        expected = floats(root.parent / "reference/output_0.npy")
        worst = max(abs(a - b) for a, b in zip(floats(there), expected, strict=True))
        assert worst <= 1e-3 * max(map(abs, expected)), (name, worst)

        inside("bench", f"/{name}.onnx", "--runs", 3, "--warmup", 1, "--json", "/j.json", makes=[])
        assert answer()["backend"] == "simd" and answer()["latency_ms"]["min"] > 0, answer()

        record = f"{name}.jsonl"
        inside("tune", f"/{name}.onnx", "--method", "static", "--points", 64, "--no-check", "--records", f"/{record}",
               "--json", "/j.json", makes=[record])
        assert answer()["scored"] > 0 and answer()["trials"] == 0 and answer()["failed"] == 0, answer()
        assert answer()["stopped_by"] == "exhausted", answer()
        tuned = inside("run", f"/{name}.onnx", *how, "--records", f"/{record}", "--output-dir", f"/{name}_tuned",
                       makes=[f"{name}_tuned/output_0.npy"])
        assert "reference runtime" not in tuned.stderr, tuned.stderr
        worst = max(abs(a - b) for a, b in zip(floats(root / f"{name}_tuned/output_0.npy"), expected, strict=True))
        assert worst <= 1e-3 * max(map(abs, expected)), (name, worst)

    # Candidates are timed in a process of their own, which takes no more of the system than its parent.
    inside("tune", "/attention.onnx", "--method", "hybrid", "--points", 32, "--trials", 2, "--no-check", "--json", "/j.json", makes=[])
    assert answer()["trials"] > 0 and answer()["failed"] == 0, answer()


program = GSUB.read_bytes()
if any(mark in program for mark in (b"__asan_init", b"__tsan_init")):
    skip("sanitizers read /proc")
with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "root").mkdir()
    check(pathlib.Path(folder) / "root")
