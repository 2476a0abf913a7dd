"""`dumbbell policy`: controllers whose window a trained network decides."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .output import note
from .status import OK
from .writers import write_file, write_object

if TYPE_CHECKING:
    from dumbbell.policy.file import Policy
    from dumbbell.training.evolution import Point


def import_(arguments: argparse.Namespace) -> int:
    """Make a policy file of a network that another program has trained."""
    from dumbbell.policy import file, imports

    asked = imports.Asked(arguments.name, arguments.activation, arguments.ends_with)
    policy, notes = imports.policy(Path(arguments.file), asked)
    out = arguments.out or f"{policy.header.name}.safetensors"
    write_file("--out", out, file.encoded(policy), force=arguments.force)
    for text in notes:
        note(text)
    print(f"{out}: {_sizes(policy)}; --cca {out} makes it the controller {policy.header.name}")
    return OK


def show_(arguments: argparse.Namespace) -> int:
    """Say what a policy file holds."""
    from dumbbell.policy import file

    policy = file.read(Path(arguments.file))
    header = policy.header
    facts = {
        "name": header.name,
        "summary": header.summary,
        "network": _sizes(policy),
        "signals": f"{', '.join(header.signals)}; the last {header.history} of each",
        "answers": f"{header.first} to {header.first + len(policy.thresholds)} % of the window",
        "base": header.base,
        "period": f"{header.period_us / 1000:g} ms",
        "age": f"{header.age_us / 1000:g} ms",
        "licence": header.licence or "none given",
        "origin": header.origin or "unknown",
        "sha256": policy.digest,
    }
    if arguments.json:
        write_object(facts)
        return OK
    for name, said in facts.items():
        print(f"{name:8}  {said}")
    return OK


def source_(arguments: argparse.Namespace) -> int:
    """Print a policy as a C file."""
    from dumbbell.policy import file, source

    sys.stdout.write(source.of(file.read(Path(arguments.file))))
    return OK


def train_(arguments: argparse.Namespace) -> int:
    """Train a policy."""
    from dumbbell.policy import ENDING, file
    from dumbbell.training import evolution, recipe

    source = recipe.located(arguments.recipe)
    wanted, digest = recipe.read(source)
    out = arguments.out or f"{wanted.name}{ENDING}"
    state = Path(arguments.state or f"{out}.training")
    training = evolution.Training(wanted, digest, source.parent, state, arguments.jobs)
    training.run(lambda point: None if arguments.quiet else note(_told(point, wanted.generations)))
    policy = training.policy()
    write_file("--out", out, file.encoded(policy), force=arguments.force)
    print(f"{out}: {_sizes(policy)}, {policy.header.origin}; curve: {state / evolution.CURVE}")
    return OK


def _told(point: Point, generations: int) -> str:
    """A generation in a line."""
    if point.generation == 0:
        return f"before training: {point.validation:.4f} in the validation"
    tried = "" if point.validation is None else f"; {point.validation:.4f} in the validation"
    return f"generation {point.generation} of {generations}: reward {point.reward:.4f}, best {point.best:.4f}{tried}"


def _sizes(policy: Policy) -> str:
    """Sizes of the layers, and how many numbers they have.

    Such as ``70-256-256-1, 84225 numbers``.
    """
    sizes = [policy.layers[0].weights.shape[1], *(len(layer.weights) for layer in policy.layers)]
    numbers = sum(layer.weights.size + layer.bias.size for layer in policy.layers)
    return f"{'-'.join(map(str, sizes))}, {numbers} numbers"
