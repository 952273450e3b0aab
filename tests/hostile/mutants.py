"""Mutants of small models through a fuzz target of ASan and UBSan: mutants.py FUZZ_MODEL_RUNS SCRATCH [--count N] [--seed N]

Each mutant is one of ten models of mutant_seeds.py with a change of one kind of rows A2 to A12 of docs/threat-model.md, the same in
every run with the same seed. The program reads them in batches, within a process; where it dies, the mutant at which it does so is
kept in SCRATCH/found with what the program said, and the rest of the batch goes on. Exit 1 where any is kept.
"""
import argparse
import collections
import copy
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import time

import google.protobuf.message
import onnx

import mutant_seeds
import wire

BATCH = 500
SECONDS = 20  # for one mutant
SIZES = (0, 1, -1, 2, 3, 7, 64, 127, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, -2**63)
REALS = (0.0, -0.0, 1.0, -1.0, 1e-45, 1e30, 3.4e38, float("inf"), float("-inf"), float("nan"))
TEXTS = ("", "x", "y", " ", "\n", "\"; */ // \\", "$(touch PWNED)", "%s%n", "int", "a\u0000b", "\u00e9", "SAME_UPPER", "linear",
         "bij,bjk->bik", "n" * 7000)
FORMS = {onnx.TensorProto.FLOAT: ("<f", REALS), onnx.TensorProto.DOUBLE: ("<d", REALS), onnx.TensorProto.INT64: ("<q", SIZES),
         onnx.TensorProto.FLOAT16: ("<e", [x for x in REALS if not 1e5 < x < 1e39])}  # elements of tensors: how they are packed
NAMES = (b"\xff\xfe", *(text.encode() for text in TEXTS))
OPERATORS = sorted({s.name for s in onnx.defs.get_all_schemas() if s.domain == ""})


# ---- bytes of the file

def truncate(r, data, _):
    return data[:r.randrange(len(data))]


def bits(r, data, _):
    out = bytearray(data)
    for _ in range(r.choice((1, 1, 2, 8))):
        out[r.randrange(len(out))] ^= 1 << r.randrange(8)
    return bytes(out)


def set_bytes(r, data, _):
    out = bytearray(data)
    for _ in range(r.choice((1, 2, 4))):
        out[r.randrange(len(out))] = r.choice((0, 1, 0x7f, 0x80, 0xff, r.randrange(256)))
    return bytes(out)


def splice(r, data, other):
    begin, end = sorted(r.randrange(len(other)) for _ in range(2))
    at = r.randrange(len(data))
    return data[:at] + other[begin:end] + data[at + r.choice((0, end - begin)):]


# ---- fields of protobuf

def on_wire(change):
    def mutated(r, data, other):
        fields = wire.parse(data, onnx.ModelProto.DESCRIPTOR)
        lists = wire.lists(fields)
        change(r, r.choice(lists), lists)
        return wire.written(fields)

    return mutated


def delete(r, fields, _):
    del fields[r.randrange(len(fields))]


def repeat(r, fields, lists):
    r.choice((fields, r.choice(lists))).insert(r.randrange(len(fields) + 1), copy.deepcopy(r.choice(fields)))


def swap(r, fields, lists):
    others = r.choice((fields, r.choice(lists)))
    i, j = r.randrange(len(fields)), r.randrange(len(others))
    fields[i], others[j] = copy.deepcopy(others[j]), copy.deepcopy(fields[i])  # one may be in the other


def wire_type(r, fields, _):
    i = r.randrange(len(fields))
    f = fields[i]
    fields[i] = wire.varint(f.number << 3 | r.choice([w for w in range(8) if w != f.wire])) + wire.body(f)


def length(r, fields, _):
    some = [i for i, f in enumerate(fields) if f.wire == 2]
    if some:
        i = r.choice(some)
        text = wire.content(fields[i])
        size = r.choice((len(text) + 1, len(text) + r.randrange(100), max(len(text) - 1, 0), 2 * len(text), 2**31 - 1, 2**32, 2**63, 2**64 - 1))
        fields[i] = wire.varint(fields[i].number << 3 | 2) + wire.varint(size) + text


