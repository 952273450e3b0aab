"""Rows A10 to A12, A16 and A19: settings out of range, arithmetic of integers, special values, tensors without elements, odd reals."""
import math

import numpy as np
from onnx import TensorProto

from support import INVALID, UNSUPPORTED, C, Case, Model, accepted, carried, either, model, node, one, refused, untyped, value

ANY = (INVALID, UNSUPPORTED)
USAGE = 2
LEAST, MOST = -2**63, 2**63 - 1
IMAGE = np.arange(2 * 4 * 5 * 5, dtype=np.float32).reshape(2, 4, 5, 5)
WEIGHT = C(np.ones((6, 4, 3, 3), np.float32))
X = np.array([-1, 0, 2, 3], np.float32)
M = np.arange(12, dtype=np.float32).reshape(3, 4)


def window_cases():
    conv = lambda name, weight=WEIGHT, image=IMAGE, op="Conv", **a: Case(f"A10_{op.lower()}_{name}", one(op, image, weight, **a), refused(op, ANY))
    yield conv("stride_0", strides=[0, 1])
    yield conv("stride_negative", strides=[-1, -1])
    yield conv("short_strides", strides=[1])
    yield conv("dilation_0", dilations=[0, 1])
    yield conv("short_dilations", dilations=[1])
    yield conv("dilation_huge", dilations=[2**62, 2**62])
    yield conv("short_pads", pads=[1, 1])
    yield conv("long_pads", pads=[1] * 5)
    yield conv("pads_overflow", pads=[MOST, 0, MOST, 0])
    yield conv("pads_negative", pads=[-3, -3, -3, -3])
    yield conv("auto_pad_of_no_kind", auto_pad="SOMEHOW")
    yield conv("group_0", group=0)
    yield conv("group_negative", group=-1)
    yield conv("group_that_does_not_divide", group=3)
    yield conv("group_huge", group=2**62)
    yield conv("kernel_larger_than_padded_input", C(np.ones((6, 4, 7, 7), np.float32)))
    yield conv("kernel_shape_lies", kernel_shape=[5, 5])
    yield conv("kernel_shape_that_wraps", kernel_shape=[2**32, 2**32])
    yield conv("weight_of_another_rank", C(np.ones((6, 4, 3), np.float32)))
    yield conv("weight_without_elements", C(np.ones((6, 4, 0, 3), np.float32)))
    yield conv("channels_of_another_number", C(np.ones((6, 5, 3, 3), np.float32)))
    yield Case("A10_conv_bias_of_another_size", one("Conv", IMAGE, WEIGHT, C(np.ones(5))), refused("Conv", ANY))
    yield conv("input_without_places", image=IMAGE[0, :, 0, 0])
    turned = C(np.ones((4, 6, 3, 3), np.float32))
    yield conv("stride_0", turned, op="ConvTranspose", strides=[0, 0])
    yield conv("group_0", turned, op="ConvTranspose", group=0)
    yield conv("output_padding_huge", turned, op="ConvTranspose", output_padding=[2**62, 2**62])
    yield conv("pads_beyond_the_result", turned, op="ConvTranspose", pads=[9, 9, 9, 9])
    for op in ("MaxPool", "AveragePool"):
        pool = lambda name, **a: Case(f"A10_{op.lower()}_{name}", one(op, IMAGE, **a), refused(op, ANY))
        yield pool("without_kernel")
        yield pool("kernel_0", kernel_shape=[0, 2])
        yield pool("kernel_negative", kernel_shape=[-2, 2])
        yield pool("kernel_short", kernel_shape=[2])
        yield pool("kernel_larger_than_input", kernel_shape=[9, 9])
        yield pool("kernel_huge", kernel_shape=[2**62, 2**62])
        yield pool("stride_0", kernel_shape=[2, 2], strides=[0, 0])
        yield Case(f"A10_{op.lower()}_pads_as_large_as_the_kernel", one(op, IMAGE, kernel_shape=[2, 2], pads=[2, 2, 2, 2]), accepted())
        yield pool("pads_overflow", kernel_shape=[2, 2], pads=[MOST, MOST, MOST, MOST])


