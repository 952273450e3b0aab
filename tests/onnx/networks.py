"""Models that others wrote, with seeded weights."""
import importlib.util
import pathlib
import re

import numpy as np
import onnx
from onnx import numpy_helper

from support import skip

ROOT = pathlib.Path(__file__).resolve().parents[2]


def read_names(nodes):
    """Names that nodes read, also within their subgraphs."""
    for n in nodes:
        yield from n.input
        for a in n.attribute:
            if a.HasField("g"):
                yield from read_names(a.g.node)
                yield from (o.name for o in a.g.output)


def fill_light(model, seed=1):
    """Seeded weights in place of the constant ones, scaled so that activations stay alive."""
    rng = np.random.default_rng(seed)
    graph = model.graph
    shapes = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    readers = {}
    for n in graph.node:
        for slot, name in enumerate(n.input):
            readers.setdefault(name, []).append((n, slot))
    summed = {name for n in graph.node if n.op_type in ("Sum", "Add") for name in n.input}

    def normal(deviation, shape):
        made = rng.standard_normal(shape, np.float32)
        made *= np.float32(deviation)
        return made

    def values(name, shape):
        node, slot = readers[name][0]
        while node.op_type == "Unsqueeze":
            node, slot = readers[node.output[0]][0]
        if node.op_type == "BatchNormalization":
            small = node.output[0] in summed and node.output[0] not in readers_of_scales
            low, high = (0.2, 0.6) if slot == 1 and small else (0.5, 1.5)
            return rng.uniform(low, high, shape) if slot in (1, 4) else normal(0.1, shape)
        if node.op_type == "Conv":
            if slot != 1:
                return normal(0.05, shape)
            # Filters of mean zero: behind a ReLU all activations are positive, and their common part would drown the rest.
            weights = normal(np.sqrt(2.0 / np.prod(shape[1:])), shape)
            return weights - weights.mean(axis=(1, 2, 3), keepdims=True) if np.prod(shape[1:]) > 1 else weights
        if node.op_type == "Gemm":
            return normal(1.0 / np.sqrt(shape[-1]) if slot == 1 else 0.05, shape)
        if node.op_type == "Mul":
            return rng.uniform(0.5, 1.5, shape)
        return normal(0.1, shape)

    readers_of_scales = {name for n in graph.node if n.op_type == "Mul" for name in n.input}
    kept = []
    for n in graph.node:
        if n.op_type != "ConstantOfShape":
            kept.append(n)
            continue
        shape = [int(d) for d in shapes[n.input[0]]]
        weights = graph.initializer.add(name=n.output[0], data_type=onnx.TensorProto.FLOAT, dims=shape)
        weights.raw_data = np.asarray(values(n.output[0], shape), np.float32).tobytes()
    keep_nodes(model, kept)
    return model


def keep_nodes(model, kept):
    """A model with these of its nodes and the initializers that they read; none of those is an input."""
    graph = model.graph
    used = set(read_names(kept))
    known = {t.name for t in graph.initializer}
    inputs = [i for i in graph.input if i.name not in known]
    for i in reversed(range(len(graph.initializer))):  # in place: to make the list anew copies all weights
        if graph.initializer[i].name not in used:
            del graph.initializer[i]
    del graph.node[:], graph.input[:]
    graph.node.extend(kept)
    graph.input.extend(inputs)


def weights_apart(bare, filled, path):
    """Writes the weights that `filled` has and `bare` lacks to a file; tensors by name that stand for them."""
    known = {t.name for t in bare.graph.initializer if t.raw_data or t.float_data or t.int32_data or t.int64_data}
    tensors = {}
    with open(path, "wb") as file:
        for t in filled.graph.initializer:
            if t.name in known:
                continue
            made = onnx.TensorProto(name=t.name, data_type=t.data_type, dims=t.dims, data_location=onnx.TensorProto.EXTERNAL)
            for key, value in (("location", path.name), ("offset", file.tell()), ("length", len(t.raw_data))):
                made.external_data.add(key=key, value=str(value))
            file.write(t.raw_data)
            tensors[t.name] = made
    return tensors


def with_weights_apart(model, tensors):
    """A model without weights with those that `weights_apart` has written, for a file beside theirs."""
    graph = model.graph
    others = [t for t in graph.initializer if t.name not in tensors]
    del graph.initializer[:]
    graph.initializer.extend([*others, *tensors.values()])
    keep_nodes(model, [n for n in graph.node if not tensors.keys() & set(n.output)])
    return model


def with_logits(model):
    """The input of the last Softmax as an output too: probabilities hide differences."""
    for n in model.graph.node:
        if n.op_type == "Softmax":
            model.graph.output.append(onnx.helper.make_tensor_value_info(n.input[0], onnx.TensorProto.FLOAT, None))
    return model


def first_layers(model, count, words=2000):
    """The first `count` of the layers that the names of weights number, all that stands before and behind them, and
    embeddings of `words` words at most: what read the output of the last layer reads that of the last one kept. The model
    has no weights yet."""
    graph = model.graph
    ends = {}  # the output of each layer: of the last node that reads a weight of it
    for n in graph.node:
        for found in filter(None, (re.search(r"\.layer\.(\d+)\.", name) for name in n.input)):
            ends[int(found[1])] = n.output[0]
    if sorted(ends) != list(range(len(ends))) or not 0 < count < len(ends):
        raise SystemExit(f"no network of more than {count} layers: its weights number {sorted(ends)}")
    last, kept_last = ends[len(ends) - 1], ends[count - 1]
    for n in graph.node:
        n.input[:] = [kept_last if i == last else i for i in n.input]
    live, kept = {o.name for o in graph.output}, []
    for n in reversed(graph.node):
        if live.intersection(n.output):
            kept.append(n)
            live.update(read_names([n]))
    for t in graph.initializer:
        if t.name.endswith(".word_embeddings.weight"):
            t.dims[0] = min(t.dims[0], words)
    keep_nodes(model, kept[::-1])
    return model


def filler(data):
    """What gives the exports weights; skips where the folder has none."""
    if not data or not pathlib.Path(data, "exports").is_dir():
        skip("GSUB_TEST_DATA names no folder with exports")
    spec = importlib.util.spec_from_file_location("fill", pathlib.Path(data, "exports", "fill.py"))
    fill = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fill)
    return lambda model: fill.fill(model, 1) or model


def open_model(name, data):
    """The model `digits`, `light/NAME` (of the onnx package) or `exports/NAME` (below `data`), and what gives it weights.
    `exports/NAME:COUNT` has the first COUNT layers alone."""
    kind, _, stem = name.partition("/")
    stem, _, layers = stem.partition(":")
    if kind == "digits":
        return onnx.load(ROOT / "examples/digits/digits.onnx"), lambda m: m
    if kind == "light":
        light = pathlib.Path(onnx.__file__).parent / f"backend/test/data/light/light_{stem}.onnx"
        return with_logits(onnx.load(light)), fill_light
    fill = filler(data)
    model = onnx.load(pathlib.Path(data, "exports", f"{stem}.onnx"))
    return first_layers(model, int(layers)) if layers else model, fill
