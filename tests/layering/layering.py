#!/usr/bin/env python3
"""Proves the laws of the tree: what may include what, headers that stand alone, tests that mirror headers, layout.

Usage: layering.py includes | lists [--write] | table [--write] | mirror | decisions | words | blanks | format CLANG_FORMAT |
       alone COMPILER [FLAG...]
`lists` compares the includes of umbrellas and of src/ with the files that are there, `table` the table of layers in
CONTRIBUTING.md with umbrellas and edges; with --write they write them.
Prints every breach and exits with 1 where there is one, with 77 where the check cannot be made.
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
INCLUDE = os.path.join(ROOT, "include")
SKIPPED = 77

# The edge table of the design, section 4: what a layer may include besides itself and core. Layers to come stand here
# too, so that their first header is held to it.
EDGES = {
    "core": "",
    "target": "",
    "search": "",
    "ir": "",
    "eval": "ir",
    "io": "ir",
    "models": "ir",
    "rewrite": "ir eval io",
    "passes": "ir eval rewrite search target",
    "loop": "ir target",
    "codegen": "ir loop target machine",
    "kernels": "ir loop codegen target",
    "machine": "ir loop target",
    "runtime": "ir io eval loop codegen kernels target",
    "lower": "ir eval rewrite passes loop codegen kernels runtime target",
    "cost": "ir io eval passes loop codegen kernels runtime machine lower target",
    "optimize": "ir io eval rewrite passes search cost lower target",
    "tune": "ir io loop codegen kernels runtime machine cost lower search target",
    "aot": "ir io loop codegen kernels lower runtime target",
    "report": "ir io search cost passes optimize lower runtime tune target",
    "registry": "ir io tune",
    "driver": "target search ir eval io models rewrite passes loop codegen kernels machine runtime lower cost optimize "
              "tune aot",
}

# Definitions that a file of src/ of their own compiles; all others stand in that of their layer.
OWN_SOURCE = {
    "gsub/codegen/x86/impl/emit_x86.ipp": "jit.cpp",  # a library of its own, which needs Xbyak
    "gsub/codegen/x86/impl/port_calibration.ipp": "jit.cpp",
    "gsub/driver/impl/jit.ipp": "jit.cpp",
    "gsub/tune/impl/mpi_scorer.ipp": "mpi.cpp",  # a library of its own, which needs MPI
    "gsub/eval/impl/reference_kernel.ipp": "eval_kernels.cpp",  # Eigen takes as long as all the rest of the layer
    "gsub/cost/impl/fitting.ipp": "cost_fitting.cpp",  # the same
}

# Which headers may include a library of others, by the first part of the name included.
CONFINED = {
    "Eigen": ["gsub/eval/impl/reference_kernel.ipp", "gsub/cost/impl/fitting.ipp"],
    "nlohmann": ["gsub/io/json.hpp"],
    "protozero": ["gsub/io/protobuf.hpp"],
    "xbyak": ["gsub/codegen/x86/impl/x86_values.hpp"],
    "mpi.h": ["gsub/tune/impl/mpi_scorer.ipp"],
    # `format_text` and formatters of our types.
    "fmt": lambda h, name: h.endswith("/format.hpp") and name == "fmt/core.h",
    # Not in headers at all: the library prints nothing, and these are slow to compile.
    "iostream": [],
    "regex": [],
    "ranges": [],
}

# Public headers without a test file of their own name, and why.
UNTESTED = {
    "gsub/fwd.hpp": "declares names only; compiled on its own by this script",
}
# Headers that an umbrella leaves out, and why.
NOT_IN_UMBRELLA = {
    "gsub/io/json.hpp": "includes nlohmann/json, which few programs need",
    "gsub/cost/fitting.hpp": "includes Eigen, which few programs need",
    "gsub/cost/kernel_samples.hpp": "as gsub/io/json.hpp",
    "gsub/report/json.hpp": "as gsub/io/json.hpp",
    "gsub/report/trace.hpp": "as gsub/io/json.hpp",
    "gsub/report/tuning_page.hpp": "as gsub/tune.hpp",
    "gsub/cost/table.hpp": "as gsub/io/json.hpp",
    "gsub/cost/measured.hpp": "as gsub/io/json.hpp",
    "gsub/cost/assembled_time.hpp": "for a tuner of other machines alone; includes headers of machine",
    "gsub/cost/assembled_times.hpp": "as gsub/cost/assembled_time.hpp; starts a compiler",
    "gsub/driver/calibrate.hpp": "as gsub/io/json.hpp",
    "gsub/driver/measured_kernels.hpp": "as gsub/io/json.hpp",
    "gsub/machine.hpp": "nothing in gsub.hpp uses it yet: decision 0028",
    "gsub/tune.hpp": "as gsub/machine.hpp",
    "gsub/codegen/ir/kernel_loops.hpp": "for models of machine code alone; includes headers of machine",
    "gsub/codegen/x86/instruction_stream.hpp": "as gsub/codegen/ir/kernel_loops.hpp",
    "gsub/codegen/x86/emit_x86.hpp": "a component of its own, gsub::jit: includes Xbyak",
    "gsub/codegen/x86/port_calibration.hpp": "of the component gsub::jit",
    "gsub/driver/jit.hpp": "the header of gsub::jit",
    "gsub/target/measured_ports.hpp": "for calibrations alone",
    "gsub/cost/port_file.hpp": "as gsub/io/json.hpp",
    "gsub/tune/mpi_scorer.hpp": "a component of its own, gsub::mpi: includes MPI",
    "gsub/io/protobuf.hpp": "includes protozero; what reads and writes files includes it where it needs it",
}

# Decisions that one function takes, and the headers that may ask it (law 13 of the architecture).
ASKED_BY = {
    "kernel_groups": [
        "gsub/lower/fusion.hpp", "gsub/lower/impl/fusion.ipp",  # where it is
        "gsub/lower/impl/fuse.ipp",               # lowering: a kernel for each group
        "gsub/driver/impl/measured_kernels.ipp",  # a time for each group
        "gsub/cost/impl/group_costs.ipp",         # the group of each node, which cuts of a search do not cross
    ],
    "each_kernel_group": [
        "gsub/lower/fusion.hpp", "gsub/lower/impl/fusion.ipp",  # the same, with the scope in which they were made
        "gsub/cost/impl/group_costs.ipp",         # a cost for each group
    ],
    "grouping_of": [
        "gsub/lower/fusion.hpp", "gsub/lower/impl/fusion.ipp",  # the same, with what decided each group
        "gsub/cost/impl/group_costs.ipp",
    ],
    "each_changed_group": [
        "gsub/lower/fusion.hpp", "gsub/lower/impl/fusion.ipp",  # those that a rewrite has changed
        "gsub/cost/impl/group_costs.ipp",
    ],
    "lay_out_graph": [
        "gsub/passes/layout/alter_op_layout.hpp", "gsub/passes/layout/impl/alter_op_layout.ipp",  # where it is
        "gsub/lower/impl/lower_graph.ipp",  # the default, where no pass has done it
    ],
    "alter_layouts": [
        "gsub/passes/layout/alter_op_layout.hpp", "gsub/passes/layout/impl/alter_op_layout.ipp",
        "gsub/passes/layout/impl/convert_layout.ipp",  # the same with layouts that a caller names
    ],
    "kernel_storage_of": [
        "gsub/lower/kernel_layouts.hpp", "gsub/lower/impl/kernel_layouts.ipp",  # what kernels want: the pass's hook
        "gsub/lower/impl/fusion.ipp",  # groups of a graph that is not laid out yet: those of a search
    ],
    "fuse_groups": ["gsub/passes/fuse/fuse_ops.hpp", "gsub/passes/fuse/impl/fuse_ops.ipp"],  # by kinds of operators, for the pass
}


def headers(*extensions):
    """Names of the headers as programs include them, sorted."""
    found = []
    for folder, _, names in os.walk(INCLUDE):
        found += [os.path.relpath(os.path.join(folder, n), INCLUDE) for n in names if n.endswith(extensions)]
    return sorted(found)


def text(header):
    with open(os.path.join(INCLUDE, header), encoding="utf-8") as f:
        return f.read()


def included(header):
    return re.findall(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', text(header), re.MULTILINE)


def layer_of(header):
    parts = header.split("/")
    return parts[1] if len(parts) > 2 else None


def is_format(header):
    return header.endswith("/format.hpp") and layer_of(header) is not None


def is_private(header):
    """Headers of definitions: private classes, which tests of public headers test."""
    return "/impl/" in header and header.endswith(".hpp")


def is_umbrella(header):
    return header in ("gsub/gsub.hpp", "gsub/format.hpp") or (layer_of(header) is None and header[5:-4] in EDGES)


def report(breaches):
    for b in breaches:
        print(b)
    print(f"{len(breaches)} breaches" if breaches else "in order")
    return 1 if breaches else 0


# ---- includes --------------------------------------------------------------------------------------------------------


def check_includes():
    everything = headers(".hpp", ".ipp")
    known = set(everything) | set(headers(".h"))  # those for C stand outside of all rules
    breaches = []
    for layer in sorted({layer_of(h) for h in everything} - {None}):
        if layer not in EDGES:
            breaches.append(f"include/gsub/{layer}: a layer that the edge table does not have")
    for h in everything:
        layer = layer_of(h)
        if "#pragma once" not in text(h):
            breaches.append(f"{h}: has no #pragma once")
        for i in included(h):
            first = i.split("/")[0]
            may = CONFINED.get(first, [h])
            if not (may(h, i) if callable(may) else h in may):
                where = "definitions and format.hpp" if callable(may) else ", ".join(may) or "no header"
                breaches.append(f"{h}: includes {i}; {where} may")
            if first != "gsub":
                continue
            if i not in known:
                breaches.append(f"{h}: includes {i}, which is not there")
            target = layer_of(i)
            if layer is None and not is_umbrella(h):
                breaches.append(f"{h}: includes {i}; it stands outside of all layers")
            elif layer is not None and is_format(i) and not h.endswith(".ipp") and not is_format(h):
                breaches.append(f"{h}: includes {i}; definitions, tools and other formatters may")
            elif layer is not None and target is None:
                breaches.append(f"{h}: includes the umbrella {i}; headers include what they use")
            elif layer is not None and target not in {layer, "core", *EDGES.get(layer, "").split()}:
                breaches.append(f"{h}: layer {layer} may not include layer {target} ({i})")
            if i.endswith(".ipp") and not (i.startswith(f"gsub/{layer}/") and "/impl/" in i):
                breaches.append(f"{h}: includes definitions of another layer, {i}")
    breaches += umbrella_breaches(everything) + definition_breaches(everything) + cycles()
    return report(breaches)


def umbrella_breaches(everything):
    """Umbrellas hold includes alone."""
    out = []
    for h in everything:
        if is_umbrella(h):
            for line in text(h).splitlines():
                if line.strip() and not line.startswith(("//", "#include <gsub/", "#pragma once")):
                    out.append(f"{h}: an umbrella holds includes alone, not: {line}")
    return out


def definition_breaches(everything):
    """Each file of definitions is included by a header of its layer."""
    return [f"{d}: no header of its layer includes it" for d in everything if d.endswith(".ipp") and
            not any(d in included(h) for h in everything if h.endswith(".hpp") and layer_of(h) == layer_of(d))]


def cycles():
    """Headers that include each other; definitions at a header's end may include that header."""
    graph = {h: [i for i in included(h) if i.endswith(".hpp") and i.startswith("gsub/")] for h in headers(".hpp")}
    state, out = {}, []

    def visit(h, path):
        state[h] = "open"
        for i in graph.get(h, []):
            if state.get(i) == "open":
                out.append("includes go round: " + " -> ".join(path[path.index(i):] + [i]))
            elif i not in state:
                visit(i, path + [i])
        state[h] = "done"

    for h in graph:
        if h not in state:
            visit(h, [h])
    return out


