"""Networks of dense layers, as they are trained (floating point) and as controllers have them (integers; the head of
cca/orca/network.h says in which units).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    #: Numbers of a file as it has them, in one or another precision.
    Stored = NDArray[np.floating]

#: Bits after the point of an activation.
ACTIVATION_BITS = 16
#: A weight has at most 31 bits beside its sign, and at most this many after the point.
_WEIGHT_BITS, _SHIFT_MAX = 30, 24
#: Kinds of activation, by their number in cca/orca/network.h; `linear` is leaky with a slope of 1.
KINDS = {"leaky": 0, "tanh": 1}
#: Of the table of tanh, from 0 to 8: steps, and bits of a step.
_TANH_STEPS, _TANH_SHIFT = 1024, ACTIVATION_BITS + 3 - 10
#: Most that a layer has of inputs and outputs.
WIDTH = 256


class Dense(NamedTuple):
    """A layer: ``activation(weights @ x + bias)``; weights are (outputs, inputs)."""

    weights: Floats
    bias: Floats
    kind: str = "leaky"
    slope: float = 1.0
    """Of what is below zero, of a leaky one: 0 is ReLU, 1 linear."""

    def __call__(self, x: Floats) -> Floats:
        """Output for rows of inputs."""
        y: Floats = x @ self.weights.T + self.bias
        return np.tanh(y) if self.kind == "tanh" else np.where(y < 0, self.slope * y, y)


class Integers(NamedTuple):
    """The same in integers: weights in 1/2^shift, bias in 1/2^(16 + shift), the slope in 1/2^16."""

    weights: NDArray[np.int32]
    bias: NDArray[np.int64]
    shift: int
    kind: str
    slope: int


def fold(
    dense: Dense, mean: Floats, variance: Floats, offset: Floats, *, epsilon: float, scale: Floats | float = 1.0
) -> Dense:
    """A layer with the batch normalisation behind it taken into its weights; raises ValueError for another
    number of outputs.
    """
    if not mean.shape == variance.shape == offset.shape == dense.bias.shape:
        raise ValueError("a batch normalisation has another number of outputs than the layer before it")
    factor = scale / np.sqrt(variance + epsilon)
    return dense._replace(weights=dense.weights * factor[:, None], bias=(dense.bias - mean) * factor + offset)


def integers(dense: Dense) -> Integers:
    """A layer in integers; raises ValueError for numbers that do not fit."""
    if not (np.isfinite(dense.weights).all() and np.isfinite(dense.bias).all()):
        raise ValueError("a weight is not a number")
    largest = max(float(np.abs(dense.weights).max(initial=0.0)), 2.0**-_SHIFT_MAX)
    shift = min(_WEIGHT_BITS - math.ceil(math.log2(largest)) - 1, _SHIFT_MAX)
    if shift < 0 or float(np.abs(dense.bias).max(initial=0.0)) >= 2.0**15:
        raise ValueError(f"a weight of {largest:g}, or a bias, is beyond what integers hold")
    return Integers(
        np.ascontiguousarray(np.round(dense.weights * 2.0**shift).astype(np.int32)),
        np.round(dense.bias * 2.0 ** (shift + ACTIVATION_BITS)).astype(np.int64),
        shift,
        dense.kind,
        round(dense.slope * 2**ACTIVATION_BITS),
    )


#: From here on tanh is 1 in single precision, in which such networks are computed: 1 - tanh is below 2^-25.
_TANH_IS_ONE = math.log(2.0**26 - 1) / 2


def percentages(z: Floats, action: str = "tanh") -> NDArray[np.int64]:
    """Percentages of the window for outputs of the last layer: floor(100 x 4^a), where a is their tanh, as Orca has it,
    or they themselves clipped to [-1, 1] (`clip`).
    """
    a = np.where(z < _TANH_IS_ONE, np.tanh(z), 1.0) if action == "tanh" else np.clip(z, -1, 1)
    return np.floor(100 * 4.0**a).astype(np.int64)


def orca_thresholds(shift: int, action: str = "tanh") -> tuple[int, NDArray[np.int64]]:
    """The answer below all thresholds, 25 %, and from which sum of the last layer on each one up to 400 % is taken."""
    z = [math.log(percent / 100, 4) for percent in range(26, 401)]
    if action == "tanh":
        z = [*(math.atanh(a) for a in z[:-1]), _TANH_IS_ONE]
    return 25, np.ceil(np.array(z) * 2.0 ** (shift + ACTIVATION_BITS)).astype(np.int64)


def tanh_table() -> NDArray[np.int32]:
    """Values of tanh from 0 to 8 in 1024 steps, and one behind, in 1/2^16."""
    steps = np.arange(_TANH_STEPS + 2) * 8 / _TANH_STEPS
    table: NDArray[np.int32] = np.round(np.tanh(steps) * 2**ACTIVATION_BITS).astype(np.int32)
    return table


def run(layers: list[Integers], x: NDArray[np.int64]) -> int:
    """Sum of the last layer's output for inputs in 1/2^16, in the arithmetic of cca/orca/network.h."""
    table = tanh_table().astype(np.int64)
    for layer in layers[:-1]:
        sums = (layer.weights.astype(np.int64) @ x + layer.bias) >> layer.shift
        if layer.kind == "tanh":
            size = np.abs(sums)
            step = np.minimum(size >> _TANH_SHIFT, _TANH_STEPS)
            part = np.where(step < _TANH_STEPS, size & ((1 << _TANH_SHIFT) - 1), 0)
            x = np.sign(sums) * (table[step] + (((table[step + 1] - table[step]) * part) >> _TANH_SHIFT))
        else:
            x = np.where(sums < 0, (sums * layer.slope) >> ACTIVATION_BITS, sums)
            x = np.clip(x, -(2**31 - 1), 2**31 - 1)
    return int(layers[-1].weights[0].astype(np.int64) @ x + layers[-1].bias[0])
