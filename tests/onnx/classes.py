"""The class of networks in many forms: classes.py GSUB SCRATCH DATA.

Builders of the library, exports of PyTorch, light models of the `onnx` wheel; each as it is, with other names, and as
ONNX Runtime writes it after its own optimization, where that keeps it small. The other forms, and all those of exports,
have weights of zeros.
"""
import json
import math
import pathlib
import shutil
import sys

import onnx
import onnxruntime

from support import Gsub, verdict

LEVELS = {
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
BUILDERS = {
    "resnet18": "RN", "resnet50": "RN", "resnet50_v1": "RN", "resnet101": "RN", "mobilenet_v2": "MN", "ssd_resnet50": "SSD",
    "bert_base": "BR", "vgg16": "other", "densenet121": "other", "inception_v3": "other", "squeezenet1_1": "other",
}
EXPORTS = {"resnet50_bn": "RN", "mobilenet_v2_bn": "MN", "ssd_r50_bn": "SSD", "bert_base_qa": "BR", "resnet50_qdq": "RN"}
LIGHT = {
    "bvlc_alexnet": "other", "densenet121": "other", "inception_v1": "other", "inception_v2": "other", "resnet50": "RN",
    "shufflenet": "MN", "squeezenet": "other", "vgg19": "other", "zfnet512": "other",
}
BYTES = {onnx.TensorProto.FLOAT: 4, onnx.TensorProto.INT8: 1, onnx.TensorProto.UINT8: 1, onnx.TensorProto.INT32: 4}
# Sizes that no class depends on, where weights of the usual ones are many.
SIZES = {
    "vgg16": ["--image", 32, "--classes", 10],
    "bert_base": ["--hidden", 192, "--intermediate", 768, "--vocabulary", 100],
}
LARGE = {"vgg16", "vgg19", "bvlc_alexnet", "zfnet512", "bert_base", "resnet101"}


def weightless(model, zeros):
    """Weights of zeros, all of them the beginning of one sparse file: what the class depends on are their shapes."""
    for t in model.graph.initializer:
        if t.data_type not in BYTES or (count := math.prod(t.dims)) <= 64:
            continue
        bytes_of = count * BYTES[t.data_type]
        if not zeros.exists() or zeros.stat().st_size < bytes_of:
            with open(zeros, "ab") as file:
                file.truncate(bytes_of)
        for stored in ("raw_data", "float_data", "int32_data"):
            t.ClearField(stored)
        del t.external_data[:]
        t.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", zeros.name), ("offset", 0), ("length", bytes_of)):
            t.external_data.add(key=key, value=str(value))


def renamed(model):
    """Other names for all nodes and values but inputs and outputs, of the main graph."""
    g = model.graph
    kept = {v.name for v in (*g.input, *g.output)} | {""}
    inner = {name for n in g.node for a in n.attribute if a.HasField("g") for m in a.g.node for name in m.input}
    new = {}

    def other(name):
        if name in kept or name in inner:
            return name
        return new.setdefault(name, f"t{len(new)}")

    for n in g.node:
        n.name = ""
        n.input[:] = [other(i) for i in n.input]
        n.output[:] = [other(o) for o in n.output]
    for t in (*g.initializer, *g.value_info):
        t.name = other(t.name)


def main(program, scratch, data=""):
    gsub = Gsub(program)
    scratch = pathlib.Path(scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    wrong, count = [], 0

    def classified(model, label, expected):
        nonlocal count
        report = scratch / "report.json"
        gsub.must("--json", report, "inspect", model)
        found = json.loads(report.read_text())["class"]
        count += 1
        print(f"{label:44} {found['name']:6} {found['score']:.2f}  {found['reasons'][0]}")
        if found["name"] != expected or not found["reasons"]:
            wrong.append(f"{label} is {expected}, not {found['name']}: {found['reasons']}")

    def forms(path, label, name, expected):
        classified(path, label, expected)
        if name in LARGE:
            return
        changed, lean = scratch / "changed.onnx", scratch / "lean.onnx"
        model = onnx.load(path, load_external_data=False)
        weightless(model, scratch / "zeros.bin")
        onnx.save(model, lean)
        renamed(model)
        onnx.save(model, changed)
        classified(changed, f"{label}, renamed", expected)
        for level, number in LEVELS.items():
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            options.graph_optimization_level = number
            options.optimized_model_filepath = str(changed)
            options.intra_op_num_threads = 1
            options.add_session_config_entry("session.disable_prepacking", "1")  # of a session that does not run
            onnxruntime.InferenceSession(str(lean), options, providers=["CPUExecutionProvider"])
            classified(changed, f"{label}, ONNX Runtime {level}", expected)

    try:
        for name, expected in BUILDERS.items():
            path = scratch / f"{name}.onnx"
            gsub.must("models", name, *SIZES.get(name, []), "-o", path)
            forms(path, name, name, expected)
            for f in scratch.glob("*"):
                f.unlink()
        light = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
        for name, expected in LIGHT.items():
            forms(light / f"light_{name}.onnx", f"light {name}", name, expected)
        exports = pathlib.Path(data, "exports") if data else None
        if exports and exports.is_dir():
            for name, expected in EXPORTS.items():
                model = onnx.load(exports / f"{name}.onnx")
                weightless(model, scratch / "zeros.bin")
                path = scratch / "export.onnx"
                onnx.save(model, path)
                forms(path, f"export {name}", name, expected)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{count} graphs, {len(wrong)} of a wrong class")
    return verdict(wrong)


sys.exit(main(*sys.argv[1:]))
