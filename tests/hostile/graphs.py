"""Rows A5, A6, A8, A9, A13 to A15: sizes, declarations, structure, operators that are none, nesting, numbers of nodes, blow-up, loops."""
import numpy as np
import onnx
from onnx import TensorProto, helper

from support import (BOOL, F32, I64, INVALID, UNSUPPORTED, C, Case, Model, accepted, carried,
                     either, field, model, node, one, refused, tensor, unsupported, untyped, value)

X = np.array([-1, 0, 2, 3], np.float32)
ANY = (INVALID, UNSUPPORTED)


def size_cases():
    def weights(name, verdict, dims, **parts):
        return Case(f"A05_{name}", model([node("Identity", "w", "y")], [], untyped("y"), [tensor("w", dims, F32, **parts)]), verdict)

    def inputs(name, verdict, dims, **more):
        return Case(f"A05_{name}", model([node("Relu", "x", "y")], [value("x", dims)], untyped("y")), verdict, **more)

    yield weights("weight_with_dimension_0", accepted(np.zeros((3, 0), np.float32)), [3, 0], raw=b"")
    yield weights("weight_with_negative_dimension", refused("negative dimension"), [-1], raw=X.tobytes())
    yield weights("weight_with_two_negative_dimensions", refused("negative dimension"), [-2, -2], raw=X.tobytes())
    yield weights("weight_of_least_dimension", refused("negative dimension"), [-2**63, 2], raw=b"")
    yield weights("weight_of_2_to_31", refused("elements for dimensions", ANY), [2**31], raw=X.tobytes())
    yield weights("weight_of_2_to_62", unsupported("limit"), [2**62], raw=X.tobytes())
    yield weights("weight_whose_product_wraps_to_0", unsupported("limit"), [2**32, 2**32], raw=b"")
    yield weights("weight_whose_product_wraps_to_4", unsupported("limit"), [2**62 + 1, 4], raw=X.tobytes())
    yield weights("weight_of_0_times_overflow", either, [0, 2**62, 2**62], raw=b"")
    yield weights("weight_of_300_dimensions", either, [1] * 300, float_data=[1])
    yield weights("weight_of_301_dimensions", refused("300 dimensions"), [1] * 301, float_data=[1])
    yield inputs("input_of_2_to_62", unsupported('"x"'), [2**62, 4])
    yield inputs("input_of_2_to_40", carried("limit"), [2**40])
    yield inputs("input_with_negative_dimension", refused('"x"'), [-5, 4])
    yield inputs("input_of_300_dimensions", either, [1] * 300)
    yield inputs("input_of_301_dimensions", refused("300 dimensions"), [1] * 301)
    yield inputs("input_without_elements", accepted(np.zeros((0, 2**31 - 1), np.float32)), [0, 2**31 - 1], run=False)
    x = X.reshape(2, 2)
    yield Case("A05_reshape_overflow", one("Reshape", x, C([2**62, 4])), refused("Reshape"))
    yield Case("A05_reshape_wraps_to_4", one("Reshape", x, C([2**62 + 1, 4])), refused("Reshape"))
    yield Case("A05_reshape_to_two_unknowns", one("Reshape", x, C([-1, -1])), refused("Reshape"))
    yield Case("A05_reshape_to_less_than_unknown", one("Reshape", x, C([-2, 2])), refused("Reshape"))
    yield Case("A05_reshape_of_unknown_and_0", one("Reshape", x, C([-1, 0]), allowzero=1), refused("Reshape"))
    yield Case("A05_reshape_0_beyond_the_rank", one("Reshape", x, C([2, 2, 0])), refused("Reshape"))
    yield Case("A05_expand_huge", one("Expand", C([1.0]), C([2**40])), unsupported("limit"))
    yield Case("A05_expand_overflow", one("Expand", C([1.0]), C([2**62, 4])), refused("Expand", ANY))
    yield Case("A05_expand_negative", one("Expand", C([1.0]), C([-3])), refused("Expand", ANY))
    yield Case("A05_tile_overflow", one("Tile", x, C([2**62, 2**62])), refused("Tile", ANY))
    yield Case("A05_tile_negative", one("Tile", x, C([-1, 2])), refused("Tile", ANY))
    yield Case("A05_constantofshape_overflow", one("ConstantOfShape", C([2**62, 2**62])), refused("ConstantOfShape", ANY))
    yield Case("A05_constantofshape_negative", one("ConstantOfShape", C([-1])), refused("ConstantOfShape", ANY))
    yield Case("A05_pad_overflow", one("Pad", x, C([2**62, 0, 2**62, 0])), refused("Pad", ANY))
    yield Case("A05_pad_beyond_empty", one("Pad", x, C([-2, 0, -2, 0])), refused("Pad", ANY))
    yield Case("A05_concat_overflow", model([node("Concat", "x x x x", "y", axis=0)], [value("x", [2**61])], untyped("y")),
               carried("limit"))
    yield Case("A05_flatten_overflow", model([node("Flatten", "x", "y")], [value("x", ["n", 2**40, 2**40])], untyped("y")), carried("limit"))
    yield Case("A05_shape_arithmetic_overflow",
               model([node("Shape", "x", "s"), node("Mul", "s k", "t"), node("Mul", "t k", "u"), node("Expand", "one u", "y")], ["x"],
                     untyped("y"), {"k": np.array([2**40]), "one": np.ones(1, np.float32)}), accepted(np.zeros(0, np.float32)))
    yield Case("A05_onehot_overflow", one("OneHot", C([0, 1]), C(2**62), C([0.0, 1.0])), refused("OneHot", ANY))
    yield Case("A05_range_overflow", one("Range", C(0), C(2**63 - 1), C(1)), refused("Range", ANY))


