"""Policies of others, as policy files: which program wrote a file is told by what is in it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dumbbell.errors import ScenarioError, show
from dumbbell.files import UnreadableError, read_bytes

from . import network, onnx, sb3, tensorflow, torch
from .file import HISTORY, LAYERS, NAMES, SIGNALS, Header, Layer, Policy, is_name, line
from .network import WIDTH, Dense, fold, integers, orca_thresholds
from .zips import Zip

if TYPE_CHECKING:
    from .network import Floats, Stored

#: Largest file that is read, bytes: a model of stable-baselines3 with critics and optimizers of 256 x 256 has 5 MB.
_MOST = 1 << 25
#: Of tf.layers.batch_normalization, and of tf.nn.leaky_relu.
_EPSILON, _SLOPE = 1e-3, 0.2
#: How the SHA-256 of the checkpoint's data begins that Orca's authors publish (Soheil-ab/Orca, commit cafaf9a).
AUTHORS = "0492c22b"
#: What a network's output becomes; the percentage of the window is 100 x 4 to the power of it.
ACTIONS = ("tanh", "clip")
INPUTS = len(SIGNALS) * HISTORY
#: States on which integers are compared with floating point, and on how many of them they answer otherwise at most.
_STATES, _OTHERWISE = 200, 4


class Asked(NamedTuple):
    """What a command says of a file; None where the file is to say it."""

    name: str | None = None
    """Of the controller."""
    activation: str | None = None
    """Between layers, one of `torch.ACTIVATIONS`."""
    action: str | None = None
    """One of `ACTIONS`."""


class Network(NamedTuple):
    """A network as its file has it, and what else the file says."""

    layers: list[Dense]
    action: str
    summary: str
    origin: str
    name: str | None = None
    licence: str = ""
    notes: tuple[str, ...] = ()


def policy(path: Path, asked: Asked | None = None) -> tuple[Policy, list[str]]:
    """The policy that a file of another program is, and notes on it. Raises ScenarioError for what is none."""
    asked = asked or Asked()
    with np.errstate(all="ignore"):  # what is no number is refused
        found = read(path, asked)
        return _policy(found, _name(path, found, asked), path)


def read(path: Path, asked: Asked) -> Network:
    """The network in a file. Raises ScenarioError."""
    if path.suffix == ".index" or (not path.exists() and tensorflow.files(path)[0].exists()):
        return _orca(path, asked)
    try:
        data = read_bytes(path, _MOST)
        return _reader(path, data)(path, data, asked)
    except UnreadableError as error:
        raise ScenarioError("FILE", f"got {show(str(path))} ({error}), wanted {_WANTED}") from None
    except ValueError as error:
        raise ScenarioError("FILE", f"got {show(str(path))}: {line(error)}") from None


#: What can be imported.
_WANTED = "an ONNX file, a model of stable-baselines3 (.zip), a state dict of torch or a checkpoint of Orca's trainer"


def _reader(path: Path, data: bytes) -> Callable[[Path, bytes, Asked], Network]:
    if data.startswith(b"PK"):
        return _zip
    if path.suffix == ".safetensors":
        return _safetensors
    if path.suffix == ".onnx" or data[:1] == b"\x08":  # of ONNX the first field, ir_version
        return _onnx
    raise ValueError(f"wanted {_WANTED}")


def _orca(checkpoint: Path, asked: Asked) -> Network:
    if asked.activation or asked.action:
        raise ScenarioError("--activation, --action", "a checkpoint of Orca's trainer says them itself")
    named, digest = tensorflow.read(checkpoint)
    try:
        layers = _actor(named)
    except KeyError as error:
        known = ", ".join(sorted({name.partition("/")[0] for name in named})[:20]) or "none"
        wanted = "wanted a checkpoint of Orca's trainer (rl-module)"
        raise ScenarioError("FILE", f"got variables of {show(known)}, without {error.args[0]}: {wanted}") from None
    except ValueError as error:
        raise ScenarioError("FILE", f"got {show(str(checkpoint))}: {line(error)}") from None
    return Network(
        layers,
        "tanh",
        "CUBIC, whose window a network multiplies some thirty times a second (Abbasloo, Yen and Chao 2020)",
        f"checkpoint {digest}",
        "orca",
        "MIT (Soheil Abbasloo, Chen-Yu Yen 2020)",
        () if digest.startswith(AUTHORS) else ("this is not the checkpoint that Orca's authors publish",),
    )


def _actor(named: dict[str, Stored]) -> list[Dense]:
    """Orca's actor in floating point, up to its output before tanh."""

    def array(name: str) -> Floats:
        stored = named[f"actor/{name}"]
        if stored.size > WIDTH * WIDTH:
            raise ValueError(f"actor/{name} has {stored.size} numbers, wanted at most {WIDTH} x {WIDTH}")
        return stored.astype(np.float64)

    layers = []
    for place, norm in (("fc1", "batch_normalization"), ("fc2", "batch_normalization_1")):
        dense = Dense(array(f"{place}/kernel").T, array(f"{place}/bias"), slope=_SLOPE)
        moments = (array(f"{norm}/{what}") for what in ("moving_mean", "moving_variance", "beta"))
        layers.append(fold(dense, *moments, epsilon=_EPSILON))
    return [*layers, Dense(array("dense/kernel").T, array("dense/bias"))]


