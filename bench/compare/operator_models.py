"""Models of one operator each for operators.py, which runs this in the virtual environment.

operator_models.py cases FOLDER [GROUP,...]    writes models and inputs; a line of JSON a model
operator_models.py grouped FOLDER LAYERS       the same for grouped convolutions that JSON tells"""

import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32, F64, F16, I32, I64, U8, BOOL = (np.dtype(t) for t in ("float32", "float64", "float16", "int32", "int64", "uint8", "bool"))
SHORT = {F32: "f32", F64: "f64", F16: "f16", I32: "i32", I64: "i64", U8: "u8", BOOL: "bool"}
R = np.random.default_rng(1)

IMAGES = [(1, 64, 56, 56), (2, 96, 37, 37), (1, 256, 28, 28)]
ROWS = [(64, 64, 64), (12, 197, 128), (100, 40, 61)]
ALL = IMAGES[:1] + ROWS[1:]  # of elementwise operators


def values(shape, kind, dtype):
    """Elements that an operator is defined for."""
    if dtype == BOOL:
        return R.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        low, high = kind if isinstance(kind, tuple) else (1, 100) if kind == "positive" or dtype.kind == "u" else (-100, 100)
        return R.integers(low, high, shape).astype(dtype)
    drawn = R.standard_normal(shape)
    return (np.abs(drawn) + 0.1 if kind == "positive" else drawn).astype(dtype)


class Model:
    """A graph that grows node by node; names of values are made up."""

    def __init__(self):
        self.nodes, self.inputs, self.stored, self.count, self.opset = [], {}, [], 0, 20

    def input(self, shape, kind="normal", dtype=F32):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = values(shape, kind, dtype)
        return name

    def store(self, array):
        name = f"w{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weights(self, *shape):
        return self.store((R.standard_normal(shape) * (2 / max(1, np.prod(shape[1:]))) ** 0.5).astype(F32))

    def add(self, op, *operands, results=1, **attributes):
        names = [f"v{self.count + i}" for i in range(results)]
        self.count += results
        self.nodes.append(helper.make_node(op, list(operands), names, **attributes))
        return names[0] if results == 1 else names

    def write(self, file, outputs):
        inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in self.inputs.items()]
        graph = helper.make_graph(self.nodes, "one", inputs, [helper.make_empty_tensor_value_info(o) for o in outputs], self.stored)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=max(9, min(11, self.opset - 11)))
        # Types of the outputs are inferred.
        known = {v.name: v for v in onnx.shape_inference.infer_shapes(made, strict_mode=True, data_prop=True).graph.output}
        del made.graph.output[:]
        made.graph.output.extend(known[o] for o in outputs)
        onnx.save(made, file)


CASES = []  # (group, operator, shape in words, function from a model to its outputs, the same for gsub or None)


def case(group, operator, where, build, instead=None):
    CASES.append((group, operator, where, build, instead))


def words(shape):
    return "x".join(map(str, shape))


# ---- what is measured