# ---- lists -----------------------------------------------------------------------------------------------------------


def written_lists():
    """What umbrellas and the files of src/ hold, by path: the lines around the includes as they are, and includes of
    all that is there, sorted."""
    everything = headers(".hpp", ".ipp")
    layers = sorted({layer_of(h) for h in everything} - {None})
    lists = {"include/gsub/gsub.hpp": [f"gsub/{l}.hpp" for l in layers if f"gsub/{l}.hpp" not in NOT_IN_UMBRELLA]}
    lists["include/gsub/format.hpp"] = [h for h in everything if is_format(h)]
    for layer in layers:
        own = [h for h in everything if layer_of(h) == layer]
        lists[f"include/gsub/{layer}.hpp"] = [h for h in own if h.endswith(".hpp") and h not in NOT_IN_UMBRELLA
                                              and not is_format(h) and not is_private(h)]
        definitions = [h for h in own if h.endswith(".ipp") and h not in OWN_SOURCE]
        lists[f"src/{layer}.cpp"] = [f"gsub/{layer}.hpp", *(definitions or [])]
    for definition, source in OWN_SOURCE.items():
        lists.setdefault(f"src/{source}", []).append(definition)
    out = {}
    for path, includes in lists.items():
        try:
            with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                lines = f.read().splitlines()
        except FileNotFoundError:
            lines = [f"// Umbrella of layer {path[13:-4]}.", "#pragma once", ""] if path.endswith(".hpp") else []
        mine = [i for i, line in enumerate(lines) if line.startswith("#include <gsub/")]
        before, after = (lines[:mine[0]], lines[mine[-1] + 1:]) if mine else (lines, [])
        out[path] = "\n".join([*before, *(f"#include <{i}>" for i in includes), *after]) + "\n"
    return out


