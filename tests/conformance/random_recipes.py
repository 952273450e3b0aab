"""Recipes for nodes of random models: random_model(seed). Each takes a Builder, picks operands and adds a node, or a few."""
import numpy as np
from onnx import TensorProto, helper

from random_builder import ANY, BOOL, F16, F32, F64, FLOATS, I8, I32, I64, INTEGERS, U8, Builder, Misfit, broadcast

RECIPES, WEIGHTS = [], []


def recipe(weight=1.0):
    def registered(f):
        RECIPES.append(f)
        WEIGHTS.append(weight)
        return f

    return registered


def floats(b):
    """Mostly f32."""
    return (F32,) if b.chance(0.85) else FLOATS


# Elementwise

SMOOTH = ["Tanh", "Sigmoid", "Sin", "Cos", "Erf", "Softplus", "Softsign", "Atan", "Asinh", "Exp", "Gelu", "Mish", "HardSwish", "Elu",
          "Selu", "Celu", "HardSigmoid", "LeakyRelu", "Swish", "Sinh", "Cosh"]
EXACT = ["Relu", "Abs", "Neg", "Identity", "Dropout"]


@recipe(6)
def smooth(b):
    op = b.choice(SMOOTH)
    # ONNX Runtime and onnx's evaluator compute these two in single precision, or with constants of it, for f64 too.
    b.add(op, [b.pick((F32,) if op in ("Erf", "HardSwish") else floats(b))])


@recipe(5)
def exact_unary(b):
    op = b.choice(EXACT)
    b.add(op, [b.pick(floats(b) if op in ("Relu", "Dropout") or b.chance(0.7) else INTEGERS)], exact=True)


@recipe(2)
def alpha(b):
    op = b.choice(("Elu", "LeakyRelu", "HardSigmoid", "Celu", "Selu"))
    b.add(op, [b.pick()], alpha=b.choice((0.1, 0.5, 1.5)))


@recipe(2)
def gelu_approximate(b):
    b.add("Gelu", [b.pick()], approximate=b.choice(("tanh", "none")))


@recipe(2)
def bounded_domain(b):
    """Functions that take some arguments only."""
    x = b.pick(floats(b))
    op = b.choice(("Acos", "Asin", "Atanh", "Sqrt", "Log", "Reciprocal", "Acosh", "Tan"))
    if op in ("Acos", "Asin", "Atanh", "Tan"):
        x = b.add("Mul", [b.add("Tanh", [x]), b.constant(np.array(0.7, x.kind))])
    else:
        x = b.add("Add", [b.add("Abs", [x], exact=True), b.constant(np.array(1.5, x.kind))])
    b.add(op, [x])


@recipe(3)
def jump_unary(b):
    op = b.choice(("Floor", "Ceil", "Round", "Sign", "Sign", "IsNaN", "IsInf"))
    b.add(op, [b.pick(exact=True, kinds=(F32, F64) if op in ("IsNaN", "IsInf") else FLOATS)], jumps=True)


@recipe(1)
def jump_activation(b):
    op = b.choice(("ThresholdedRelu", "Shrink", "Hardmax"))
    attributes = {"ThresholdedRelu": {"alpha": 0.4}, "Shrink": {"lambd": 0.5, "bias": b.choice((0.0, 0.5))}, "Hardmax": {"axis": -1}}
    b.add(op, [b.pick(exact=True, least=1)], jumps=True, **attributes[op])


@recipe(12)
def binary(b):
    x = b.pick(floats(b) if b.chance(0.85) else INTEGERS)
    pair = [x, b.partner(x)]
    b.random.shuffle(pair)
    b.add(b.choice(("Add", "Add", "Sub", "Mul", "Mul")), pair, exact=x.kind in INTEGERS)


@recipe(2)
def divide(b):
    if b.chance(0.3):
        x = b.pick(INTEGERS)
        b.add(b.choice(("Div", "Mod")), [x, b.constant(b.array(x.shape[-1:], x.kind, low=1, high=7))], exact=True)
        return
    x = b.pick(floats(b))
    y = b.add("Abs", [b.partner(x)], exact=True)
    b.add("Div", [x, b.add("Add", [y, b.constant(np.array(0.6, x.kind))])])


@recipe(1.5)
def power(b):
    x = b.pick()
    if b.chance(0.4):
        b.add("Pow", [x, b.constant(np.array(b.choice((2.0, 3.0, 1.0)), F32))])
    else:
        y = b.add("Add", [b.add("Abs", [x], exact=True), b.constant(np.array(0.5, F32))])
        b.add("Pow", [y, b.constant(np.array(b.choice((0.5, -0.5, 1.3)), F32))])


@recipe(1)
def float_mod(b):
    x = b.pick(exact=True)
    b.add("Mod", [x, b.weight(*x.shape[-1:], low=0.5, high=2)], jumps=True, fmod=1)


