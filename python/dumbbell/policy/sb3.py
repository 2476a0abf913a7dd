"""Actors of stable-baselines3, from the zip files of `model.save`: its settings (JSON) and the tensors of its policy.

What an actor's output becomes is the library's own: PPO and A2C clip it to the bounds of the action space, TD3, DDPG
and SAC have a tanh behind it (stable_baselines3/common/policies.py, td3/policies.py, sac/policies.py).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import show

from . import torch

if TYPE_CHECKING:
    from .network import Dense, Stored
    from .zips import Zip

#: Names of the members that are read, and the largest of the settings, bytes: pickled objects are in it as text.
DATA, POLICY = "data", "policy.pth"
_DATA_MAX = 1 << 22
_VERSION = "_stable_baselines3_version"


class _Form(NamedTuple):
    """Layers of an actor of some algorithms by their names in its state dict, and what comes of the output."""

    names: str
    hidden: tuple[str, ...]
    last: str
    action: str
    activation: str
    """The library's default."""


_FORMS = (
    _Form("PPO or A2C", ("mlp_extractor.shared_net.", "mlp_extractor.policy_net."), "action_net", "clip", "tanh"),
    _Form("SAC", ("actor.latent_pi.",), "actor.mu", "tanh", "relu"),
    _Form("TD3 or DDPG", ("actor.mu.",), "", "tanh", "relu"),
)


class Settings(NamedTuple):
    """What the JSON of a model says that decides how its actor is read."""

    activation: str | None
    """By the name of torch's class, in small letters; None where the library's default holds."""
    squashes: bool
    observation: list[int]
    action: list[int]
    bounds: tuple[str, str]
    """Of the action, as text; empty where the file has none."""


class Actor(NamedTuple):
    """Layers, what comes of their output, and what the actor is called."""

    layers: list[Dense]
    action: str
    names: str


def is_model(archive: Zip) -> bool:
    """True for a zip file that `model.save` wrote."""
    return {DATA, POLICY} <= set(archive.names)


def read(archive: Zip, activation: str | None, most: int) -> Actor:
    """The actor of a model, whose hidden layers have `activation` where its file does not say; raises ValueError for
    a model that is no controller.
    """
    settings = _settings(archive.read(DATA, _DATA_MAX))
    named = torch.state_dict(archive.read(POLICY, most))
    form = next((form for form in _FORMS if _has(named, form)), None)
    if form is None:
        groups = ", ".join(sorted({name.partition(".")[0] for name in named})[:10]) or "nothing"
        raise ValueError(f"a policy of {show(groups)}, wanted an MLP of PPO, A2C, TD3, DDPG or SAC")
    _check(settings, named, form)
    kind = activation or settings.activation or form.activation
    if kind not in torch.ACTIVATIONS:
        raise ValueError(f"activation {show(kind)}, wanted {', '.join(torch.ACTIVATIONS)}")
    if activation and settings.activation not in (None, activation):
        raise ValueError(f"activation {show(settings.activation)}, and --activation says {activation}")
    layers = [layer for prefix in form.hidden for layer in torch.sequential(named, prefix, torch.ACTIVATIONS[kind])]
    if form.last:
        layers.append(torch.dense(named, form.last))
    elif layers:
        layers[-1] = layers[-1]._replace(kind="leaky", slope=1.0)
    return Actor(layers, "tanh" if settings.squashes else form.action, form.names)


def _has(named: dict[str, Stored], form: _Form) -> bool:
    return f"{form.last or 'actor.mu.0'}.weight" in named


def _check(settings: Settings, named: dict[str, Stored], form: _Form) -> None:
    """Raise ValueError for what the layers do not say: another space, and parts before them."""
    before = next((name for name in named if re.match(r"((actor|pi)[._])?(features_extractor|lstm)", name)), None)
    if before:
        raise ValueError(f"it has {show(before)} before its layers, wanted an MLP alone")
    if form.last == "" and any(name.startswith("actor.latent_pi.") for name in named):
        raise ValueError("SAC with use_sde, wanted it without")
    if settings.action != [1] or settings.bounds != ("-1", "1"):
        low, high = settings.bounds
        raise ValueError(
            f"an action of shape {show(settings.action)} from {show(low)} to {show(high)}, wanted [1] from -1 to 1"
        )
    if settings.observation not in ([70], [10, 7]):
        raise ValueError(f"observations of shape {show(settings.observation)}, wanted [70], or [10, 7]")


def _settings(text: bytes) -> Settings:
    try:
        said = json.loads(text)
    except RecursionError:
        raise ValueError("its settings are no JSON") from None
    if not isinstance(said, dict):
        raise ValueError("its settings are no JSON object")
    arguments, space = _table(said, "policy_kwargs"), _table(said, "action_space")
    function = arguments.get("activation_fn")
    name = re.fullmatch(r"<class 'torch\.nn\.modules\.activation\.(\w+)'>", str(function))
    if function is not None and name is None:
        raise ValueError(f"activation_fn {show(function)}, wanted one of torch.nn")
    return Settings(
        name[1].lower() if name else None,
        bool(arguments.get("squash_output")),
        _shape(_table(said, "observation_space")),
        _shape(space),
        (_number(space, "low"), _number(space, "high")),
    )


def _table(said: dict[str, Any], key: str) -> dict[str, Any]:
    table = said.get(key) or {}
    if not isinstance(table, dict):
        raise ValueError(f"its settings have no table {key}")
    return table


def _shape(space: dict[str, Any]) -> list[int]:
    """The shape of a space of numbers; raises ValueError for another space."""
    shape = space.get("_shape", space.get("shape"))
    if "Box" not in str(space.get(":type:", "")) or not isinstance(shape, list):
        raise ValueError(f"a space {show(space.get(':type:'))}, wanted a Box")
    return shape


def _number(space: dict[str, Any], key: str) -> str:
    """A bound of a space of one number as text without brackets."""
    return str(space.get(key, "")).strip("[] ").removesuffix(".0").removesuffix(".")