def declaration_cases():
    relu = [node("Relu", "x", "h"), node("Neg", "h", "y")]
    lie = lambda *declared, outputs=("y",): Model(model(relu, ["x"], outputs, values=declared), {"x": X})
    right = accepted(-np.maximum(X, 0))
    yield Case("A06_declared_shape_lies", lie(value("h", [1 << 40])), right)
    yield Case("A06_declared_rank_lies", lie(value("h", [2, 2, 2])), right)
    yield Case("A06_declared_type_lies", lie(value("h", [4], I64)), right)
    yield Case("A06_declared_twice", lie(value("h", [5]), value("h", [6])), right)
    yield Case("A06_declared_negative", lie(value("h", [-7])), right)
    yield Case("A06_declared_and_made_by_nobody", lie(value("ghost", [1 << 50])), right)
    yield Case("A06_output_shape_lies", lie(outputs=[value("y", [1 << 40])]), right)
    yield Case("A06_output_type_lies", lie(outputs=[value("y", [4], BOOL)]), right)
    yield Case("A06_output_rank_lies", lie(outputs=[value("y", [])]), right)
    yield Case("A06_input_type_unknown", model(relu, [value("x", [4], 99)], untyped("y")), carried("", ANY))
    yield Case("A06_input_without_type", model(relu, untyped("x"), untyped("y")), either)
    yield Case("A06_unknown_operator_of_huge_result",
               model([node("Mystery", "x", "h"), node("Neg", "h", "y")], ["x"], untyped("y"), values=[value("h", [1 << 40, 1 << 20])]),
               carried("Mystery"))
    yield Case("A06_weight_declared_otherwise", model([node("Add", "x w", "y")], ["x"], ["y"], {"w": X}, values=[value("w", [9], I64)]),
               refused('"w"'))