def check_lists(write):
    breaches = []
    for path, wanted in written_lists().items():
        absolute = os.path.join(ROOT, path)
        there = open(absolute, encoding="utf-8").read() if os.path.exists(absolute) else ""
        if there != wanted and write:
            with open(absolute, "w", encoding="utf-8") as f:
                f.write(wanted)
            print(f"{path}: written")
        elif there != wanted:
            breaches.append(f"{path}: its includes are not those of the files that are there; `layering.py lists "
                            "--write` writes them")
    return report(breaches)


# ---- table of layers -------------------------------------------------------------------------------------------------


def table_of_layers():
    """The layers that are there: what the first line of each umbrella says, and what the layer may include."""
    rows = ["| layer | what | may include, besides itself and core |", "|---|---|---|"]
    there = {layer_of(h) for h in headers(".hpp")} - {None}
    for layer, edges in EDGES.items():
        if layer not in there:
            continue
        first = text(f"gsub/{layer}.hpp").splitlines()[0]
        begin, what = f"// Layer {layer}: ", first.removeprefix(f"// Layer {layer}: ").removesuffix(".")
        if not first.startswith(begin):
            raise SystemExit(f"gsub/{layer}.hpp: its first line is no `{begin}...`")
        others = sorted(there - {"core", layer} - set(edges.split()))
        allowed = [e for e in edges.split() if e in there]
        rows.append(f"| {layer} | {what} | {'all but ' + ' and '.join(others) if len(others) < 3 else ', '.join(allowed) or '–'} |")
    return "\n".join(rows) + "\n"


