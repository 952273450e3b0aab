#!/usr/bin/env python3
"""Prints the figures of the structure of headers and sources, and what lies beyond them.

Usage: structure.py [--list] [--self-test]
Figures are those of CONTRIBUTING: lines of headers and of `.ipp` files, functions of more than 60 and 100 lines, classes of more
than 250, blocks nested more than four deep in a function. `--list` names each function, class and file that lies beyond a bar.
Nothing is compiled: braces are matched, and what stands before one tells what it opens.
"""

import os
import re
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
CONTROL = re.compile(r"^(?:else\b|do\b|try\b|catch\b|if\b|for\b|while\b|switch\b|case\b|default\b)")
TYPE = re.compile(r"(?:^|\s)(?:class|struct|union)\s+(?:\[\[[^\]]*\]\]\s*)?(?:alignas\([^)]*\)\s*)?([A-Za-z_]\w*)")
LITERAL = re.compile(r"""//[^\n]*|/\*.*?\*/|R"([^()\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""", re.S)


def without_text(source):
    """The source with comments and literals blank, lines where they were. A quote between digits is part of a number."""
    source = re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "_", source)
    return LITERAL.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), source)


def kind_of(before):
    """What a brace opens, by the text since the last statement: (kind, name)."""
    text = " ".join(before.split())
    text = re.sub(r"^(?:(?:public|private|protected)\s*:\s*)+", "", text)
    if re.match(r"^(?:inline )?namespace\b", text) or text.startswith('extern "'):
        return "namespace", ""
    if CONTROL.match(text):
        return "control", ""
    plain = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", text))
    if re.search(r"\]\s*(?:\([^()]*\))?[^()\[\]=;]*$", text) and not re.search(r"\boperator\s*\[\]", text):
        return "lambda", ""
    if re.search(r"(?:^|\s)enum\b", plain):
        return "enum", ""
    type_named = TYPE.search(plain)
    if type_named and "(" not in plain.split(type_named.group(1), 1)[1].split(":")[0]:
        return "class", type_named.group(1)
    if re.search(r"\)[^()=]*$|\)\s*(?:noexcept|const|override|requires|->|:).*$", plain) and not re.search(
            r"(?:=|return)\s*[\w:]*$", plain) and not re.search(r"^[^()]*=", plain):
        name = re.search(r"([~\w]+|operator[^\s(]+)\s*\(", plain)
        return "function", name.group(1) if name else "?"
    return "value", ""


def blocks_of(source):
    """Functions and classes: (kind, name, first line, last line, deepest nesting of blocks within)."""
    text, stack, out, since, line = without_text(source), [], [], 0, 1
    parentheses = 0
    for at, c in enumerate(text):
        if c == "\n":
            line += 1
        elif c in "([":
            parentheses += 1
        elif c in ")]":
            parentheses -= 1
        elif c == ";" and (not stack or stack[-1]["parentheses"] == parentheses):
            since = at + 1
        elif c == "{":
            kind, name = kind_of(text[since:at])
            in_function = any(s["kind"] in ("function", "lambda") for s in stack)
            if kind == "function" and in_function and not any(s["kind"] == "class" for s in stack[-1:]):
                kind = "control"  # a block behind a macro or a statement of its own
            stack.append({"kind": kind, "name": name, "first": line, "deepest": 0, "parentheses": parentheses})
            depth = 0
            for s in reversed(stack):
                if s["kind"] in ("control", "lambda"):
                    depth += 1
                elif s["kind"] == "function":
                    s["deepest"] = max(s["deepest"], depth)
                    break
                elif s["kind"] in ("class", "namespace"):
                    break
            since = at + 1
        elif c == "}":
            if stack:
                s = stack.pop()
                if s["kind"] in ("function", "class"):
                    out.append((s["kind"], s["name"], s["first"], line, s["deepest"]))
            since = at + 1
    return out


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0


def files(*ends):
    for folder, _, names in os.walk(os.path.join(ROOT, "include")):
        for name in sorted(names):
            if name.endswith(ends):
                yield os.path.join(folder, name)


def figures():
    """Rows of (what, figure, bar, places beyond it)."""
    lines = {end: {} for end in (".hpp", ".ipp")}
    functions, classes, nested = [], [], []
    for path in files(".hpp", ".ipp"):
        with open(path, encoding="utf-8") as f:
            source = f.read()
        short = os.path.relpath(path, ROOT)
        lines[path[-4:]][short] = source.count("\n")
        for kind, name, first, last, deepest in blocks_of(source):
            length, place = last - first + 1, f"{short}:{first} {name}"
            if kind == "class":
                classes.append((length, place))
            else:
                functions.append((length, place))
                nested.append((deepest, place))

    def beyond(values, bar):
        return [f"{n} {place}" for n, place in sorted(values, reverse=True) if n > bar]

    def of_files(end, share):
        return percentile(list(lines[end].values()), share)

    def files_beyond(end, bar):
        return beyond([(n, place) for place, n in lines[end].items()], bar)

    return [
        ("headers: lines, median", of_files(".hpp", 0.5), 200, []),
        ("headers: lines, nine in ten", of_files(".hpp", 0.9), 350, []),
        ("headers: lines, most", of_files(".hpp", 1), 400, files_beyond(".hpp", 400)),
        (".ipp: lines, nine in ten", of_files(".ipp", 0.9), 350, []),
        (".ipp: lines, most", of_files(".ipp", 1), 600, files_beyond(".ipp", 600)),
        ("functions of more than 60 lines", len(beyond(functions, 60)), 10, beyond(functions, 60)),
        ("functions of more than 100 lines", len(beyond(functions, 100)), 0, beyond(functions, 100)),
        ("classes of more than 250 lines", len(beyond(classes, 250)), 5, beyond(classes, 250)),
        ("functions nested more than four deep", len(beyond(nested, 4)), 10, beyond(nested, 4)),
    ], len(functions), percentile([n for n, _ in functions], 0.5)


SAMPLE = r'''
namespace a { // } in a comment
struct point { int x = 1'000; char c = '{'; };
template <class T> requires true
class holder final : public base<T> {
public:
    holder() : x_{1}, y_{2} {}
    auto get() const -> int { return x_; }
    int operator[](int i) const { if (i) { for (;;) { while (true) { switch (i) { case 1: { break; } } } } } return "}"[0]; }
private:
    int x_, y_;
};
enum class kind { one, two };
inline constexpr int table[] = {1, 2, 3};
void run(int n) {
    auto const f = [&](int i) { return point{i}.x; };
    std::sort(v.begin(), v.end(), [](int p, int q) { return p < q; });
}
}
'''


def self_test():
    found = [(kind, name) for kind, name, *_ in blocks_of(SAMPLE)]
    expected = [("class", "point"), ("function", "holder"), ("function", "get"), ("function", "operator[]"), ("class", "holder"),
                ("function", "run")]
    assert sorted(found) == sorted(expected), found
    assert {name: deepest for kind, name, _, _, deepest in blocks_of(SAMPLE) if kind == "function"}["operator[]"] >= 4
    assert percentile([1, 2, 3, 4], 0.5) == 3


def main(arguments):
    if "--self-test" in arguments:
        self_test()
    rows, functions, median = figures()
    print(f"{functions} functions, {median} lines in the median")
    for what, figure, bar, places in rows:
        print(f"{what:40}{figure:6}{'' if figure <= bar else '  beyond'}  (at most {bar})")
        if "--list" in arguments:
            for place in places:
                print("    " + place)


if __name__ == "__main__":
    main(sys.argv[1:])