def overlong(r, fields, _):
    i = r.randrange(len(fields))
    longer = lambda v: wire.varint(v)[:-1] + bytes([wire.varint(v)[-1] | 0x80]) + b"\x80" * r.choice((0, 1, 3, 7, 8, 9, 20)) + b"\0"
    f = fields[i]
    tag, rest = wire.varint(f.number << 3 | f.wire), wire.body(f)
    if r.random() < 0.3:
        tag = longer(f.number << 3 | f.wire)
    elif f.wire == 0:
        rest = longer(f.value)
    elif f.wire == 2:
        rest = longer(len(wire.content(f))) + wire.content(f)
    fields[i] = tag + rest


def unknown(r, fields, _):
    number = r.choice((0, 15, 16, 99, 19000, 2**29 - 1))
    fields.insert(r.randrange(len(fields) + 1), r.choice((
        wire.varint(number << 3) + b"\x05", wire.varint(number << 3 | 2) + b"\x03abc", wire.varint(number << 3 | 5) + b"abcd",
        wire.varint(number << 3 | 1) + b"abcdefgh", wire.varint(number << 3 | 3) + wire.varint(number << 3 | 4),
        wire.varint(number << 3 | 3) * r.choice((1, 3, 200)), wire.varint(number << 3 | 4))))


# ---- what a model says

def on_model(change):
    def mutated(r, data, other):
        made = onnx.ModelProto.FromString(data)
        for _ in range(r.choice((1, 1, 1, 2, 3))):
            change(r, made)
        return made.SerializeToString()

    return mutated


def graphs_of(made):
    found = [made.graph]
    for g in found:
        found += [a.g for n in g.node for a in n.attribute if a.HasField("g")]
    return found


def all_nodes(made):
    return [n for g in graphs_of(made) for n in g.node] + [n for f in made.functions for n in f.node]


def tensors_of(made):
    return [t for g in graphs_of(made) for t in g.initializer] + [a.t for n in all_nodes(made) for a in n.attribute if a.HasField("t")]


def typed_values(made):
    return [v.type.tensor_type for g in graphs_of(made) for v in (*g.input, *g.output, *g.value_info) if v.HasField("type")]


def attributes_of(made):
    return [a for n in all_nodes(made) for a in n.attribute]


def names_in(g):
    return [o for n in g.node for o in n.output if o] + [v.name for v in g.input] + [t.name for t in g.initializer]


def dims(r, made):
    shape = r.choice(typed_values(made)).shape
    t = r.choice(tensors_of(made) or [onnx.TensorProto()])
    sizes = t.dims if r.random() < 0.5 else shape.dim
    what = r.randrange(4)
    if what == 0 and len(sizes):
        del sizes[r.randrange(len(sizes))]
    elif what == 1 or not len(sizes):
        for _ in range(r.choice((1, 1, 2, 300))):
            sizes.append(r.choice(SIZES)) if sizes is t.dims else shape.dim.add(dim_value=r.choice(SIZES))
    elif sizes is t.dims:
        sizes[r.randrange(len(sizes))] = r.choice(SIZES)
    elif what == 2:
        sizes[r.randrange(len(sizes))].dim_param = r.choice(("n", "batch", "", "a b"))
    else:
        sizes[r.randrange(len(sizes))].dim_value = r.choice(SIZES)


