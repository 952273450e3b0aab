"""Rows A1 to A4, A7 and A17: bytes that are no model, weights that are not what they claim, and weights in other files."""
import os
import random

import numpy as np

from support import (BOOL, F32, I32, I64, I8, INVALID, UNSUPPORTED, Case, Model, accepted, either, field, model, node, refused, tensor,
                     unsupported, untyped, value, varint)

ENVIRONMENT = 5
X = np.arange(4, dtype=np.float32)
SECRET = b"canary: a file that is none of the model's\n" * 32


def plain(*weights, outputs=("y",), nodes=None):
    """y = x + w."""
    return model(nodes or [node("Add", "x w", "y")], ["x"], outputs, weights)


def bytes_cases():
    good = plain(tensor("w", [4], F32, raw=X.tobytes())).SerializeToString()
    rng = random.Random(7)
    yield Case("A01_empty_file", b"", refused("is empty"))
    yield Case("A01_zeros_1mb", lambda _: bytes(1 << 20), refused("no field at byte 0"))
    yield Case("A01_random_bytes", lambda _: rng.randbytes(1 << 16), refused("model.onnx"))
    yield Case("A01_text", b"this is no model, whatever its name says\n" * 100, refused("model.onnx"))
    yield Case("A01_json", b'{"irVersion": "8", "graph": {"node": []}}', refused("model.onnx"))
    yield Case("A01_zip", b"PK\x03\x04" + bytes(4096), refused("model.onnx"))
    yield Case("A01_elf", b"\x7fELF\x02\x01\x01" + bytes(4096), refused("model.onnx"))
    yield Case("A01_ones", lambda _: b"\xff" * (1 << 20), refused("malformed protobuf"))
    yield Case("A01_huge_length", varint(7 << 3 | 2) + varint(1 << 62), refused(f"{1 << 62} bytes"))
    yield Case("A01_huge_length_of_all_bits", varint(7 << 3 | 2) + varint(2**64 - 1), refused("malformed protobuf"))
    yield Case("A01_huge_length_of_raw_data", field(7, field(5, varint(9 << 3 | 2) + varint(1 << 40))), refused("malformed protobuf"))
    yield Case("A01_no_graph", field(1, 8), refused("it has no graph"))
    yield Case("A01_empty_graph", field(1, 8) + field(8, field(2, 17)) + field(7, b""), accepted())
    yield Case("A01_missing_file", Model(lambda folder: None), refused("model.onnx", ENVIRONMENT))
    yield Case("A01_folder", Model(lambda folder: os.mkdir(folder / "model.onnx")), refused("model.onnx", (INVALID, ENVIRONMENT)))
    yield Case("A01_fifo", Model(lambda folder: os.mkfifo(folder / "model.onnx")), refused("model.onnx", (INVALID, ENVIRONMENT)))
    yield Case("A01_device", Model(lambda folder: os.symlink("/dev/zero", folder / "model.onnx")),
               refused("model.onnx", (INVALID, ENVIRONMENT)))
    for left, name in ((1, "last_byte"), (len(good) // 2, "half"), (len(good) - 3, "all_but_three_bytes")):
        yield Case(f"A02_cut_off_{name}", good[:-left], refused("malformed protobuf"))
    yield Case("A03_bytes_flipped", bytes(b ^ (0x40 if i % 37 == 5 else 0) for i, b in enumerate(good)), refused("model.onnx"))
    yield Case("A03_graph_twice", good + good, refused('"w"'))
    yield Case("A03_node_of_another_wire_type", field(1, 8) + field(8, field(2, 17)) + field(7, field(1, 5)), accepted())
    yield Case("A04_varint_of_11_bytes", b"\x08" + b"\x80" * 10 + b"\x01" + good, refused("no number at byte 1"))
    yield Case("A04_overlong_numbers", Model(b"\x88\x80\x00\x88\x80\x80\x00" + good, {"x": X}), accepted(X + X))
    yield Case("A04_length_beyond_parent", field(7, varint(1 << 3 | 2) + varint(100) + b"\x0a\x01x") + good, refused("malformed protobuf"))
    yield Case("A04_unknown_fields", Model(field(999, b"text") + field(1000, 5) + varint(77 << 3 | 5) + b"1234" + good, {"x": X}),
               accepted(X + X))
    yield Case("A04_group", varint(99 << 3 | 3) + varint(99 << 3 | 4) + good, refused("wire type 3"))
    yield Case("A04_end_without_group", varint(99 << 3 | 4) + good, refused("wire type 4"))
    yield Case("A04_wire_type_7", b"\x0f" + good, refused("wire type 7"))
    yield Case("A04_field_0", b"\x00\x01" + good, refused("no field at byte 0"))
    yield Case("A04_groups_1e6", lambda _: varint(99 << 3 | 3) * 10**6 + varint(99 << 3 | 4) * 10**6, refused("wire type 3"))


def payload_cases():
    raw = X.tobytes()

    def case(name, verdict, *arguments, **parts):
        return Case(f"A07_{name}", plain(tensor("w", *arguments, **parts)), verdict)

    yield case("raw_short", refused("15 bytes of elements"), [4], F32, raw=raw[:-1])
    yield case("raw_long", refused("17 bytes of elements"), [4], F32, raw=raw + b"\0")
    yield case("raw_empty", refused("0 bytes of elements"), [4], F32, raw=b"")
    yield case("raw_and_typed", refused("more than one way"), [4], F32, raw=raw, float_data=X)
    yield case("nothing", refused("0 elements for dimensions"), [4], F32)
    yield case("typed_short", refused("3 elements for dimensions"), [4], F32, float_data=X[1:])
    yield case("typed_long", refused("5 elements for dimensions"), [4], F32, float_data=[*X, 1])
    yield case("typed_in_another_field", refused("field 7"), [4], F32, int64_data=[1, 2, 3, 4])
    yield case("typed_in_two_fields", refused("elements for dimensions"), [4], F32, float_data=X, int64_data=[1, 2, 3, 4])
    yield case("type_says_i64_and_bytes_are_f32", refused("16 bytes of elements"), [4], I64, raw=raw)
    yield case("type_0", refused('"w"', (INVALID, UNSUPPORTED)), [4], 0, raw=raw)
    yield case("type_99", refused('"w"', (INVALID, UNSUPPORTED)), [4], 99, raw=raw)
    yield case("type_of_another_operand", refused("Add", (INVALID, UNSUPPORTED)), [4], I32, raw=raw)
    yield case("raw_of_64_gib", unsupported("limit"), [1 << 34, 1 << 20], F32, raw=raw)
    yield case("int8_beyond_its_range", refused("Add", (INVALID, UNSUPPORTED)), [4], I8, int32_data=[1, 2, 3, 400])
    disagree = tensor("w", [4], F32, raw=raw)
    inputs = lambda declared: model([node("Add", "x w", "y")], ["x", declared], ["y"], [disagree])
    yield Case("A07_default_of_an_input", Model(inputs(value("w", [4])), {"x": X}), accepted(X + X))
    yield Case("A07_default_of_another_type_than_its_input", inputs(value("w", [4], I64)), refused("w"))
    yield Case("A07_default_of_another_shape_than_its_input", inputs(value("w", [5])), refused("w"))
    yield Case("A07_default_of_another_rank_than_its_input", inputs(value("w", [2, 2])), refused("w"))
    truth = tensor("c", [4], BOOL, raw=bytes([0, 1, 2, 255]))
    yield Case("A07_bytes_of_bool_beyond_1", Model(model([node("Where", "c x x0", "y")], ["x", "x0"], ["y"], [truth]), {"x": X, "x0": -X}),
               accepted(np.array([0, 1, 2, 3], np.float32)))
    constant = lambda t: plain(nodes=[node("Constant", "", "w", value=t), node("Add", "x w", "y")])
    yield Case("A07_constant_short", constant(tensor("", [4], F32, raw=raw[:8])), refused("Constant"))
    yield Case("A07_constant_without_value", plain(nodes=[node("Constant", "", "w"), node("Add", "x w", "y")]), refused("Constant"))
    segment = tensor("w", [4], F32, raw=raw)
    segment.segment.begin, segment.segment.end = 0, 1 << 40
    yield Case("A07_segment", plain(segment), either)
    sparse = plain()
    sparse.graph.sparse_initializer.add(dims=[1 << 62])
    yield Case("A07_sparse_initializer", sparse, unsupported("sparse"))


def external_cases():
    good = np.arange(1, 5, dtype=np.float32)

    def case(name, verdict, entries, prepare=lambda folder: None, inside=b"", **options):
        weight = tensor("w", [4], F32, external=entries, **options)

        def make(folder):
            (folder.parent / "canary.bin").write_bytes(SECRET)
            (folder / "weights.bin").write_bytes(bytes(16) + good.tobytes() + bytes(16))
            prepare(folder)
            return plain(weight)

        return Case(f"A17_external_data_{name}", Model(make, {"x": X}), verdict)

    at = lambda location, **more: {"location": location, "offset": 16, "length": 16, **more}
    canary = "canary.bin"
    no = refused('"w"', (INVALID, UNSUPPORTED, ENVIRONMENT))
    yield case("beside_the_model", accepted(X + good), at("weights.bin"))
    yield case("in_a_folder_below", accepted(X + good), at("sub/weights.bin"),
               lambda f: (os.mkdir(f / "sub"), os.rename(f / "weights.bin", f / "sub/weights.bin")))
    yield case("unknown_keys", accepted(X + good), at("weights.bin", checksum="0", __class__="os", tensor="x"))
    yield case("odd_offset", refused('"w"'), {"location": "weights.bin", "offset": 33, "length": 16})
    yield case("odd_offset_within", accepted(X + np.frombuffer(b"\0" * 15 + good.tobytes()[:1], np.float32)),
               {"location": "weights.bin", "offset": 1, "length": 16})
    for name, location in (("parent", f"../{canary}"), ("parent_of_a_folder", f"a/../../{canary}"), ("absolute", "/etc/passwd"),
                           ("dot_dot", ".."), ("dot", "."), ("empty", ""), ("backslashes", f"..\\{canary}"), ("url", "file:///etc/passwd"),
                           ("home", "~/.profile"), ("missing", "nothing.bin"), ("device", "/dev/zero"), ("process", "/proc/self/environ"),
                           ("address_in_memory", "*/_ORT_MEM_ADDR_/*"), ("long_name", "w" * 70000), ("control_characters", "weights.bin\n\x1b")):
        yield case(name, no, at(location))
    yield case("name_with_nul", no, at("weights.bin\0.txt"))
    yield case("symlink", no, at("link.bin"), lambda f: os.symlink(f"../{canary}", f / "link.bin"))
    yield case("symlink_to_weights", no, at("link.bin"), lambda f: os.symlink("weights.bin", f / "link.bin"))
    yield case("symlink_parent", no, at(f"sub/{canary}"), lambda f: os.symlink("..", f / "sub"))
    yield case("hardlink", no, at("hard.bin"), lambda f: os.link(f.parent / canary, f / "hard.bin"))
    yield case("fifo", no, at("pipe"), lambda f: os.mkfifo(f / "pipe"))
    yield case("folder", no, at("sub"), lambda f: os.mkdir(f / "sub"))
    yield case("symlink_to_device", no, at("zero"), lambda f: os.symlink("/dev/zero", f / "zero"))
    yield case("no_location", no, {"offset": 16, "length": 16})
    for name, offset, length in (("negative_offset", -16, 16), ("negative_length", 16, -16), ("offset_past_end", 1 << 40, 16),
                                 ("offset_overflow", 2**64 - 8, 16), ("offset_beyond_64_bits", 2**70, 16), ("short_length", 16, 15),
                                 ("huge_length", 16, 1 << 62), ("length_past_end", 40, 16), ("offset_that_is_no_number", "0x10", 16),
                                 ("offset_with_blank", " 16", 16)):
        yield case(name, refused("external data" if name not in ("short_length", "huge_length") else '"w"'),
                   {"location": "weights.bin", "offset": offset, "length": length})
    yield case("and_raw", refused("more than one way"), at("weights.bin"), raw=good.tobytes())

    def grown(folder):
        with open(folder / "weights.bin", "wb") as f:
            f.truncate(1 << 40)

    yield case("sparse_file_of_1_tib", accepted(X), at("weights.bin"), grown)
    inner = tensor("", [4], F32, external=at(f"../{canary}"))
    yield Case("A17_external_data_of_a_constant", plain(nodes=[node("Constant", "", "w", value=inner), node("Add", "x w", "y")]),
               refused("w", (INVALID, UNSUPPORTED, ENVIRONMENT)))


def cases():
    yield from bytes_cases()
    yield from payload_cases()
    yield from external_cases()