def check_table(write):
    path = os.path.join(ROOT, "CONTRIBUTING.md")
    with open(path, encoding="utf-8") as f:
        page = f.read()
    wanted = re.sub(r"\| layer \| what \|.*?\n(?!\|)", lambda _: table_of_layers(), page, count=1, flags=re.DOTALL)
    if wanted == page:
        return report([])
    if write:
        with open(path, "w", encoding="utf-8") as f:
            f.write(wanted)
        print("CONTRIBUTING.md: written")
        return 0
    return report(["CONTRIBUTING.md: its table of layers is not what `layering.py table --write` writes"])


# ---- tests mirror headers --------------------------------------------------------------------------------------------


def check_mirror():
    breaches, untested = [], dict(UNTESTED)
    for h in headers(".hpp"):
        test = os.path.join("tests", os.path.splitext(h[5:])[0] + ".cpp")
        if is_umbrella(h) or is_private(h):
            continue
        if h in untested:
            del untested[h]
            if os.path.exists(os.path.join(ROOT, test)):
                breaches.append(f"{h}: is listed as untested, but there is {test}")
        elif not os.path.exists(os.path.join(ROOT, test)):
            breaches.append(f"{h}: has no test {test}")
    breaches += [f"{h}: is listed as untested, but is not there" for h in untested]
    # CMake cuts the name of a test at a semicolon; what is left matches no test, and passes.
    for source in sources(".cpp"):
        with open(os.path.join(ROOT, source), encoding="utf-8") as file:
            for name in re.findall(r'TEST_CASE\(((?:\s*"(?:[^"\\]|\\.)*")+)', file.read()):
                if ";" in name:
                    breaches.append(f"{source}: a test case has a semicolon in its name: {name.strip()}")
    return report(breaches)