def shape_cases():
    def case(name, op, *operands, verdict=None, **attributes):
        return Case(f"A10_{name}", one(op, *operands, **attributes), verdict or refused(op, ANY))

    at_run = carried("", (INVALID, UNSUPPORTED, USAGE))  # what is constant is not looked into
    yield case("gather_axis_beyond", "Gather", M, C([0]), axis=2)
    yield case("gather_axis_least", "Gather", M, C([0]), axis=LEAST)
    yield case("gather_index_beyond", "Gather", M, C([3]))
    yield case("gather_index_below", "Gather", M, C([-4]))
    yield case("gather_index_beyond_at_run", "Gather", M, np.array([0, 7]), verdict=carried("Gather", (INVALID, UNSUPPORTED, USAGE)))
    yield case("gatherelements_index_beyond", "GatherElements", M, C([[4]]), axis=1, verdict=at_run)
    yield case("gathernd_index_beyond", "GatherND", M, C([[3, 0]]), verdict=at_run)
    yield case("gathernd_batch_dims_beyond", "GatherND", M, C([[0]]), batch_dims=5)
    yield case("gathernd_index_too_long", "GatherND", M, C([[0, 0, 0]]))
    yield case("scatternd_index_beyond", "ScatterND", M, C([[9]]), C(np.ones((1, 4))), verdict=at_run)
    yield case("scatterelements_index_beyond", "ScatterElements", M, C([[0, 9]]), C([[1.0, 2.0]]), axis=1, verdict=at_run)
    yield case("scatterelements_axis_beyond", "ScatterElements", M, C([[0]]), C([[1.0]]), axis=7)
    yield case("slice_step_0", "Slice", M, C([0]), C([2]), C([0]), C([0]))
    yield case("slice_axis_beyond", "Slice", M, C([0]), C([2]), C([5]))
    yield case("slice_axis_twice", "Slice", M, C([0, 0]), C([2, 2]), C([0, 0]))
    yield case("slice_of_another_number_of_ends", "Slice", M, C([0, 0]), C([2]))
    yield case("slice_extremes", "Slice", M, C([LEAST, MOST]), C([MOST, LEAST]), C([0, 1]), C([1, -1]), verdict=accepted(M[:, ::-1]))
    yield case("slice_step_least", "Slice", M, C([MOST]), C([LEAST]), C([0]), C([LEAST]), verdict=accepted(M[2:]))
    yield case("transpose_perm_twice", "Transpose", M, perm=[0, 0])
    yield case("transpose_perm_short", "Transpose", M, perm=[0])
    yield case("transpose_perm_beyond", "Transpose", M, perm=[0, 2])
    yield case("transpose_perm_negative", "Transpose", M, perm=[0, -1])
    yield case("concat_axis_beyond", "Concat", M, M, axis=2)
    yield case("concat_of_other_sizes", "Concat", M, M[:, :2], axis=0)
    yield case("split_of_another_sum", "Split", M, C([1, 1]), axis=0, results=2)
    yield case("split_negative", "Split", M, C([4, -1]), axis=0, results=2)
    yield case("split_overflow", "Split", M, C([MOST, MOST]), axis=0, results=2)
    yield case("split_into_more_than_there_is", "Split", M, axis=0, results=9, opset=13)
    yield case("squeeze_of_more_than_one", "Squeeze", M, C([0]))
    yield case("squeeze_axis_beyond", "Squeeze", M, C([9]))
    yield case("unsqueeze_axis_twice", "Unsqueeze", M, C([1, 1]))
    yield case("unsqueeze_axis_beyond", "Unsqueeze", M, C([99]))
    yield case("flatten_axis_beyond", "Flatten", M, axis=3)
    yield case("reduce_axis_beyond", "ReduceSum", M, C([2]))
    yield case("reduce_axis_twice", "ReduceMax", M, axes=[0, 0])
    yield case("softmax_axis_beyond", "Softmax", M, axis=2)
    yield case("argmax_axis_beyond", "ArgMax", M, axis=-3)
    yield case("cumsum_axis_beyond", "CumSum", M, C(5))
    yield case("topk_beyond", "TopK", M, C([5]), results=2)
    yield case("topk_negative", "TopK", M, C([-1]), results=2)
    yield case("onehot_depth_negative", "OneHot", C([0]), C(-1), C([0.0, 1.0]))
    yield case("range_step_0", "Range", C(0), C(5), C(0))
    yield case("range_step_nan", "Range", C(0.0), C(5.0), C(math.nan))
    yield case("depthtospace_block_0", "DepthToSpace", IMAGE, blocksize=0)
    yield case("depthtospace_block_huge", "DepthToSpace", IMAGE, blocksize=2**32)
    yield case("spacetodepth_block_negative", "SpaceToDepth", IMAGE, blocksize=-1)
    yield case("lrn_size_0", "LRN", IMAGE, size=0)
    yield case("resize_scale_0", "Resize", IMAGE, None, C([1.0, 1.0, 0.0, 0.0]))
    yield case("resize_scale_nan", "Resize", IMAGE, None, C([1.0, 1.0, math.nan, 1.0]))
    yield case("resize_scale_inf", "Resize", IMAGE, None, C([1.0, 1.0, math.inf, 1.0]))
    yield case("resize_scale_negative", "Resize", IMAGE, None, C([1.0, 1.0, -2.0, 1.0]))
    yield case("resize_sizes_short", "Resize", IMAGE, None, None, C([2, 4]))
    yield case("matmul_of_other_sizes", "MatMul", M, M)
    yield case("matmul_of_scalars", "MatMul", np.float32(2).reshape(()), M)
    yield case("gemm_of_rank_3", "Gemm", IMAGE[0], M)
    yield case("gemm_bias_of_another_size", "Gemm", M, M, C(np.ones((2, 2))), transB=1)
    yield case("add_of_other_sizes", "Add", M, X[:3])
    yield case("einsum_without_meaning", "Einsum", M, M, equation="ij,jk->->ik")
    yield case("einsum_of_unknown_letters", "Einsum", M, equation="ij->k")
    yield case("einsum_of_another_rank", "Einsum", M, equation="ijk->i")
    yield case("batchnorm_of_another_size", "BatchNormalization", IMAGE, *[C(np.ones(3, np.float32))] * 4)
    yield case("batchnorm_epsilon_nan", "BatchNormalization", IMAGE, *[C(np.ones(4, np.float32))] * 4, epsilon=math.nan, verdict=either)
    yield case("layernorm_axis_beyond", "LayerNormalization", M, C(np.ones(4)), axis=4)
    yield case("instancenorm_of_another_size", "InstanceNormalization", IMAGE, C(np.ones(9)), C(np.ones(9)))
    yield case("groupnorm_of_0_groups", "GroupNormalization", IMAGE, C(np.ones(4)), C(np.ones(4)), num_groups=0, opset=21)
    yield case("trilu_diagonal_least", "Trilu", M, C(LEAST), verdict=accepted(M))
    yield case("eyelike_diagonal_least", "EyeLike", M, k=LEAST, verdict=accepted(np.zeros((3, 4), np.float32)))
    yield case("quantize_scale_nan", "QuantizeLinear", X, C(math.nan), C(0, np.uint8), verdict=either)
    yield case("quantize_scale_0", "QuantizeLinear", X, C(0.0), C(0, np.uint8), verdict=either)
    yield case("quantize_axis_beyond", "QuantizeLinear", M, C(np.ones(4)), C(np.zeros(4), np.uint8), axis=9)
    yield case("dequantize_scales_of_another_number", "DequantizeLinear", np.zeros((3, 4), np.uint8), C(np.ones(7)), C(np.zeros(7), np.uint8),
               axis=1)
    yield case("lstm_of_other_sizes", "LSTM", np.ones((2, 1, 4), np.float32), C(np.ones((1, 8, 4))), C(np.ones((1, 9, 2))), hidden_size=2)
    yield case("lstm_hidden_size_huge", "LSTM", np.ones((2, 1, 4), np.float32), C(np.ones((1, 8, 4))), C(np.ones((1, 8, 2))),
               hidden_size=2**62)
    yield case("gridsample_of_another_rank", "GridSample", IMAGE, np.zeros((2, 3), np.float32))
    yield case("roialign_of_0", "RoiAlign", IMAGE, np.zeros((1, 4), np.float32), np.zeros(1, np.int64), output_height=0, output_width=-1,
               verdict=refused("RoiAlign"))


