"""Operators of com.microsoft that gsub reads as graphs of others, beside ONNX Runtime: microsoft.py GSUB SCRATCH."""
import pathlib
import shutil
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

from support import Gsub, distance, session, verdict

rng = np.random.default_rng(5)
BATCH, STEPS, WIDTH, HEADS = 2, 5, 12, 3


def real(*shape):
    return rng.normal(size=shape).astype(np.float32)


def whole(most, *shape, kind=np.int32):
    return rng.integers(0, most, shape, dtype=kind)


def cases():
    """(name, operator, operands, attributes, results); None is an operand that is left out, '' a result."""
    text, row = real(BATCH, STEPS, WIDTH), lambda: real(WIDTH)
    yield "gelu", "Gelu", [text], {}, ["y"]
    yield "bias gelu", "BiasGelu", [text, row()], {}, ["y"]
    yield "fast gelu", "FastGelu", [text], {}, ["y"]
    yield "fast gelu of a sum", "FastGelu", [text, row()], {}, ["y"]
    yield "quick gelu", "QuickGelu", [text], {"alpha": 1.5}, ["y"]
    yield "product", "FusedMatMul", [text, real(BATCH, WIDTH, 7)], {"alpha": 0.5}, ["y"]
    yield "turned product", "FusedMatMul", [real(BATCH, WIDTH, STEPS), real(BATCH, 7, WIDTH)], {"transA": 1, "transB": 1}, ["y"]
    yield "gemm", "FusedGemm", [real(4, WIDTH), real(6, WIDTH), real(6)], {"transB": 1, "alpha": 2.0, "activation": "Relu"}, ["y"]
    yield "leaky gemm", "FusedGemm", [real(4, WIDTH), real(WIDTH, 6), real(6)], {"activation": "LeakyRelu", "activation_alpha": 0.3}, ["y"]
    image, weight = real(1, 4, 9, 9), real(6, 4, 3, 3)
    window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}
    yield "conv", "FusedConv", [image, weight, real(6)], {**window, "activation": "Relu"}, ["y"]
    yield "conv and sum", "FusedConv", [image, weight, real(6), real(1, 6, 5, 5)], {**window, "activation": "Relu"}, ["y"]
    yield "clipped conv", "FusedConv", [image, weight, real(6)], {**window, "activation": "Clip", "activation_params": [-0.5, 1.5]}, ["y"]
    yield "leaky conv", "FusedConv", [image, weight], {**window, "activation": "LeakyRelu", "activation_params": [0.2]}, ["y"]
    skip = real(BATCH, STEPS, WIDTH)
    yield "skip", "SkipLayerNormalization", [text, skip, row(), row(), row()], {"epsilon": 1e-5}, ["y", "", "", "sum"]
    yield "skip without a bias", "SkipLayerNormalization", [text, skip, row(), row()], {}, ["y"]
    yield "skip, root mean square", "SkipSimplifiedLayerNormalization", [text, skip, row(), row()], {"epsilon": 1e-5}, ["y", "", "", "sum"]
    words, places, kinds = real(20, WIDTH), real(8, WIDTH), real(2, WIDTH)
    ids = whole(20, BATCH, STEPS)
    yield "embedding", "EmbedLayerNormalization", [ids, whole(2, BATCH, STEPS), words, places, kinds, row(), row()], {}, ["y", "m"]
    yield "embedding of places", "EmbedLayerNormalization", [ids, None, words, places, None, row(), row(), None, whole(8, BATCH, STEPS)], {}, ["y", "m"]
    packed = [text, real(WIDTH, 3 * WIDTH) / 2, real(3 * WIDTH)]
    lengths = np.array([3, 5], np.int32)
    mask = (np.arange(STEPS) < lengths[:, None]).astype(np.int32)
    yield "attention", "Attention", packed, {"num_heads": HEADS}, ["y"]
    yield "attention of numbers of keys", "Attention", [*packed, lengths], {"num_heads": HEADS}, ["y"]
    yield "attention with a mask", "Attention", [*packed, mask], {"num_heads": HEADS, "scale": 0.3}, ["y"]
    yield "attention with a mask of pairs", "Attention", [*packed, np.repeat(mask[:, None], STEPS, 1)], {"num_heads": HEADS}, ["y"]
    yield "causal attention", "Attention", packed, {"num_heads": HEADS, "unidirectional": 1}, ["y"]
    yield from attention_by_heads(text, lengths, mask)
    yield from rotary_embeddings()
    yield from attention_of_groups()


