"""Builder of random valid ONNX models, determined by their seed and the installed ONNX Runtime. The recipes: random_recipes.py.

A model grows node by node, and each node is computed at once: so types, shapes and magnitudes are known, and a node that gives
huge or undefined numbers is taken back. Beside each value stands its shadow, the same computed with small errors added
at every node. Where the two part, the model magnifies rounding, and the node is taken back too. Operators that jump
(comparisons, roundings, ArgMax and the like) take only exact values: those that no rounding has touched.
"""
import dataclasses
import random

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

OPSETS = range(13, 27)  # 26 is the newest that ONNX Runtime 1.31 reads
# Error that a computation in this type may make, relative to the largest element.
EPSILON = {"float64": 1e-13, "float32": 3e-7, "float16": 2e-4}
CONDITION = 100  # how much a model may magnify errors
LARGEST, MOST_ELEMENTS = 200, 6000
F32, F64, F16, I32, I64, BOOL = (np.dtype(t) for t in ("float32", "float64", "float16", "int32", "int64", "bool"))
I8, U8 = np.dtype("int8"), np.dtype("uint8")
FLOATS, INTEGERS = (F32, F64, F16), (I32, I64)
ANY = (F32, F32, F64, F16, I32, I64, BOOL)


class Misfit(Exception):
    """A recipe cannot be followed here."""


@dataclasses.dataclass
class Value:
    name: str
    array: np.ndarray
    shadow: np.ndarray
    epsilon: float  # 0 of exact values
    used: bool = False

    @property
    def kind(self):
        return self.array.dtype

    @property
    def shape(self):
        return self.array.shape

    @property
    def rank(self):
        return self.array.ndim