def structure_cases():
    def case(name, verdict, nodes, inputs=("x",), outputs=("y",), weights=(), **more):
        return Case(f"A08_{name}", Model(model(nodes, inputs, outputs, weights), {"x": X}), verdict, **more)

    yield case("cycle_of_two", refused("depends on the node itself"), [node("Add", "x b", "a"), node("Relu", "a", "b"), node("Relu", "b", "y")])
    yield case("self_loop", refused("depends on the node itself"), [node("Add", "x y", "y")])
    yield case("dead_cycle", refused("depends on the node itself"),
               [node("Relu", "x", "y"), node("Relu", "b", "a"), node("Relu", "a", "b")])
    body = helper.make_graph([node("Relu", "y", "z")], "b", [], untyped("z"))
    yield case("cycle_through_a_subgraph", refused("depends on the node itself"),
               [node("If", "c", "y", then_branch=body, else_branch=body)], ["x", value("c", [], BOOL)])
    yield case("undefined_input", refused('input "ghost" does not exist'), [node("Add", "x ghost", "y")])
    yield case("undefined_input_of_a_dead_node", refused('input "ghost" does not exist'), [node("Relu", "x", "y"), node("Relu", "ghost", "z")])
    yield case("output_never_made", refused("output does not exist"), [node("Relu", "x", "z")])
    yield case("value_made_twice", refused('value "y" is made more than once'), [node("Relu", "x", "y"), node("Neg", "x", "y")])
    yield case("value_made_twice_by_one_node", refused('value "y" is made more than once'), [node("Split", "x", "y y")])
    yield case("input_made_again", refused('value "x" is made more than once'), [node("Relu", "x", "x"), node("Relu", "x", "y")])
    yield case("weight_made_again", refused('value "w" is made more than once'), [node("Relu", "x", "w"), node("Add", "x w", "y")],
               weights={"w": X})
    yield case("two_inputs_of_a_name", refused("two inputs have this name"), [node("Relu", "x", "y")], ["x", "x"])
    yield case("two_weights_of_a_name", refused("two initializers have this name"), [node("Add", "x w", "y")],
               weights=[tensor("w", [4], F32, float_data=X), tensor("w", [4], F32, float_data=-X)])
    yield case("two_outputs_of_a_name", accepted(np.maximum(X, 0), np.maximum(X, 0)), [node("Relu", "x", "y")], outputs=["y", "y"])
    yield case("input_without_name", refused("has no name"), [node("Relu", "x", "y")], ["x", ""])
    yield case("output_without_name", refused("has no name"), [node("Relu", "x", "y")], outputs=["y", ""])
    yield case("node_without_results", either, [node("Relu", "x", "y"), node("Relu", "x", "")])
    yield case("order_reversed", accepted(np.exp(-np.maximum(X, 0))), [node("Exp", "b", "y"), node("Neg", "a", "b"), node("Relu", "x", "a")])
    yield case("input_is_output", accepted(X), [], outputs=["x"])
    yield case("weight_is_output", accepted(-X), [], [], outputs=["w"], weights={"w": -X}, run=False)
    yield case("no_outputs", either, [node("Relu", "x", "y")], outputs=[])


