"""A policy as one C file in the style of cca.h: the tables of its network, and the controller around it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from .network import KINDS, tanh_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .file import Policy

#: Files of cca/ that become part of it, in this order.
_PARTS = ("cubic/core.h", "orca/network.h", "orca/controller.h")
#: Numbers in a line.
_ROW = 16


def c_name(name: str) -> str:
    """The name of a policy in C, and of its file."""
    return re.sub(r"\W", "_", name)


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
    rows, text = [], []
    if any(layer.kind == "tanh" for layer in policy.layers):
        text.append(_table("s32", "policy_tanh", tanh_table()))
    for number, layer in enumerate(policy.layers):
        weights, bias = f"policy_weights{number}", f"policy_bias{number}"
        text += [_table("s32", weights, layer.weights.ravel()), _table("s64", bias, layer.bias, "LL")]
        outputs, inputs = layer.weights.shape
        tanh = "policy_tanh" if layer.kind == "tanh" else "NULL"
        cells = (weights, bias, tanh, inputs, outputs, layer.shift, KINDS[layer.kind], layer.slope)
        rows.append(f"\t{{ {', '.join(map(str, cells))} }},")
    header = policy.header
    text += [
        _table("s64", "policy_thresholds", policy.thresholds, "LL"),
        "static const struct net_layer policy_layers[] = {\n" + "\n".join(rows) + "\n};",
        f"#define POLICY_LAYERS {len(policy.layers)}U",
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