# ---- layout ----------------------------------------------------------------------------------------------------------


def sources(*extensions):
    """Tracked and new files of the repository; without git, all files but those of builds."""
    try:
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                capture_output=True, check=True).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        listed = []
    if not any(listed):
        for folder, inner, names in os.walk(ROOT):
            inner[:] = [i for i in inner if i not in ("build", "out", "__pycache__") and not i.startswith(".")]
            listed += [os.path.relpath(os.path.join(folder, n), ROOT) for n in names]
    return sorted({s for s in listed if s.endswith(extensions) and os.path.isfile(os.path.join(ROOT, s))})


def check_decisions():
    """No header asks for a decision but those that may."""
    found = []
    for header in headers(".hpp", ".ipp"):
        code = re.sub(r"//.*", "", text(header))
        for function, askers in ASKED_BY.items():
            if header not in askers and re.search(rf"\b{function}\s*\(", code):
                found.append(f"{header} asks {function}, which is for {', '.join(askers)} alone")
    return report(found)


# ---- words -----------------------------------------------------------------------------------------------------------

# Comments, text literals and includes of a C++ source, in this order of groups.
PIECES = re.compile(r'(//[^\n]*|/\*.*?\*/)|(R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\')|'
                    r"(^[ \t]*#[ \t]*include[^\n]*)", re.DOTALL | re.MULTILINE)


def retired_words():
    """The backticked words of the first columns of the glossary's tables of retired words, and of step kinds."""
    with open(os.path.join(ROOT, "docs", "glossary.md"), encoding="utf-8") as f:
        tables = f.read().partition("## Retired words")[2].split("| retired step kind |")
    first = [[w for row in t.splitlines() if row.startswith("| `") for w in re.findall(r"`([^`]+)`", row.split("|")[1])]
             for t in tables]
    return first[0], first[1]


def first_sentences(source):
    """Numbers of lines and texts of the first lines of comments that begin a file or document an entity."""
    before = None
    for number, line in enumerate(source.splitlines(), 1):
        text = line.strip()
        if text.startswith("///") and not text.startswith("///<") and not (before or "").startswith("///") or (
                number == 1 and text.startswith("//")):
            yield number, text
        before = text


def check_words():
    words, kinds = retired_words()
    breaches = []
    word = re.compile(r"(?<![\w-])(" + "|".join(map(re.escape, words)) + r")(?![\w-])")
    kind = re.compile('"(' + "|".join(map(re.escape, kinds)) + ')"')
    spared = ("docs/decisions/", "docs/glossary.md", "CHANGELOG.md")
    for path in sources(".hpp", ".ipp", ".cpp", ".h", ".c", ".md"):
        if path.startswith(spared):
            continue
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            source = f.read()
        found = [(0, w) for w in word.findall(os.path.splitext(os.path.basename(path))[0])]
        line_of = lambda at: source.count("\n", 0, at) + 1
        if path.endswith(".md"):
            for m in re.finditer(r"^#+ [^\n]*|^```.*?^```|`[^`\n]+`", source, re.MULTILINE | re.DOTALL):
                found += [(line_of(m.start() + w.start()), w[1]) for w in word.finditer(m[0])]
        else:
            code = PIECES.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), source)
            found += [(line_of(m.start()), m[1]) for m in word.finditer(code)]
            for m in PIECES.finditer(source):
                for quoted in re.finditer(r"`[^`\n]+`", m[1] or ""):
                    found += [(line_of(m.start()), w) for w in word.findall(quoted[0])]
            found += [(n, w) for n, text in first_sentences(source) for w in word.findall(text.partition(". ")[0])]
            if path.startswith("include/"):
                found += [(line_of(m.start()), m[1]) for m in kind.finditer(source)]
        breaches += [f"{path}:{n}: \"{w}\" is retired, see docs/glossary.md" for n, w in sorted(set(found))]
    return report(breaches)


