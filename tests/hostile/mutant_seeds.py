"""Ten small models of unlike kinds, which mutants.py changes: mutant_seeds.seeds() gives them by name."""
import numpy as np
from onnx import TensorProto, helper

from support import BOOL, F32, F64, I32, I64, I8, U8, model, node, untyped, value

F16, BF16 = TensorProto.FLOAT16, TensorProto.BFLOAT16


class Weights(dict):
    """Initializers by name; random ones are the same in every run."""

    def __init__(self):
        super().__init__()
        self._random = np.random.default_rng(1)

    def reals(self, **shapes):
        for name, shape in shapes.items():
            self[name] = self._random.normal(0, 0.3, shape).astype(np.float32)

    def ones(self, **shapes):
        for name, shape in shapes.items():
            self[name] = np.ones(shape, np.float32)

    def whole(self, **vectors):
        for name, vector in vectors.items():
            self[name] = np.array(vector, np.int64)

    def numbers(self, kind, **given):
        for name, x in given.items():
            self[name] = np.array(x, kind)


def convolutional():
    w = Weights()
    w.reals(w1=(8, 3, 3, 3), dw=(8, 1, 3, 3), pw=(8, 8, 1, 1), b1=8, mean=8, fc=(8, 5), bias=5)
    w.ones(scale=8, var=8)
    w.whole(border=[0, 1, 1, 0, 0, 1, 1, 0])
    nodes = [node("Pad", "x border", "padded"), node("Transpose", "padded", "t", perm=[0, 3, 1, 2]),
             node("Conv", "t w1 b1", "c", kernel_shape=[3, 3]), node("BatchNormalization", "c scale b1 mean var", "n", epsilon=1e-3),
             node("Relu", "n", "r"), node("Conv", "r dw", "d", group=8, pads=[1, 1, 1, 1], name="depthwise"),
             node("Clip", "d zero six", "k"), node("Conv", "k pw", "p"), node("Add", "p r", "a"),
             node("MaxPool", "a", "m", kernel_shape=[2, 2], strides=[2, 2]), node("GlobalAveragePool", "m", "g"),
             node("Flatten", "g", "f"), node("Gemm", "f fc bias", "o", alpha=0.5), node("Softmax", "o", "y", axis=1)]
    w.numbers(np.float32, zero=0, six=6)
    return model(nodes, [value("x", [1, 6, 6, 3])], untyped("y"), w)


def transformer():
    w = Weights()
    w.reals(wq=(8, 8), wk=(8, 8), wv=(8, 8), wo=(8, 8), w1=(8, 16), w2=(16, 8), shift=8)
    w.ones(gain=8)
    w.whole(heads=[0, 0, 2, 4], joined=[0, 0, 8])
    w.numbers(np.float32, root=0.5, two=1.414, one=1, half=0.5)
    nodes = [node("LayerNormalization", "x gain shift", "n", axis=-1)]
    for k in "qkv":
        nodes += [node("MatMul", f"n w{k}", f"{k}1"), node("Reshape", f"{k}1 heads", f"{k}2"),
                  node("Transpose", f"{k}2", k, perm=[0, 2, 3, 1] if k == "k" else [0, 2, 1, 3])]
    nodes += [node("MatMul", "q k", "s"), node("Mul", "s root", "s1"), node("Add", "s1 mask", "s2"), node("Softmax", "s2", "p", axis=-1),
              node("MatMul", "p v", "c"), node("Transpose", "c", "c1", perm=[0, 2, 1, 3]), node("Reshape", "c1 joined", "c2"),
              node("MatMul", "c2 wo", "o"), node("Add", "o x", "r"), node("MatMul", "r w1", "f"), node("Div", "f two", "e"), node("Erf", "e", "e1"),
              node("Add", "e1 one", "e2"), node("Mul", "f e2", "e3"), node("Mul", "e3 half", "g"), node("MatMul", "g w2", "h"),
              node("Add", "h r", "y")]
    return model(nodes, [value("x", ["batch", 5, 8]), value("mask", [1, 1, 5, 5])], untyped("y"), w)


def recurrent():
    w = Weights()
    w.reals(w=(2, 16, 3), r=(2, 16, 4), b=(2, 32), gw=(1, 12, 8), gr=(1, 12, 4), gb=(1, 24), h=(2, 2, 4))
    w.numbers(np.int32, lengths=[2, 1])
    nodes = [node("LSTM", "x w r b lengths h h", "s last cell", hidden_size=4, direction="bidirectional"),
             node("Transpose", "s", "t", perm=[0, 2, 1, 3]), node("Reshape", "t flat", "q"),
             node("GRU", "q gw gr gb", "_ z", hidden_size=4, linear_before_reset=1), node("Squeeze", "z first", "y")]
    w.whole(flat=[0, 0, -1], first=[0])
    return model(nodes, [value("x", [2, 2, 3])], untyped("y", "last", "cell"), w)


