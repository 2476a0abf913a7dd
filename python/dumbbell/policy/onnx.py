"""Networks in ONNX files, read without the package onnx (onnx.proto of the ONNX project has the numbers of the fields).

The operators between the input and the first output (or that called `action`) must be a chain of those below; what
else a graph computes does not count. Layers without an activation between them become one.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dumbbell.errors import show

from . import protobuf
from .network import WIDTH, Dense, fold

if TYPE_CHECKING:
    from .network import Floats, Stored

    #: Reads bytes of another file: its name, from where, and how many, as the file says it.
    External = Callable[[str, int, str | None], bytes]

#: Types of numbers that are read (TensorProto.DataType).
_INT64 = 7
_TYPES: dict[int, np.dtype[Any]] = {
    1: np.dtype("<f4"),
    _INT64: np.dtype("<i8"),
    10: np.dtype("<f2"),
    11: np.dtype("<f8"),
}
#: Fields of a tensor with numbers that are not raw bytes, by type.
_TYPED = {1: 4, 11: 10}
#: At most: operators of a chain; operators, constants, inputs or outputs of a graph; inputs or attributes of an
#: operator; dimensions of a tensor.
_CHAIN_MAX, _NODES_MAX, _PARTS_MAX, _DIMENSIONS_MAX = 100, 2_000, 16, 8
#: Names that an exported policy's output has.
_OUTPUTS = ("action", "actions")


class Read(NamedTuple):
    """Layers, what comes of their output (None where the file does not say), and the input's shape without a batch."""

    layers: list[Dense]
    action: str | None
    shape: list[int] | None


class _Node(NamedTuple):
    operator: str
    inputs: list[str]
    attributes: dict[str, bytes]

    def number(self, name: str, default: float) -> float:
        """An attribute of floating point."""
        if name not in self.attributes:
            return default
        content = protobuf.message(protobuf.fields(self.attributes[name]), 2)
        if len(content) != 4:
            raise ValueError(f"{self.operator}: attribute {name} is no number")
        return float(struct.unpack("<f", content)[0])

    def whole(self, name: str, default: int) -> int:
        """An attribute that is a whole number."""
        return protobuf.whole(protobuf.fields(self.attributes[name]), 3) if name in self.attributes else default