def foreign_cases():
    yield Case("A09_unknown_operator", one("Mystery", X), carried("Mystery"))
    yield Case("A09_unknown_domain", one("Relu", X, domain="org.example.hostile"), carried("Relu"))
    yield Case("A09_domain_of_this_library", one("Relu", X, domain="gsub"), either)
    yield Case("A09_operator_without_name", one("", X), carried(""))
    yield Case("A09_future_operator_set", one("Relu", X, opset=1000), unsupported("operator set 1000"))
    yield Case("A09_largest_operator_set", one("Relu", X, opset=2**63 - 1), unsupported("operator set"))
    yield Case("A09_negative_operator_set", one("Relu", X, opset=-3), refused("operator set"))
    yield Case("A09_missing_operator_set", one("Relu", X, opset=None), refused("operator set"))
    yield Case("A09_ancient_operator_set", one("Relu", X, opset=1), carried("Relu"))
    twice = one("Relu", X)
    twice.content.opset_import.add(domain="ai.onnx", version=9)
    yield Case("A09_contradictory_operator_sets", twice, refused("versions 17 and 9"))
    late = one("Relu", X)
    late.content.ir_version = 2**40
    yield Case("A09_future_format", late, unsupported(f"{2**40}"))
    none = one("Relu", X)
    none.content.ir_version = -1
    yield Case("A09_negative_format", none, refused("-1", ANY))
    yield Case("A09_too_few_operands", one("Add", X), refused("Add"))
    yield Case("A09_no_operands", model([node("Relu", "", "y")], ["x"], ["y"]), refused("Relu"))
    yield Case("A09_too_many_operands", one("Relu", X, X), refused("Relu"))
    yield Case("A09_absent_operand", one("Conv", np.zeros((1, 1, 3, 3), np.float32), None), refused("Conv"))
    yield Case("A09_absent_first_operand", one("Add", None, X), refused("Add"))
    yield Case("A09_too_many_results", one("Relu", X, results=3), refused("Relu"))
    yield Case("A09_too_many_results_of_a_norm", one("LayerNormalization", X, C(X), results=9), refused("LayerNormalization"))
    yield Case("A09_missing_attribute", one("Concat", X, X), refused("Concat"))
    yield Case("A09_missing_cast_type", one("Cast", X), refused("Cast"))
    yield Case("A09_extra_attribute", one("Relu", X, slope=3), carried("Relu"))
    yield Case("A09_attribute_of_another_type", one("Concat", X, X, axis="0"), refused("Concat"))
    yield Case("A09_attribute_list_for_a_number", one("Concat", X, X, axis=[0, 0]), refused("Concat"))
    yield Case("A09_attribute_number_for_a_list", one("Transpose", X, perm=0), refused("Transpose"))
    yield Case("A09_attribute_real_for_a_number", one("Softmax", X, axis=0.5), refused("Softmax"))
    double = one("Concat", X, X, axis=0)
    double.content.graph.node[0].attribute.append(helper.make_attribute("axis", 7))
    yield Case("A09_attribute_twice", double, refused("axis"))
    lied = one("Concat", X, X, axis=0)
    lied.content.graph.node[0].attribute[0].type = onnx.AttributeProto.STRING
    yield Case("A09_attribute_whose_type_lies", lied, refused("Concat"))
    referred = one("Concat", X, X, axis=0)
    referred.content.graph.node[0].attribute[0].ref_attr_name = "axis_of_a_function"
    yield Case("A09_attribute_reference_outside_of_a_function", referred, refused("axis"))
    yield Case("A09_cast_to_no_type", one("Cast", X, to=99), carried("Cast"))
    yield Case("A09_text_weights", model([node("Identity", "w", "y")], [], untyped("y"), [tensor("w", [2], TensorProto.STRING, string_data=[b"a", b"\0"])]),
               carried(""))
    call = helper.make_function("f", "F", ["x"], ["y"], [node("F", "x", "y", domain="f")], [helper.make_opsetid("f", 1)])
    yield Case("A09_function_that_calls_itself", Model(model([node("F", "x", "y", domain="f")], ["x"], ["y"], domains=["f"], functions=[call])),
               carried("F"))


def nested(levels):
    """An If in an If in an If, as bytes: the onnx package would recurse."""
    def graph():
        body = field(1, field(1, b"c") + field(2, b"y") + field(4, b"Identity")) + field(12, field(1, b"y"))
        for _ in range(levels):
            branch = lambda name: field(5, field(1, name) + field(6, body) + field(20, 5))
            small = field(1, field(1, b"c") + field(2, b"y") + field(4, b"Identity")) + field(12, field(1, b"y"))
            body = field(1, field(1, b"c") + field(2, b"y") + field(4, b"If") + branch(b"then_branch") +
                         field(5, field(1, b"else_branch") + field(6, small) + field(20, 5))) + field(12, field(1, b"y"))
        return body + field(11, value("c", [], BOOL).SerializeToString())

    return lambda folder: field(1, 8) + field(8, field(2, 17)) + field(7, graph())


def nested_types(levels):
    kind = field(1, field(1, F32))
    for _ in range(levels):
        kind = field(4, field(1, kind))
    return lambda folder: (field(1, 8) + field(8, field(2, 17)) +
                           field(7, field(1, field(1, b"x") + field(2, b"y") + field(4, b"Identity")) + field(11, field(1, b"x") + field(2, kind)) +
                                 field(12, field(1, b"y"))))


