"""Protobuf messages as lists of fields: wire.parse(data, DESCRIPTOR), to be changed and written again."""
import dataclasses

from support import varint


@dataclasses.dataclass
class Field:
    number: int
    wire: int
    value: object  # a number, bytes, or for a message the list of its fields: each a Field, or bytes to be written as they are


def parse(data, descriptor):
    """The fields of a well-formed message, those of messages in it too."""
    fields, at = [], 0

    def number():
        nonlocal at
        out = shift = 0
        while True:
            byte = data[at]
            at += 1
            out |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return out

    while at < len(data):
        tag = number()
        known = descriptor.fields_by_number.get(tag >> 3)
        if tag & 7 == 0:
            fields.append(Field(tag >> 3, 0, number()))
            continue
        size = {1: 8, 5: 4}.get(tag & 7) or number()
        text, at = data[at:at + size], at + size
        is_message = tag & 7 == 2 and known and known.message_type
        fields.append(Field(tag >> 3, tag & 7, parse(text, known.message_type) if is_message else text))
    return fields


def lists(fields):
    """The lists of fields that are not empty, in a message and in all messages in it."""
    found = [fields]
    for some in found:
        found += [f.value for f in some if isinstance(f.value, list) and f.value]
    return found


def content(field):
    return written(field.value) if isinstance(field.value, list) else field.value


def body(field):
    """What stands behind the tag."""
    if field.wire == 0:
        return varint(field.value)
    return (varint(len(content(field))) if field.wire == 2 else b"") + content(field)


def written(fields):
    return b"".join(f if isinstance(f, bytes) else varint(f.number << 3 | f.wire) + body(f) for f in fields)