class _Graph:
    """A graph's nodes by the name of what they compute, and its constants."""

    def __init__(self, data: bytes, external: External) -> None:
        graph = protobuf.fields(protobuf.message(protobuf.fields(data), 7))
        self._external = external
        self._constants = _by_name(graph, 5, 8)
        self._nodes: dict[str, _Node] = {}
        for content in _several(graph, 1, _NODES_MAX):
            said = protobuf.fields(content)
            for output in protobuf.messages(said, 2)[:1]:
                self._nodes[output.decode()] = _node(said)
        self.inputs = _by_name(graph, 11, 1)
        outputs = list(_by_name(graph, 12, 1))
        if not outputs:
            raise ValueError("no ONNX file, or one without an output")
        self.output = next((name for name in outputs if name in _OUTPUTS), outputs[0])

    def chain(self) -> tuple[str, list[tuple[_Node, str]]]:
        """The input, and the nodes behind it in their order, each with its input that is no constant."""
        name, nodes = self.output, list[tuple[_Node, str]]()
        while name in self._nodes:
            node = self._nodes[name]
            if node.operator not in _STEPS:
                raise ValueError(f"operator {show(node.operator)}, wanted {', '.join(sorted(_STEPS))}")
            inputs = node.inputs[:1] if _STEPS[node.operator] is _unchanged else node.inputs
            varying = [given for given in inputs if given and not self._is_constant(given)]
            if len(varying) != 1 or len(nodes) == _CHAIN_MAX:
                said = f"{len(varying)} inputs that are no constants"
                raise ValueError(f"operator {node.operator} of {said}, wanted a chain of layers")
            name = varying[0]
            nodes.append((node, name))
        if name not in self.inputs:
            raise ValueError(f"{show(name)} is computed by nothing")
        return name, nodes[::-1]

    def constant(self, name: str) -> Stored:
        """Numbers of a tensor that the file holds."""
        name = self._origin(name)
        if name in self._constants:
            return self._numbers(protobuf.fields(self._constants[name]))
        node = self._nodes[name]
        if node.operator == "Transpose":
            return self._transposed(node)
        if "value" in node.attributes:
            value = protobuf.message(protobuf.fields(node.attributes["value"]), 5)
            return self._numbers(protobuf.fields(value))
        if "value_float" in node.attributes:
            return np.array(node.number("value_float", 0.0))
        raise ValueError("operator Constant without numbers")

    def _is_constant(self, name: str) -> bool:
        name = self._origin(name)
        node = self._nodes.get(name)
        if node is not None and node.operator == "Transpose" and node.inputs:
            name = self._origin(node.inputs[0])
        return name in self._constants or (name in self._nodes and self._nodes[name].operator == "Constant")

    def _transposed(self, node: _Node) -> Stored:
        numbers = self.constant(node.inputs[0])
        order = protobuf.wholes(protobuf.fields(node.attributes.get("perm", b"")), 8)
        if numbers.ndim != 2 or order not in ([], [0, 1], [1, 0]):
            raise ValueError(f"operator Transpose of {numbers.ndim} dimensions, wanted 2")
        return numbers if order == [0, 1] else numbers.T

    def _origin(self, name: str) -> str:
        """The name of what an Identity, or one behind another, gives."""
        for _ in range(_CHAIN_MAX):
            node = self._nodes.get(name)
            if node is None or node.operator != "Identity" or len(node.inputs) != 1:
                break
            name = node.inputs[0]
        return name

    def _numbers(self, said: protobuf.Fields) -> Stored:
        kind = _TYPES.get(number := protobuf.whole(said, 2))
        if kind is None:
            raise ValueError(f"numbers of type {number}, wanted float, double or float16")
        shape = protobuf.wholes(said, 1)
        if len(shape) > _DIMENSIONS_MAX:
            raise ValueError(f"a tensor of {len(shape)} dimensions")
        if protobuf.whole(said, 14):
            told = [protobuf.fields(entry) for entry in protobuf.messages(said, 13)]
            place = {protobuf.text(entry, 1): protobuf.text(entry, 2) for entry in told}
            content = self._external(place.get("location", ""), int(place.get("offset", "0")), place.get("length"))
        else:
            content = protobuf.message(said, 9) or b"".join(protobuf.messages(said, _TYPED.get(number, 9)))
        if number == _INT64 and not content:
            content = np.array(protobuf.wholes(said, 7), dtype="<u8").tobytes()
        if len(content) != math.prod(shape) * kind.itemsize:
            raise ValueError("a tensor has another number of numbers than its shape")
        numbers: Stored = np.frombuffer(content, kind).reshape(shape)
        return numbers


def read(data: bytes, external: External) -> Read:
    """The network of an ONNX file; raises ValueError for one that is no chain of layers."""
    graph = _Graph(data, external)
    name, nodes = graph.chain()
    shape = _shape(graph.inputs[name])
    layers = _Layers(graph, math.prod(shape) if shape else 0)
    for at, (node, varying) in enumerate(nodes):
        layers.is_last = at == len(nodes) - 1
        _STEPS[node.operator](layers, node, node.inputs.index(varying))
    return Read(layers.closed(), layers.action, shape)