def quantized():
    w = Weights()
    w.numbers(np.float32, s=0.1, sw=[0.05, 0.1], sy=0.2)
    w.numbers(np.uint8, z=128, zy=3, wm=np.arange(8).reshape(4, 2))
    w.numbers(np.int8, zw=[0, 0], wc=np.arange(-18, 18).reshape(2, 2, 3, 3), wd=[[1, -2], [3, 4]])
    w.numbers(np.int32, bias=[5, -5])
    nodes = [node("QuantizeLinear", "x s z", "q"), node("QLinearConv", "q s z wc sw zw sy zy bias", "c", pads=[1, 1, 1, 1]),
             node("DequantizeLinear", "c sy zy", "d"), node("GlobalMaxPool", "d", "g"), node("Flatten", "g", "f"),
             node("DequantizeLinear", "wd sw zw", "dw", axis=1), node("MatMul", "f dw", "m"), node("DynamicQuantizeLinear", "m", "u us uz"),
             node("MatMulInteger", "v wm z zy", "i"), node("Cast", "i", "y", to=F32)]
    return model(nodes, [value("x", [1, 2, 4, 4]), value("v", [3, 4], U8)], untyped("y", "u", "us", "uz"), w)


def branches():
    def body(nodes, inputs, outputs):
        return helper.make_graph(nodes, "body", inputs, outputs)

    w = Weights()
    w.whole(trips=3)
    w.numbers(np.bool_, go=True)
    w.reals(b=4, start=4, twos=(3, 4))
    twice = body([node("Mul", "x b", "t")], [], untyped("t"))
    nested = body([node("If", "other", "n", then_branch=body([node("Neg", "x", "a")], [], untyped("a")), else_branch=twice)], [], untyped("n"))
    loop = body([node("Identity", "go_in", "go_out"), node("Add", "s_in x", "s_out"), node("Relu", "s_out", "each")],
                [value("i", [], I64), value("go_in", [], BOOL), value("s_in", [4])],
                [value("go_out", [], BOOL), value("s_out", [4]), value("each", [4])])
    scan = body([node("Add", "state item", "next"), node("Identity", "next", "seen")], [value("state", [4]), value("item", [4])],
                [value("next", [4]), value("seen", [4])])
    nodes = [node("If", "cond", "y", then_branch=nested, else_branch=twice), node("Loop", "trips go start", "sum all", body=loop),
             node("Scan", "sum twos", "end steps", body=scan, num_scan_inputs=1), node("Add", "y end", "z")]
    return model(nodes, [value("x", [4]), value("cond", [], BOOL), value("other", [], BOOL)], untyped("z", "all", "steps"), w)


def shapes():
    w = Weights()
    w.whole(first=[0], last=[-1], two=[2], minus=[-1], zero=0, one=1, end=[9223372036854775807])
    nodes = [node("Shape", "x", "s"), node("Gather", "s first", "n"), node("Slice", "s last end first", "c"), node("Mul", "c two", "c2"),
             node("Div", "c2 two", "c3"), node("Concat", "n minus c3", "t", axis=0), node("Reshape", "x t", "r"),
             node("Gather", "s zero", "count"), node("Range", "zero count one", "i"), node("Cast", "i", "f", to=F32),
             node("ConstantOfShape", "n", "k", value=helper.make_tensor("", F32, [1], [0.5])), node("Add", "f k", "g"),
             node("Unsqueeze", "g minus", "u"), node("Expand", "u s2", "e"), node("Concat", "n two", "s2", axis=0),
             node("ReduceSum", "e minus", "y", keepdims=0), node("Size", "x", "z"), node("NonZero", "y", "where")]
    return model(nodes, [value("x", ["n", 2, 3])], untyped("r", "y", "z", "where"), w)


def detector():
    w = Weights()
    w.reals(head=(6, 2, 1, 1))
    w.whole(flat=[1, 6, -1], sizes=[1, 2, 6, 6], most=[3], cut=[4, 2])
    w.numbers(np.float32, iou=0.5, least=0.1, scales=[1, 1, 2, 2], rois=[[0, 0, 3, 3], [1, 1, 4, 4]])
    w.whole(batch=[0, 0])
    nodes = [node("Resize", "x _ scales", "big", mode="linear", coordinate_transformation_mode="half_pixel"),
             node("Resize", "big _ _ sizes", "small", mode="nearest"), node("Conv", "small head", "h"), node("Reshape", "h flat", "f"),
             node("Split", "f cut", "b c", axis=1), node("Transpose", "b", "boxes", perm=[0, 2, 1]), node("Sigmoid", "c", "scores"),
             node("NonMaxSuppression", "boxes scores most iou least", "kept"), node("TopK", "scores most", "best place", axis=2),
             node("RoiAlign", "big rois batch", "aligned", output_height=2, output_width=2, sampling_ratio=2),
             node("GatherND", "scores kept", "chosen")]
    return model(nodes, [value("x", [1, 2, 4, 4])], untyped("kept", "best", "place", "aligned", "chosen"), w)