def raw_length(r, made):
    t = r.choice(tensors_of(made))
    raw = t.raw_data
    t.raw_data = r.choice((b"", raw[:-1], raw + b"\0", raw * 2, raw[:len(raw) // 2], raw))
    if r.random() < 0.3:
        r.choice((t.float_data, t.double_data)).extend([1.0] * r.choice((1, 4)))
    if r.random() < 0.3:
        r.choice((t.int32_data, t.int64_data, t.uint64_data)).extend([1] * r.choice((1, 4)))


def element_type(r, made):
    kind = r.choice((*range(30), 2**31 - 1, -1))
    if r.random() < 0.5:
        r.choice(tensors_of(made)).data_type = kind
    else:
        r.choice(typed_values(made)).elem_type = kind


def elements(r, made):
    t = r.choice(tensors_of(made))
    form, some = FORMS.get(t.data_type, ("<b", (0, 1, -1, 127, -128)))
    size, raw = struct.calcsize(form), bytearray(t.raw_data)
    for _ in range(r.choice((1, 1, 2, 8))):
        if len(raw) >= size:
            struct.pack_into(form, raw, r.randrange(len(raw) // size) * size, r.choice(some))
    t.raw_data = bytes(raw)


def operator(r, made):
    n = r.choice(all_nodes(made))
    if r.random() < 0.9:
        n.op_type = r.choice(OPERATORS)
    else:
        n.domain = r.choice(("", "ai.onnx", "com.microsoft", "ai.onnx.ml", "app", "nobody"))


def arity(r, made):
    n = r.choice(all_nodes(made))
    names = r.choice((n.input, n.input, n.output))
    what = r.randrange(4)
    if what == 0 and names:
        del names[r.randrange(len(names))]
    elif what == 1 and names:
        names[r.randrange(len(names))] = ""
    elif what == 2 and names:
        names.append(r.choice(names) if names is n.input else "more")
    else:
        names.extend([""] * r.choice((1, 2, 40)))


def attribute(r, made):
    all_of_it = attributes_of(made)
    what = r.randrange(6)
    a = r.choice(all_of_it) if all_of_it else onnx.AttributeProto()
    if what == 0:
        n = r.choice(all_nodes(made))
        if n.attribute:
            del n.attribute[r.randrange(len(n.attribute))]
    elif what == 1:
        r.choice(all_nodes(made)).attribute.append(a)
    elif what == 2:
        a.type = r.randrange(15)
    elif what == 3:
        schema = onnx.defs.get_schema(r.choice(OPERATORS))
        names = list(schema.attributes) or ["axis"]
        r.choice(all_nodes(made)).attribute.append(onnx.helper.make_attribute(r.choice(names), r.choice((*SIZES, 0.5, "x", [1, -1]))))
    elif a.ints:
        if what == 4:
            a.ints[r.randrange(len(a.ints))] = r.choice(SIZES)
        else:
            a.ints.extend([1] * r.choice((1, 3, 64)))
    elif a.type == onnx.AttributeProto.FLOAT:
        a.f = r.choice(REALS)
    elif a.type == onnx.AttributeProto.STRING:
        a.s = r.choice(NAMES)
    else:
        a.i = r.choice(SIZES)


def opset(r, made):
    what = r.randrange(6)
    if what == 0:
        made.opset_import.add(domain=r.choice(("", "app")), version=r.randrange(30))
    elif what == 1:
        del made.opset_import[:]
    elif what == 2 or not made.opset_import:
        made.ir_version = r.choice(SIZES)
    else:
        r.choice(made.opset_import).version = r.choice((0, -1, *range(1, 29), 1000, 2**62))


def cycle(r, made):
    g = r.choice(graphs_of(made))
    i = r.randrange(len(g.node))
    later = [o for n in g.node[i:] for o in n.output if o]
    if g.node[i].input and later:
        g.node[i].input[r.randrange(len(g.node[i].input))] = r.choice(later)


def duplicate(r, made):
    g = r.choice(graphs_of(made))
    n = r.choice(g.node)
    n.output[r.randrange(len(n.output))] = r.choice(names_in(g))


def order(r, made):
    g = r.choice(graphs_of(made))
    kept = list(g.node)
    r.shuffle(kept)
    del g.node[:]
    g.node.extend(kept)


def rewire(r, made):
    g = r.choice(graphs_of(made))
    n = r.choice(g.node)
    if n.input:
        n.input[r.randrange(len(n.input))] = r.choice(names_in(g))


def name(r, made):
    """Of one thing wherever it stands, or in one place alone."""
    g = made.graph
    old = r.choice(names_in(g))
    new = r.choice(TEXTS)
    everywhere = r.random() < 0.7
    for n in g.node:
        for names in (n.input, n.output):
            for i, x in enumerate(names):
                if x == old and (everywhere or r.random() < 0.3):
                    names[i] = new
    for v in (*g.input, *g.output, *g.initializer):
        if v.name == old and everywhere:
            v.name = new
    r.choice(g.node).name = r.choice(TEXTS)


KINDS = {"truncate": truncate, "bits": bits, "bytes": set_bytes, "splice": splice,
         **{k: on_wire(f) for k, f in {"delete": delete, "repeat": repeat, "swap": swap, "wire type": wire_type, "length": length,
                                       "overlong": overlong, "unknown": unknown}.items()},
         **{k: on_model(f) for k, f in {"dims": dims, "raw length": raw_length, "element type": element_type, "elements": elements,
                                        "operator": operator, "arity": arity, "attribute": attribute, "opset": opset, "cycle": cycle,
                                        "duplicate": duplicate, "order": order, "rewire": rewire, "name": name}.items()}}


def mutant(seed, i, models):
    """The i-th mutant of a seed: its name, its kind and its bytes."""
    r = random.Random(f"{seed} {i}")
    kinds = list(KINDS)
    kind, of = kinds[i % len(kinds)], r.choice(list(models))
    return f"{i}_{kind.replace(' ', '_')}_{of}.onnx", kind, KINDS[kind](r, models[of], models[r.choice(list(models))])


def is_protobuf(data):
    try:
        onnx.ModelProto.FromString(data)
        return True
    except google.protobuf.message.DecodeError:
        return False


def reason_of(log):
    for pattern in (r"gsub: not so: .*\n.*", r"gsub: .*contract broken.*", r"runtime error: .*", r"what\(\): .*", r"SUMMARY: .*", r"ERROR: .*"):
        if found := re.search(pattern, log):
            return found[0].replace("\n", ": ")
    return log.strip()[-200:]


def run(program, files, found, tally):
    """Gives files to the program until it has read all; those at which it dies are kept. Adds what it counts to `tally`."""
    environment = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=32:" + os.environ.get("ASAN_OPTIONS", "")}
    kept, leaks = [], 0  # leaks are looked for in the end, and only where there are some for each file, which takes twice as long
    while files:
        ended = subprocess.run([program, "-runs=1", f"-timeout={SECONDS}", "-rss_limit_mb=2048", f"-detect_leaks={leaks}",
                                f"-artifact_prefix={found}/", *files],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
        log = ended.stderr.decode(errors="replace")
        for count, what in re.findall(r"(\d+) (imported|computed|compared)", log[log.rfind("\ngsub: "):]):
            tally[what] += int(count)
        if ended.returncode == 0:
            break
        begun = re.findall(r"^Running: (.*)$", log, re.MULTILINE)
        at = len(begun) - 1
        if at < 0 or begun[at] != str(files[at]) or (leaks and f"Executed {files[-1]}" in log):
            sys.exit(f"{program} does not run: {log[-2000:]}")
        if f"Executed {files[-1]}" in log:
            leaks = 1
            continue
        said = log[log.rindex("Running: "):]
        kept.append(pathlib.Path(shutil.copy(files[at], found)))
        kept[-1].with_suffix(".log").write_text(said)
        print(f"{kept[-1]}: {reason_of(said)}", flush=True)
        files = files[at + 1:]
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    found, batch = arguments.scratch / "found", arguments.scratch / "batch"
    shutil.rmtree(arguments.scratch, ignore_errors=True)
    found.mkdir(parents=True)
    models = {n: m.SerializeToString() for n, m in mutant_seeds.seeds().items()}
    start = time.monotonic()
    batch.mkdir()
    originals = [batch / f"{n}.onnx" for n in models]
    for file, data in zip(originals, models.values()):
        file.write_bytes(data)
    tally = collections.Counter()
    kept = run(arguments.program, originals, found, tally)
    if not kept and tally["computed"] != len(models):
        sys.exit(f"of the {len(models)} models that are changed, the program computes {tally['computed']}")
    by_kind = collections.Counter()
    totals = {True: collections.Counter(), False: collections.Counter()}  # by whether protobuf parses them
    for begin in range(0, arguments.count, BATCH):
        shutil.rmtree(batch)
        batch.mkdir()
        files = {True: [], False: []}
        for i in range(begin, min(begin + BATCH, arguments.count)):
            file, kind, data = mutant(arguments.seed, i, models)
            by_kind[kind] += 1
            (batch / file).write_bytes(data)
            files[is_protobuf(data)].append(batch / file)
        for parsed, some in files.items():
            totals[parsed]["mutants"] += len(some)
            kept += run(arguments.program, some, found, totals[parsed])
    shutil.rmtree(batch)
    print(", ".join(f"{kind} {count}" for kind, count in by_kind.items()))
    for parsed, t in totals.items():
        print(f"{'parsed' if parsed else 'refused'} by protobuf: {t['mutants']}, of them imported {t['imported']}, computed {t['computed']}, "
              f"compared {t['compared']}")
    print(f"{arguments.count} mutants of seed {arguments.seed} in {time.monotonic() - start:.0f} s: {len(kept)} findings")
    sys.exit(1 if kept else 0)


if __name__ == "__main__":
    main()
