"""Cross-building for AArch64: cross.py GSUB SCRATCH [--models a,b]

Networks of the catalogue are written as sources for AArch64, with the records of static tuning where a network is tuned, built by
Debian's cross compiler, run under qemu and compared with the reference evaluator. Ends with 77 where a tool is missing.
"""
import argparse
import array
import pathlib
import random
import shutil
import struct
import sys

import cross_build
from cross_build import NAME, TARGET, run

# Options of the builder, seconds of static tuning.
MODELS = {
    "mobilenet_v2": (["--image", 96], 3),
    "squeezenet1_1": (["--image", 96], 0),
    "bert_small": (["--layers", 2, "--hidden", 128, "--heads", 2, "--intermediate", 256, "--vocabulary", 100, "--sequence", 16], 0),
}
TYPES = {"<f4": "f", "<i8": "q", "<i4": "i"}
NUMPY = {"f32": "<f4", "i64": "<i8", "i32": "<i4"}


def write_npy(path, kind, shape, values):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({''.join(f'{d},' for d in shape)}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + array.array(TYPES[kind], values).tobytes())


def read_npy(path):
    raw = path.read_bytes()
    length, = struct.unpack_from("<H", raw, 8)
    head = raw[10:10 + length].decode()
    kind = next(k for k in TYPES if f"'{k}'" in head)
    values = array.array(TYPES[kind])
    values.frombytes(raw[10 + length:])
    return values


def check(gsub, scratch, name):
    builder, seconds = MODELS[name]
    folder = scratch / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model, out = folder / "model.onnx", folder / "sources"
    run(gsub, "-q", "models", name, *builder, "-o", model)
    records = []
    if seconds:
        run(gsub, "-q", "tune", model, "--method", "static", "--target", TARGET, "--budget", seconds, "--records", folder / "records",
            "--no-check")
        records = ["--records", folder / "records"]
    run(gsub, "-q", "compile", model, "-o", out, "--name", NAME, "--target", TARGET, *records)
    cross_build.build(out, 2)
    stream, files, given = random.Random(name), [], []
    for i, (own, kind, shape) in enumerate(cross_build.inputs_of(out)):
        count = 1
        for d in shape:
            count *= d
        values = [stream.gauss(0, 1) for _ in range(count)] if kind == "f32" else [stream.randrange(2) for _ in range(count)]
        files.append(folder / f"x{i}.npy")
        write_npy(files[-1], NUMPY[kind], shape, values)
        given += ["--input", f"{own}={files[-1]}"]
    cross_build.emulate(out, files, folder / "got_")
    run(gsub, "-q", "run", model, "--backend", "reference", "--output-dir", folder, *given)
    worst, outputs = 0.0, sorted(folder.glob("output_*.npy"))
    if not outputs:
        raise SystemExit(f"{name}: no outputs")
    for i, path in enumerate(outputs):
        want, got = read_npy(path), read_npy(folder / f"got_{i}.npy")
        scale = max(map(abs, want)) or 1.0
        if len(want) != len(got):
            raise SystemExit(f"{name}: output {i} has {len(got)} elements, not {len(want)}")
        worst = max(worst, max(abs(a - b) / scale if a == a and b == b else float("inf") for a, b in zip(want, got)))
    print(f"{name}: {len(outputs)} outputs, greatest difference {worst:.2g} of the greatest element")
    return worst <= 1e-4


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gsub")
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--models", default=",".join(MODELS))
    options = parser.parse_args()
    if tool := cross_build.missing_tool():
        print(f"skipped: there is no {tool}")
        return 77
    try:
        return 0 if all([check(options.gsub, options.scratch, name) for name in options.models.split(",")]) else 1
    except cross_build.CommandFailed as failure:
        print(failure)
        return 1


sys.exit(main())
