"""Models of one layer each, as real networks have them, for `operators.py --layers`, which runs this in the virtual environment.

layer_models.py FOLDER    writes models and inputs; a line of JSON a model"""

import json
import sys

import numpy as np

import operator_models
from operator_models import F32, I64, case, values, words


def add(operator, network, shape, build):
    case("layer", operator, f"{network}: {words(shape)}", build)


def numbers(m, *of):
    return m.store(np.array(of, I64))


# ---- images


def transposed():
    for network, shape, out, kernel, pads, more in (
            ("U-Net", (1, 512, 32, 32), 256, 2, 0, 0), ("DCGAN", (1, 256, 16, 16), 128, 4, 1, 0), ("style transfer", (1, 64, 64, 64), 32, 3, 1, 1)):
        add("ConvTranspose", network, shape, lambda m, a=(shape, out, kernel, pads, more): [m.add(
            "ConvTranspose", m.input(a[0]), m.weights(a[0][1], a[1], a[2], a[2]), m.weights(a[1]), kernel_shape=[a[2]] * 2,
            strides=[2, 2], pads=[a[3]] * 4, output_padding=[a[4]] * 2)])


def resized():
    def of(m, shape, out, **attributes):
        return [m.add("Resize", m.input(shape), "", "", numbers(m, *shape[:2], *out), **attributes)]

    for network, shape, out in (("YOLOv5", (1, 256, 20, 20), (40, 40)), ("YOLOv5", (1, 128, 40, 40), (80, 80)), ("FPN", (1, 256, 25, 25), (50, 50))):
        add("Resize, nearest", network, shape, lambda m, a=(shape, out): of(
            m, *a, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"))
    for network, shape, out, mode in (("DeepLabV3", (1, 21, 65, 65), (513, 513), "half_pixel"), ("BiSeNet", (1, 128, 32, 64), (64, 128), "half_pixel"),
                                      ("PSPNet", (1, 256, 30, 30), (60, 60), "align_corners")):
        add("Resize, linear", network, shape, lambda m, a=(shape, out), mode=mode: of(m, *a, mode="linear", coordinate_transformation_mode=mode))


# ---- normalisation


def normalized():
    for network, shape in (("style transfer", (1, 128, 64, 64)), ("style transfer", (1, 32, 256, 256)), ("pix2pix", (1, 256, 32, 32))):
        add("InstanceNormalization", network, shape, lambda m, s=shape: [m.add(
            "InstanceNormalization", m.input(s), m.weights(s[1]), m.weights(s[1]))])
    for network, shape in (("Stable Diffusion", (1, 320, 64, 64)), ("Stable Diffusion", (1, 640, 32, 32)), ("Stable Diffusion", (1, 1280, 16, 16))):
        def grouped(m, s=shape):
            m.opset = 21
            return [m.add("GroupNormalization", m.input(s), m.weights(s[1]), m.weights(s[1]), num_groups=32)]
        add("GroupNormalization", network, shape, grouped)
    for network, shape in (("Llama", (1, 128, 2048)), ("SmolLM2", (1, 64, 576)), ("Llama", (1, 1, 4096))):
        def scaled(m, s=shape):
            m.opset = 23
            return [m.add("RMSNormalization", m.input(s), m.weights(s[2]), epsilon=1e-5)]
        add("RMSNormalization", network, shape, scaled)

    # Global response normalisation, as ConvNeXt V2 is exported.
    def responses(m, s):
        x = m.input(s)
        norms = m.add("ReduceL2", x, numbers(m, 1, 2), keepdims=1)
        mean = m.add("Add", m.add("ReduceMean", norms, numbers(m, 3), keepdims=1), m.store(np.float32(1e-6)))
        scaled = m.add("Mul", x, m.add("Div", norms, mean))
        return [m.add("Add", m.add("Add", m.add("Mul", m.weights(1, 1, 1, s[3]), scaled), m.weights(1, 1, 1, s[3])), x)]

    for shape in ((1, 56, 56, 384), (1, 28, 28, 768), (1, 14, 14, 1536)):
        add("GRN", "ConvNeXt V2", shape, lambda m, s=shape: responses(m, s))


# ---- attention


def attended():
    def rotated(m, heads, tokens, width):
        m.opset = 23
        return [m.add("RotaryEmbedding", m.input((1, heads, tokens, width)), m.input((2048, width // 2)), m.input((2048, width // 2)),
                      m.input((1, tokens), (0, 2048), I64))]

    for network, heads, tokens, width in (("Llama", 32, 128, 64), ("SmolLM2", 9, 64, 64), ("Llama", 8, 512, 128)):
        add("RotaryEmbedding", network, (1, heads, tokens, width), lambda m, a=(heads, tokens, width): rotated(m, *a))

    def heads_of(m, heads, key_heads, tokens, past, width, mask):
        m.opset = 23
        q, k, v = (m.input((1, n, tokens, width)) for n in (heads, key_heads, key_heads))
        masks = [m.input((1, 1, 1, tokens))] if mask == "rows" else [""]
        cache = [m.input((1, key_heads, past, width)) for _ in range(2)] if past else []
        found = m.add("Attention", q, k, v, *masks, *cache, results=3 if past else 1, is_causal=int(mask == "causal"))
        return found if past else [found]

    for operator, network, *of in (
            ("Attention, mask of rows", "BERT", 12, 12, 128, 0, 64, "rows"), ("Attention, mask of rows", "BERT", 12, 12, 384, 0, 64, "rows"),
            ("Attention, mask of rows", "BERT-small", 8, 8, 128, 0, 64, "rows"),
            ("Attention, grouped heads", "Llama", 32, 8, 128, 0, 64, "causal"), ("Attention, grouped heads", "SmolLM2", 9, 3, 64, 0, 64, "causal"),
            ("Attention, grouped heads", "Mistral", 32, 8, 64, 0, 128, "causal"),
            ("Attention with a cache", "Llama", 32, 8, 1, 256, 64, "causal"), ("Attention with a cache", "SmolLM2", 9, 3, 1, 128, 64, "causal"),
            ("Attention with a cache", "Mistral", 32, 8, 1, 1024, 128, "causal")):
        add(operator, network, (of[0], of[1], of[2], of[3], of[4]), lambda m, of=of: heads_of(m, *of))


# ---- recurrent layers


def recurrent():
    def layer(m, op, steps, batch, width, hidden, directions):
        gates = {"LSTM": 4, "GRU": 3}[op]
        more = {"linear_before_reset": 1} if op == "GRU" else {}
        x = m.input((steps, batch, width))
        weights = [m.weights(directions, gates * hidden, n) for n in (width, hidden)]
        return [m.add(op, x, *weights, m.weights(directions, 2 * gates * hidden), hidden_size=hidden,
                      direction="forward" if directions == 1 else "bidirectional", **more)]

    for op, network, *of in (("LSTM", "Zaremba", 35, 1, 650, 650, 1), ("LSTM", "CRNN", 26, 1, 512, 256, 2), ("LSTM", "DeepSpeech 2", 100, 1, 512, 512, 1),
                             ("GRU", "DeepSpeech 2", 100, 1, 512, 512, 1), ("GRU", "keyword spotting", 50, 1, 40, 128, 1), ("GRU", "RNNT", 32, 4, 256, 256, 2)):
        add(op, network, of, lambda m, op=op, of=of: layer(m, op, *of))


# ---- by index


def indexed():
    for network, shape, k in (("anchors of SSD", (1, 8732), 200), ("FPN proposals", (1, 120_000), 1000), ("GPT-2 logits", (1, 50_257), 50)):
        add("TopK", network, shape, lambda m, s=shape, k=k: m.add("TopK", m.input(s), numbers(m, k), axis=1, results=2))
    # Rows that a network writes: all distinct, in any order; into what it is given, or zeros that are its own.
    for network, shape, count, zeros in (("cache of keys", (512, 512), 64, 0), ("PointPillars", (50_000, 64), 6000, 0), ("BEV grid", (16_384, 128), 4096, 0),
                                         ("PointPillars, zeros", (50_000, 64), 6000, 1), ("BEV grid, zeros", (16_384, 128), 4096, 1)):
        def scattered(m, s=shape, n=count, zeros=zeros):
            rows = operator_models.R.permutation(s[0])[:n].reshape(n, 1).astype(I64)
            index = m.input((n, 1), (0, s[0]), I64)
            m.inputs[index] = rows
            into = m.add("ConstantOfShape", numbers(m, *s)) if zeros else m.input(s)
            return [m.add("ScatterND", into, index, m.input((n, s[1])))]
        add("ScatterND", network, shape, scattered)
    for network, boxes, classes in (("YOLOv5n", 6300, 1), ("SSD", 1917, 20), ("YOLOv8n", 8400, 1)):
        def suppressed(m, n=boxes, c=classes):
            corners = values((1, n, 2), "normal", F32) * 100 + 320
            name = m.input((1, n, 4))
            m.inputs[name] = np.concatenate([corners, corners + 40], 2).astype(F32)
            scores = m.input((1, c, n))
            m.inputs[scores] = operator_models.R.random((1, c, n)).astype(F32)
            return [m.add("NonMaxSuppression", name, scores, numbers(m, 100), m.store(np.float32(0.45)), m.store(np.float32(0.5)))]
        add("NonMaxSuppression", network, (boxes, classes), suppressed)


if __name__ == "__main__":
    for cases in (transposed, resized, normalized, attended, recurrent, indexed):
        cases()
    operator_models.write_chosen(sys.argv[1], operator_models.CASES)
