"""State dicts as torch.save writes them, read without torch: a zip file with little-endian numbers, and a pickle that
says which tensors they are.

The pickle is not executed. Its few instructions are followed here, on texts, numbers, tuples, dictionaries and tensors;
one that names anything else is refused by that name.
"""

from __future__ import annotations

import math
import pickletools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.errors import show

from .network import WIDTH, Dense
from .zips import Zip

if TYPE_CHECKING:
    from .network import Stored

#: Largest pickle, bytes: that of an actor and its critics has 10 kB.
_PICKLE_MAX = 1 << 18
_DIMENSIONS_MAX = 8
#: Instructions that put what they hold, or a constant, on the stack.
_HOLDING = {"BINUNICODE", "SHORT_BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"}
_CONSTANTS: dict[str, Callable[[], object]] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple, "EMPTY_DICT": dict, "EMPTY_LIST": list,
}  # fmt: skip
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
#: Activations between layers by torch's names, as kind and slope below zero (torch's own default for LeakyReLU).
ACTIVATIONS = {"relu": ("leaky", 0.0), "leakyrelu": ("leaky", 0.01), "tanh": ("tanh", 1.0)}


def state_dict(data: bytes) -> dict[str, Stored]:
    """Tensors by name of a file that torch.save wrote; raises ValueError for what is none."""
    archive = Zip(data)
    pickles = [name for name in archive.names if name.rpartition("/")[2] == "data.pkl"]
    if len(pickles) != 1:
        raise ValueError("no file that torch.save writes: wanted one data.pkl in it")
    folder, left = pickles[0].removesuffix("data.pkl"), len(data)
    if f"{folder}byteorder" in archive.names and archive.read(f"{folder}byteorder", 16) != b"little":
        raise ValueError("its numbers are not little-endian")
    storages: dict[str, Stored] = {}

    def storage(said: object) -> Stored:
        nonlocal left
        match said:
            case ("storage", np.dtype() as kind, str(key), _, int(count)) if count >= 0:
                if key not in storages:
                    content = archive.read(f"{folder}data/{key}", left)
                    left -= len(content)
                    storages[key] = np.frombuffer(content, kind, len(content) // kind.itemsize)
                if len(storages[key]) >= count and storages[key].dtype == kind:
                    return storages[key][:count]
        raise ValueError("a storage lies beyond the file, or is none")

    try:
        described = _Machine(storage).follow(archive.read(pickles[0], _PICKLE_MAX))
    except (IndexError, KeyError, TypeError, AttributeError, OverflowError):  # what no pickler writes
        raise ValueError("its pickle is damaged") from None
    if not isinstance(described, dict) or not all(isinstance(tensor, np.ndarray) for tensor in described.values()):
        raise ValueError("it holds no state dict: wanted what torch.save(model.state_dict(), FILE) writes")
    return described


def _tensor(storage: Stored, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: object) -> Stored:
    """A tensor where it lies in its storage (torch._utils._rebuild_tensor_v2)."""
    if not isinstance(storage, np.ndarray) or len(size) != len(stride) or len(size) > _DIMENSIONS_MAX:
        raise ValueError("a tensor has another form")
    if not all(isinstance(number, int) and number >= 0 for number in (offset, *size, *stride)):
        raise ValueError("a tensor lies before its storage")
    last = offset + sum((count - 1) * step for count, step in zip(size, stride))
    if math.prod(size) > len(storage) or last >= len(storage) or not all(size):
        raise ValueError("a tensor lies beyond its storage, or is empty")
    steps = [step * storage.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(storage[offset:], size, steps, writeable=False)


#: What a state dict's pickle names: functions, here those that do the same, and types of storages.
_NAMED: dict[str, Any] = {
    "collections.OrderedDict": dict,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": lambda tensor, *_: tensor,
    "torch.FloatStorage": np.dtype("<f4"), "torch.DoubleStorage": np.dtype("<f8"),
    "torch.HalfStorage": np.dtype("<f2"), "torch.LongStorage": np.dtype("<i8"),
}  # fmt: skip


class _Machine:
    """The stack of a pickle."""

    def __init__(self, storage: Callable[[object], Stored]) -> None:
        self._storage = storage
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    def follow(self, data: bytes) -> object:
        """What the pickle describes."""
        for opcode, argument, _ in pickletools.genops(data):
            name = opcode.name
            if name in _HOLDING:
                self._stack.append(argument)
            elif name in _CONSTANTS:
                self._stack.append(_CONSTANTS[name]())
            elif name in _TUPLES:
                self._tuple(len(self._stack) - _TUPLES[name])
            elif name == "STOP":
                break
            elif (act := _ACTS.get(name)) is not None:
                act(self, argument)
            elif name not in ("PROTO", "FRAME"):
                raise ValueError(f"its pickle has the instruction {name}, which no state dict has")
        return self._stack.pop()

    def _tuple(self, at: int) -> None:
        self._stack[at:] = [tuple(self._since(at))]

    def _since(self, at: int) -> list[Any]:
        if at < 0:
            raise IndexError
        return self._stack[at:]

    def _marked(self) -> list[Any]:
        """What lies above the last mark, which goes."""
        at = self._marks.pop()
        above = self._since(at)
        del self._stack[at:]
        return above

    def _global(self, named: str) -> None:
        if named not in _NAMED:
            raise ValueError(f"its pickle names {show(named)}, which no state dict of float tensors does")
        self._stack.append(_NAMED[named])

    def _stack_global(self, _: object) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        self._global(f"{module}.{name}")

    def _reduce(self, _: object) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        is_known = any(function is known for known in _NAMED.values()) and callable(function)
        if not is_known or not isinstance(arguments, tuple):
            raise TypeError
        self._stack.append(function(*arguments))

    def _set(self, pairs: list[Any]) -> None:
        mapping = self._stack[-1]
        for name, value in zip(pairs[::2], pairs[1::2]):
            if not isinstance(name, str) or not isinstance(mapping, dict):
                raise TypeError
            mapping[name] = value

    def _set_one(self, _: object) -> None:
        value, name = self._stack.pop(), self._stack.pop()
        self._set([name, value])

    def _remember(self, key: int | None) -> None:
        self._memo[len(self._memo) if key is None else key] = self._stack[-1]


#: Instructions that work on the stack; BUILD would give an object attributes, of which a state dict needs none.
_ACTS: dict[str, Callable[[_Machine, Any], object]] = {
    "MARK": lambda machine, _: machine._marks.append(len(machine._stack)),
    "TUPLE": lambda machine, _: machine._stack.append(tuple(machine._marked())),
    "BINPUT": _Machine._remember, "LONG_BINPUT": _Machine._remember, "MEMOIZE": _Machine._remember,
    "BINGET": lambda machine, key: machine._stack.append(machine._memo[key]),
    "LONG_BINGET": lambda machine, key: machine._stack.append(machine._memo[key]),
    "GLOBAL": lambda machine, named: machine._global(named.replace(" ", ".")),
    "STACK_GLOBAL": _Machine._stack_global,
    "BINPERSID": lambda machine, _: machine._stack.append(machine._storage(machine._stack.pop())),
    "REDUCE": _Machine._reduce,
    "BUILD": lambda machine, _: machine._stack.pop(),
    "SETITEM": _Machine._set_one,
    "SETITEMS": lambda machine, _: machine._set(machine._marked()),
}  # fmt: skip


def sequential(named: dict[str, Stored], prefix: str, activation: tuple[str, float]) -> list[Dense]:
    """Layers `PREFIX.0`, `PREFIX.2`, ... of an nn.Sequential, each with the activation; raises ValueError for what lies
    between them.
    """
    pattern = re.compile(rf"{re.escape(prefix)}(\d+)\.(weight|bias)")
    places = {name: match for name in named if (match := pattern.fullmatch(name))}
    other = next((name for name in named if name.startswith(prefix) and name not in places), None)
    numbers = sorted({int(match[1]) for match in places.values()})
    if other or numbers != list(range(0, 2 * len(numbers), 2)):
        lies = show(other or numbers[:20])
        raise ValueError(f"{prefix or 'its layers'}: got {lies}, wanted layers 0, 2, 4, ... with activations between")
    return [dense(named, f"{prefix}{number}", activation) for number in numbers]


def dense(named: dict[str, Stored], name: str, activation: tuple[str, float] = ("leaky", 1.0)) -> Dense:
    """An nn.Linear with the activation behind it, none by default; raises ValueError where it is none."""
    weights, bias = named.get(f"{name}.weight"), named.get(f"{name}.bias")
    if weights is None or weights.ndim != 2 or (bias is not None and bias.shape != weights.shape[:1]):
        raise ValueError(f"no layer {show(name)} of weights and a bias")
    if max(weights.shape) > WIDTH:
        raise ValueError(f"layer {show(name)} has the sizes {list(weights.shape)}, wanted at most {WIDTH}")
    offsets = np.zeros(len(weights)) if bias is None else bias.astype(np.float64)
    return Dense(weights.astype(np.float64), offsets, *activation)
