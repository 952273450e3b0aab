"""Rows A18 and A20: names that are poison for source, files and shells, and values that a model does not take."""
import pathlib

import numpy as np

from support import INVALID, UNSUPPORTED, Case, Model, accepted, carried, either, model, node, untyped, value

ENVIRONMENT, USAGE = 5, 2
X = np.array([-1, 0, 2, 3], np.float32)

POISON = {
    "quotes": b'a"; int PWNED = 1; char const* s = "\'',
    "newline": b"a\nint PWNED = 1;\n#define x PWNED\r\n",
    "end_of_comment": b"a */ int PWNED; /* b",
    "backslash": b"PWNED\\\n\\\\\\",
    "trigraph": b"PWNED ??/\n ??=define x",
    "shell": b"$(touch PWNED) `touch PWNED` ; touch PWNED & | touch PWNED",
    "include": b'#include "PWNED"\n#include </etc/PWNED>',
    "path": b"../../PWNED",
    "absolute_path": b"/tmp/gsub_PWNED",
    "format": b"%n%s%n{}{0}{:PWNED}",
    "keyword": b"PWNED_int_namespace_class",
    "invalid_utf8": b"PWNED\xff\xfe\xc0\x80\xed\xa0\x80",
    "nul": b"PWNED\0PWNED",
    "escape": b"PWNED\x1b[2J\x1b]0;x\x07",
    "markup": b"PWNED<script>alert(1)</script>&amp;",
    "direction": "PWNED\u202e\u2066x".encode(),
    "long": b"PWNED" * 14000,
    "option": b"--output=PWNED",
}


def poisoned(text):
    """A model whose every name is, or begins with, this text."""
    names = {k: chr(3 + i) * len(text) for i, k in enumerate(("x", "w", "h", "y", "node", "graph", "key"))}
    names = {k: (n[:-1] + "#" if k != "x" else n) for k, n in names.items()}
    made = model([node("Add", [names["x"], names["w"]], [names["h"]], name=names["node"]), node("Relu", [names["h"]], [names["y"]])],
                 [value(names["x"], [4])], [value(names["y"], [4])], {names["w"]: X})
    made.graph.name = made.producer_name = names["graph"]
    made.doc_string = made.graph.node[0].doc_string = names["graph"]
    made.metadata_props.add(key=names["key"], value=names["key"])
    content = made.SerializeToString()
    for i, k in enumerate(names):  # the names keep their lengths, and stay different by their last byte
        end = b"" if k == "x" else bytes([ord("b") + i])
        content = content.replace(names[k].encode(), text if k == "x" else text[:-1] + end)
    return content


def unsafe_operator(text):
    made = model([node("@" * len(text), ["x"], ["y"], domain="~" * len(text))], ["x"], ["y"], domains=["~" * len(text)])
    return made.SerializeToString().replace(b"@" * len(text), text).replace(b"~" * len(text), text)


def name_cases():
    for name, text in POISON.items():
        yield Case(f"A18_{name}", poisoned(text), accepted(), compile=b"PWNED")
    for name in ("quotes", "newline", "shell", "path", "invalid_utf8", "nul", "long"):
        yield Case(f"A18_operator_{name}", unsafe_operator(POISON[name]), accepted(), run=False)
    same = model([node("Relu", ["a.b"], ["a/b"]), node("Neg", ["a/b"], ["a-b"]), node("Add", ["a-b", "a_b"], ["a b"])],
                 [value("a.b", [4]), value("a_b", [4])], [value("a b", [4]), value("a/b", [4])])
    yield Case("A18_alike_after_sanitising", Model(same, {"a.b": X, "a_b": X}), accepted(X - np.maximum(X, 0), np.maximum(X, 0)), compile=b"PWNED")
    keywords = model([node("Relu", ["int"], ["for"]), node("Neg", ["for"], ["main"]), node("Exp", ["main"], ["v0"])], [value("int", [4])],
                     [value("v0", [4])])
    yield Case("A18_keywords", Model(keywords, {"int": X}), accepted(np.exp(-np.maximum(X, 0))), compile=b"PWNED")


def value_cases():
    """A model that is well, and values that are not."""
    good = model([node("Add", "x z", "y")], [value("x", [4]), value("z", [4])], ["y"])
    npy = lambda header, data=bytes(16): b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data
    described = lambda dtype="'<f4'", shape="(4,)", order="False": f"{{'descr': {dtype}, 'fortran_order': {order}, 'shape': {shape}, }}\n"

    def case(name, x, piece, **more):
        return Case(f"A20_{name}", Model(good, {"x": x, "z": X, **more}), carried(piece, (USAGE, INVALID, UNSUPPORTED, ENVIRONMENT)))

    yield case("value_of_another_shape", X[:3], "f32[3]")
    yield case("value_of_another_rank", X.reshape(2, 2), "f32[2,2]")
    yield case("value_without_elements", X[:0], "f32[0]")
    yield case("value_of_another_type", X.astype(np.float64), "f64[4]")
    yield case("value_of_integers", X.astype(np.int64), "i64[4]")
    yield Case("A20_value_missing", Model(good, {"x": X}), carried("z", (USAGE,)))
    yield case("value_of_no_input", X, "ghost", ghost=X)
    yield case("file_missing", pathlib.Path("/nonexistent/x.npy"), "x.npy")
    yield case("file_empty", b"", "input_0.npy")
    yield case("file_of_text", b"1 2 3 4\n" * 8, "input_0.npy")
    yield case("file_cut_off", npy(described(), bytes(15)), "input_0.npy")
    yield Case("A20_file_too_long", Model(good, {"x": npy(described(), bytes(17)), "z": X}), accepted(X))  # as numpy reads it
    yield case("file_of_huge_shape", npy(described(shape="(4611686018427387904,)")), "input_0.npy")
    yield case("file_of_shape_that_wraps", npy(described(shape="(4611686018427387905, 4)")), "input_0.npy")
    yield case("file_of_negative_shape", npy(described(shape="(-4,)")), "input_0.npy")
    yield case("file_of_objects", npy(described(dtype="'|O'")), "input_0.npy")
    yield case("file_of_texts", npy(described(dtype="'<U4'")), "input_0.npy")
    yield case("file_of_records", npy(described(dtype="[('a', '<f4')]")), "input_0.npy")
    yield case("file_of_code", npy("__import__('os').system('touch PWNED')\n"), "input_0.npy")
    yield case("file_without_header", b"\x93NUMPY\x01\x00\xff\xff", "input_0.npy")
    yield case("file_of_huge_header", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{", "input_0.npy")
    yield Case("A20_big_endian_value", Model(good, {"x": X.astype(">f4"), "z": X}), either)
    yield Case("A20_value_in_columns", Model(model([node("Add", "x z", "y")], [value("x", [2, 2]), value("z", [2, 2])], untyped("y")),
                                             {"x": np.asfortranarray(X.reshape(2, 2)), "z": X.reshape(2, 2)}),
               carried("column-major", (UNSUPPORTED,)))
    yield Case("A20_nan_in_values", Model(good, {"x": X * np.float32(np.nan), "z": X}), accepted(X * np.float32(np.nan)))
    wide = model([node("Add", "x z", "y")], [value("x", ["n"]), value("z", ["n"])], untyped("y"))
    yield Case("A20_sizes_of_a_name_differ", Model(wide, {"x": X, "z": X[:3]}), carried('n', (USAGE,)))


def cases():
    yield from name_cases()
    yield from value_cases()