def nesting_cases():
    yield Case("A13_nested_8", nested(8), either)
    yield Case("A13_nested_64", nested(64), either)
    yield Case("A13_nested_65", nested(65), refused("64 deep", ANY))
    yield Case("A13_nested_1000", nested(1000), refused("64 deep", ANY))
    yield Case("A13_nested_20000", lambda folder: nested(20000)(folder), refused("64 deep", ANY))
    yield Case("A13_types_nested_1000", nested_types(1000), either)


def large_cases():
    n = 10**5

    def chain(order=1, op="Relu"):
        nodes = [node(op, [f"v{i}" if i else "x"], [f"v{i + 1}" if i + 1 < n else "y"]) for i in range(n)]
        return model(nodes[::order], ["x"], ["y"])

    small = dict(run=False, options=("--passes", "default"))
    yield Case("A14_chain_1e5", lambda _: chain(), accepted(), seconds=4, **small)
    yield Case("A14_chain_1e5_of_neg", lambda _: chain(op="Neg"), accepted(), seconds=4, **small)
    yield Case("A14_chain_1e5_searched", lambda _: chain(), accepted(), seconds=10, run=False)
    searched, half = dict(seconds=10, run=False), n // 2
    yield Case("A14_chain_5e4_of_two_searched", lambda _: model([node("Relu" if i % 2 else "Sigmoid", [f"v{i}" if i else "x"],
                                                                      [f"v{i + 1}" if i + 1 < half else "y"]) for i in range(half)], ["x"], ["y"]),
               accepted(), **searched)
    yield Case("A14_wide_5e4_into_concat_searched", lambda _: model(
        [node(("Exp", "Relu", "Neg", "Tanh", "Sigmoid")[i % 5], [f"x{i}"], [f"v{i}"]) for i in range(half)] +
        [node("Concat", [f"v{i}" for i in range(half)], "y", axis=0)], [f"x{i}" for i in range(half)], untyped("y")), accepted(), **searched)
    yield Case("A14_wide_5e4_into_sum", lambda _: model([node("Exp", [f"x{i}"], [f"v{i}"]) for i in range(half)] +
                                                        [node("Sum", [f"v{i}" for i in range(half)], "y")], [f"x{i}" for i in range(half)], ["y"]),
               accepted(), seconds=10, **small)
    yield Case("A14_sum_of_1e5_searched", lambda _: model([node("Sum", [f"x{i}" for i in range(n)], "y")], [f"x{i}" for i in range(n)], ["y"]),
               accepted(), **searched)
    yield Case("A14_chain_1e5_reversed", lambda _: chain(-1), accepted(), seconds=10, **small)
    yield Case("A14_wide_1e5_dead", lambda _: model([node("Exp", "x", f"v{i}") for i in range(n)] + [node("Relu", "x", "y")], ["x"], ["y"]),
               accepted(), seconds=10, **small)
    yield Case("A14_wide_1e5_outputs", lambda _: model([node("Exp" if i % 2 else "Relu", "x", f"v{i}") for i in range(n)], ["x"],
                                                        untyped(*(f"v{i}" for i in range(n)))), accepted(), seconds=10, **small)
    yield Case("A14_wide_1e4_into_one", lambda _: model([node("Exp", "x", f"v{i}") for i in range(n // 10)] +
                                                        [node("Sum", [f"v{i}" for i in range(n // 10)], "y")], ["x"], ["y"]),
               accepted(), seconds=10, **small)
    yield Case("A14_inputs_2e4", lambda _: model([node("Sum", [f"x{i}" for i in range(20000)], "y")], [f"x{i}" for i in range(20000)], ["y"]),
               accepted(), seconds=10, **small)
    yield Case("A14_concat_2e4", lambda _: model([node("Concat", ["x"] * 20000, "y", axis=0)], ["x"], untyped("y")), accepted(), seconds=10,
               **small)
    yield Case("A14_weights_1e5", lambda _: model([node("Add", ["x" if i == 0 else f"v{i}", f"w{i}"], [f"v{i + 1}" if i + 1 < n else "y"])
                                                   for i in range(n)], ["x"], ["y"], [tensor(f"w{i}", [1], F32, float_data=[i]) for i in range(n)]),
               accepted(), seconds=10, **small)
    yield Case("A14_weights_1e5_unused", lambda _: model([node("Relu", "x", "y")], ["x"], ["y"],
                                                          [tensor(f"w{i}", [1], F32, float_data=[i]) for i in range(n)]), accepted(),
               seconds=10)
    yield Case("A14_declared_values_1e5", lambda _: model([node("Relu", "x", "y")], ["x"], ["y"], values=[value(f"h{i}", [i]) for i in range(n)]),
               accepted(), seconds=10)
    yield Case("A14_problems_1e5", lambda _: model([node("Add", [f"ghost{i}", "x"], [f"v{i}"]) for i in range(n)], ["x"], untyped("v0")),
               refused("more problems are not listed"), seconds=10)
    yield Case("A14_attributes_1e5", lambda _: model([node("Relu", "x", "y", **{f"a{i}": i for i in range(n)})], ["x"], ["y"]), carried("Relu"),
               seconds=10)
    yield Case("A14_metadata_1e5", lambda _: helper.set_model_props(m := model([node("Relu", "x", "y")], ["x"], ["y"]),
                                                                    {f"k{i}": "v" for i in range(n)}) or m, accepted(), seconds=10)


def blow_up_cases():
    doubled = lambda op, levels=60, **attributes: model(
        [node(op, [f"v{i}" if i else "x"] * (2 if op != "Tile" else 1) + (["two"] if op == "Tile" else []), [f"v{i + 1}"], **attributes)
         for i in range(levels)], ["x"], untyped(f"v{levels}"), {"two": np.array([2])} if op == "Tile" else {})
    yield Case("A15_concat_doubles_60_times", doubled("Concat", axis=0), carried("limit"))
    yield Case("A15_concat_doubles_40_times", doubled("Concat", 40, axis=0), carried("limit"))
    yield Case("A15_concat_doubles_32_times", doubled("Concat", 32, axis=0), carried("limit"))
    yield Case("A15_tile_doubles_40_times", doubled("Tile", 40), carried("limit"))
    yield Case("A15_diamond_60", Model(doubled("Add"), {"x": X}), accepted(X * np.float32(2**60)))
    yield Case("A15_diamond_60_of_max", Model(doubled("Max"), {"x": X}), accepted(X))
    constant = model([node("ConstantOfShape", "s", "v0")] + [node("Concat", f"v{i} v{i}", f"v{i + 1}", axis=0) for i in range(40)], [],
                     untyped("v40"), {"s": np.array([4])})
    yield Case("A15_constants_double_40_times", constant, unsupported("limit"))
    yield Case("A15_constantofshape_huge", one("ConstantOfShape", C([2**40])), carried("limit"))
    yield Case("A15_range_huge", one("Range", C(0), C(2**40), C(1)), unsupported("limit"))
    yield Case("A15_onehot_huge", one("OneHot", np.array([0, 1]), C(2**40), C([0.0, 1.0])), refused("OneHot", ANY))
    yield Case("A15_pad_huge", one("Pad", X, C([2**39, 2**39])), carried("limit"))
    yield Case("A15_eyelike_huge", model([node("EyeLike", "x", "y")], [value("x", [2**20, 2**20])], untyped("y")), unsupported("limit"))
    yield Case("A15_resize_huge", one("Resize", X.reshape(1, 1, 2, 2), None, C([1.0, 1.0, 2.0**14, 2.0**14])), carried("limit"))
    smooth = dict(mode="linear", antialias=1)
    yield Case("A15_resize_by_wide_filters", model([node("Resize", ["x", "", "", "sizes"], "y", **smooth)], [value("x", [1, 1, 1, 2**36])],
                                                   untyped("y"), {"sizes": np.array([1, 1, 1, 2**23])}, opset=18), carried("size"))
    yield Case("A15_outer_product_huge", one("MatMul", np.ones((1 << 20, 1), np.float32), np.ones((1, 1 << 20), np.float32)), carried("limit"))
    yield Case("A15_broadcast_huge", one("Add", np.ones((1 << 20, 1), np.float32), np.ones((1, 1 << 20), np.float32)), carried("limit"))
    yield Case("A15_gather_huge", one("Gather", np.ones((1, 1 << 20), np.float32), np.zeros(1 << 20, np.int64)), carried("limit"))
    sums = model([node("Expand", f"x s", f"v{i}") for i in range(60)] + [node("Concat", [f"v{i}" for i in range(60)], "y", axis=0)], [value("x", [1])],
                 untyped("y"), {"s": np.array([1 << 26])})
    yield Case("A15_sum_of_many_large_results", sums, carried("limit"))
    branch = lambda: helper.make_graph([node("Add", "x x", "z")], "b", [], untyped("z"))
    folded = model([node("If", "c", f"v{i}", then_branch=branch(), else_branch=branch()) for i in range(1000)] +
                   [node("Sum", [f"v{i}" for i in range(1000)], "y")], ["x"], ["y"], [tensor("c", [], BOOL, raw=b"\1")])
    yield Case("A15_known_branches_1000", Model(folded, {"x": X}), accepted(X * 2000))


def body(nodes, inputs, outputs, weights=()):
    return helper.make_graph(nodes, "body", untyped(*inputs.split()), untyped(*outputs.split()), list(weights))


def loop_cases():
    add = lambda: body([node("Add", "s s", "t")], "i c s", "c t")
    told = lambda: body([node("Add", "s s", "t"), node("Less", "i k", "more")], "i c s", "more t", [tensor("k", [], I64, int64_data=[2**62])])

    def loop(name, verdict, inside, most=5, results="y", operands="m _ x", **more):
        weights = {"m": np.array(most), "n": np.array(4096), "no": np.array(False)}
        made = model([node("Loop", operands, results, body=inside)], ["x"], untyped(*results.split()), weights)
        return Case(f"A15_loop_{name}", Model(made, {"x": X}), verdict, **more)

    def around(inside, condition):
        nodes = [node("Loop", "n _ s2", "t2", body=inside), node("Less", "i2 n", "more2")]
        return body(nodes, "i2 c2 s2", f"{condition} t2")

    def deep(levels, condition):
        inside = add()
        for i in range(levels):
            inside = body([node("Loop", f"n _ a{i}", f"b{i}", body=inside), node("Less", f"i{i} n", f"more{i}")], f"i{i} c{i} a{i}",
                          f"{condition(i)} b{i}")
        return inside

    yield loop("of_2_to_62", carried("at most 4096"), add(), 2**62)
    yield loop("of_2_to_62_whose_condition_is_computed", carried("at most 4096"), told(), 2**62)
    yield loop("without_end", carried("more than 4096 iterations"), add(), operands="_ _ x")
    yield loop("of_4096", accepted(), add(), 4096, run=False, options=("--passes", "none"))
    yield loop("of_4097", carried("at most 4096"), add(), 4097)
    yield loop("of_a_negative_number", accepted(X), add(), -3)
    yield loop("of_the_least_number", accepted(X), add(), -2**63)
    yield loop("of_4096_within_4096", carried("more than 500000 nodes"), around(add(), "c2"), 4096, seconds=10)
    yield loop("of_4096_within_4096_whose_condition_is_computed", carried("more than 500000 nodes"), around(add(), "more2"), 4096, seconds=10)
    yield loop("of_4096_20_times_nested", carried("more than 500000 nodes"), deep(20, lambda i: f"c{i}"), 4096, seconds=10)
    yield loop("of_4096_20_times_nested_with_conditions", carried("more than 500000 nodes"), deep(20, lambda i: f"more{i}"), 4096, seconds=10)
    yield loop("of_growth_that_doubles", carried("limit"), body([node("Concat", "s s", "t", axis=0)], "i c s", "c t"), 60)
    yield loop("whose_condition_data_decide", carried("depends on data"),
               body([node("ReduceSum", "s", "q", keepdims=0), node("Less", "q q", "more"), node("Neg", "s", "t")], "i c s", "more t"))
    yield loop("body_without_outputs", refused("0 outputs"), body([], "i c s", ""))
    yield loop("body_without_its_state", refused("1 outputs"), body([], "i c s", "c"))
    yield loop("body_with_an_output_of_nobody", refused("ghost"), body([], "i c s", "c ghost"))
    yield loop("body_with_too_few_inputs", refused("2 inputs"), body([], "i c", "c i"))
    yield loop("body_with_too_many_inputs", refused("4 inputs"), body([], "i c s r", "c s"))
    yield loop("body_with_an_input_twice", refused("two inputs"), body([], "i s s", "i s"))
    yield loop("with_too_many_results", refused("results"), add(), results="y z w")
    yield loop("whose_state_becomes_another_type", refused("and then"), body([node("Cast", "s", "t", to=I64)], "i c s", "c t"))
    yield loop("whose_body_reads_its_result", refused("depends on the node itself"), body([node("Add", "s y", "t")], "i c s", "c t"))
    yield loop("of_no_iterations_and_a_wrong_body", either, body([node("Concat", "s", "t")], "i c s", "c t t"), 0, results="y z")
    yield Case("A15_loop_without_body", model([node("Loop", "m _ x", "y")], ["x"], untyped("y"), {"m": np.array(3)}), refused("body is missing"))
    many = [node("Loop", "n _ x", f"v{i}", body=around(add(), "more2")) for i in range(200)]
    yield Case("A15_loops_of_4096_within_4096_side_by_side", model(many + [node("Sum", [f"v{i}" for i in range(200)], "y")], ["x"], untyped("y"),
                                                                   {"n": np.array(4096)}), carried("more than 500000 nodes"), seconds=20)

    def scan(name, verdict, shape=(4, 2), inputs=1, inside=None, outputs="y z", **more):
        inside = inside or body([node("Add", "s e", "t")], "s e", "t t")
        made = model([node("Scan", "s0 x", outputs, body=inside, **({} if inputs is None else {"num_scan_inputs": inputs}), **more)],
                     [value("s0", [2]), value("x", shape)], untyped(*outputs.split()))
        return Case(f"A15_scan_{name}", made, verdict)

    yield scan("of_length_2_to_40", carried("at most 4096"), [2**40, 2])
    yield scan("of_length_2_to_61", carried("at most 4096"), [2**61, 1])
    yield scan("of_negative_length", refused('"x"'), [-5, 2])
    for inputs in (-1, 0, 3, 2**62, -2**63):
        yield scan(f"of_{inputs}_inputs", refused("num_scan_inputs"), inputs=inputs)
    yield scan("without_a_number_of_inputs", refused("num_scan_inputs"), inputs=None)
    yield scan("of_an_axis_beyond", refused("axis"), scan_input_axes=[2])
    yield scan("of_the_least_axis", refused("axis"), scan_input_axes=[-2**63])
    yield scan("of_an_output_axis_beyond", refused("axis"), scan_output_axes=[2**62])
    yield scan("of_a_direction_that_is_none", refused("with 2"), scan_input_directions=[2])
    yield scan("of_too_many_axes", refused("for 1"), scan_input_axes=[0] * 1000)
    yield scan("body_without_outputs", refused("0 outputs"), inside=body([], "s e", ""))
    yield scan("body_with_outputs_of_other_sizes", refused("Scan", ANY),
               inside=body([node("Concat", "s e", "t", axis=0)], "s e", "t t"))


def cases():
    yield from size_cases()
    yield from declaration_cases()
    yield from structure_cases()
    yield from foreign_cases()
    yield from nesting_cases()
    yield from large_cases()
    yield from blow_up_cases()
    yield from loop_cases()
