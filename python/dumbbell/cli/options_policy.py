"""Options of `dumbbell policy`."""

from __future__ import annotations

import argparse

from .options_run import count

#: Names that `dumbbell.policy` gives them; not imported, so that the command starts soon.
ACTIVATIONS, ACTIONS = ("relu", "leakyrelu", "tanh"), ("tanh", "clip")


def add_policy(policy: argparse.ArgumentParser) -> None:
    """Add the actions of `dumbbell policy` and their arguments."""
    actions = policy.add_subparsers(dest="action", metavar="ACTION", required=True)
    imported = actions.add_parser("import", help="make a policy file of a network that somebody has trained")
    imported.add_argument(
        "file",
        metavar="FILE",
        help="ONNX, a model of stable-baselines3 (.zip), a state dict of torch, or a checkpoint of Orca's trainer: the"
        " name that its files (.index, .data-00000-of-00001) have in common",
    )
    imported.add_argument("-o", "--out", metavar="FILE", help="policy file to write (default: NAME.safetensors)")
    imported.add_argument("--name", help="name of the controller (default: that of FILE; of a checkpoint: orca)")
    imported.add_argument(
        "--activation", choices=ACTIVATIONS, help="between layers, where FILE does not say it (leakyrelu: slope 0.01)"
    )
    imported.add_argument(
        "--action",
        dest="ends_with",
        choices=ACTIONS,
        help="what brings the output to -1 to 1, where FILE does not say it",
    )
    imported.add_argument("--force", action="store_true", help="overwrite what is there")
    show = actions.add_parser("show", help="say what a policy file holds")
    show.add_argument("file", metavar="FILE", help="policy file (.safetensors)")
    show.add_argument("--json", action="store_true", help="print one JSON object")
    source = actions.add_parser("source", help="print a policy as one C file, which kernels and the simulator take")
    source.add_argument("file", metavar="FILE", help="policy file (.safetensors)")
    train = actions.add_parser("train", help="train a policy by a recipe, in the simulator alone")
    train.add_argument("recipe", metavar="RECIPE", help="file (docs/gym.md), or the name of one that Dumbbell has")
    train.add_argument(
        "-o", "--out", metavar="FILE", help="policy file to write (default: the policy's name, with .safetensors)"
    )
    train.add_argument(
        "--state",
        metavar="DIR",
        help="folder of the state and the curve; the same command goes on from it (default: FILE.training)",
    )
    train.add_argument("--jobs", metavar="N", type=count, help="threads (default: as many as there are cores)")
    train.add_argument("--force", action="store_true", help="overwrite the policy file")
    train.add_argument("-q", "--quiet", action="store_true", help="say nothing of each generation")
