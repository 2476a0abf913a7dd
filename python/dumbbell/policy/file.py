"""Policy files: safetensors with integer tables, and a header that says what they are (docs/policies.md).

    layer0.weight  i32 [outputs, inputs]    layer0.bias  i64 [outputs]    ...    thresholds  i64 [n]

The header is JSON under the key `dumbbell` of the file's metadata.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from dumbbell import _native
from dumbbell.controllers import NAME_MAX
from dumbbell.errors import ScenarioError, printable, show
from dumbbell.files import UnreadableError, read_bytes

from .network import KINDS, WIDTH, Integers, orca_thresholds, tanh_table

#: Grows when what a file means changes.
VERSION = 1
#: Largest file and largest header in it, bytes: eight layers have 5 MB and 1 kB.
_MOST, _HEADER_MAX = 1 << 23, 1 << 16
#: Longest text of a header, letters.
_TEXT_MAX = 500
#: Longest error, letters.
_LINE_MAX = 300
#: What a network is told, oldest first.
SIGNALS = ("thr", "pacing", "loss", "acks", "dt", "delay", "metric")
HISTORY = 10
#: What a controller may be called.
NAMES = f"1 to {NAME_MAX} letters, digits, - or _"
#: Layers at most: their outputs lie in two rows of memory.
LAYERS = 8


class Layer(msgspec.Struct, forbid_unknown_fields=True):
    """A layer in the header: bits after the point of its weights, its activation, and the slope below zero, 1/65536."""

    shift: int
    kind: str = "leaky"
    slope: int = 0


class Header(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a policy file says of itself."""

    name: str
    """Of the controller."""
    summary: str
    layers: list[Layer]
    first: int
    """The percentage of the window below the first threshold; each threshold adds one."""
    version: int = VERSION
    base: str = "cubic"
    """The controller whose window it multiplies."""
    signals: tuple[str, ...] = SIGNALS
    history: int = HISTORY
    period_us: int = 31_000
    age_us: int = 10_000
    grow_percent: int = 110
    """What the window becomes every 2 ms until slow start has ended once, percent of the one before."""
    licence: str = ""
    origin: str = ""
    """Where it comes from: of an import the digests of its files, of training the recipe's."""


class Policy(msgspec.Struct):
    """A policy: its header, its layers, and the sums from which each further percentage is taken."""

    header: Header
    layers: list[Integers]
    thresholds: np.ndarray

    @property
    def digest(self) -> str:
        """SHA-256 of what decides, whatever the file is called."""
        parts = [msgspec.json.encode(self.header), self.thresholds.tobytes()]
        parts += [array.tobytes() for layer in self.layers for array in (layer.weights, layer.bias)]
        return hashlib.sha256(b"".join(parts)).hexdigest()


def write(policy: Policy, file: Path) -> None:
    """Write a policy file."""
    file.write_bytes(encoded(policy))


def encoded(policy: Policy) -> bytes:
    """Content of a policy file, the same for the same policy."""
    from safetensors.numpy import save

    arrays = {"thresholds": policy.thresholds}
    for number, layer in enumerate(policy.layers):
        arrays[f"layer{number}.weight"] = layer.weights
        arrays[f"layer{number}.bias"] = layer.bias
    return save(arrays, {"dumbbell": msgspec.json.encode(policy.header).decode()})


def native(layers: list[Integers]) -> _native.Policy:
    """The network for the engine, which answers as Orca's does."""
    first, thresholds = orca_thresholds(layers[-1].shift)
    tables = [
        (layer.weights.ravel().tolist(), layer.bias.tolist(), layer.shift, layer.kind, layer.slope) for layer in layers
    ]
    return _native.Policy(tables, tanh_table().tolist(), thresholds.tolist(), first)


def read(file: Path, at: str = "--cca") -> Policy:
    """Read a policy file, given at an option `at`; raises ScenarioError for what is none, in one line."""
    try:
        arrays, said = parts(read_bytes(file, _MOST))
        if said is None:
            raise ValueError("its metadata have no key `dumbbell`")
        return _checked(msgspec.json.decode(said, type=Header), arrays)
    except (UnreadableError, ValueError, msgspec.MsgspecError) as error:
        raise ScenarioError(
            at, f"got {show(str(file))} ({line(error)}), wanted a policy file (`dumbbell policy`)"
        ) from None


def line(error: Exception) -> str:
    """What an error says, in one line of bounded length: a library's may quote the file."""
    return printable((str(error).splitlines() or [type(error).__name__])[0], _LINE_MAX)