@recipe(2.5)
def variadic(b):
    op = b.choice(("Sum", "Max", "Min", "Mean"))
    x = b.pick(floats(b) if op in ("Sum", "Mean") or b.chance(0.8) else INTEGERS)
    operands = [x] + [b.partner(x) for _ in range(b.random.randint(0, 2))]
    if not all(broadcast(o.shape, p.shape) for o in operands for p in operands):
        raise Misfit
    b.add(op, operands, exact=op in ("Max", "Min"))


@recipe(3)
def compare(b):
    x = b.pick((F32, F32, I64, I32), exact=True)
    y = next((v for v in b.values[::-1] if v.kind == x.kind and not v.epsilon and broadcast(x.shape, v.shape) and b.chance(0.5)), None)
    y = y or b.constant(b.array(x.shape[-1:], x.kind))
    b.add(b.choice(("Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual")), [x, y], jumps=True)


@recipe(2)
def logic(b):
    x = b.pick((BOOL,))
    op = b.choice(("And", "Or", "Xor", "Not"))
    b.add(op, [x] if op == "Not" else [x, b.partner(x)], exact=True)


@recipe(1)
def bits(b):
    x = b.pick(INTEGERS)
    op = b.choice(("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"))
    b.add(op, [x] if op == "BitwiseNot" else [x, b.partner(x)], exact=True)


@recipe(0.4)
def shift(b):
    x = b.fresh(b.shape(2), U8)
    b.add("BitShift", [x, b.weight(*x.shape, kind=U8, low=0, high=3)], exact=True, direction=b.choice(("LEFT", "RIGHT")))


@recipe(2)
def where(b):
    x = b.pick(ANY[:6], least=1)
    y = b.partner(x)
    whole = np.broadcast_shapes(x.shape, y.shape)
    chosen = b.pick((BOOL,), fits=lambda v: broadcast(v.shape, whole)) if b.chance(0.6) else b.fresh(x.shape, BOOL)
    b.add("Where", [chosen, x, y], exact=True)


@recipe(2.5)
def cast(b):
    to = b.choice((F32, F32, F64, F16, I32, I64, BOOL))
    if to.kind == "f":
        b.add("Cast", [b.pick(ANY)], to=helper.np_dtype_to_tensor_dtype(to))
    else:
        b.add("Cast", [b.pick(ANY, exact=True)], jumps=True, to=helper.np_dtype_to_tensor_dtype(to))


@recipe(0.5)
def cast_like(b):
    b.add("CastLike", [b.pick((I32, I64, F32)), b.pick((F32, F64))])


@recipe(2)
def clip(b):
    x = b.pick((F32, F32, F64, I32, I64))
    low, high = (b.constant(np.array(n, x.kind)) for n in (-1, 2))
    b.add("Clip", [x, *b.choice(((low, high), (low,), (None, high)))], exact=True)


@recipe(1)
def prelu(b):
    x = b.pick(least=1)
    slope = (x.shape[1], *[1] * (x.rank - 2)) if x.rank > 2 else x.shape[-1:]
    b.add("PRelu", [x, b.weight(*slope)])


# Images

def image(b, rank=4):
    return b.pick(rank=rank, fits=lambda v: min(v.shape[2:]) > 1)