def arithmetic_cases():
    """Integers that trap on the machine. The results follow numpy, where it has one."""
    integers = lambda *v, kind=np.int64: np.array(v, kind)
    for kind in (np.int32, np.int64):
        least = np.iinfo(kind).min
        n = np.dtype(kind).name
        constant = lambda *v: C(np.array(v, kind), kind)
        for how, operand in (("constant", constant), ("at_run", lambda *v: np.array(v, kind))):
            yield Case(f"A11_div_least_by_minus_1_{n}_{how}", one("Div", operand(least, 7), operand(-1, -1)), accepted(integers(least, -7, kind=kind)))
            yield Case(f"A11_div_by_0_{n}_{how}", one("Div", operand(least, 7), operand(0, 0)), accepted())
            yield Case(f"A11_mod_by_0_{n}_{how}", one("Mod", operand(least, 7), operand(0, 0)), accepted())
            yield Case(f"A11_mod_least_by_minus_1_{n}_{how}", one("Mod", operand(least, 7), operand(-1, -1)), accepted(integers(0, 0, kind=kind)))
    yield Case("A11_fmod_least_by_minus_1", one("Mod", integers(LEAST), integers(-1), fmod=1), accepted(integers(0)))
    yield Case("A11_neg_least", one("Neg", integers(LEAST, 1)), accepted(integers(LEAST, -1)))
    yield Case("A11_abs_least", one("Abs", integers(LEAST, -1)), accepted(integers(LEAST, 1)))
    yield Case("A11_add_overflow", one("Add", integers(MOST), integers(1)), accepted(integers(LEAST)))
    yield Case("A11_mul_overflow", one("Mul", integers(2**62, 3), integers(4, -1)), accepted(integers(0, -3)))
    yield Case("A11_sum_overflow", one("ReduceSum", integers(MOST, 1), keepdims=0), accepted(np.int64(LEAST)))
    yield Case("A11_pow_overflow", one("Pow", integers(3, 2), integers(200, 63)), accepted())
    yield Case("A11_pow_negative", one("Pow", integers(0, 2), integers(-1, -1)), accepted())
    yield Case("A11_shift_by_width", one("BitShift", np.array([1, 255], np.uint8), np.array([8, 255], np.uint8), direction="LEFT"), either)
    for target, kind in ((TensorProto.INT32, np.int32), (TensorProto.UINT8, np.uint8), (TensorProto.INT64, np.int64)):
        for how, wrap in (("constant", C), ("at_run", lambda v: np.array(v, np.float32))):
            yield Case(f"A11_cast_of_no_{np.dtype(kind).name}_{how}", one("Cast", wrap([math.nan, math.inf, -math.inf, 1e30]), to=target), accepted())
    yield Case("A11_quantize_of_nan_and_inf", one("QuantizeLinear", np.array([math.nan, math.inf, -math.inf], np.float32), C(0.5), C(3, np.uint8)),
               accepted())
    yield Case("A11_shape_arithmetic_div_by_0", model([node("Shape", "x", "s"), node("Div", "s zero", "d"), node("Expand", "one d", "y")], ["x"],
                                                      untyped("y"), {"zero": np.array([0]), "one": np.ones(1, np.float32)}), either)
    yield Case("A11_shape_arithmetic_least_by_minus_1",
               model([node("Div", "a b", "d"), node("Expand", "one d", "y")], [], untyped("y"),
                     {"a": np.array([LEAST]), "b": np.array([-1]), "one": np.ones(1, np.float32)}), refused("Expand", ANY))


