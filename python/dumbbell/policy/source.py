"""A policy as one C file in the style of cca.h: the tables of its network, and the controller around it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.controllers import NAME_MAX

from .network import KINDS, tanh_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .file import Policy

#: Files of cca/ that become part of it, in this order.
_PARTS = ("cubic/core.h", "orca/network.h", "orca/controller.h")
#: Numbers in a line.
_ROW = 16


#: As much of a name as Linux has room for, with "d_" before it (cca/hosts/bpf/host.h).
_NAME_MAX = NAME_MAX - len("d_")


def c_name(name: str) -> str:
    """The name of a policy in C, of its file, and in a kernel: letters, digits and "_", as many as that takes."""
    word = re.sub(r"\W", "_", name, flags=re.ASCII)
    return (f"p_{word}" if word[0].isdigit() else word)[:_NAME_MAX]


def write(policy: Policy, folder: Path) -> Path:
    """Write a policy's C file into a folder."""
    file = folder / f"{c_name(policy.header.name)}.c"
    file.write_text(of(policy), encoding="utf-8")
    return file


def of(policy: Policy) -> str:
    """The text of a policy's C file."""
    from tempfile import TemporaryDirectory

    from dumbbell import _native

    header = policy.header
    with TemporaryDirectory(prefix="dumbbell-") as folder:
        _native.write_sources(folder)
        texts = [(Path(folder) / "cca" / part).read_text(encoding="utf-8") for part in _PARTS]
    parts = [text.replace('#include "cca.h"\n', "") for text in texts]
    named = f'ORCA_MODULE({c_name(header.name)}, "{header.name}");\n'
    summary = header.summary.replace("*/", "* /")
    head = (
        f"/*\n * {summary}.\n *\n * A policy: {header.origin or 'of unknown origin'}. {header.licence}\n"
        f" * SHA-256 {policy.digest}\n */\n"
    )
    return "\n".join([head + '#include "cca.h"\n', *parts[:2], _tables(policy), parts[2], named])


def _tables(policy: Policy) -> str:
    text = []
    if any(layer.kind == "tanh" for layer in policy.layers):
        text.append(_table("s32", "policy_tanh", tanh_table()))
    for number, layer in enumerate(policy.layers):
        weights, bias = f"policy_weights{number}", f"policy_bias{number}"
        text += [_table("s32", weights, layer.weights.ravel()), _table("s64", bias, layer.bias, "LL")]
        outputs, inputs = layer.weights.shape
        tanh = "policy_tanh" if layer.kind == "tanh" else "NULL"
        cells = (weights, bias, tanh, inputs, outputs, layer.shift, KINDS[layer.kind], layer.slope)
        text.append(f"static const struct net_layer policy_layer{number} = {{ {', '.join(map(str, cells))} }};")
    header, last = policy.header, len(policy.layers) - 1
    text += [
        _table("s64", "policy_thresholds", policy.thresholds, "LL"),
        "#define POLICY_HIDDEN(LAYER) " + " ".join(f"LAYER({number})" for number in range(last)),
        f"#define POLICY_LAST policy_layer{last}",
        f"#define POLICY_THRESHOLDS {len(policy.thresholds)}U",
        f"#define POLICY_FIRST {header.first}U",
        f"#define POLICY_PERIOD_US {header.period_us}",
        f"#define POLICY_AGE_US {header.age_us}",
        f"#define POLICY_GROW_PERCENT {header.grow_percent}",
    ]
    return "\n".join(text) + "\n"


def _table(kind: str, name: str, numbers: Iterable[int], suffix: str = "") -> str:
    words = [f"{int(number)}{suffix}" for number in numbers]
    rows = (", ".join(words[at : at + _ROW]) for at in range(0, len(words), _ROW))
    return f"static const {kind} {name}[] = {{\n" + "".join(f"\t{row},\n" for row in rows) + "};"