class _Layers:
    """Layers so far, and the one that has no activation yet."""

    def __init__(self, graph: _Graph, inputs: int) -> None:
        self.graph = graph
        self.inputs = inputs
        """As the file says; 0 where it does not."""
        self.done: list[Dense] = []
        self.open: Dense | None = None
        self.is_last = False
        """The next operator is the last one."""
        self.action: str | None = None

    def closed(self) -> list[Dense]:
        """All of them."""
        return [*self.done, *([self.open] if self.open else [])]

    def affine(self, weights: Floats, bias: Floats) -> None:
        """Multiply and add."""
        before = self.begun(weights.shape[1])
        self.open = Dense(weights @ before.weights, weights @ before.bias + bias)

    def begun(self, inputs: int | None = None) -> Dense:
        """The open layer, which takes `inputs`; one that changes nothing where there is none."""
        if self.open is not None:
            before = self.open
        else:
            size = len(self.done[-1].bias) if self.done else inputs or self.inputs
            if not 0 < size <= WIDTH:
                raise ValueError(f"a layer of {size} inputs, wanted at most {WIDTH}")
            before = Dense(np.eye(size), np.zeros(size))
        if inputs not in (None, len(before.bias)):
            raise ValueError(f"a layer of {inputs} inputs behind one of {len(before.bias)} outputs")
        return before

    def activated(self, kind: str, slope: float) -> None:
        """Close the open layer with an activation."""
        self.done.append(self.begun()._replace(kind=kind, slope=slope))
        self.open = None

    def constant(self, node: _Node, at: int, default: float | None = None) -> Floats:
        """A constant input of a node, of at most a layer's size."""
        name = node.inputs[at] if at < len(node.inputs) else ""
        if not name and default is not None:
            return np.array(default)
        numbers = self.graph.constant(name) if name else np.empty(0)
        if numbers.ndim > 2 or max(numbers.shape, default=1) > WIDTH or not numbers.size:
            shape = " x ".join(map(str, numbers.shape))
            raise ValueError(f"operator {node.operator} with numbers of {shape}, wanted 1 to {WIDTH} x {WIDTH}")
        return numbers.astype(np.float64)

    def row(self, node: _Node, at: int, size: int, default: float | None = None) -> Floats:
        """The same as one number for each output."""
        numbers = self.constant(node, at, default)
        if numbers.size not in (1, size) or numbers.shape[:-1] not in ((), (1,)):
            raise ValueError(
                f"operator {node.operator}: input {at} has the shape {list(numbers.shape)} behind {size} outputs"
            )
        return np.broadcast_to(numbers.reshape(-1), (size,))


def _gemm(layers: _Layers, node: _Node, varying: int) -> None:
    if varying != 0 or node.whole("transA", 0):
        raise ValueError("operator Gemm of another order, wanted A to be the input")
    weights = layers.constant(node, 1)
    weights = weights if node.whole("transB", 0) else weights.T
    _matrix(node, weights)
    bias = layers.row(node, 2, len(weights), 0.0)
    layers.affine(node.number("alpha", 1.0) * weights, node.number("beta", 1.0) * bias)


def _matmul(layers: _Layers, node: _Node, varying: int) -> None:
    if varying != 0:
        raise ValueError("operator MatMul of another order, wanted the weights to be the second input")
    weights = layers.constant(node, 1).T
    _matrix(node, weights)
    layers.affine(weights, np.zeros(len(weights)))


def _matrix(node: _Node, weights: Floats) -> None:
    if weights.ndim != 2:
        raise ValueError(f"operator {node.operator}: its weights have {weights.ndim} dimensions, wanted 2")


def _elementwise(layers: _Layers, node: _Node, varying: int) -> None:
    before = layers.begun()
    numbers = layers.row(node, 1 - varying, len(before.bias))
    if node.operator == "Div" and varying:
        raise ValueError("operator Div by the input")
    sign = -1.0 if node.operator == "Sub" and varying else 1.0
    match node.operator:
        case "Add":
            before = before._replace(bias=before.bias + numbers)
        case "Sub":
            before = Dense(sign * before.weights, sign * (before.bias - numbers))
        case "Mul":
            before = Dense(before.weights * numbers[:, None], before.bias * numbers)
        case _:
            before = Dense(before.weights / numbers[:, None], before.bias / numbers)
    layers.open = before