def _onnx(path: Path, data: bytes, asked: Asked) -> Network:
    others: dict[str, bytes] = {}

    def external(name: str, offset: int, length: str | None) -> bytes:
        if name != Path(name).name or name in ("", ".."):
            raise ValueError(f"numbers in {show(name)}, wanted a file in the folder of the ONNX file")
        if name not in others:
            others[name] = read_bytes(path.parent / name, _MOST)
        end = len(others[name]) if length is None else offset + int(length)
        if len(others) > 1 or not 0 <= offset <= end <= len(others[name]):
            raise ValueError("numbers lie beyond the file that has them, or in several")
        return others[name][offset:end]

    if asked.activation:
        raise ScenarioError("--activation", "an ONNX file says it itself")
    found = onnx.read(data, external)
    if found.shape not in (None, [INPUTS], [HISTORY, len(SIGNALS)]):
        raise ValueError(f"an input of shape {show(found.shape)}, wanted {_INPUTS}")
    digest = hashlib.sha256(b"".join([data, *others.values()])).hexdigest()
    action = _action(found.action, asked)
    return Network(found.layers, action, f"A network from an ONNX file {_ANSWERS[action]}", f"onnx {digest}")


def _zip(_: Path, data: bytes, asked: Asked) -> Network:
    archive = Zip(data)
    if not sb3.is_model(archive):
        return _sequential(torch.state_dict(data), asked, "state dict", data)
    actor = sb3.read(archive, asked.activation, _MOST)
    action = _action(actor.action, asked)
    summary = f"A network trained by {actor.names} of stable-baselines3 {_ANSWERS[action]}"
    return Network(actor.layers, action, summary, f"stable-baselines3 {hashlib.sha256(data).hexdigest()}")


def _safetensors(_: Path, data: bytes, asked: Asked) -> Network:
    from . import file

    tensors, said = file.parts(data)
    if said is not None:
        raise ValueError("it is a policy file already: --cca takes it")
    return _sequential(tensors, asked, "safetensors", data)