# ---- layout ----------------------------------------------------------------------------------------------------------


def check_blanks():
    breaches = []
    for s in sources(".hpp", ".ipp", ".cpp", ".py", ".sh", ".cmake", ".txt", ".json", ".in", ".yml", ".md"):
        with open(os.path.join(ROOT, s), "rb") as f:
            content = f.read()
        if content and not content.endswith(b"\n"):
            breaches.append(f"{s}: does not end with a newline")
        if content.endswith(b"\n\n"):
            breaches.append(f"{s}: ends with an empty line")
        for number, line in enumerate(content.split(b"\n"), 1):
            if b"\t" in line or b"\r" in line:
                breaches.append(f"{s}:{number}: has a tab or carriage return")
            elif line.endswith(b" "):
                breaches.append(f"{s}:{number}: ends with a blank")
    return report(breaches)


def check_format(clang_format):
    try:
        version = subprocess.run([clang_format, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        print("skipped: there is no clang-format (apt-get install clang-format-14)")
        return SKIPPED
    if not re.search(r"version 14\.", version):
        print(f"skipped: layout is that of clang-format 14, here is {version.strip()}")
        return SKIPPED
    files = sources(".hpp", ".ipp", ".cpp")
    run = subprocess.run([clang_format, "--dry-run", "-Werror", *files], cwd=ROOT, capture_output=True, text=True)
    places = [line for line in run.stderr.splitlines() if "error:" in line]
    return report(places or ([run.stderr] if run.returncode else []))


# ---- headers stand alone ---------------------------------------------------------------------------------------------


def reached():
    """For each public header those that it includes, directly or not; what includes it in turn is left out.

    Definitions are left out with what they include: with GSUB_COMPILED headers do without them.
    """
    public = set(headers(".hpp"))
    direct = {h: [i for i in included(h) if i in public] for h in public}

    def reach(h):
        seen, open_ = set(), [h]
        while open_:
            for i in direct.get(open_.pop(), []):
                if i not in seen:
                    seen.add(i)
                    open_.append(i)
        return seen - {h}

    reached_by = {h: reach(h) for h in public}
    return {h: {i for i in reached_by[h] if h not in reached_by[i]} for h in public}


def costs(public):
    """How long the headers take to be read, in headers of ours: one of others, with all that it includes, is as five."""
    direct = {h: [i for i in included(h) if not i.endswith(".ipp")] for h in public}

    def cost(h):
        seen, open_ = {h}, [h]
        while open_:
            for i in direct.get(open_.pop(), []):
                if i not in seen:
                    seen.add(i)
                    open_.append(i)
        return sum(1 if i in direct else 5 for i in seen)

    return {h: cost(h) for h in public}


def classes(below, cost, count):
    """Headers by one that all of a class include, which is parsed once for them; `count` such, and None for the rest.

    Each choice is the one that saves most, by what need not be read again; to precompile takes as long as to read it
    four times.
    """
    saved = dict.fromkeys(below, 0)
    bases = []
    for _ in range(count):
        gain = {b: sum(max(0, cost[b] - saved[h]) for h in below if b in below[h]) - 4 * cost[b] for b in sorted(below)}
        base = max(gain, key=gain.get)
        if gain[base] <= 0:
            break
        bases.append(base)
        for h in below:
            if base in below[h]:
                saved[h] = max(saved[h], cost[base])
    out = {None: []}
    for h in sorted(below):
        mine = max((b for b in bases if b in below[h]), key=lambda b: (cost[b], b), default=None)
        out.setdefault(mine, []).append(h)
    return out


def chains(below, members):
    """Few lists of headers in which each header includes, directly or not, all that stand before it.

    A header stands alone if it compiles as the first of a file. It then also compiles behind headers that it includes
    itself, and fails there if it failed alone: what went before adds nothing that it does not ask for. So one file for
    a chain proves all its headers. A least number of chains comes from a greatest matching (Dilworth, Fulkerson).
    """
    above = {}  # the header that follows in a chain

    def augment(h, tried):
        for i in sorted(below[h].intersection(members)):
            if i not in tried:
                tried.add(i)
                if i not in above or augment(above[i], tried):
                    above[i] = h
                    return True
        return False

    for h in members:
        augment(h, set())
    last_of = set(above.values())
    out = []
    for h in members:
        if h in last_of:
            continue  # not the first of its chain
        chain = [h]
        while chain[-1] in above:
            chain.append(above[chain[-1]])
        out.append(chain)
    assert sorted(h for c in out for h in c) == sorted(members)
    return out


def check_alone(compiler, flags):
    """Compiles chains, those of a class behind its common header, which a precompiled one stands for."""
    command = [compiler, "-std=c++20", *flags]
    # Clang need not instantiate what a precompiled header needs once more behind it, and reads of it what it needs.
    clang = "clang" in subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    precompiling = ["-x", "c++-header", *(["-fpch-instantiate-templates"] if clang else [])]

    def compile_behind(base, source, lines, how):
        with open(source, "w", encoding="utf-8") as f:
            f.writelines(lines)
        behind = [] if not base else ["-include-pch", base + ".gch"] if clang else ["-include", base]
        run = subprocess.run([*command, *how, *behind, source], capture_output=True, text=True)
        if run.returncode == 0:
            return []
        return [line for line in run.stderr.splitlines() if "error:" in line][:3] or run.stderr.splitlines()[:3]

    below = reached()
    by_base = classes(below, costs(below), 14)
    with tempfile.TemporaryDirectory(prefix="gsub_alone_") as folder, \
            concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:

        def precompile(base):
            text = os.path.join(folder, re.sub(r"\W", "_", base) + ".hpp")
            return text, compile_behind(None, text, [f"#include <{base}>\n"], [*precompiling, "-o", text + ".gch"])

        def compile_chain(text, chain, number):
            source = os.path.join(folder, f"chain_{number}.cpp")
            errors = compile_behind(text, source, [f"#include <{h}>\n" for h in chain], ["-fsyntax-only"])
            return [f"{' then '.join(chain)}: does not compile alone\n    " + "\n    ".join(errors)] if errors else []

        bases = [b for b in by_base if b]
        texts = {None: None}
        breaches = []
        for base, (text, errors) in zip(bases, pool.map(precompile, bases)):
            texts[base] = text
            if errors:
                breaches.append(f"{base}: cannot be precompiled\n    " + "\n    ".join(errors))
        if breaches:
            return report(breaches)
        jobs = [(texts[base], chain) for base, members in by_base.items() for chain in chains(below, members)]
        print(f"{len(below)} headers in {len(jobs)} chains, {len(bases)} headers precompiled")
        found = pool.map(compile_chain, *zip(*jobs), range(len(jobs)))
        return report([b for breaches in found for b in breaches])


def main(arguments):
    if arguments == ["includes"]:
        return check_includes()
    if arguments in (["lists"], ["lists", "--write"]):
        return check_lists(arguments[1:] == ["--write"])
    if arguments in (["table"], ["table", "--write"]):
        return check_table(arguments[1:] == ["--write"])
    if arguments == ["mirror"]:
        return check_mirror()
    if arguments == ["decisions"]:
        return check_decisions()
    if arguments == ["words"]:
        return check_words()
    if arguments == ["blanks"]:
        return check_blanks()
    if len(arguments) == 2 and arguments[0] == "format":
        return check_format(arguments[1])
    if len(arguments) >= 2 and arguments[0] == "alone":
        return check_alone(arguments[1], arguments[2:])
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
