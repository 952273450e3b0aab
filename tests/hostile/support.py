"""Models of a few lines, bytes of protobuf, and what is expected of them: what the hostile models share."""
import dataclasses
import typing

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32, F64, I32, I64, U8, I8, BOOL = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64,
                                    TensorProto.UINT8, TensorProto.INT8, TensorProto.BOOL)
INVALID, UNSUPPORTED = 4, 3  # exit codes


@dataclasses.dataclass
class Verdict:
    kind: str  # refused: no graph; carried: a graph that is written again and not computed; accepted; either
    piece: str = ""  # of the message
    status: tuple = ()
    expected: object = None  # None: only that it is computed; "reference": what onnx.reference computes; outputs


def refused(piece, status=INVALID):
    return Verdict("refused", piece, status if isinstance(status, tuple) else (status,))


def unsupported(piece):
    return refused(piece, UNSUPPORTED)


def carried(piece, status=(INVALID, UNSUPPORTED)):
    return Verdict("carried", piece, status)


def accepted(*expected):
    return Verdict("accepted", expected=list(expected) if expected else None)


either = Verdict("either", "", (INVALID, UNSUPPORTED))
as_reference = Verdict("accepted", expected="reference")


@dataclasses.dataclass
class Model:
    """A model's bytes, or what makes them, and the values of its inputs."""
    content: object  # ModelProto, bytes, or a function of the folder that gives one of them or nothing
    inputs: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Case:
    name: str
    model: object  # Model, or what is its content
    verdict: Verdict
    seconds: float = 20
    compile: bytes = b""  # text that must not be in generated source
    run: bool = True  # whether it is computed, where it is accepted
    options: typing.Sequence = ()  # of `gsub optimize`
    environment: dict = dataclasses.field(default_factory=dict)


class C(np.ndarray):
    """An operand that is an initializer."""

    def __new__(cls, value, kind=None):
        value = np.asarray(value)
        return np.asarray(value, kind or (np.int64 if value.dtype.kind == "i" else np.float32)).view(cls)


def node(op, inputs, outputs, **attributes):
    """Names are given as a list, or as a text with blanks between, where `_` is an operand that is left out."""
    names = lambda text: ["" if n == "_" else n for n in text.split()] if isinstance(text, str) else text
    return helper.make_node(op, names(inputs), names(outputs), **attributes)


def value(name, shape=None, kind=F32):
    return helper.make_tensor_value_info(name, kind, shape)


def untyped(*names):
    return [onnx.ValueInfoProto(name=n) for n in names]


def model(nodes, inputs, outputs, weights=(), opset=17, ir=8, values=(), domains=(), functions=()):
    """Unlike onnx.helper, checks nothing. Inputs and outputs are declared values, or names of f32 vectors of 4."""
    declared = lambda vs: [value(v, [4]) if isinstance(v, str) else v for v in vs]
    weights = [numpy_helper.from_array(np.array(w, order="C"), n) if isinstance(w, np.ndarray) else w
               for n, w in dict(weights).items()] if isinstance(weights, dict) else list(weights)
    graph = helper.make_graph(nodes, "g", declared(inputs), declared(outputs), weights, value_info=list(values))
    made = onnx.ModelProto(ir_version=ir, graph=graph, functions=list(functions))
    if opset is not None:
        made.opset_import.add(domain="", version=opset)
    for d in domains:
        made.opset_import.add(domain=d, version=1)
    return made


def one(op, *operands, results=1, opset=17, domain="", **attributes):
    """A model of one operator. Operands that are no `C` are inputs; None is one that is left out."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(operands)]
    given = {n: x for n, x in zip(names, operands) if x is not None}
    inputs = {n: x for n, x in given.items() if not isinstance(x, C)}
    weights = {n: np.asarray(x) for n, x in given.items() if isinstance(x, C)}
    results = [f"y{i}" for i in range(results)]
    made = model([node(op, names, results, domain=domain, **attributes)],
                 [value(n, x.shape, helper.np_dtype_to_tensor_dtype(x.dtype)) for n, x in inputs.items()],
                 untyped(*results), weights, opset, domains=[domain] if domain else [])
    return Model(made, inputs)


def varint(v):
    out = b""
    while v >= 128:
        out, v = out + bytes([v % 128 + 128]), v >> 7
    return out + bytes([v])


def field(number, content):
    """A field of protobuf: a number is a varint, bytes have a length before them."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content % 2**64)
    return varint(number << 3 | 2) + varint(len(content)) + content


def tensor(name, dims, kind, **parts):
    """A TensorProto of any bytes, consistent or not."""
    t = TensorProto(name=name, dims=dims, data_type=kind)
    for key, content in parts.items():
        if key == "external":
            t.data_location = TensorProto.EXTERNAL
            for k, v in content.items():
                t.external_data.add(key=k, value=str(v))
        elif key == "raw":
            t.raw_data = content
        else:
            getattr(t, key).extend(content)
    return t
