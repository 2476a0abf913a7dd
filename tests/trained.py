"""Files in which other programs keep networks that they have trained: checkpoints of TensorFlow, ONNX, state dicts of
torch and models of stable-baselines3. Written here as those programs do, without them.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

INPUTS = 70
#: Layers by the name of their tensors, as torch has them: weights (outputs, inputs).
Named = dict[str, np.ndarray]


def varint(value: int) -> bytes:
    """A number of seven bits a byte."""
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(number: int, content: int | float | str | bytes) -> bytes:
    """A field of a protocol buffer."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    if isinstance(content, float):
        return varint(number << 3 | 5) + struct.pack("<f", content)
    raw = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def block(rows: list[tuple[bytes, bytes]]) -> bytes:
    """A block of LevelDB's table format, whose keys have what they share with the one before left out."""
    text, before = b"", b""
    for key, value in rows:
        shared = len([1 for a, b in zip(before, key) if a == b]) if key.startswith(before[:1]) else 0
        while not key.startswith(before[:shared]):
            shared -= 1
        text += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        before = key
    return text + struct.pack("<II", 0, 1)


def checkpoint(named: Named) -> tuple[bytes, bytes]:
    """Index and data of a checkpoint of TensorFlow with these variables (format V2)."""
    data, rows = b"", [(b"", b"\x08\x01")]
    for name, array in sorted(named.items()):
        raw = array.astype("<f4").tobytes()
        shape = b"".join(field(2, field(1, size)) for size in array.shape)
        entry = field(1, 1) + field(2, shape) + field(4, len(data)) + field(5, len(raw))
        rows.append((name.encode(), entry + b"\x35\0\0\0\0"))
        data += raw
    first = block(rows)
    second = block([(b"z", varint(0) + varint(len(first)))])
    at = len(first) + 5
    handles = varint(0) + varint(0) + varint(at) + varint(len(second))
    footer = handles.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)
    return first + b"\0" * 5 + second + b"\0" * 5 + footer, data


def write_checkpoint(stem: Path, named: Named) -> None:
    """The files of a checkpoint."""
    index, data = checkpoint(named)
    stem.with_name(f"{stem.name}.index").write_bytes(index)
    stem.with_name(f"{stem.name}.data-00000-of-00001").write_bytes(data)


def actor() -> Named:
    """Variables of an actor of Orca's trainer."""
    random = np.random.default_rng(3)
    named: Named = {"critic/dense/bias": np.zeros(1)}
    for place, norm, inputs in (("fc1", "batch_normalization", INPUTS), ("fc2", "batch_normalization_1", 24)):
        named[f"actor/{place}/kernel"] = random.normal(0, 0.2, (inputs, 24))
        named[f"actor/{place}/bias"] = random.normal(0, 0.2, 24)
        named[f"actor/{norm}/moving_mean"] = random.normal(0, 0.2, 24)
        named[f"actor/{norm}/moving_variance"] = random.uniform(0.1, 2, 24)
        named[f"actor/{norm}/beta"] = random.normal(0, 0.2, 24)
    return {**named, "actor/dense/kernel": random.normal(0, 0.5, (24, 1)), "actor/dense/bias": np.array([0.1])}


def tensor(array: np.ndarray, name: str = "", *, raw: bool = True) -> bytes:
    """A tensor of ONNX in single precision, or of whole numbers."""
    is_whole = array.dtype == np.int64
    said = b"".join(field(1, size) for size in array.shape) + field(2, 7 if is_whole else 1) + field(8, name)
    numbers = array.astype("<i8" if is_whole else "<f4").tobytes()
    return said + field(9 if raw else 4, numbers)


def node(operator: str, inputs: list[str], output: str, **attributes: int | float | bytes) -> bytes:
    """An operator of ONNX; attributes of bytes are tensors."""
    numbers = {int: 3, float: 2, bytes: 5}
    said = b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, operator)
    for name, value in attributes.items():
        said += field(5, field(1, name) + field(numbers[type(value)], value))
    return said