def parts(data: bytes) -> tuple[dict[str, np.ndarray], str | None]:
    """Arrays of a safetensors file, and what its metadata say under `dumbbell`; raises ValueError for what is none."""
    import json

    from safetensors import SafetensorError
    from safetensors.numpy import load

    length = int.from_bytes(data[:8], "little")
    if length > _HEADER_MAX:
        raise ValueError(f"a header of {length} bytes, wanted at most {_HEADER_MAX}")
    try:
        arrays = load(data)
    except (SafetensorError, TypeError, KeyError) as error:
        raise ValueError(str(error)) from None
    metadata: dict[str, Any] = json.loads(data[8 : 8 + length]).get("__metadata__") or {}
    return arrays, metadata.get("dumbbell")


def _checked(header: Header, arrays: dict[str, np.ndarray]) -> Policy:
    _check_header(header)
    layers, inputs = [], len(SIGNALS) * HISTORY
    for number, said in enumerate(header.layers):
        outputs = 1 if number == len(header.layers) - 1 else None
        weights = _array(arrays, f"layer{number}.weight", np.int32, (outputs, inputs))
        bias = _array(arrays, f"layer{number}.bias", np.int64, (len(weights),))
        if np.abs(bias.astype(float)).max() >= 2.0 ** (31 + said.shift):
            raise ValueError(f"layer{number}.bias has numbers that do not fit")
        layers.append(Integers(weights, bias, said.shift, said.kind, said.slope))
        inputs = len(weights)
    thresholds = _array(arrays, "thresholds", np.int64, (None,))
    if (np.diff(thresholds) < 0).any():
        raise ValueError("thresholds do not ascend")
    return Policy(header, layers, thresholds)


def _check_header(header: Header) -> None:
    layers, times = header.layers, (header.period_us, header.age_us)
    texts = (header.summary, header.licence, header.origin)
    expected = [
        (header.version == VERSION, f"version {header.version}: wanted {VERSION}"),
        (header.base == "cubic", f"base {show(header.base)}: wanted cubic"),
        (header.signals == SIGNALS, f"signals: wanted {', '.join(SIGNALS)}"),
        (header.history == HISTORY, f"history {header.history}: wanted {HISTORY}"),
        (0 < len(layers) <= LAYERS, f"layers: wanted 1 to {LAYERS}"),
        (1 <= header.first <= 1000, "first: wanted 1 to 1000"),
        (is_name(header.name), f"name: wanted {NAMES}"),
        (all(map(_is_plain, texts)), f"summary, licence, origin: wanted a line of {_TEXT_MAX} letters without */"),
        (1000 <= times[0] <= 1_000_000, "period_us: wanted 1000 to 1000000"),
        (0 <= times[1] <= 1_000_000, "age_us: wanted 0 to 1000000"),
        (100 <= header.grow_percent <= 400, "grow_percent: wanted 100 to 400"),
        (all(layer.kind in KINDS for layer in layers), f"kind: wanted {' or '.join(KINDS)}"),
        (all(0 <= layer.shift <= 24 for layer in layers), "shift: wanted 0 to 24"),
        (all(0 <= layer.slope <= 1 << 16 for layer in layers), "slope: wanted 0 to 65536"),
    ]
    for holds, said in expected:
        if not holds:
            raise ValueError(said)


def is_name(text: str) -> bool:
    """True for a name that a controller can have in C and in the kernel."""
    return re.fullmatch(rf"[A-Za-z0-9_-]{{1,{NAME_MAX}}}", text) is not None


def _is_plain(text: str) -> bool:
    """True for a line that may stand in a comment of the C file."""
    return len(text) <= _TEXT_MAX and text.isprintable() and "*/" not in text


def _array(arrays: dict[str, np.ndarray], name: str, kind: Any, shape: tuple[int | None, ...]) -> np.ndarray:
    """An array of the file with this type and these sizes, any where None."""
    array = arrays.get(name)
    if array is None or array.dtype != kind or array.ndim != len(shape):
        raise ValueError(f"{name}: missing, or of another type")
    fits = all(size is None or size == given for size, given in zip(shape, array.shape))
    if not fits or not all(0 < size <= max(WIDTH, 1000) for size in array.shape):
        raise ValueError(f"{name}: has the sizes {list(array.shape)}")
    if len(shape) == 2 and array.shape[0] > WIDTH:
        raise ValueError(f"{name}: more than {WIDTH} outputs")
    return array