def special_value_cases():
    odd = np.array([math.nan, math.inf, -math.inf, -0.0, 1e-45, 0.0, -1e-45, 3.0], np.float32)
    case = lambda name, made, expected: Case(f"A12_{name}", made, accepted(np.asarray(expected, np.float32)))
    with np.errstate(all="ignore"):
        yield case("weights", one("Identity", C(odd)), odd)
        yield case("relu", one("Relu", odd), np.where(np.isnan(odd), odd, np.maximum(odd, 0)))
        yield case("times_0", one("Mul", odd, C(np.zeros(8))), odd * 0)
        yield case("less_itself", Model(model([node("Sub", "x x", "y")], [value("x", [8])], untyped("y")), {"x": odd}), odd - odd)
        yield case("by_itself", Model(model([node("Div", "x x", "y")], [value("x", [8])], untyped("y")), {"x": odd}), odd / odd)
        yield case("plus_0", one("Add", odd, C(np.zeros(8))), odd + 0)
        yield case("max", one("Max", odd, C(np.ones(8))), np.maximum(odd, 1))
        yield case("min", one("Min", odd, C(np.ones(8))), np.minimum(odd, 1))
        yield case("max_turned", one("Max", C(np.ones(8)), odd), np.maximum(1, odd))
        yield case("exp_of_log", Model(model([node("Log", "x", "h"), node("Exp", "h", "y")], [value("x", [8])], untyped("y")), {"x": odd}),
                   np.exp(np.log(odd)))
        yield case("reduce_max", one("ReduceMax", odd, keepdims=0), np.nan)
        yield case("reduce_sum", one("ReduceSum", odd[1:3], keepdims=0), np.nan)
        yield case("softmax_of_inf", one("Softmax", odd[1:4]), [np.nan] * 3)
        yield case("where_of_nan", one("Where", C(np.zeros(8, bool), bool), odd, C(np.ones(8))), np.ones(8))
        yield case("matmul_of_0_and_inf", one("MatMul", np.zeros((1, 8), np.float32), C(odd.reshape(8, 1))), [[np.nan]])
        yield case("maxpool_of_nan", one("MaxPool", np.full((1, 1, 2, 2), np.nan, np.float32), kernel_shape=[2, 2]), [[[[np.nan]]]])
        yield case("clip_of_nan", one("Clip", odd, C(-1.0), C(1.0)), np.clip(odd, -1, 1))
        yield case("sqrt_squared", Model(model([node("Sqrt", "x", "h"), node("Mul", "h h", "y")], [value("x", [8])], untyped("y")), {"x": odd}),
                   np.sqrt(odd) ** 2)
        yield case("neg_of_zero", one("Neg", np.array([0.0, -0.0], np.float32)), [-0.0, 0.0])


