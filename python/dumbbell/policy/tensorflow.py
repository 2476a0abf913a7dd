"""Checkpoints of TensorFlow (format V2), read without TensorFlow: an index in LevelDB's table format
(doc/table_format.md there), whose values are protocol buffers (BundleEntryProto of tensor_bundle.proto), and a file of
little-endian numbers.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dumbbell.errors import ScenarioError, show
from dumbbell.files import UnreadableError, read_bytes

from . import protobuf
from .protobuf import varint

if TYPE_CHECKING:
    from .network import Stored

#: Largest files that are read, bytes.
_INDEX_MAX, _DATA_MAX = 1 << 20, 1 << 28
#: Variables, bytes of a name and dimensions of a variable at most: Orca's trainer has a hundred, of 60 and two.
_ENTRIES_MAX, _NAME_MAX, _DIMENSIONS_MAX = 10_000, 256, 8
#: Length of the table's footer, and what it ends with.
_FOOTER, _MAGIC = 48, 0xDB4775248B80FB57
#: Types of numbers that are read (DataType of types.proto).
_TYPES: dict[int, np.dtype[np.floating]] = {1: np.dtype("<f4"), 2: np.dtype("<f8")}


class Checkpoint(NamedTuple):
    """Variables of floating point by name, and the SHA-256 of the file that holds them."""

    variables: dict[str, Stored]
    digest: str


class _Entry(NamedTuple):
    type: int
    shape: tuple[int, ...]
    offset: int
    size: int


def files(checkpoint: Path) -> tuple[Path, Path]:
    """Index and data of a checkpoint, which is named without an ending, or by its index."""
    stem = checkpoint.with_suffix("") if checkpoint.suffix == ".index" else checkpoint
    return stem.with_name(f"{stem.name}.index"), stem.with_name(f"{stem.name}.data-00000-of-00001")


def read(checkpoint: Path) -> Checkpoint:
    """Read a checkpoint. `checkpoint` names it without an ending, or is its index. Raises ScenarioError for what is
    none.
    """
    index_file, data_file = files(checkpoint)
    try:
        index, data = read_bytes(index_file, _INDEX_MAX), read_bytes(data_file, _DATA_MAX)
        variables = {name: _numbers(data, entry) for name, entry in _entries(index) if entry.type in _TYPES}
        return Checkpoint(variables, hashlib.sha256(data).hexdigest())
    except UnreadableError as error:
        raise ScenarioError("FILE", f"got {show(str(checkpoint))} ({error}), wanted a checkpoint's name") from None
    except (ValueError, struct.error) as error:
        raise ScenarioError("FILE", f"got {show(str(checkpoint))}, which is damaged: {error}") from None


def _numbers(data: bytes, entry: _Entry) -> Stored:
    """Numbers of a variable, where they lie: variables that overlap take no memory of their own."""
    kind = _TYPES[entry.type]
    if len(entry.shape) > _DIMENSIONS_MAX:
        raise ValueError(f"a variable of {len(entry.shape)} dimensions")
    count = math.prod(entry.shape)
    if entry.size != count * kind.itemsize or entry.offset + entry.size > len(data):
        raise ValueError("a variable lies beyond the file")
    return np.frombuffer(data, kind, count, entry.offset).reshape(entry.shape)


def _entries(index: bytes) -> Iterator[tuple[str, _Entry]]:
    footer = index[-_FOOTER:]
    if len(footer) < _FOOTER or struct.unpack("<Q", footer[-8:])[0] != _MAGIC:
        raise ValueError("the index does not end as one")
    at = 0
    for _ in range(2):  # where the block of other blocks is, which has nothing
        _, at = varint(footer, at)
    offset, at = varint(footer, at)
    size, _ = varint(footer, at)
    left = len(index)
    for _, handle in _block(index, offset, size):
        start, at = varint(handle, 0)
        length, _ = varint(handle, at)
        left -= length
        if left < 0:
            raise ValueError("blocks lie in each other")
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
    for _ in range(_ENTRIES_MAX):
        if at >= end:
            return
        shared, at = varint(block, at)
        more, at = varint(block, at)
        length, at = varint(block, at)
        key = key[:shared] + block[at : at + more]
        at += more
        if len(key) > _NAME_MAX or at + length > end:
            raise ValueError("a name, or what belongs to it, is too long")
        yield key, block[at : at + length]
        at += length
    raise ValueError(f"more than {_ENTRIES_MAX} variables")


def _entry(value: bytes) -> _Entry:
    said = protobuf.fields(value)
    sizes = [protobuf.fields(part) for part in protobuf.messages(protobuf.fields(protobuf.message(said, 2)), 2)]
    shape = tuple(protobuf.whole(size, 1) for size in sizes)
    return _Entry(protobuf.whole(said, 1), shape, protobuf.whole(said, 4), protobuf.whole(said, 5))
