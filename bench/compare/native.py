"""Writes a model of gsub's catalogue with the operators that exporters write: ConvTranspose and Resize of images, LSTM,
and of operator set 23 RMSNormalization, RotaryEmbedding and Attention. gsub reads these as the graphs that it wrote; peers
have kernels for them, so a comparison is fair only with such a file. Names of values tell what stands for what.

usage: native.py MODEL.onnx OUTPUT.onnx
"""

import re
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper


class Model:
    def __init__(self, file):
        self.proto = onnx.load(file)
        self.graph = self.proto.graph
        self.maker = {out: n for n in self.graph.node for out in n.output}
        self.initializers = {t.name: t for t in self.graph.initializer}
        self.values = [*self.maker]
        self.opset = 0

    def names(self, pattern):
        return [name for name in self.values if re.fullmatch(pattern, name)]

    def operand(self, value, i=0):
        return self.maker[value].input[i]

    def number(self, name, values):
        self.initializers[name] = numpy_helper.from_array(np.array(values), name)
        return name

    def replace(self, op, inputs, outputs, opset=0, **attributes):
        """A node makes these values in place of those that made them."""
        node = helper.make_node(op, inputs, outputs, name=outputs[0], **attributes)
        self.maker.update({out: node for out in outputs if out})
        self.opset = max(self.opset, opset)

    def write(self, file):
        """What outputs need, in an order in which a node follows what it reads."""
        nodes, made, used = [], {v.name for v in self.graph.input}, set()
        pending = [v.name for v in reversed(self.graph.output)]
        while pending:
            value = pending[-1]
            if not value or value in made:
                pending.pop()
            elif value in self.initializers:
                used.add(value), made.add(value), pending.pop()
            elif missing := [i for i in self.maker[value].input if i and i not in made]:
                pending += missing
            else:
                nodes.append(self.maker[value]), made.update(self.maker[value].output), pending.pop()
        for field, content in (("node", nodes), ("initializer", [self.initializers[name] for name in sorted(used)]), ("value_info", [])):
            self.graph.ClearField(field)
            getattr(self.graph, field).extend(content)
        for imported in self.proto.opset_import:
            if imported.domain == "":
                imported.version = max(imported.version, self.opset)
        self.proto.ir_version = max(self.proto.ir_version, 11 if self.opset >= 23 else 0)
        onnx.checker.check_model(self.proto)
        onnx.save(self.proto, file)


def images(m):
    for phases in m.names(r"upconv\d+\.phases"):
        name = phases.removesuffix(".phases")
        m.replace("ConvTranspose", [m.operand(phases), name + ".weight", name + ".bias"], [name], kernel_shape=[2, 2], strides=[2, 2])
    for rows in m.names(r"model\.(11|15)\.rows"):
        scales = m.number("twice", np.array([1, 1, 2, 2], np.float32))
        m.replace("Resize", [m.operand(rows), "", scales], [rows.removesuffix(".rows")], mode="nearest",
                  coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def recurrent(m):
    for words in m.names(r"rnn\.\d+\.words"):
        name = words.removesuffix(".words")
        weights = [name + ".input.weight", name + ".state.weight", name + ".bias"]
        width = m.initializers[weights[1]].dims[2]
        m.replace("LSTM", [m.operand(words), *weights, "", name + ".h0", name + ".c0"],
                  [name + ".directions", name + ".hn", name + ".cn"], hidden_size=width)


def decoder(m):
    for squares in m.names(r"model\..*norm\.squares"):
        name = squares.removesuffix(".squares")
        made = "last_hidden_state" if name == "model.norm" else name
        m.replace("RMSNormalization", [m.operand(squares), name + ".weight"], [made], 23, epsilon=1e-5)
    sizes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in [*m.graph.input, *m.graph.output]}
    for masked in m.names(r"model\.layers\.\d+\.self_attn\.masked"):
        name = masked.removesuffix(".masked")
        layer = name.split(".")[2]
        key_heads, width = sizes[f"present.{layer}.key"][1], sizes[f"present.{layer}.key"][3]
        heads = sizes["hidden_states"][2] // width
        for what, count in (("q", heads), ("k", key_heads)):
            m.replace("RotaryEmbedding", [f"{name}.{what}_proj", "model.rotary_emb.cos", "model.rotary_emb.sin", "position_ids"],
                      [f"{name}.{what}_rotary"], 23, num_heads=count)
        past = [f"past_key_values.{layer}.{what}" for what in ("key", "value")]
        m.replace("Attention", [f"{name}.q_rotary", f"{name}.k_rotary", f"{name}.v_proj", *(["", *past] if past[0] in sizes else [])],
                  [name, f"present.{layer}.key", f"present.{layer}.value"], 23, is_causal=1, q_num_heads=heads, kv_num_heads=key_heads)


if __name__ == "__main__":
    model = Model(sys.argv[1])
    for write in (images, recurrent, decoder):
        write(model)
    model.write(sys.argv[2])