def session(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def computed(model, *feeds):
    """Outputs for each of the feeds, and whether ONNX Runtime gave them; else onnx's reference evaluator did."""
    try:
        of = session(model)
        return [of.run(None, feed) for feed in feeds], True
    except Exception:  # pybind classes without a common base
        of = ReferenceEvaluator(model)
        return [of.run(None, feed) for feed in feeds], False


def distance(got, expected):
    """max |a - b| / max |b|, infinite where types, shapes or exact values differ."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return np.inf
    if expected.dtype.kind != "f":
        return 0.0 if np.array_equal(got, expected) else np.inf
    if expected.size == 0:
        return 0.0
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    if not np.isfinite(got).all():
        return np.inf
    return float(np.abs(got - expected).max() / max(np.abs(expected).max(), 0.1))


class Builder:
    def __init__(self, seed):
        self.random, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.opset = self.random.choice(OPSETS)
        self.nodes, self.weights, self.inputs, self.values = [], [], {}, []
        self.refused, self.count = set(), 0  # operators that ONNX Runtime refused

    # Names, weights and inputs

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def chance(self, p):
        return self.random.random() < p

    def choice(self, of):
        return self.random.choice(list(of))

    def size(self, least=1, most=9):
        return 17 if most >= 9 and self.chance(0.05) else self.random.randint(least, most)

    def shape(self, rank=None, least=1):
        rank = self.random.randint(1, 4) if rank is None else rank
        if rank == 4:
            return (self.random.randint(1, 2), self.choice((1, 2, 3, 4, 6, 8, 16)), self.size(4), self.size(4))
        return tuple(self.size(least, 9 if rank < 3 else 6) for _ in range(rank))

    def array(self, shape, kind=F32, low=None, high=None):
        if kind == BOOL:
            return self.numbers.integers(0, 2, shape).astype(bool)
        if kind.kind in "iu":
            low, high = (0 if kind == U8 else -4) if low is None else low, 9 if high is None else high
            return np.asarray(self.numbers.integers(low, high, shape)).astype(kind)
        if low is not None:
            return np.asarray(self.numbers.uniform(low, high, shape)).astype(kind)
        return np.asarray(np.clip(self.numbers.normal(size=shape), -3, 3)).astype(kind)

    def constant(self, array, as_node=None):
        """A weight, or a node Constant. Not offered to other recipes."""
        array = np.asarray(array)
        name = self.name("w")
        if self.chance(0.2) if as_node is None else as_node:
            self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array, name)))
        else:
            self.weights.append(numpy_helper.from_array(array, name))
        return Value(name, array, array, 0.0)

    def integers(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def fresh(self, shape, kind=F32, **bounds):
        array = self.array(shape, kind, **bounds)
        if len(self.inputs) < 5 and self.chance(0.6):
            value = Value(self.name("x"), array, array, 0.0)
            self.inputs[value.name] = value
        else:
            value = self.constant(array)
        self.values.append(value)
        return value

    def weight(self, *shape, kind=F32, **bounds):
        return self.constant(self.array(shape, kind, **bounds))

    def pick(self, kinds=(F32,), rank=None, fits=lambda v: True, exact=False, least=0):
        """A value there is, or a fresh one; mostly one that nothing reads yet."""
        ranks = range(least, 6) if rank is None else (rank,) if isinstance(rank, int) else rank
        found = [v for v in self.values if v.kind in kinds and v.rank in ranks and not (exact and v.epsilon) and fits(v)]
        if not found or self.chance(0.05):
            value = self.fresh(self.shape(self.choice([r for r in ranks if least <= r <= 5])), self.choice(kinds))
            if not fits(value):
                raise Misfit
            return value
        unused = [v for v in found if not v.used]
        return self.choice(unused if unused and self.chance(0.7) else found[-12:])

    def partner(self, x):
        """A second operand for arithmetic that broadcasts with this value."""
        found = [v for v in self.values if v.kind == x.kind and v is not x and broadcast(x.shape, v.shape)]
        if found and self.chance(0.6):
            return self.choice(found)
        shape = [d if self.chance(0.7) else 1 for d in x.shape][self.random.randint(0, x.rank):]
        return self.fresh(tuple(shape), x.kind)

    # Nodes

    def require(self, op):
        """The model's operator set has this operator."""
        try:
            schema = onnx.defs.get_schema(op, self.opset)
        except onnx.defs.SchemaError:
            raise Misfit from None
        if schema.deprecated:
            raise Misfit

    def add(self, op, operands, outputs=1, jumps=False, exact=False, captured=(), **attributes):
        """Appends a node; `exact`: it rounds nothing, so exact operands give an exact result; `captured`: what its bodies
        read from outside. Gives one value, or a list."""
        self.require(op)
        attributes = {k: v for k, v in attributes.items() if v is not None}
        operands = list(operands)
        while operands and operands[-1] is None:
            operands.pop()
        read = [o for o in (*operands, *captured) if o]
        if jumps and any(o.epsilon for o in read):
            raise Misfit
        names = [self.name("v") for _ in range(outputs)]
        node = helper.make_node(op, [o.name if o else "" for o in operands], names, **attributes)
        arrays, shadows = self.compute(op, node, read)
        inherited = max([o.epsilon for o in read], default=0.0)
        results = []
        for name, array, shadow in zip(names, arrays, shadows):
            array, shadow = np.asarray(array), np.asarray(shadow)
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise Misfit
            rounds = array.dtype.kind == "f" and not (jumps or exact)
            epsilon = max(inherited, EPSILON[array.dtype.name] if rounds else 0.0)
            if rounds:
                scale = max(np.abs(array.astype(np.float64)).max(initial=0), 0.1) * EPSILON[array.dtype.name]
                shadow = (shadow + scale * self.numbers.uniform(-1, 1, array.shape)).astype(array.dtype)
            if not well_behaved(array, shadow, epsilon):
                raise Misfit
            results.append(Value(name, array, shadow, epsilon))
        self.nodes.append(node)
        for o in read:
            o.used = True
        self.values += results
        return results[0] if outputs == 1 else results

    def compute(self, op, node, operands):
        def typed(name, array):
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

        known = {o.name: o for o in operands}
        graph = helper.make_graph([node], "g", [typed(n, o.array) for n, o in known.items()],
                                  [onnx.ValueInfoProto(name=n) for n in node.output])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        feeds = [{n: getattr(o, which) for n, o in known.items()} for which in ("array", "shadow")]
        try:
            (arrays, shadows), by_runtime = computed(model, *feeds)
        except Exception:  # neither computes it
            raise Misfit from None
        # Where ONNX Runtime and ONNX's shape inference have two opinions, there is no right answer.
        for array, inferred in zip(arrays, model.graph.output):
            dims = inferred.type.tensor_type.shape.dim
            if len(dims) != np.ndim(array) or any(d.HasField("dim_value") and d.dim_value != n for d, n in zip(dims, np.shape(array))):
                raise Misfit
        if not by_runtime:
            self.refused.add(op)
        return arrays, shadows

    def attempt(self, recipe):
        """Follows a recipe, and leaves no trace where it does not fit."""
        before = len(self.nodes), len(self.weights), len(self.values), dict(self.inputs), self.count
        used = [(v, v.used) for v in self.values]
        try:
            recipe(self)
        except Misfit:
            del self.nodes[before[0]:], self.weights[before[1]:], self.values[before[2]:]
            self.inputs, self.count = before[3], before[4]
            for v, u in used:
                v.used = u

    def model(self):
        made = {o for n in self.nodes for o in n.output}
        outputs = [v for v in self.values if v.name in made and (not v.used or self.chance(0.05))]
        # A few leaves stay dead code, as in files.
        outputs = [v for i, v in enumerate(outputs) if i == 0 or not self.chance(0.03)]
        read = set(names_read(self.nodes))

        def typed(v):
            return helper.make_tensor_value_info(v.name, helper.np_dtype_to_tensor_dtype(v.kind), v.shape)

        self.inputs = {n: v for n, v in self.inputs.items() if n in read}
        graph = helper.make_graph(self.nodes, "random", [typed(v) for v in self.inputs.values()], [typed(v) for v in outputs],
                                  [w for w in self.weights if w.name in read])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)
        return Model(model, {n: v.array for n, v in self.inputs.items()}, [v.array for v in outputs], [v.epsilon for v in outputs],
                     self.refused)


@dataclasses.dataclass
class Model:
    proto: onnx.ModelProto
    inputs: dict
    grown: list  # outputs, computed node by node
    epsilons: list  # of the outputs
    refused: set  # operators that ONNX Runtime refused

    def expected(self):
        """The outputs, and whether ONNX Runtime gave them. Where it refuses an operator, that alone was computed by onnx's evaluator."""
        if self.refused:
            return self.grown, False
        return [np.asarray(o) for o in session(self.proto).run(None, self.inputs)], True

    def operators(self):
        return {n.op_type for n in self.proto.graph.node}


def names_read(nodes):
    for n in nodes:
        yield from n.input
        for a in n.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                yield from names_read(a.g.node)
                yield from (o.name for o in a.g.output)


def broadcast(a, b):
    return all(x == y or 1 in (x, y) for x, y in zip(a[::-1], b[::-1]))


def well_behaved(array, shadow, epsilon):
    if array.size > MOST_ELEMENTS or array.size == 0 or array.ndim > 6 or array.shape != shadow.shape:
        return False
    if array.dtype.kind != "f":
        return np.array_equal(array, shadow) and (array.dtype == bool or np.abs(array.astype(np.int64)).max() < 10**6)
    if not np.isfinite(array).all() or np.abs(array).max() > LARGEST:
        return False
    return distance(shadow, array) <= CONDITION * epsilon