def _sequential(named: dict[str, Stored], asked: Asked, form: str, data: bytes) -> Network:
    """The network of an nn.Sequential's state dict, which does not say what is between its layers and behind them."""
    if asked.activation is None or asked.action is None:
        raise ScenarioError("--activation, --action", "a state dict does not say them: wanted both")
    prefixes = {"".join(name.rpartition(".")[0].rpartition(".")[:2]) for name in named}
    if len(prefixes) != 1:
        raise ValueError(f"tensors of {show(', '.join(sorted(prefixes)[:10]))}, wanted the layers of one nn.Sequential")
    layers = torch.sequential(named, prefixes.pop(), torch.ACTIVATIONS[asked.activation])
    if not layers:
        raise ValueError("no layers in it")
    layers[-1] = layers[-1]._replace(kind="leaky", slope=1.0)
    summary = f"A network from a state dict {_ANSWERS[asked.action]}"
    return Network(layers, asked.action, summary, f"{form} {hashlib.sha256(data).hexdigest()}")


#: What is accepted as a network's input, and what its output is, in a summary.
_INPUTS = (
    f"[{INPUTS}], or [{HISTORY}, {len(SIGNALS)}]: {len(SIGNALS)} signals, the last {HISTORY} of each, oldest first"
)
_ANSWERS = {"tanh": "with tanh at its end", "clip": "whose output is clipped to -1 to 1"}


def _action(said: str | None, asked: Asked) -> str:
    """What the output becomes; raises ScenarioError where file and option differ, or neither says it."""
    if said and asked.action not in (None, said):
        raise ScenarioError("--action", f"got {asked.action}, but the file says {said}")
    action = said or asked.action
    if action is None:
        raise ScenarioError(
            "--action", "the network ends without either: wanted tanh, or clip (PPO, A2C of stable-baselines3)"
        )
    return action


def _name(path: Path, found: Network, asked: Asked) -> str:
    name = asked.name or found.name or path.stem
    if not is_name(name):
        raise ScenarioError("--name", f"got {show(name)}, wanted {NAMES} for the controller")
    return name


def _policy(found: Network, name: str, path: Path) -> tuple[Policy, list[str]]:
    try:
        layers = _layers(found.layers)
        whole = [integers(layer) for layer in layers]
    except ValueError as error:
        raise ScenarioError("FILE", f"got {show(str(path))}: {line(error)}") from None
    first, thresholds = orca_thresholds(whole[-1].shift, found.action)
    said = [Layer(layer.shift, layer.kind, layer.slope) for layer in whole]
    header = Header(name, found.summary, said, first, licence=found.licence, origin=found.origin)
    made = Policy(header, whole, thresholds)
    otherwise = _differing(layers, made, found.action)
    notes = [f"integers answer otherwise than floating point on {otherwise} of {_STATES} states"]
    return made, [*found.notes, *(notes if otherwise > _OTHERWISE else [])]


def _layers(layers: list[Dense]) -> list[Dense]:
    """The layers; raises ValueError where their sizes are not those of a policy."""
    if not 0 < len(layers) <= LAYERS:
        raise ValueError(f"a network of {len(layers)} layers, wanted 1 to {LAYERS}")
    inputs = layers[0].weights.shape[1]
    if inputs != INPUTS:
        raise ValueError(f"a network of {inputs} inputs, wanted {_INPUTS}")
    for layer in layers:
        if layer.weights.shape[1] != inputs or not 0 < len(layer.weights) <= WIDTH:
            raise ValueError(
                f"a layer of the sizes {list(layer.weights.shape)}, wanted {inputs} inputs, {WIDTH} outputs"
            )
        inputs = len(layer.weights)
    if inputs != 1:
        raise ValueError(f"a network of {inputs} outputs, wanted 1")
    return layers


def _differing(layers: list[Dense], made: Policy, action: str) -> int:
    """On how many random states integers and floating point give percentages that differ."""
    states = np.random.default_rng(1).uniform(0, 1.5, (_STATES, INPUTS))
    outputs = states
    for layer in layers:
        outputs = layer(outputs)
    whole = np.floor(states * 2**network.ACTIVATION_BITS).astype(np.int64)
    sums = [network.run(made.layers, state) for state in whole]
    answers = made.header.first + np.searchsorted(made.thresholds, sums, side="right")
    return int((answers != network.percentages(outputs[:, 0], action)).sum())
