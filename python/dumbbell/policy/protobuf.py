"""Protocol buffers without their declarations: a message as its fields, by number (the wire format of protobuf.dev)."""

from __future__ import annotations

from collections.abc import Iterator

#: A field's content: of wire type 0 a whole number, of 1, 2 and 5 bytes.
Content = int | bytes
#: Fields of a message; one that is repeated has several contents.
Fields = dict[int, list[Content]]
#: Fields of a message at most, and bytes of packed whole numbers: the weights of a layer are one field of bytes.
_FIELDS_MAX, _PACKED_MAX = 1 << 16, 1 << 12


def fields(message: bytes) -> Fields:
    """Contents of each field of a message, in its order; raises ValueError for what is none."""
    by_number: Fields = {}
    for at, (number, content) in enumerate(_each(message)):
        if at == _FIELDS_MAX:
            raise ValueError(f"a message of more than {_FIELDS_MAX} fields")
        by_number.setdefault(number, []).append(content)
    return by_number


def messages(said: Fields, number: int) -> list[bytes]:
    """Contents of a field that holds messages, texts or bytes; raises ValueError for another type."""
    contents = said.get(number, [])
    if not all(isinstance(content, bytes) for content in contents):
        raise ValueError(f"field {number} has another type")
    return [content for content in contents if isinstance(content, bytes)]


def message(said: Fields, number: int) -> bytes:
    """The last content of such a field, which counts; empty where there is none."""
    return (messages(said, number) or [b""])[-1]


def text(said: Fields, number: int) -> str:
    """The same as text; raises ValueError for what is no UTF-8."""
    return message(said, number).decode()


def whole(said: Fields, number: int) -> int:
    """The last content of a field that holds a whole number, 0 where there is none; raises ValueError for another
    type.
    """
    content = said.get(number, [0])[-1]
    if not isinstance(content, int):
        raise ValueError(f"field {number} has another type")
    return content


def wholes(said: Fields, number: int) -> list[int]:
    """Contents of a field of repeated whole numbers, packed or not."""
    numbers: list[int] = []
    for content in said.get(number, []):
        if isinstance(content, int):
            numbers.append(content)
            continue
        if len(content) > _PACKED_MAX:
            raise ValueError(f"field {number} is too long")
        at = 0
        while at < len(content):
            value, at = varint(content, at)
            numbers.append(value)
    return numbers


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and where it ends."""
    value = 0
    for shift in range(0, 64, 7):
        if at >= len(data):
            raise ValueError("it ends inside a number")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("a number without an end")


def _each(message: bytes) -> Iterator[tuple[int, Content]]:
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = varint(message, at)
            yield number, value
            continue
        length = {1: 8, 5: 4}.get(wire)
        if wire == 2:
            length, at = varint(message, at)
        if length is None:
            raise ValueError(f"a field of wire type {wire}")
        if at + length > len(message):
            raise ValueError("it ends inside a field")
        yield number, message[at : at + length]
        at += length