def _normalization(layers: _Layers, node: _Node, varying: int) -> None:
    if varying != 0 or node.whole("training_mode", 0):
        raise ValueError("operator BatchNormalization in training")
    before = layers.begun()
    scale, offset, mean, variance = (layers.row(node, at, len(before.bias)) for at in (1, 2, 3, 4))
    layers.open = fold(before, mean, variance, offset, epsilon=node.number("epsilon", 1e-5), scale=scale)


def _relu(layers: _Layers, node: _Node, *_: object) -> None:
    slope = node.number("alpha", 0.01) if node.operator == "LeakyRelu" else 0.0
    if not 0 <= slope <= 1:
        raise ValueError(f"operator LeakyRelu with a slope of {slope:g}, wanted 0 to 1")
    layers.activated("leaky", slope)


def _tanh(layers: _Layers, _node: _Node, *_: object) -> None:
    if layers.is_last:
        layers.action = "tanh"
    else:
        layers.activated("tanh", 1.0)


def _clip(layers: _Layers, node: _Node, *_: object) -> None:
    bounds = [
        float(layers.constant(node, at, node.number(name, math.nan)).ravel()[0])
        for at, name in ((1, "min"), (2, "max"))
    ]
    if not layers.is_last or bounds != [-1, 1]:
        raise ValueError(f"operator Clip to {bounds[0]:g} to {bounds[1]:g}, wanted it at the end, to -1 to 1")
    layers.action = "clip"


def _unchanged(layers: _Layers, node: _Node, *_: object) -> None:
    """Leave the numbers of a state as they are, in their order, whatever shape they get."""
    if node.operator == "Expand" and len(layers.begun().bias) != 1:  # one number is the same in any shape
        raise ValueError("operator Expand of several numbers")
    if node.operator == "Cast" and node.whole("to", 0) not in _TYPES.keys() - {_INT64}:
        raise ValueError("operator Cast to another type than float, double or float16")


#: What is read, by operator; the number is that of the input which is no constant.
_STEPS: dict[str, Callable[[_Layers, _Node, int], None]] = {
    "Gemm": _gemm, "MatMul": _matmul,
    "Add": _elementwise, "Sub": _elementwise, "Mul": _elementwise, "Div": _elementwise,
    "BatchNormalization": _normalization,
    "Relu": _relu, "LeakyRelu": _relu, "Tanh": _tanh, "Clip": _clip,
    "Flatten": _unchanged, "Reshape": _unchanged, "Squeeze": _unchanged, "Unsqueeze": _unchanged, "Expand": _unchanged,
    "Identity": _unchanged, "Cast": _unchanged,
}  # fmt: skip


def _node(said: protobuf.Fields) -> _Node:
    domain, operator = protobuf.text(said, 7), protobuf.text(said, 4)
    inputs = [given.decode() for given in _several(said, 1, _PARTS_MAX)]
    attributes = _by_name(said, 5, 1, _PARTS_MAX)
    return _Node(operator if domain in ("", "ai.onnx") else f"{domain}.{operator}", inputs, attributes)


def _by_name(said: protobuf.Fields, number: int, name: int, most: int = _NODES_MAX) -> dict[str, bytes]:
    """Messages of a field by their field `name`."""
    return {protobuf.text(protobuf.fields(content), name): content for content in _several(said, number, most)}


def _several(said: protobuf.Fields, number: int, most: int) -> list[bytes]:
    contents = protobuf.messages(said, number)
    if len(contents) > most:
        raise ValueError(f"{len(contents)} parts in one, wanted at most {most}")
    return contents


def _shape(told: bytes) -> list[int] | None:
    """Sizes of an input but for the first of several, the batch; None where the file does not say."""
    kind = protobuf.message(protobuf.fields(protobuf.message(protobuf.fields(told), 2)), 1)
    shape = protobuf.message(protobuf.fields(kind), 2)
    sizes = [protobuf.whole(protobuf.fields(size), 1) for size in _several(protobuf.fields(shape), 1, _PARTS_MAX)]
    sizes = sizes[1:] if len(sizes) > 1 else sizes
    return sizes if all(sizes) and sizes else None
