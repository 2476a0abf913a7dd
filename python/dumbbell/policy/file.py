"""Policy files: safetensors with integer tables, and a header that says what they are (docs/policies.md).

    layer0.weight  i32 [outputs, inputs]    layer0.bias  i64 [outputs]    ...    thresholds  i64 [n]

The header is JSON under the key `dumbbell` of the file's metadata.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from dumbbell.controllers import NAME_MAX
from dumbbell.errors import ScenarioError, show
from dumbbell.files import UnreadableError, read_bytes

from .network import KINDS, WIDTH, Integers

#: Grows when what a file means changes.
VERSION = 1
#: Largest file, bytes.
_MOST = 1 << 25
#: What a network is told, oldest first.
SIGNALS = ("thr", "pacing", "loss", "acks", "dt", "delay", "metric")
HISTORY = 10
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


def read(file: Path, at: str = "--cca") -> Policy:
    """Read a policy file, given at an option `at`; raises ScenarioError for what is none, in one line."""
    try:
        return _checked(*_parts(read_bytes(file, _MOST)))
    except (UnreadableError, ValueError, msgspec.MsgspecError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ScenarioError(at, f"got {show(str(file))} ({said}), wanted a policy file (`dumbbell policy`)") from None


def _parts(data: bytes) -> tuple[Header, dict[str, np.ndarray]]:
    import json

    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(data)
    except (SafetensorError, TypeError, KeyError) as error:
        raise ValueError(str(error)) from None
    length = int.from_bytes(data[:8], "little")
    said: dict[str, Any] = json.loads(data[8 : 8 + length]).get("__metadata__", {})
    if "dumbbell" not in said:
        raise ValueError("its metadata have no key `dumbbell`")
    return msgspec.json.decode(said["dumbbell"], type=Header), arrays


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
    is_name = 0 < len(header.name.encode()) <= NAME_MAX and header.name.isprintable()
    layers, times = header.layers, (header.period_us, header.age_us)
    expected = [
        (header.version == VERSION, f"version {header.version}: wanted {VERSION}"),
        (header.base == "cubic", f"base {show(header.base)}: wanted cubic"),
        (header.signals == SIGNALS, f"signals: wanted {', '.join(SIGNALS)}"),
        (header.history == HISTORY, f"history {header.history}: wanted {HISTORY}"),
        (0 < len(layers) <= LAYERS, f"layers: wanted 1 to {LAYERS}"),
        (1 <= header.first <= 1000, "first: wanted 1 to 1000"),
        (is_name, f"name: wanted 1 to {NAME_MAX} bytes"),
        (1000 <= times[0] <= 1_000_000, "period_us: wanted 1000 to 1000000"),
        (0 <= times[1] <= 1_000_000, "age_us: wanted 0 to 1000000"),
        (all(layer.kind in KINDS for layer in layers), f"kind: wanted {' or '.join(KINDS)}"),
        (all(0 <= layer.shift <= 24 for layer in layers), "shift: wanted 0 to 24"),
        (all(0 <= layer.slope <= 1 << 16 for layer in layers), "slope: wanted 0 to 65536"),
    ]
    for holds, said in expected:
        if not holds:
            raise ValueError(said)


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