def attention_by_heads(text, lengths, mask):
    op, some = "MultiHeadAttention", {"num_heads": HEADS}
    keys, values = real(BATCH, STEPS, WIDTH), real(BATCH, STEPS, 2 * WIDTH)
    yield "by heads", op, [text, keys, values], some, ["y"]
    yield "by heads, with a bias", op, [text, keys, values, real(4 * WIDTH)], {**some, "scale": 0.4}, ["y"]
    yield "by heads, with present keys", op, [text, keys, values, real(4 * WIDTH)], some, ["y", "k", "v"]
    yield "by heads, numbers of keys", op, [text, keys, values, None, lengths], some, ["y"]
    yield "by heads, mask", op, [text, keys, values, None, mask], {**some, "mask_filter_value": -1e9}, ["y"]
    yield "by heads, added scores", op, [text, keys, values, None, None, real(1, HEADS, STEPS, STEPS)], some, ["y"]
    yield "by heads, one for all", op, [text, keys, values, None, mask, real(BATCH, 1, STEPS, STEPS)], some, ["y"]
    yield "by heads, causal", op, [text, keys, values], {**some, "unidirectional": 1}, ["y"]
    across = real(BATCH, HEADS, 7, WIDTH // HEADS), real(BATCH, HEADS, 7, WIDTH // HEADS)
    yield "across", op, [text, *across], some, ["y"]


def rotary_embeddings():
    op, table = "RotaryEmbedding", (np.cos(real(9, 2)), np.sin(real(9, 2)))
    places = rng.integers(0, 9, (BATCH, STEPS), dtype=np.int64)
    yield "rotary", op, [real(BATCH, STEPS, WIDTH), places, *table], {}, ["y"]
    yield "rotary from a place on", op, [real(BATCH, STEPS, WIDTH), np.array([3], np.int64), *table], {"interleaved": 1}, ["y"]
    yield "rotary by heads", op, [real(BATCH, HEADS, STEPS, 4), places, *table], {}, ["y"]
    part = {"num_heads": 2, "rotary_embedding_dim": 4}
    yield "rotary in part", op, [real(BATCH, STEPS, WIDTH), places, *table], part, ["y"]


def attention_of_groups():
    """Queries of four heads over two of keys; lengths are those of the keys minus one."""
    op, some = "GroupQueryAttention", {"num_heads": 4, "kv_num_heads": 2}
    q, k, v = real(BATCH, STEPS, 64), real(BATCH, STEPS, 32), real(BATCH, STEPS, 32)
    table, all_results = (np.cos(real(20, 8)), np.sin(real(20, 8))), ["y", "k", "v"]
    last = lambda *numbers: np.array(numbers, np.int32) - 1
    prompt = [q, k, v, None, None, last(STEPS, STEPS), np.array([STEPS], np.int32)]
    yield "groups, prompt", op, prompt, some, all_results
    yield "groups, packed", op, [real(BATCH, STEPS, 128), None, None, *prompt[3:]], some, all_results
    yield "groups, window", op, prompt, {**some, "local_window_size": 2}, all_results
    yield "groups, capped", op, prompt, {**some, "softcap": 2.0, "scale": 0.7}, all_results
    yield "groups, rotary", op, [*prompt, *table], {**some, "do_rotary": 1}, all_results
    yield "groups, rotary pairs", op, [*prompt, *table], {**some, "do_rotary": 1, "rotary_interleaved": 1}, all_results
    yield "groups, added scores", op, [*prompt, None, None, None, real(1, 4, STEPS, STEPS)], some, all_results
    past = real(BATCH, 2, 6, 16), real(BATCH, 2, 6, 16)
    one = [real(BATCH, 1, 64), real(BATCH, 1, 32), real(BATCH, 1, 32), *past, last(7, 7), np.array([7], np.int32)]
    yield "groups, one more", op, one, some, all_results
    yield "groups, one more, window", op, one, {**some, "local_window_size": 3}, all_results
    yield "groups, one more, rotary", op, [*one, *table], {**some, "do_rotary": 1}, all_results
    shorter = [*one[:5], last(5, 7), np.array([7], np.int32), *table]
    yield "groups, of two lengths", op, shorter, {**some, "do_rotary": 1}, all_results


def model_of(op, operands, attributes, results):
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(operands)]
    kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int32): TensorProto.INT32, np.dtype(np.int64): TensorProto.INT64}
    inputs = [helper.make_tensor_value_info(n, kinds[x.dtype], x.shape) for n, x in zip(names, operands) if n]
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in results if n and n != "m"]
    graph = helper.make_graph([helper.make_node(op, names, results, domain="com.microsoft", **attributes)], "one", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    model.ir_version = 8
    return model, {n: x for n, x in zip(names, operands) if n}


def main(program, scratch):
    gsub = Gsub(program)
    scratch = pathlib.Path(scratch)
    failures = []
    for name, op, operands, attributes, results in cases():
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        model, inputs = model_of(op, operands, attributes, results)
        onnx.save(model, scratch / "model.onnx")
        expected = session(scratch / "model.onnx", as_written=True).run(None, inputs)
        far = max(map(distance, gsub.run(scratch / "model.onnx", inputs, scratch / "out"), expected))
        print(f"{name:32} {far:.2e}")
        if not far <= 1e-4:
            failures.append(f"{name}: differs by {far:.3g}")
    return verdict(failures)


sys.exit(main(*sys.argv[1:]))