def convolution(m, shape, out, kernel, stride=1, group=1, dilation=1):
    n = len(shape) - 2
    kernel = kernel if isinstance(kernel, tuple) else (kernel,) * n
    strides = stride if isinstance(stride, tuple) else (stride,) * n
    pads = [dilation * (k - 1) // 2 for k in kernel]
    return m.add("Conv", m.input(shape), m.weights(out, shape[1] // group, *kernel), m.weights(out), strides=strides,
                 pads=pads + pads, group=group, dilations=[dilation] * n)


ACTIVATIONS = [("Relu", {}), ("Sigmoid", {}), ("Tanh", {}), ("HardSwish", {}), ("Gelu", {}), ("LeakyRelu", {"alpha": 0.1}),
               ("Elu", {"alpha": 0.9}), ("Clip", {})]


def activated(m, op, attributes, x):
    if op == "Clip":
        return [m.add(op, x, m.store(np.float32(-0.5)), m.store(np.float32(0.7)))]
    return [m.add(op, x, **attributes)]


def convolutions():
    for width in (3, 4, 8, 12, 16, 24, 32):
        for stride in (1, 2):
            for channels, size in ((96, 56), (192, 28), (384, 14)):
                shape = (1, channels, size, size)
                case("grouped", f"Conv 3x3 in groups of {width}, stride {stride}", words(shape),
                     lambda m, shape=shape, w=width, s=stride: activated(m, "Relu", {}, convolution(m, shape, shape[1], 3, s, shape[1] // w)))
    places = [((1, 64, 28, 28), 64, 3, 1), ((1, 32, 56, 56), 64, 1, 1), ((1, 96, 14, 14), 96, 3, 2)]
    for op, attributes in ACTIVATIONS:
        for shape, out, kernel, stride in places:
            case("conv", f"Conv + {op}", f"{words(shape)} -> {out}, {kernel}x{kernel}/{stride}",
                 lambda m, a=(shape, out, kernel, stride), op=op, at=attributes: activated(m, op, at, convolution(m, *a)))
    for a in (((1, 64, 2000), 64, 3), ((1, 32, 4000), 64, 9, 2), ((4, 128, 500), 128, 5, 1, 1, 2)):
        case("conv", "Conv 1-d", f"{words(a[0])} -> {a[1]}", lambda m, a=a: [convolution(m, *a)])
    for a in (((1, 64, 2000), 64, 3, 1, 64), ((1, 128, 1000), 128, 7, 2, 128), ((4, 32, 1500), 32, 5, 1, 32)):
        case("conv", "Conv 1-d, depthwise", words(a[0]), lambda m, a=a: [convolution(m, *a)])
    for a in (((1, 16, 8, 28, 28), 32, 3), ((1, 3, 8, 56, 56), 16, 3, (1, 2, 2)), ((1, 64, 8, 14, 14), 64, 1)):
        case("conv", "Conv 3-d", f"{words(a[0])} -> {a[1]}", lambda m, a=a: [convolution(m, *a)])


def products():
    for op, attributes in ACTIVATIONS:
        for rows, depth, columns in ((64, 256, 256), (128, 512, 512), (1, 1024, 1000)):
            case("gemm", f"Gemm + {op}", f"{rows} x {depth} x {columns}",
                 lambda m, z=(rows, depth, columns), op=op, at=attributes: activated(
                     m, op, at, m.add("Gemm", m.input(z[:2]), m.weights(z[2], z[1]), m.weights(z[2]), transB=1)))


def pools():
    places = {1: [((1, 64, 4096), 3, 2, 1), ((8, 32, 2048), 2, 2, 0), ((1, 128, 3000), 5, 1, 2)],
              2: [((1, 64, 56, 56), 3, 2, 1), ((1, 128, 28, 28), 2, 2, 0), ((1, 192, 35, 35), 3, 1, 1)],
              3: [((1, 32, 16, 28, 28), 2, 2, 0), ((1, 16, 8, 56, 56), 3, 2, 1), ((1, 32, 8, 14, 14), 3, 1, 1)]}
    for op in ("MaxPool", "AveragePool"):
        for n, of in places.items():
            for shape, k, s, p in of:
                case("pool", f"{op} {n}-d", f"{words(shape)}, {k}/{s}", lambda m, op=op, n=n, a=(shape, k, s, p): [
                    m.add(op, m.input(a[0]), kernel_shape=[a[1]] * n, strides=[a[2]] * n, pads=[a[3]] * 2 * n)])
    for shape in ((1, 512, 28, 28), (4, 2048, 7, 7), (1, 64, 16, 14, 14)):
        case("pool", "GlobalAveragePool", words(shape), lambda m, s=shape: [m.add("GlobalAveragePool", m.input(s))])


def reductions():
    axes = {"first": [0], "middle": [1], "last": [2], "all": None}

    def reduced(m, op, shape, over, dtype):
        return [m.add(op, m.input(shape, dtype=dtype), *([m.store(np.array(over, I64))] if over else []), keepdims=1)]

    for dtype, ops, which in ((F32, ("ReduceSum", "ReduceMean", "ReduceMax"), list(axes)), (F64, ("ReduceSum", "ReduceMax"), ["last", "first"]),
                              (I64, ("ReduceSum", "ReduceMax"), ["last"]), (I32, ("ReduceSum", "ReduceMax"), ["last"]),
                              (F16, ("ReduceSum",), ["last"])):
        for op in ops:
            for name in which:
                for shape in ROWS:
                    case("reduce", f"{op} {SHORT[dtype]}, {name}", words(shape),
                         lambda m, a=(op, shape, axes[name], dtype): reduced(m, *a))
    for axis in (-1, 1):
        for shape in ROWS:
            case("reduce", f"Softmax, axis {axis}", words(shape), lambda m, s=shape, a=axis: [m.add("Softmax", m.input(s), axis=a)])
    for shape in ROWS:
        case("reduce", "LayerNormalization", words(shape), lambda m, s=shape: [
            m.add("LayerNormalization", m.input(s), m.weights(s[-1]), m.weights(s[-1]))])
    for shape, size in (((1, 64, 56, 56), 5), ((1, 96, 27, 27), 5), ((1, 256, 13, 13), 3)):
        case("reduce", "LRN", f"{words(shape)}, {size}", lambda m, s=shape, z=size: [m.add("LRN", m.input(s), size=z)])


def elementwise():
    def each(operator, build, shapes=ALL):
        for shape in shapes:
            case("elementwise", operator, words(shape), lambda m, s=shape: [build(m, s)])

    unary = [("Abs",), ("Neg",), ("Relu",), ("Sigmoid",), ("Tanh",), ("Exp",), ("Log", "positive"), ("Sqrt", "positive"),
             ("Erf",), ("IsNaN",), ("IsInf",), ("HardSwish",), ("HardSigmoid",), ("Gelu",), ("LeakyRelu",), ("Elu",)]
    for op, *kind in unary:
        each(f"{op} f32", lambda m, s, op=op, k=kind: m.add(op, m.input(s, *k)))
    each("Gelu tanh f32", lambda m, s: m.add("Gelu", m.input(s), approximate="tanh"))
    each("Clip f32", lambda m, s: activated(m, "Clip", {}, m.input(s))[0])
    each("Not bool", lambda m, s: m.add("Not", m.input(s, dtype=BOOL)))
    for op in ("Add", "Sub", "Mul", "Div", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"):
        each(f"{op} f32", lambda m, s, op=op: m.add(op, m.input(s), m.input(s, "positive")))
    for op in ("And", "Or", "Xor"):
        each(f"{op} bool", lambda m, s, op=op: m.add(op, m.input(s, dtype=BOOL), m.input(s, dtype=BOOL)))
    each("Pow f32", lambda m, s: m.add("Pow", m.input(s, "positive"), m.input(s)))
    for exponent in (2, 3, 0.5, 1.7):
        each(f"Pow {exponent} f32", lambda m, s, e=exponent: m.add("Pow", m.input(s, "positive"), m.store(np.float32(e))))
    each("Sum of 3 f32", lambda m, s: m.add("Sum", m.input(s), m.input(s), m.input(s)))
    each("Where f32", lambda m, s: m.add("Where", m.input(s, dtype=BOOL), m.input(s), m.input(s)))
    each("Where, mask of rows f32", lambda m, s: m.add("Where", m.input(s[-1:], dtype=BOOL), m.input(s), m.store(np.float32(-1e9))))
    for op in ("Add", "Mul"):
        each(f"{op} f32, last axis", lambda m, s, op=op: m.add(op, m.input(s), m.input(s[-1:])))
        each(f"{op} f32, first axes", lambda m, s, op=op: m.add(op, m.input(s), m.input(s[:-1] + (1,))))
        each(f"{op} f32, scalar", lambda m, s, op=op: m.add(op, m.input(s), m.input((1,))))
    each("BatchNormalization f32", lambda m, s: m.add(
        "BatchNormalization", m.input(s), *(m.store(values((s[1],), "positive", F32)) for _ in range(4))), IMAGES)
    for dtype in (F64, I64, I32, F16):
        for op in ("Add", "Mul", "Div", "Abs", "Less", "Equal"):
            two = op not in ("Abs",)
            each(f"{op} {SHORT[dtype]}", lambda m, s, op=op, d=dtype, two=two: m.add(
                op, m.input(s, dtype=d), *([m.input(s, "positive", d)] if two else [])))
        each(f"Where {SHORT[dtype]}", lambda m, s, d=dtype: m.add("Where", m.input(s, dtype=BOOL), m.input(s, dtype=d), m.input(s, dtype=d)))
    for dtype in (F64, F16):
        for op in ("Relu", "Sigmoid", "Exp", "Tanh"):
            each(f"{op} {SHORT[dtype]}", lambda m, s, op=op, d=dtype: m.add(op, m.input(s, dtype=d)))
    for source, target in ((F32, F16), (F16, F32), (F32, F64), (F64, F32), (F32, I32), (I32, F32), (F32, I64), (I64, F32),
                           (I64, I32), (I32, I64), (BOOL, F32), (F32, BOOL), (U8, F32), (F32, U8)):
        each(f"Cast {SHORT[source]} to {SHORT[target]}", lambda m, s, a=source, b=target: m.add(
            "Cast", m.input(s, "positive", a), to=helper.np_dtype_to_tensor_dtype(b)))


def movement():
    def add(operator, where, build, instead=None):
        case("movement", operator, where, build, instead)

    def numbers(m, *of):
        return m.store(np.array(of, I64))

    for dtype in (F32, I64, F16):
        for perm, shapes in (((0, 2, 1), ROWS), ((0, 2, 3, 1), IMAGES), ((0, 3, 1, 2), [(1, 56, 56, 64), (1, 28, 28, 192), (2, 37, 37, 96)]),
                             ((0, 2, 1, 3), [(1, 128, 12, 64), (1, 197, 6, 64), (4, 100, 8, 40)]), ((2, 1, 0), ROWS)):
            if dtype != F32 and len(perm) == 4 and perm[1] == 2:
                continue
            for shape in shapes:
                add(f"Transpose {SHORT[dtype]} {perm}".replace(",", ""), words(shape),
                    lambda m, s=shape, p=perm, d=dtype: [m.add("Transpose", m.input(s, dtype=d), perm=p)])
    for shape in ROWS:
        add("Slice, first axis", words(shape), lambda m, s=shape: [
            m.add("Slice", m.input(s), numbers(m, 2), numbers(m, s[0] - 2), numbers(m, 0))])
        add("Slice, last axis", words(shape), lambda m, s=shape: [
            m.add("Slice", m.input(s), numbers(m, 5), numbers(m, s[2] - 3), numbers(m, 2))])
        add("Slice, every second", words(shape), lambda m, s=shape: [
            m.add("Slice", m.input(s), numbers(m, 0), numbers(m, s[2]), numbers(m, 2), numbers(m, 2))])
        add("Slice, backwards", words(shape), lambda m, s=shape: [
            m.add("Slice", m.input(s), numbers(m, -1), numbers(m, -10**6), numbers(m, 1), numbers(m, -1))])
        add("Split, middle axis", words(shape), lambda m, s=shape: m.add(
            "Split", m.input(s), numbers(m, 10, 20, s[1] - 30), axis=1, results=3))
        add("Split, last axis", words(shape), lambda m, s=shape: m.add(
            "Split", m.input(s), numbers(m, 20, s[2] - 20), axis=2, results=2))
        for axis, name in ((0, "first"), (1, "middle"), (2, "last")):
            add(f"Concat, {name} axis", words(shape), lambda m, s=shape, a=axis: [
                m.add("Concat", m.input(s), m.input(s), m.input(s), axis=a)])
            add(f"Gather, {name} axis", words(shape), lambda m, s=shape, a=axis: [
                m.add("Gather", m.input(s), m.input((s[a] * 2 // 3,), (0, s[a]), I64), axis=a)])
        add("Expand, first axis", words(shape), lambda m, s=shape: [
            m.add("Expand", m.input((1,) + s[1:]), numbers(m, *s))])
        add("Expand, middle axis", words(shape), lambda m, s=shape: [
            m.add("Expand", m.input((s[0], 1, s[2])), numbers(m, *s))])
        add("Expand, last axis", words(shape), lambda m, s=shape: [
            m.add("Expand", m.input(s[:2] + (1,)), numbers(m, *s))])

        def tiled(m, s):
            x = m.add("Reshape", m.input((s[0] // 4, s[1], s[2])), numbers(m, 1, s[0] // 4, s[1], 1, s[2]))
            x = m.add("Expand", x, numbers(m, 4, s[0] // 4, s[1], 2, s[2]))
            return [m.add("Reshape", x, numbers(m, s[0] // 4 * 4, s[1], s[2] * 2))]

        add("Tile", words(shape), lambda m, s=shape: [m.add("Tile", m.input((s[0] // 4, s[1], s[2])), numbers(m, 4, 1, 2))],
            lambda m, s=shape: tiled(m, s))
    for words_, width, count in ((5000, 256, 512), (1000, 768, 128), (30000, 64, 2000)):
        add("Gather of rows", f"{count} of {words_} x {width}", lambda m, a=(words_, width, count): [
            m.add("Gather", m.store(values(a[:2], "normal", F32)), m.input((1, a[2]), (0, a[0]), I64), axis=0)])
    for mode in ("constant", "reflect", "edge"):
        for shape in IMAGES:
            add(f"Pad, {mode}", words(shape), lambda m, s=shape, mode=mode: [
                m.add("Pad", m.input(s), numbers(m, 0, 0, 2, 3, 0, 0, 1, 2), mode=mode)])

    def to_depth(m, s):
        x = m.add("Reshape", m.input(s), numbers(m, s[0], s[1], s[2] // 2, 2, s[3] // 2, 2))
        x = m.add("Transpose", x, perm=[0, 3, 5, 1, 2, 4])
        return [m.add("Reshape", x, numbers(m, s[0], s[1] * 4, s[2] // 2, s[3] // 2))]

    def to_space(m, s, mode):
        c = s[1] // 4
        of, perm = ((2, 2, c), [0, 3, 4, 1, 5, 2]) if mode == "DCR" else ((c, 2, 2), [0, 1, 4, 2, 5, 3])
        x = m.add("Transpose", m.add("Reshape", m.input(s), numbers(m, s[0], *of, s[2], s[3])), perm=perm)
        return [m.add("Reshape", x, numbers(m, s[0], c, s[2] * 2, s[3] * 2))]

    for shape in ((1, 64, 56, 56), (2, 24, 64, 64), (1, 256, 28, 28)):
        add("SpaceToDepth", words(shape), lambda m, s=shape: [m.add("SpaceToDepth", m.input(s), blocksize=2)],
            lambda m, s=shape: to_depth(m, s))
        for mode in ("DCR", "CRD"):
            add(f"DepthToSpace {mode}", words(shape), lambda m, s=shape, mode=mode: [
                m.add("DepthToSpace", m.input(s), blocksize=2, mode=mode)], lambda m, s=shape, mode=mode: to_space(m, s, mode))


# ---- files


def write(folder, number, of):
    """A case on disk. `instead` has the same inputs and outputs, in operators that gsub knows."""
    global R
    group, operator, where, build, instead = of
    told = {"group": group, "operator": operator, "shape": where, "inputs": {}, "instead": None}
    for key, function in (("file", build), ("instead", instead)):
        if not function:
            continue
        R = np.random.default_rng(1)
        m = Model()
        outputs = function(m)
        told[key] = f"{folder}/{number}{'' if key == 'file' else '_instead'}.onnx"
        m.write(told[key], outputs)
        for name, array in m.inputs.items():
            told["inputs"][name] = f"{folder}/{number}_{name}.npy"
            np.save(told["inputs"][name], array)
    print(json.dumps(told))


def write_cases(folder, groups=""):
    for add in (convolutions, products, pools, reductions, elementwise, movement):
        add()
    write_chosen(folder, [c for c in CASES if not groups or c[0] in groups.split(",")])


def write_chosen(folder, chosen):
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for number, of in enumerate(chosen):
        try:
            write(folder, f"{of[0]}_{number}", of)
        except Exception as failed:
            sys.exit(f"{of[1]}, {of[2]}: {failed}")


def write_grouped(folder, layers):
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for number, z in enumerate(json.loads(layers)):
        shape = (1, z["channels"], z["size"], z["size"])
        write(folder, f"layer_{number}", ("grouped", z["name"], words(shape), lambda m, z=z, s=shape: activated(
            m, "Relu", {}, convolution(m, s, s[1], 3, z["stride"], z["groups"])), None))


if __name__ == "__main__":
    {"cases": write_cases, "grouped": write_grouped}[sys.argv[1]](*sys.argv[2:])