def window(b, x, kernel=None):
    """Strides, pads and dilations of a window that fits this value, and its size."""
    rank = x.rank - 2
    kernel = kernel or tuple(min(b.choice((1, 2, 3, 3, 3, 5)), d) for d in x.shape[2:])
    dilations = tuple(b.choice((1, 1, 1, 2)) if (k - 1) * 2 < d else 1 for k, d in zip(kernel, x.shape[2:]))
    settings = {"strides": tuple(b.choice((1, 1, 1, 2, 3)) for _ in range(rank))}
    if b.chance(0.2):
        settings["auto_pad"] = b.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
        # A window narrower than its stride would have pads below 0: ONNX Runtime crops, which ONNX does not define.
        settings["strides"] = tuple(map(min, settings["strides"], kernel))
        return kernel, settings
    pads = tuple(b.random.randint(0, (k - 1) // 2) if b.chance(0.4) else (k - 1) // 2 for k in (*kernel, *kernel))
    return kernel, settings | {"pads": pads, "dilations": dilations}


@recipe(7)
def conv(b):
    x = image(b, b.choice((4, 4, 4, 3, 5)))
    channels = x.shape[1]
    group = b.choice((1, 1, 1, channels, *[g for g in (2, 4) if channels % g == 0]))
    out = group * b.choice((1, 2, 3, 4) if group > 1 else (1, 2, 4, 8, 16, 5))
    kernel, settings = window(b, x)
    fan = channels // group * int(np.prod(kernel))
    w = b.constant((b.array((out, channels // group, *kernel)) / np.sqrt(fan)).astype(F32))
    y = b.add("Conv", [x, w, b.weight(out) if b.chance(0.6) else None], group=group, **settings)
    if b.chance(0.4):
        y = b.add("BatchNormalization", [y, *batch_statistics(b, out)], epsilon=1e-3)
    if b.chance(0.3) and y.shape == x.shape:
        y = b.add("Add", [y, x])
    if b.chance(0.4):
        b.add(b.choice(("Relu", "Sigmoid", "HardSwish", "LeakyRelu")), [y])


def batch_statistics(b, channels):
    return b.weight(channels, low=0.5, high=2), b.weight(channels), b.weight(channels), b.weight(channels, low=0.5, high=2)


@recipe(1.5)
def conv_transpose(b):
    x = image(b, b.choice((4, 4, 3)))
    if np.prod(x.shape[2:]) > 150:
        raise Misfit
    group = b.choice((1, 1, 2)) if x.shape[1] % 2 == 0 else 1
    kernel = tuple(b.choice((1, 2, 3)) for _ in x.shape[2:])
    strides = tuple(b.choice((1, 2)) for _ in kernel)
    w = b.constant((b.array((x.shape[1], b.choice((1, 2, 4)), *kernel)) / np.sqrt(x.shape[1] * np.prod(kernel))).astype(F32))
    pads = tuple(b.choice((0, (k - 1) // 2)) for k in (*kernel, *kernel))
    output_padding = tuple(b.random.randint(0, s - 1) for s in strides) if b.chance(0.3) else None
    b.add("ConvTranspose", [x, w, b.weight(w.shape[1] * group) if b.chance(0.5) else None], group=group, strides=strides, pads=pads,
          output_padding=output_padding, dilations=tuple(b.choice((1, 1, 2)) for _ in kernel))


@recipe(4)
def pool(b):
    x = image(b, b.choice((4, 4, 4, 3, 5)))
    op = b.choice(("MaxPool", "AveragePool", "LpPool"))
    kernel, settings = window(b, x)
    if op != "MaxPool" and b.opset < 19:
        settings.pop("dilations", None)
    if op == "AveragePool":
        settings["count_include_pad"] = b.choice((0, 1))
    if op == "LpPool":
        settings["p"] = b.choice((1, 2))
    if b.chance(0.3) and "auto_pad" not in settings and (op != "LpPool" or b.opset >= 18):
        settings["ceil_mode"] = 1
    b.add(op, [x], exact=op == "MaxPool", kernel_shape=kernel, **settings)


@recipe(0.7)
def pool_with_places(b):
    x = b.pick(rank=4, exact=True, fits=lambda v: min(v.shape[2:]) > 1)
    b.add("MaxPool", [x], outputs=2, exact=True, kernel_shape=(2, 2), strides=(2, 2))


@recipe(2)
def global_pool(b):
    op = b.choice(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"))
    b.add(op, [b.pick(rank=(3, 4))], exact=op == "GlobalMaxPool")


@recipe(1.5)
def batch_norm(b):
    x = b.pick(rank=(2, 3, 4))
    b.add("BatchNormalization", [x, *batch_statistics(b, x.shape[1])], epsilon=b.choice((1e-5, 1e-2)))


@recipe(1.5)
def instance_norm(b):
    x = image(b, b.choice((3, 4)))
    b.add("InstanceNormalization", [x, b.weight(x.shape[1]), b.weight(x.shape[1])], epsilon=1e-3)


@recipe(2.5)
def layer_norm(b):
    x = b.pick(floats(b) if b.chance(0.3) else (F32,), least=2)
    axis = b.choice((-1, -1, x.rank - 1, *range(1, x.rank)))
    scale, bias = b.weight(*x.shape[axis:], kind=x.kind), b.weight(*x.shape[axis:], kind=x.kind)
    b.add("LayerNormalization", [x, scale, bias if b.chance(0.8) else None], axis=axis, epsilon=1e-3)


@recipe(1.5)
def layer_norm_by_parts(b):
    """As exporters wrote it before opset 17."""
    x = b.pick(least=2)
    mean = reduced(b, "ReduceMean", x, [-1], 1)
    centred = b.add("Sub", [x, mean])
    square = b.add("Pow", [centred, b.constant(np.array(2, F32))]) if b.chance(0.5) else b.add("Mul", [centred, centred])
    variance = b.add("Add", [reduced(b, "ReduceMean", square, [-1], 1), b.constant(np.array(1e-3, F32))])
    y = b.add("Div", [centred, b.add("Sqrt", [variance])])
    b.add("Add", [b.add("Mul", [y, b.weight(x.shape[-1])]), b.weight(x.shape[-1])])


@recipe(1)
def rms_norm(b):
    x = b.pick(least=2)
    axis = b.choice((-1, *range(1, x.rank)))
    b.add("RMSNormalization", [x, b.weight(*x.shape[axis:])], axis=axis, epsilon=1e-3)


@recipe(1)
def group_norm(b):
    x = b.pick(rank=(3, 4), fits=lambda v: v.shape[1] % 2 == 0)
    groups = b.choice((1, 2, x.shape[1]))
    sizes = x.shape[1] if b.opset >= 21 else groups
    b.add("GroupNormalization", [x, b.weight(sizes), b.weight(sizes)], num_groups=groups, epsilon=1e-3)


@recipe(0.7)
def other_norm(b):
    x = b.pick(rank=4)
    op = b.choice(("LRN", "LRN", "LpNormalization", "MeanVarianceNormalization"))
    attributes = {"LRN": {"size": b.choice((1, 3, 5)), "alpha": 0.05, "bias": 1.5}, "LpNormalization": {"axis": 1, "p": b.choice((1, 2))},
                  "MeanVarianceNormalization": {"axes": b.choice(((0, 2, 3), (2, 3)))}}
    b.add(op, [x], **attributes[op])


@recipe(2)
def resize(b):
    x = b.pick(rank=4)
    mode = b.choice(("nearest", "linear"))
    attributes = {"mode": mode, "coordinate_transformation_mode": b.choice(("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"))}
    if mode == "nearest":
        attributes |= {"coordinate_transformation_mode": b.choice(("asymmetric", "half_pixel")), "nearest_mode": b.choice(("floor",
                      "round_prefer_floor"))}
    if b.chance(0.6):
        factors = [b.choice((0.5, 1, 2, 3)) for _ in range(2)]
        # Where a scale gives a fractional size, ONNX Runtime aligns the corners of the size rounded down. ONNX's own case,
        # test_resize_downsample_scales_linear_align_corners, and its reference evaluator take the fraction.
        if "align_corners" in attributes.values() and any(d * f % 1 for d, f in zip(x.shape[2:], factors)):
            raise Misfit
        scales = b.constant(np.array([1, 1, *factors], F32))
        b.add("Resize", [x, None, scales], exact=mode == "nearest", **attributes)
    else:
        sizes = b.integers(*x.shape[:2], *(b.random.randint(2, 12) for _ in range(2)))
        b.add("Resize", [x, None, None, sizes], exact=mode == "nearest", **attributes)


@recipe(1.2)
def blocks(b):
    if b.chance(0.5):
        x = b.pick(rank=4, fits=lambda v: v.shape[1] % 4 == 0)
        b.add("DepthToSpace", [x], exact=True, blocksize=2, mode=b.choice(("DCR", "CRD")))
    else:
        x = b.pick(rank=4, fits=lambda v: v.shape[2] % 2 == v.shape[3] % 2 == 0)
        b.add("SpaceToDepth", [x], exact=True, blocksize=2)


@recipe(0.5)
def grid_sample(b):
    x = b.pick(rank=4, exact=True)
    grid = b.weight(x.shape[0], b.size(2, 6), b.size(2, 6), 2, low=-0.95, high=0.95)
    mode = ("linear" if b.opset >= 20 else "bilinear")
    b.add("GridSample", [x, grid], mode=mode, padding_mode=b.choice(("zeros", "border", "reflection")), align_corners=b.choice((0, 1)))


# Products

def scaled(b, *shape, kind=F32, fan):
    return b.constant((b.array(shape) / np.sqrt(fan)).astype(kind))


@recipe(5)
def matmul(b):
    x = b.pick(floats(b), least=1)
    inner, n = x.shape[-1], b.size(1)
    batch = b.choice(((), (), (), x.shape[:-2], (1,) * max(x.rank - 2, 0))) if x.rank > 2 else b.choice(((), (), (2,)))
    y = b.add("MatMul", [x, scaled(b, *batch, inner, n, kind=x.kind, fan=inner)] if b.chance(0.95) else
              [x, scaled(b, inner, kind=x.kind, fan=inner)])
    if b.chance(0.4) and y.rank:
        y = b.add("Add", [y, b.weight(y.shape[-1], kind=x.kind)])
        if b.chance(0.4):
            b.add(b.choice(("Relu", "Tanh", "Gelu", "Sigmoid")), [y])


@recipe(1.5)
def matmul_of_two(b):
    x = b.pick(least=2)
    y = b.pick(rank=x.rank, fits=lambda v: v.shape[-1] == x.shape[-1] and broadcast(v.shape[:-2], x.shape[:-2]))
    perm = (*range(x.rank - 2), x.rank - 1, x.rank - 2)
    b.add("MatMul", [b.add("Mul", [x, b.constant(np.array(0.3, F32))]), b.add("Transpose", [y], exact=True, perm=perm)])


@recipe(2.5)
def gemm(b):
    x = b.pick(rank=2)
    across, inverse, n = b.choice((0, 0, 1)), b.choice((0, 1)), b.size(1)
    k, m = x.shape if across else x.shape[::-1]
    w = scaled(b, *((n, k) if inverse else (k, n)), fan=k)
    c = b.choice((None, b.weight(n), b.weight(m, n), b.weight(m, 1), b.weight(1)))
    b.add("Gemm", [x, w, c], transA=across, transB=inverse, alpha=b.choice((1.0, 1.0, 0.5)), beta=b.choice((1.0, 1.0, 0.25)))


@recipe(1.5)
def einsum(b):
    x = b.pick(rank=(2, 3))
    last = x.shape[-1]
    if x.rank == 2:
        equation, shapes = b.choice((("ij,jk->ik", [(last, 3)]), ("ij->ji", []), ("ij,ij->i", [x.shape]), ("ij,jk", [(last, 4)]),
                                     ("ij,kj->ki", [(5, last)]), ("...j,jk->...k", [(last, 2)]), ("ij->", [])))
    else:
        n, m, _ = x.shape
        equation, shapes = b.choice((("bij,bjk->bik", [(n, last, 3)]), ("bij,bkj->bik", [(n, 2, last)]), ("bij->bji", []), ("bij->b", []),
                                     ("bij,jk->bik", [(last, 4)]), ("bij,bij->bi", [(n, m, last)])))
    b.add("Einsum", [x, *(scaled(b, *s, fan=last) for s in shapes)], equation=equation)


@recipe(1.5)
def attention_by_parts(b):
    x = b.pick(rank=3)
    n, length, width = x.shape
    heads, deep = b.choice((1, 2)), b.choice((2, 4))

    def part(perm):
        y = b.add("MatMul", [x, scaled(b, width, heads * deep, fan=width)])
        y = b.add("Add", [y, b.weight(heads * deep)])
        y = b.add("Reshape", [y, b.integers(0, length, heads, deep)], exact=True)
        return b.add("Transpose", [y], exact=True, perm=perm)

    q, k, v = part((0, 2, 1, 3)), part((0, 2, 3, 1)), part((0, 2, 1, 3))
    scores = b.add("Div", [b.add("MatMul", [q, k]), b.constant(np.array(np.sqrt(deep), F32))])
    if b.chance(0.4):
        scores = b.add("Add", [scores, b.weight(1, 1, length, length)])
    y = b.add("MatMul", [b.add("Softmax", [scores], axis=-1), v])
    y = b.add("Transpose", [y], exact=True, perm=(0, 2, 1, 3))
    b.add("Reshape", [y, b.integers(n, length, -1)], exact=True)


@recipe(0.6)
def attention(b):
    q = b.pick(rank=4)
    n, heads, _, deep = q.shape
    k, v = b.weight(n, heads, 5, deep), b.weight(n, heads, 5, b.choice((deep, 3)))
    b.add("Attention", [q, k, v], is_causal=b.choice((0, 1)), scale=b.choice((None, 0.25)))


@recipe(1)
def recurrent(b):
    op = b.choice(("LSTM", "GRU", "RNN"))
    x = b.pick(rank=3)
    ways, hidden, gates = b.choice((1, 2)), b.choice((1, 3, 4)), {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    w, r = scaled(b, ways, gates * hidden, x.shape[2], fan=x.shape[2]), scaled(b, ways, gates * hidden, hidden, fan=hidden)
    bias = b.weight(ways, 2 * gates * hidden) if b.chance(0.6) else None
    direction = "bidirectional" if ways == 2 else b.choice(("forward", "reverse"))
    linear = {"linear_before_reset": b.choice((0, 1))} if op == "GRU" else {}
    b.add(op, [x, w, r, bias], outputs=3 if op == "LSTM" else 2, hidden_size=hidden, direction=direction, **linear)


# Reductions

def reduced(b, op, x, axes, keepdims, **how):
    """A reduction, with axes as its opset has them."""
    if b.opset >= (13 if op == "ReduceSum" else 18):
        return b.add(op, [x, b.integers(*axes) if axes else None], keepdims=keepdims, **how)
    return b.add(op, [x], axes=axes or None, keepdims=keepdims, **how)


def some_axes(b, x):
    axes = b.random.sample(range(x.rank), b.random.randint(1, x.rank))
    return sorted(a - x.rank if b.chance(0.3) else a for a in axes)


@recipe(6)
def reduction(b):
    op = b.choice(("ReduceSum", "ReduceMean", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare",
                   "ReduceLogSumExp", "ReduceProd"))
    integers = op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd") and b.chance(0.2)
    x = b.pick(INTEGERS if integers else floats(b), least=1)
    axes = some_axes(b, x) if b.chance(0.85) else []
    reduced(b, op, x, axes, b.choice((0, 1)), exact=integers or op in ("ReduceMax", "ReduceMin"))


@recipe(0.5)
def log_sum(b):
    x = b.pick(least=1)
    y = b.add("Add", [b.add("Abs", [x], exact=True), b.constant(np.array(0.5, F32))])
    reduced(b, "ReduceLogSum", y, some_axes(b, x), b.choice((0, 1)))


@recipe(3)
def softmax(b):
    x = b.pick(floats(b), least=1)
    b.add(b.choice(("Softmax", "Softmax", "LogSoftmax")), [x], axis=b.random.randint(-x.rank, x.rank - 1))


@recipe(1.5)
def arg_max(b):
    x = b.pick((F32, I32), least=1, exact=True)
    b.add(b.choice(("ArgMax", "ArgMin")), [x], jumps=True, axis=b.random.randint(-x.rank, x.rank - 1), keepdims=b.choice((0, 1)),
          select_last_index=b.choice((0, 1)))


@recipe(1)
def top_k(b):
    x = b.pick((F32, F32, I64), least=1, exact=True)
    axis = b.random.randint(-x.rank, x.rank - 1)
    k = b.random.randint(1, x.shape[axis])
    b.add("TopK", [x, b.integers(k)], outputs=2, jumps=True, axis=axis, largest=b.choice((0, 1)))


@recipe(1)
def cumulative(b):
    x = b.pick((F32, F32, F64, I32, I64), least=1)
    axis = b.constant(np.array(b.random.randint(-x.rank, x.rank - 1), np.int64))
    b.add(b.choice(("CumSum", "CumSum", "CumProd")), [x, axis], exact=x.kind in INTEGERS, exclusive=b.choice((0, 1)), reverse=b.choice((0, 1)))


# Data movement

@recipe(4)
def concat(b):
    x = b.pick(ANY, least=1)
    axis = b.random.randint(0, x.rank - 1)
    fits = [v for v in b.values if v.kind == x.kind and v.rank == x.rank
            and all(p == q for i, (p, q) in enumerate(zip(v.shape, x.shape)) if i != axis)]
    others = [b.choice(fits) for _ in range(b.random.randint(1, 3))]
    b.add("Concat", [x, *others], exact=True, axis=b.choice((axis, axis - x.rank)))


@recipe(2.5)
def split(b):
    x = b.pick(ANY, least=1, fits=lambda v: max(v.shape) > 1)
    axis = b.choice(i for i, d in enumerate(x.shape) if d > 1)
    size = x.shape[axis]
    parts = 2 if size < 3 or b.chance(0.6) else 3
    if size % parts == 0 and b.chance(0.4):
        b.add("Split", [x], outputs=parts, exact=True, axis=axis, num_outputs=parts if b.opset >= 18 else None)
        return
    cuts = sorted(b.random.sample(range(1, size), parts - 1))
    sizes = [j - i for i, j in zip([0, *cuts], [*cuts, size])]
    b.add("Split", [x, b.integers(*sizes)], outputs=parts, exact=True, axis=axis)


@recipe(4)
def slices(b):
    x = b.pick(ANY, least=1)
    axes = b.random.sample(range(x.rank), b.random.randint(1, x.rank))
    starts, ends, steps = [], [], []
    for a in axes:
        d, step = x.shape[a], b.choice((1, 1, 1, 2, -1, -2))
        first, last = sorted((b.random.randint(0, d - 1), b.random.randint(1, d)))
        last = max(last, first + 1)
        first, last = (first, last) if step > 0 else (last - 1, first - 1)
        starts.append(first - d if b.chance(0.2) else first)
        ends.append(-2**31 if last < 0 else 2**31 - 1 if last == d and b.chance(0.3) else last)
        steps.append(step)
    axes = [a - x.rank if b.chance(0.2) else a for a in axes]
    b.add("Slice", [x, *(b.integers(*n) for n in (starts, ends, axes, steps))], exact=True)


@recipe(3)
def pad(b):
    x = b.pick((F32, F32, F32, F64, I32, I64), least=1)
    mode = b.choice(("constant", "constant", "edge", "reflect", *(("wrap",) if b.opset >= 19 else ())))
    pads = [min(b.choice((0, 0, 1, 2)), d - 1 if mode != "constant" else 2) for d in (*x.shape, *x.shape)]
    if mode == "constant" and b.chance(0.2):
        pads = [-1 if p == 1 and x.shape[i % x.rank] > 2 else p for i, p in enumerate(pads)]
    value = b.constant(np.array(b.choice((0, 1)), x.kind)) if mode == "constant" and b.chance(0.5) else None
    b.add("Pad", [x, b.integers(*pads), value], exact=True, mode=mode)


def indices(b, shape, size, kind=I64):
    return b.weight(*shape, kind=kind, low=-size if b.chance(0.3) else 0, high=size)


@recipe(2.5)
def gather(b):
    x = b.pick(ANY, least=1)
    axis = b.random.randint(-x.rank, x.rank - 1)
    where = indices(b, b.shape(b.choice((0, 1, 1, 2))), x.shape[axis], b.choice(INTEGERS))
    b.add("Gather", [x, where], exact=True, axis=axis)


@recipe(1.2)
def gather_elements(b):
    x = b.pick(ANY, least=1)
    axis = b.random.randint(0, x.rank - 1)
    shape = [b.random.randint(1, d) if i != axis else b.size(1, 6) for i, d in enumerate(x.shape)]
    b.add("GatherElements", [x, indices(b, shape, x.shape[axis])], exact=True, axis=axis)


@recipe(1.2)
def gather_nd(b):
    x = b.pick(ANY, least=2)
    batch = b.choice((0, 0, 1))
    depth = b.random.randint(1, x.rank - batch)
    columns = [b.array((*x.shape[:batch], 3, 1), I64, low=0, high=d) for d in x.shape[batch:batch + depth]]
    b.add("GatherND", [x, b.constant(np.concatenate(columns, -1))], exact=True, batch_dims=batch)


def reduction_of_scatter(b, kind):
    return b.choice(("none", "none", "add", *(("max", "min") if b.opset >= 18 else ()))) if b.opset >= 16 and kind == F32 else None


@recipe(1.2)
def scatter_elements(b):
    x = b.pick((F32, F32, I64), least=1)
    axis = b.random.randint(0, x.rank - 1)
    how = reduction_of_scatter(b, x.kind)
    shape = [b.random.randint(1, d) for d in x.shape]
    if how in (None, "none"):  # places must differ
        where = np.argsort(b.numbers.uniform(size=[shape[i] if i != axis else d for i, d in enumerate(x.shape)]), axis)
        where = np.take(where, range(shape[axis]), axis)
    else:
        where = b.array(shape, I64, low=0, high=x.shape[axis])
    b.add("ScatterElements", [x, b.constant(where.astype(np.int64)), b.weight(*shape, kind=x.kind)], exact=how != "add", axis=axis, reduction=how)


@recipe(1.2)
def scatter_nd(b):
    x = b.pick((F32, F32, I64), least=1)
    depth, how = b.random.randint(1, x.rank), reduction_of_scatter(b, x.kind)
    places = b.random.sample(range(int(np.prod(x.shape[:depth]))), b.random.randint(1, min(3, int(np.prod(x.shape[:depth])))))
    where = np.stack(np.unravel_index(places, x.shape[:depth]), -1).astype(np.int64)
    b.add("ScatterND", [x, b.constant(where), b.weight(len(places), *x.shape[depth:], kind=x.kind)], exact=how != "add", reduction=how)


@recipe(4)
def transpose(b):
    x = b.pick(ANY, least=2)
    perm = b.random.sample(range(x.rank), x.rank)
    y = b.add("Transpose", [x], exact=True, perm=perm)
    if b.chance(0.3):
        if b.chance(0.6) and y.kind == F32:
            y = b.add(b.choice(("Relu", "Neg", "Abs")), [y], exact=True)
        b.add("Transpose", [y], exact=True, perm=b.choice((perm, np.argsort(perm).tolist())))


def factored(b, size, rank):
    shape = []
    for _ in range(rank - 1):
        shape.append(b.choice(d for d in range(1, size + 1) if size % d == 0))
        size //= shape[-1]
    return [*shape, size]


@recipe(5)
def reshape(b):
    x = b.pick(ANY)
    shape = factored(b, x.array.size, b.random.randint(1, 5))
    if b.chance(0.4):
        shape[b.random.randrange(len(shape))] = -1
    for i, d in enumerate(shape[:x.rank]):
        if d == x.shape[i] and b.chance(0.3):
            shape[i] = 0
    y = b.add("Reshape", [x, b.integers(*shape)], exact=True)
    if b.chance(0.25):
        b.add("Reshape", [y, b.integers(*x.shape)], exact=True)


@recipe(2)
def reshape_by_shape(b):
    """Shape, Gather, Concat, Reshape, as exporters write it."""
    x = b.pick(least=2)
    sizes = b.add("Shape", [x], exact=True, **({"start": b.choice((0, 0, -x.rank))} if b.opset >= 15 else {}))
    first = b.add("Gather", [sizes, b.constant(np.array(0, I64))], exact=True, axis=0)
    if b.opset >= 13:
        first = b.add("Unsqueeze", [first, b.integers(0)], exact=True)
    shape = b.add("Concat", [first, b.integers(-1)], exact=True, axis=0)
    b.add("Reshape", [x, shape], exact=True)


@recipe(1)
def from_shape(b):
    x = b.pick(ANY, least=1)
    op = b.choice(("Shape", "Size", "ConstantOfShape", "Expand"))
    if op in ("Shape", "Size"):
        b.add(op, [x], exact=True)
        return
    sizes = b.add("Shape", [x], exact=True)
    if op == "Expand":
        b.add("Expand", [b.weight(1, kind=F32), sizes], exact=True)
    else:
        b.add("ConstantOfShape", [sizes], exact=True, value=helper.make_tensor("v", TensorProto.FLOAT, [1], [b.choice((0.0, 1.5))]))


@recipe(2)
def squeeze(b):
    x = b.pick(ANY, fits=lambda v: 1 in v.shape)
    ones = [i for i, d in enumerate(x.shape) if d == 1]
    axes = b.random.sample(ones, b.random.randint(1, len(ones)))
    b.add("Squeeze", [x, b.integers(*(a - x.rank if b.chance(0.3) else a for a in axes)) if b.chance(0.85) else None], exact=True)


@recipe(2)
def unsqueeze(b):
    x = b.pick(ANY)
    rank = x.rank + b.choice((1, 1, 2))
    axes = b.random.sample(range(rank), rank - x.rank)
    b.add("Unsqueeze", [x, b.integers(*(a - rank if b.chance(0.3) else a for a in axes))], exact=True)


@recipe(1.5)
def expand(b):
    x = b.pick(ANY, least=1)
    shape = [b.size(1, 4) if d == 1 else b.choice((1, d)) for d in x.shape]
    b.add("Expand", [x, b.integers(*([b.choice((1, 2))] if b.chance(0.2) else []), *shape)], exact=True)


@recipe(1.2)
def tile(b):
    x = b.pick(ANY, least=1)
    b.add("Tile", [x, b.integers(*(b.choice((1, 1, 2, 3)) for _ in x.shape))], exact=True)


@recipe(1.5)
def flatten(b):
    x = b.pick((F32, F32, F64, I64), least=1)
    b.add("Flatten", [x], exact=True, axis=b.random.randint(-x.rank, x.rank))


@recipe(1)
def trilu(b):
    x = b.pick(ANY[:6], least=2)
    b.add("Trilu", [x, b.constant(np.array(b.random.randint(-2, 2), np.int64)) if b.chance(0.6) else None], exact=True, upper=b.choice((0, 1)))


@recipe(0.7)
def one_hot(b):
    depth = b.random.randint(2, 6)
    where = b.fresh(b.shape(b.choice((1, 2))), I64, low=-depth, high=depth)
    b.add("OneHot", [where, b.constant(np.array(depth, I64)), b.constant(np.array([0, 1], F32))], exact=True, axis=b.choice((-1, 0, 1)))


@recipe(0.5)
def reverse(b):
    x = b.pick((F32, F64, I64), least=2)
    b.add("ReverseSequence", [x, b.weight(x.shape[1], kind=I64, low=1, high=x.shape[0] + 1)], exact=True, time_axis=0, batch_axis=1)


@recipe(0.4)
def eye_like(b):
    b.add("EyeLike", [b.pick(rank=2)], exact=True, k=b.choice((-1, 0, 1)))


@recipe(0.4)
def ranges(b):
    b.add("Range", [b.constant(np.array(n, I64)) for n in (b.choice((0, 3)), 12, b.choice((1, 2, 5)))], exact=True)


@recipe(0.4)
def center_crop_pad(b):
    x = b.pick(least=2)
    b.add("CenterCropPad", [x, b.integers(*(b.random.randint(1, 8) for _ in x.shape))], exact=True)


# Quantized

def scale_of(b, channels=None):
    """Powers of two: divisions by them are exact."""
    choices = np.array([0.125, 0.25, 0.0625], F32)
    return b.constant(choices[b.random.randrange(3)] if channels is None else b.numbers.choice(choices, channels).astype(F32))


@recipe(1.5)
def quantize(b):
    x = b.pick(least=1, exact=True)
    kind = b.choice((I8, U8))
    axis = b.random.randint(0, x.rank - 1) if b.chance(0.4) else None
    shape = () if axis is None else (x.shape[axis],)
    scale, zero = scale_of(b, *shape), b.weight(*shape, kind=kind, low=0, high=9)
    q = b.add("QuantizeLinear", [x, scale, zero], jumps=True, axis=axis)
    if b.chance(0.7):
        b.add("DequantizeLinear", [q, scale, zero], axis=axis)


@recipe(0.5)
def quantized_weight(b):
    x = b.pick(least=2)
    w = b.weight(x.shape[-1], 4, kind=I8, low=-100, high=100)
    axis = b.choice((None, 1))
    scale = b.constant(np.full(() if axis is None else 4, 0.01, F32))
    zero = b.constant(np.zeros(() if axis is None else 4, I8))
    b.add("MatMul", [x, b.add("DequantizeLinear", [w, scale, zero], axis=axis)])


@recipe(0.5)
def integer_product(b):
    if b.chance(0.5):
        x = b.fresh((b.size(1), b.size(1)), U8, high=200)
        b.add("MatMulInteger", [x, b.weight(x.shape[1], 3, kind=b.choice((I8, U8))), b.constant(np.array(7, U8))], exact=True)
    else:
        x = b.fresh(b.shape(4), U8, high=200)
        b.add("ConvInteger", [x, b.weight(2, x.shape[1], 3, 3, kind=U8), b.constant(np.array(7, U8))], exact=True, pads=(1, 1, 1, 1))


@recipe(0.4)
def quantized_product(b):
    x = b.fresh((b.size(1), b.size(1)), U8, high=200)
    scale, zero = scale_of(b), b.constant(np.array(5, U8))
    b.add("QLinearMatMul", [x, scale, zero, b.weight(x.shape[1], 4, kind=U8), scale_of(b), zero, scale_of(b), zero], exact=True)


@recipe(0.4)
def dynamic_quantize(b):
    b.add("DynamicQuantizeLinear", [b.fresh(b.shape(2))], outputs=3)


# Bodies

@recipe(0.6)
def condition(b):
    x = b.pick(exact=True)
    chosen = b.fresh((), BOOL) if b.chance(0.5) else b.constant(np.array(b.chance(0.5)))

    def branch(op):
        name = b.name("v")
        return helper.make_graph([helper.make_node(op, [x.name], [name])], op, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape)])

    b.add("If", [chosen], captured=[x], then_branch=branch("Tanh"), else_branch=branch("Neg"))


def random_model(seed):
    b = Builder(seed)
    for _ in range(b.random.randint(1, 3)):
        b.fresh(b.shape(b.choice((2, 3, 4))))
    wanted = b.random.randint(5, 60)
    for _ in range(4 * wanted):
        if len(b.nodes) >= wanted:
            break
        b.attempt(b.random.choices(RECIPES, WEIGHTS)[0])
    return b.model()
