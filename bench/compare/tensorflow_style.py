"""Writes an image classifier as exporters of TensorFlow write it: images have their channels last, convolutions, pools
and normalisations stand between transpositions, borders of strided windows are operators of their own, and the mean over
pixels is a reduction.

usage: tensorflow_style.py MODEL.onnx OUTPUT.onnx
"""

import sys

import onnx
from onnx import helper, TensorProto

TO_FIRST, TO_LAST = [0, 3, 1, 2], [0, 2, 3, 1]
# What is written as it is; shapes are read by the reshape of a head alone, which is gone.
SAME = {"Relu", "Clip", "Add", "Gemm", "MatMul", "Softmax", "Constant", "Shape", "Gather", "Unsqueeze", "Concat"}


class Writer:
    def __init__(self, model):
        self.weights = {w.name: w for w in model.graph.initializer}
        self.nodes, self.initializers = [], []
        self.images = set()  # values that stand with channels last
        self.count = 0

    def name(self, like):
        self.count += 1
        return f"{like}__{self.count}"

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=self.name(op), **attributes))
        return output

    def turned(self, x, perm):
        return self.node("Transpose", [x], self.name(x), perm=perm)

    def attributes(self, n):
        return {a.name: helper.get_attribute_value(a) for a in n.attribute}

    def padded(self, x, pads):
        top, left, bottom, right = pads
        of = self.name("pads")
        self.initializers.append(helper.make_tensor(of, TensorProto.INT64, [8], [0, top, left, 0, 0, bottom, right, 0]))
        return self.node("Pad", [x, of], self.name(x))

    def between_turns(self, n):
        """A node that computes with channels first, turned before and behind it."""
        a = self.attributes(n)
        x, inputs = n.input[0], list(n.input)
        bias = inputs.pop() if n.op_type == "Conv" and len(inputs) > 2 else None
        if n.op_type != "BatchNormalization" and any(a.get("pads", [])) and max(a.get("strides", [1])) > 1:
            x = self.padded(x, a["pads"])
            a["pads"] = [0, 0, 0, 0]
        inputs[0] = self.turned(x, TO_FIRST)
        last = self.turned(self.node(n.op_type, inputs, self.name(n.output[0]), **a), TO_LAST)
        if bias:
            last = self.node("Add", [last, bias], self.name(n.output[0]))
        self.node("Identity", [last], n.output[0])
        self.images.add(n.output[0])

    def write(self, n):
        if n.op_type in ("Conv", "MaxPool", "AveragePool", "BatchNormalization"):
            self.between_turns(n)
        elif n.op_type == "GlobalAveragePool":
            self.node("ReduceMean", [n.input[0]], n.output[0], axes=[1, 2], keepdims=0)
        elif n.op_type in ("Flatten", "Reshape") and n.input[0] not in self.images:
            self.node("Identity", [n.input[0]], n.output[0])
        else:
            if n.op_type not in SAME:
                sys.exit(f"tensorflow_style.py: no form for {n.op_type}")
            self.nodes.append(n)
            if any(i in self.images for i in n.input):
                self.images.update(n.output)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    model = onnx.load(sys.argv[1])
    w = Writer(model)
    inputs = []
    for i in model.graph.input:
        if i.name in w.weights:
            continue
        n, c, h, width = (d.dim_value for d in i.type.tensor_type.shape.dim)
        inputs.append(helper.make_tensor_value_info(i.name, i.type.tensor_type.elem_type, [n, h, width, c]))
        w.images.add(i.name)
    for n in model.graph.node:
        w.write(n)
    needed, live = {o.name for o in model.graph.output}, []
    for n in reversed(w.nodes):
        if needed.intersection(n.output):
            needed.update(n.input)
            live.insert(0, n)
    graph = helper.make_graph(
        live, model.graph.name, inputs, list(model.graph.output), list(model.graph.initializer) + w.initializers
    )
    out = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(out)
    onnx.save(out, sys.argv[2])


if __name__ == "__main__":
    main()