def onnx(nodes: list[bytes], constants: list[bytes], shape: tuple[int, ...] = (1, INPUTS), output: str = "y") -> bytes:
    """An ONNX file whose input is called x."""
    sizes = b"".join(field(1, field(1, size) if size else field(2, "batch")) for size in shape)
    given = field(1, "x") + field(2, field(1, field(1, 1) + field(2, sizes)))
    graph = b"".join(field(1, each) for each in nodes) + b"".join(field(5, each) for each in constants)
    graph += field(11, given) + field(12, field(1, output))
    return field(1, 8) + field(2, "a test") + field(7, graph) + field(8, field(2, 17))


def chain(steps: list[tuple[str, list[np.ndarray], dict[str, Any]]], **options: Any) -> bytes:
    """An ONNX file of operators one behind another, each with its constants and attributes."""
    nodes, constants, before = [], [], "x"
    for number, (operator, arrays, attributes) in enumerate(steps):
        names = [f"w{number}_{i}" for i in range(len(arrays))]
        constants += [tensor(array, name, raw=number % 2 == 0) for name, array in zip(names, arrays)]
        output = "y" if number == len(steps) - 1 else f"t{number}"
        nodes.append(node(operator, [before, *names], output, **attributes))
        before = output
    return onnx(nodes, constants, **options)


def text(words: str) -> bytes:
    """A text in a pickle."""
    return b"X" + struct.pack("<I", len(words.encode())) + words.encode()


def whole(number: int) -> bytes:
    """A number in a pickle."""
    return b"J" + struct.pack("<i", number)


def pickled(named: Named) -> bytes:
    """The pickle of a state dict, as torch.save writes it."""
    empty = b"ccollections\nOrderedDict\n)R"
    said = b"\x80\x02" + empty + b"("
    for number, (name, array) in enumerate(named.items()):
        strides = [step // array.itemsize for step in array.strides]
        storage = text("storage") + b"ctorch\nFloatStorage\n" + text(str(number)) + text("cpu") + whole(array.size)
        shape, steps = (b"(" + b"".join(map(whole, sizes)) + b"t" for sizes in (array.shape, strides))
        said += text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n((" + storage + b"tQ" + whole(0) + shape + steps
        said += b"\x89" + empty + b"tR"
    return said + b"u}" + text("_metadata") + empty + b"sb."


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """A zip file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


def state_dict(named: Named, described: bytes | None = None) -> bytes:
    """A file that torch.save wrote; `described` is another pickle in it."""
    storages = {f"archive/data/{i}": array.astype("<f4").tobytes() for i, array in enumerate(named.values())}
    return zipped({"archive/data.pkl": described or pickled(named), "archive/version": b"3\n", **storages})


def box(shape: list[int], low: str, high: str) -> dict[str, Any]:
    """A space in the settings of a model."""
    kind = "<class 'gymnasium.spaces.box.Box'>"
    return {":type:": kind, ":serialized:": "gAWV", "_shape": shape, "low": f"[{low}]", "high": f"[{high}]"}


def settings(activation: str = "", **changes: Any) -> dict[str, Any]:
    """What the JSON of a model says, as far as it matters."""
    arguments = {":type:": "<class 'dict'>", "activation_fn": f"<class 'torch.nn.modules.activation.{activation}'>"}
    said = {
        "policy_kwargs": arguments if activation else {}, "use_sde": False,
        "observation_space": box([INPUTS], "0.", "10."), "action_space": box([1], "-1.", "1."),
    }  # fmt: skip
    return said | changes


def model(named: Named, said: dict[str, Any] | None = None) -> bytes:
    """The zip file of `model.save`."""
    words = json.dumps(settings() if said is None else said).encode()
    members = {"data": words, "policy.pth": state_dict(named), "_stable_baselines3_version": b"2.2.1"}
    return zipped(members)


def layers(sizes: list[int], names: list[str], seed: int = 4) -> Named:
    """Random layers of these sizes under these names."""
    random = np.random.default_rng(seed)
    named: Named = {}
    for name, inputs, outputs in zip(names, sizes, sizes[1:]):
        named[f"{name}.weight"] = random.normal(0, 1.5 / inputs**0.5, (outputs, inputs)).astype(np.float32)
        named[f"{name}.bias"] = random.normal(0, 0.2, outputs).astype(np.float32)
    return named
