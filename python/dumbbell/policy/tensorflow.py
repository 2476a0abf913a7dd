"""Checkpoints of TensorFlow (format V2), read without TensorFlow: an index in LevelDB's table format
(doc/table_format.md there), whose values are protocol buffers (BundleEntryProto of tensor_bundle.proto), and a file of
little-endian numbers.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dumbbell.errors import ScenarioError, show
from dumbbell.files import UnreadableError, read_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Largest files that are read, bytes.
_INDEX_MAX, _DATA_MAX = 1 << 20, 1 << 28
#: Length of the table's footer, and what it ends with.
_FOOTER, _MAGIC = 48, 0xDB4775248B80FB57
#: Types of numbers that are read (DataType of types.proto).
_TYPES: dict[int, np.dtype[np.floating]] = {1: np.dtype("<f4"), 2: np.dtype("<f8")}


class _Entry(NamedTuple):
    type: int
    shape: tuple[int, ...]
    offset: int
    size: int


def files(checkpoint: Path) -> tuple[Path, Path]:
    """Index and data of a checkpoint, which is named without an ending, or by its index."""
    stem = checkpoint.with_suffix("") if checkpoint.suffix == ".index" else checkpoint
    return stem.with_name(f"{stem.name}.index"), stem.with_name(f"{stem.name}.data-00000-of-00001")


def variables(checkpoint: Path) -> dict[str, NDArray[np.float64]]:
    """Variables of floating point by name. `checkpoint` names it without an ending, or is its index. Raises
    ScenarioError for what is none.
    """
    index_file, data_file = files(checkpoint)
    try:
        index, data = read_bytes(index_file, _INDEX_MAX), read_bytes(data_file, _DATA_MAX)
        return {name: _numbers(data, entry) for name, entry in _entries(index) if entry.type in _TYPES}
    except UnreadableError as error:
        raise ScenarioError(
            "CHECKPOINT", f"got {show(str(checkpoint))} ({error}), wanted a checkpoint's name"
        ) from None
    except (ValueError, IndexError, struct.error, UnicodeDecodeError) as error:
        raise ScenarioError("CHECKPOINT", f"got {show(str(checkpoint))}, which is damaged: {error}") from None


def _numbers(data: bytes, entry: _Entry) -> NDArray[np.float64]:
    kind = _TYPES[entry.type]
    count = math.prod(entry.shape)
    if entry.size != count * kind.itemsize or entry.offset + entry.size > len(data):
        raise ValueError("a variable lies beyond the file")
    numbers = np.frombuffer(data[entry.offset : entry.offset + entry.size], dtype=kind)
    return numbers.reshape(entry.shape).astype(np.float64)


def _entries(index: bytes) -> Iterator[tuple[str, _Entry]]:
    footer = index[-_FOOTER:]
    if len(footer) < _FOOTER or struct.unpack("<Q", footer[-8:])[0] != _MAGIC:
        raise ValueError("the index does not end as one")
    at = 0
    for _ in range(2):  # where the block of other blocks is, which has nothing
        _, at = _varint(footer, at)
    offset, at = _varint(footer, at)
    size, _ = _varint(footer, at)
    for _, handle in _block(index, offset, size):
        start, at = _varint(handle, 0)
        length, _ = _varint(handle, at)
        for name, value in _block(index, start, length):
            if name:
                yield name.decode(), _entry(value)


def _block(index: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a block; a key has its length in common with the one before, and the rest."""
    block, kind = index[offset : offset + size], index[offset + size : offset + size + 1]
    if len(block) < max(size, 4) or kind != b"\0":
        raise ValueError("a block is cut off, or compressed")
    end = size - 4 - 4 * struct.unpack("<I", block[-4:])[0]
    at, key = 0, b""
    while at < end:
        shared, at = _varint(block, at)
        more, at = _varint(block, at)
        length, at = _varint(block, at)
        key = key[:shared] + block[at : at + more]
        at += more
        yield key, block[at : at + length]
        at += length


def _entry(value: bytes) -> _Entry:
    fields = _fields(value)
    dimensions = [_fields(part).get(1, 0) for part in _parts(fields.get(2, b""))]
    shape = tuple(int(size) for size in dimensions if isinstance(size, int))
    place, size = (_whole(fields.get(number, 0)) for number in (4, 5))
    return _Entry(_whole(fields.get(1, 0)), shape, place, size)


def _whole(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise ValueError("a field has another type")
    return value


def _fields(message: bytes) -> dict[int, int | bytes]:
    """The last of each field of a protocol buffer."""
    return dict(_each(message))


def _parts(message: int | bytes) -> list[bytes]:
    """The messages of field 2, the dimensions of a shape."""
    if not isinstance(message, bytes):
        raise ValueError("a shape has another type")
    return [value for number, value in _each(message) if number == 2 and isinstance(value, bytes)]


def _each(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            whole, at = _varint(message, at)
            yield number, whole
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        elif wire == 2:
            length, at = _varint(message, at)
            yield number, message[at : at + length]
            at += length
        else:
            raise ValueError(f"a field of wire type {wire}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and where it ends."""
    value = 0
    for shift in range(0, 64, 7):
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("a number without an end")