def empty_cases():
    none = np.zeros((0, 4), np.float32)
    case = lambda name, op, *operands, expected=None, **a: Case(f"A16_{name}", one(op, *operands, **a), accepted(expected))
    yield case("relu", "Relu", none, expected=none)
    yield case("add", "Add", none, C(np.ones((1, 4))), expected=none)
    yield case("concat", "Concat", none, M, axis=0, expected=M)
    yield case("reduce_sum", "ReduceSum", none, C([0]), keepdims=0, expected=np.zeros(4, np.float32))
    yield case("reduce_prod", "ReduceProd", none, axes=[0], keepdims=0, expected=np.ones(4, np.float32))
    yield Case("A16_reduce_max", one("ReduceMax", none, axes=[0], keepdims=0), either)
    yield Case("A16_reduce_mean", one("ReduceMean", none, axes=[0], keepdims=0), either)
    yield Case("A16_argmax", one("ArgMax", none, axis=0, keepdims=0), either)
    yield case("matmul_of_no_terms", "MatMul", np.zeros((2, 0), np.float32), C(np.zeros((0, 3), np.float32)), expected=np.zeros((2, 3), np.float32))
    yield case("gemm_of_no_rows", "Gemm", none, C(np.ones((4, 2))), C(np.ones(2)), expected=np.zeros((0, 2), np.float32))
    yield case("conv_of_no_images", "Conv", IMAGE[:0], WEIGHT, expected=np.zeros((0, 6, 3, 3), np.float32))
    yield case("maxpool_of_no_images", "MaxPool", IMAGE[:0], kernel_shape=[2, 2], expected=np.zeros((0, 4, 4, 4), np.float32))
    yield case("softmax", "Softmax", none, expected=none)
    yield case("softmax_along_nothing", "Softmax", none, axis=0, expected=none)
    yield case("transpose", "Transpose", none, expected=none.T)
    yield case("reshape", "Reshape", none, C([2, 0]), allowzero=1, expected=np.zeros((2, 0), np.float32))
    yield case("gather_of_nothing", "Gather", M, C(np.zeros(0, np.int64)), expected=none)
    yield Case("A16_gather_from_nothing", one("Gather", none, C([0])), refused("Gather", ANY))
    yield case("slice", "Slice", M, C([2]), C([1]), C([0]), expected=none)
    yield case("tile_0_times", "Tile", M, C([0, 1]), expected=none)
    yield case("expand", "Expand", np.ones((1, 4), np.float32), C([0, 4]), expected=none)
    yield case("topk_of_0", "TopK", M, C([0]), axis=0, results=1, expected=none)
    scalar = np.float32(2).reshape(())
    yield case("rank_0_add", "Add", scalar, C(np.float32(3)), expected=np.float32(5))
    yield case("rank_0_transpose", "Transpose", scalar, expected=scalar)
    yield case("rank_0_reduce", "ReduceSum", scalar, expected=scalar)
    yield case("rank_0_reshape", "Reshape", scalar, C(np.zeros(0, np.int64)), expected=scalar)
    yield case("rank_0_flatten", "Flatten", scalar, axis=0, expected=scalar.reshape(1, 1))
    yield case("rank_0_expand", "Expand", scalar, C(np.zeros(0, np.int64)), expected=scalar)
    yield case("rank_0_gather", "Gather", X, C(np.int64(2)), expected=np.float32(2))
    yield case("rank_0_unsqueeze", "Unsqueeze", scalar, C([0]), expected=scalar.reshape(1))
    yield Case("A16_rank_0_concat", one("Concat", scalar, scalar, axis=0), refused("Concat"))
    yield Case("A16_rank_0_softmax", one("Softmax", scalar, axis=0), refused("Softmax", ANY))


def real_cases():
    """Attributes that are hard to print; in the decimal commas of another country too."""
    commas = {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}
    with np.errstate(all="ignore"):
        for name, alpha in (("nan", math.nan), ("inf", math.inf), ("least_denormal", 1e-45), ("greatest", 3.4028234e38), ("minus_0", -0.0),
                            ("tenth", 0.1)):
            expected = np.where(X >= 0, X, np.float32(alpha) * X).astype(np.float32)
            verdict = accepted(expected) if math.isfinite(alpha) else carried("alpha")
            yield Case(f"A19_leakyrelu_{name}", one("LeakyRelu", X, alpha=alpha), verdict, environment=commas,
                       compile=b"A19_leakyrelu" if math.isfinite(alpha) else b"")
        yield Case("A19_gemm_alpha_inf", one("Gemm", M, C(np.ones((4, 2))), alpha=math.inf), carried("alpha"), environment=commas)
        yield Case("A19_elu_alpha_nan", one("Elu", X, alpha=math.nan), carried("alpha"), environment=commas)


def cases():
    yield from window_cases()
    yield from shape_cases()
    yield from arithmetic_cases()
    yield from special_value_cases()
    yield from empty_cases()
    yield from real_cases()
