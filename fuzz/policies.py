#!/usr/bin/env python3
"""Throws damaged policy files, and damaged networks of other programs (checkpoints of TensorFlow, ONNX, models of
stable-baselines3, state dicts), at what reads them.

A file must either be read, and then be written and read as the same policy, or be refused in one line; no input may
take more than a GB of memory. Anything else is a finding. Input number i of a seed is always the same.

    fuzz/policies.py --seconds 60 --seed 1
    fuzz/policies.py --seed 1 --only 4711
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import struct
import sys
import tempfile
from pathlib import Path

import numpy as np
from throwing import ROOT, arguments, refused, throw

from dumbbell.errors import ScenarioError
from dumbbell.policy import file, imports

sys.path.append(str(ROOT / "tests"))

import trained

#: Memory that an input may take beyond what the process has, bytes.
MEMORY_MAX = 1 << 30
#: Where inputs are written for those that read files.
FOLDER = tempfile.TemporaryDirectory(prefix="dumbbell-")
ASKED = imports.Asked("mine", "tanh", "clip")
#: What bytes, and numbers of four or eight bytes, become.
BYTES = (0, 1, 0x7F, 0x80, 0xFF)
NUMBERS = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 0x7FC00000, 0x7F800000)
#: Values of a JSON document.
VALUES = (None, True, 0, -1, 10**40, 1e308, "", "x" * 1000, "*/ int x;", [], {}, [[]], [0] * 100, {"": 0}, "\ud800")


def main() -> int:
    """Throw inputs until the time is over."""
    return run(arguments(__doc__))


def run(args: argparse.Namespace) -> int:
    """The same for these arguments; the status."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY_MAX, hard))
    try:
        whole = wholes()
        return throw(args, lambda rng: (take, thrown(whole, rng)))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def wholes() -> dict[str, bytes]:
    """A good file of each kind by its name; a checkpoint's index and data are one behind the other."""
    sizes = [trained.INPUTS, 4, 1]
    weights = np.random.default_rng(1).normal(0, 0.2, (trained.INPUTS, 4)), np.ones((4, 1))
    steps = [("Gemm", [weights[0], np.zeros(4)], {}), ("LeakyRelu", [], {"alpha": 0.2}), ("MatMul", [weights[1]], {})]
    onnx = trained.chain([*steps, ("Clip", [np.array(-1.0), np.array(1.0)], {})])
    ppo = trained.model(trained.layers(sizes, ["mlp_extractor.policy_net.0", "action_net"]), trained.settings("Tanh"))
    named = trained.layers(sizes, ["0", "2"])
    index, data = trained.checkpoint(trained.actor())
    whole = {
        "a.onnx": onnx,
        "a.zip": ppo,
        "a.pt": trained.state_dict(named),
        "a": struct.pack("<I", len(index)) + index + data,
    }
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "a.onnx"
        place.write_bytes(onnx)
        whole["a.safetensors"] = file.encoded(imports.policy(place)[0])
    return whole


def thrown(whole: dict[str, bytes], rng: random.Random) -> list[str]:
    """A file's name, and its bytes as hexadecimal digits."""
    name = rng.choice(sorted(whole))
    data = bytearray(whole[name])
    if rng.random() < 0.4:
        data = bytearray(inside(name, bytes(data), rng))
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        # what decides how a file is read stands at its ends; the rest are weights
        at = rng.choice((rng.randrange(len(data) + 1), rng.randrange(min(400, len(data) + 1))))
        at = len(data) - at if rng.random() < 0.3 else at
        match rng.randrange(6):
            case 0 if at < len(data):
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at : at + 1] = bytes([rng.choice(BYTES)])
            case 2:
                data[at : at + 8] = struct.pack("<Q", rng.choice(NUMBERS))
            case 3:
                data[at : at + 4] = struct.pack("<I", rng.choice(NUMBERS) % 2**32)
            case 4:
                del data[at : at + rng.choice((1, 7, 1000, len(data)))]
            case _:
                data[at:at] = data[at : at + rng.choice((1, 30, 3000))] * rng.choice((1, 1, 50))
    return [name, data.hex()]


def inside(name: str, data: bytes, rng: random.Random) -> bytes:
    """The file with something else in the document, or the pickle, that says what it holds."""
    if name == "a.safetensors":
        length = int.from_bytes(data[:8], "little")
        head = json.loads(data[8 : 8 + length])
        said = json.loads(head["__metadata__"]["dumbbell"])
        part = rng.choice((said, said, rng.choice(said["layers"]), head["thresholds"]))
        part[rng.choice(sorted(part))] = rng.choice(VALUES)
        head["__metadata__"]["dumbbell"] = json.dumps(said)
        text = json.dumps(head).encode()
        return struct.pack("<Q", len(text)) + text + data[8 + length :]
    named = trained.layers([trained.INPUTS, 4, 1], ["mlp_extractor.policy_net.0", "action_net"])
    pickle = bytearray(trained.pickled(named))
    if name == "a.zip":
        said = trained.settings("Tanh")
        part = rng.choice((said, *(said[key] for key in ("policy_kwargs", "action_space", "observation_space"))))
        part[rng.choice(sorted(part))] = rng.choice(VALUES)
        return trained.model(named, said)
    if name == "a.pt":
        for _ in range(rng.choice((1, 1, 3))):
            at = rng.randrange(len(pickle))
            pickle[at : at + rng.randrange(3)] = bytes(
                rng.choice((rng.randrange(256), *b")}(tuRQ.hqr\x85\x86J")) for _ in range(2)
            )
        return trained.state_dict(trained.layers([trained.INPUTS, 4, 1], ["0", "2"]), bytes(pickle))
    return data


def take(made: list[str]) -> str:
    """Read it as a command would."""
    name, data = made[0], bytes.fromhex(made[1])
    place = Path(FOLDER.name) / name
    if name == "a":
        at = 4 + int.from_bytes(data[:4], "little")
        place.with_name("a.index").write_bytes(data[4:at])
        place.with_name("a.data-00000-of-00001").write_bytes(data[at:])
    else:
        place.write_bytes(data)
    try:
        if name == "a.safetensors":
            policy = file.read(place)
        else:
            policy = imports.policy(place, ASKED if name == "a.pt" else imports.Asked("mine"))[0]
    except ScenarioError as error:
        return refused(name, error)
    place.with_name("again").write_bytes(file.encoded(policy))
    if file.read(place.with_name("again")).digest != policy.digest:
        raise AssertionError("what was written is another policy")
    return f"{name} taken"


if __name__ == "__main__":
    sys.exit(main())
