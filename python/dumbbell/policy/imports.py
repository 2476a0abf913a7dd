"""Policies of others, as policy files."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.errors import ScenarioError

from . import tensorflow
from .file import HISTORY, SIGNALS, Header, Layer, Policy
from .network import Dense, fold, integers, orca_thresholds

if TYPE_CHECKING:
    from .network import Floats

#: Of tf.layers.batch_normalization, and of tf.nn.leaky_relu.
_EPSILON, _SLOPE = 1e-3, 0.2
#: How the SHA-256 of the checkpoint's data begins that Orca's authors publish (Soheil-ab/Orca, commit cafaf9a).
AUTHORS = "0492c22b"


def orca(checkpoint: Path) -> tuple[Policy, list[str]]:
    """Orca's actor from a checkpoint of its trainer, and notes on it. Raises ScenarioError for another network."""
    named = tensorflow.variables(checkpoint)
    try:
        layers = _actor(named)
    except KeyError as error:
        known = ", ".join(sorted({name.partition("/")[0] for name in named})) or "none"
        said = f"got variables of {known}, without {error.args[0]}: wanted a checkpoint of Orca's trainer (rl-module)"
        raise ScenarioError("CHECKPOINT", said) from None
    inputs = layers[0].weights.shape[1]
    if inputs != len(SIGNALS) * HISTORY:
        raise ScenarioError("CHECKPOINT", f"got a network of {inputs} inputs, wanted {len(SIGNALS) * HISTORY}")
    whole = [integers(layer) for layer in layers]
    first, thresholds = orca_thresholds(whole[-1].shift)
    _, data = tensorflow.files(checkpoint)
    digest = hashlib.sha256(data.read_bytes()).hexdigest()
    header = Header(
        "orca",
        "CUBIC, whose window a network multiplies some thirty times a second (Abbasloo, Yen and Chao 2020)",
        [Layer(layer.shift, layer.kind, layer.slope) for layer in whole],
        first,
        licence="MIT (Soheil Abbasloo, Chen-Yu Yen 2020)",
        origin=f"checkpoint {digest}",
    )
    notes = [] if digest.startswith(AUTHORS) else ["this is not the checkpoint that Orca's authors publish"]
    return Policy(header, whole, thresholds), notes


def orca_floats(checkpoint: Path) -> list[Dense]:
    """The actor in floating point, up to its output before tanh."""
    return _actor(tensorflow.variables(checkpoint))


def _actor(named: dict[str, Floats]) -> list[Dense]:
    def array(name: str) -> Floats:
        return named[f"actor/{name}"]

    layers = []
    for place, norm in (("fc1", "batch_normalization"), ("fc2", "batch_normalization_1")):
        dense = Dense(array(f"{place}/kernel").T, array(f"{place}/bias"), slope=_SLOPE)
        moments = (array(f"{norm}/{what}") for what in ("moving_mean", "moving_variance", "beta"))
        layers.append(fold(dense, *moments, epsilon=_EPSILON))
    return [*layers, Dense(array("dense/kernel").T, array("dense/bias"))]
