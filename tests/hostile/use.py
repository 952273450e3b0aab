"""Rows A18 and A20: names that are poison for source, files and shells, and values that a model does not take."""
import numpy as np
import onnx

from support import F32, INVALID, UNSUPPORTED, Case, Model, accepted, either, model, node, refused, value

ENVIRONMENT, USAGE = 5, 2
X = np.array([-1, 0, 2, 3], np.float32)
PLACE = "\x02"  # of a name in a model's bytes, one more character for each byte of it

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


def cases():
    yield from name_cases()