def types():
    w = Weights()
    w.numbers(np.int64, seven=[7, -7, 3, 1])
    w.numbers(np.uint8, two=[2, 1, 0, 7])
    w.numbers(np.float64, d=[1.5, -2.5, 0, 1e300])
    w.numbers(np.float16, h=[1, -2, 0.5, 6e4])
    w.numbers(np.bool_, b=[True, False, True, False])
    nodes = [node("Mod", "i seven", "m"), node("Div", "i seven", "q"), node("Cast", "q", "q8", to=I8), node("Abs", "q8", "a8"),
             node("BitShift", "u two", "l", direction="LEFT"), node("Max", "l u", "u1"), node("Cast", "x", "xh", to=F16), node("Add", "xh h", "sh"),
             node("Cast", "sh", "sb", to=BF16), node("Cast", "sb", "y", to=F64), node("Mul", "y d", "z"), node("Floor", "z", "zf"),
             node("Cast", "zf", "zi", to=I32), node("Clip", "zi", "zc"), node("Less", "x y32", "lt"), node("Cast", "z", "y32", to=F32),
             node("And", "lt b", "an"), node("Where", "an x y32", "w"), node("CumSum", "w axis", "cs", reverse=1), node("Pow", "x y32", "p"),
             node("IsNaN", "p", "nan"), node("ArgMax", "w", "am", axis=0), node("Sign", "w", "sg"), node("Neg", "a8", "n8")]
    w.numbers(np.int32, axis=0)
    return model(nodes, [value("x", [4]), value("i", [4], I64), value("u", [4], U8)], untyped("m", "u1", "zc", "cs", "nan", "am", "sg", "n8"), w)


def old():
    w = Weights()
    w.reals(w=(4, 2, 3, 3), b=4, t=(4, 2, 2, 2))
    w.ones(s=4)
    w.numbers(np.float32, up=[1, 1, 2, 2])
    nodes = [node("Conv", "x w b", "c", kernel_shape=[3, 3], auto_pad="SAME_UPPER"), node("BatchNormalization", "c s b b s", "n"),
             node("LeakyRelu", "n", "l", alpha=0.1), node("Slice", "l", "k", axes=[1, 2], starts=[0, 1], ends=[4, 5]),
             node("Pad", "k", "p", pads=[0, 0, 1, 0, 0, 0, 0, 1], value=1.0), node("AveragePool", "p", "a", kernel_shape=[2, 2], strides=[2, 2]),
             node("Upsample", "a up", "u", mode="nearest"), node("ConvTranspose", "u t", "v", strides=[2, 2]), node("LRN", "v", "r", size=3),
             node("InstanceNormalization", "c s b", "i"), node("ReduceMean", "r", "m", axes=[2, 3], keepdims=0),
             node("Clip", "m", "y", min=0.0, max=6.0), node("Dropout", "i", "z", ratio=0.5)]
    return model(nodes, [value("x", [1, 2, 5, 5])], untyped("y", "z"), w, opset=9, ir=4)


def functions():
    w = Weights()
    w.reals(w=(4, 4), b=4)
    w.whole(place=[[0, 1, 2, 3]], rows=[0, 0], depth=4, last=[-1])
    w.numbers(np.float32, off_on=[0, 1])
    unused = helper.make_function("app", "Scaled", ["a", "b"], ["c"], [node("Mul", "a b", "t"), node("Tanh", "t", "c")],
                                  [helper.make_opsetid("", 17)])
    nodes = [node("Mul", "x w", "f"), node("Einsum", "f w", "e", equation="bij,jk->bik"), node("ReduceL2", "e", "l", axes=[2]),
             node("Div", "e l", "d"), node("Gelu", "d", "g", domain="com.microsoft"), node("ArgMax", "g", "am", axis=2, keepdims=0),
             node("OneHot", "am depth off_on", "o"), node("GatherElements", "w place", "ge"),
             node("ScatterElements", "w place ge", "se", reduction="add"),
             node("MatMul", "o se", "y"), node("LogSoftmax", "y", "z", axis=-1), node("Tile", "b tiles", "tt")]
    w.whole(tiles=[2])
    return model(nodes, [value("x", ["batch", 4, 4])], untyped("z", "tt"), w, domains=["app", "com.microsoft"], functions=[unused])


def seeds():
    makers = (convolutional, transformer, recurrent, quantized, branches, shapes, detector, types, old, functions)
    return {make.__name__: make() for make in makers}
