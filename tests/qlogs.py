"""Runs with a qlog, for the tests of `trace.sqlog`, and two readers of other projects: quiche's, and a validator with the
working group's grammar.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import cbor2
import pycddl
import pytest

import dumbbell
from closed_form import rows
from conftest import ROOT

#: A path on which flows lose packets at random and by overflow.
PATH = """
duration = "8s"
[path]
rate = "10Mbps"
rtt = "40ms"
buffer = "0.5bdp"
loss = "0.3%"
[record]
every = "50ms"
qlog = true
"""

QUICHE = ROOT / "tests/readers/qlog"
GRAMMAR = ROOT / "tests/readers/qlog.cddl"

#: What the grammar calls an event's data.
RULES = {
    "quic:packet_sent": "QUICPacketSent",
    "quic:packet_received": "QUICPacketReceived",
    "quic:packets_acked": "QUICPacketsAcked",
    "quic:packet_lost": "QUICPacketLost",
    "quic:recovery_metrics_updated": "QUICRecoveryMetricsUpdated",
    "quic:congestion_state_updated": "QUICCongestionStateUpdated",
}


def records(result: dumbbell.Result) -> list[Any]:
    """The JSON texts of RFC 7464: each begins with a record separator and ends with a line feed."""
    first, *texts = (Path(result.folder) / "trace.sqlog").read_text().split("\x1e")
    assert first == ""
    assert all(text.endswith("\n") for text in texts)
    return [json.loads(text) for text in texts]


def events(result: dumbbell.Result, flow: int, name: str) -> list[Any]:
    return [one for one in records(result)[1:] if (one["group_id"], one["name"]) == (f"flow{flow}", name)]


def told_at_samples(result: dumbbell.Result, flow: int) -> Iterator[tuple[dict[str, float], dict[str, Any]]]:
    """The metrics that the qlog has told until each sample, and the sample. Those at which an event has the sample's
    time are left out: it may come before or after it.
    """
    told = iter(events(result, flow, "quic:recovery_metrics_updated"))
    now: dict[str, float] = {}
    following = next(told)
    for row in rows(result, "samples", flow=flow):
        while following is not None and following["time"] * 1e3 < row["t_us"]:
            now |= following["data"]
            following = next(told, None)
        if following is None or following["time"] * 1e3 != row["t_us"]:
            yield now, row


def as_quiche_reads(result: dumbbell.Result) -> list[Any]:
    """The events as quiche's reader, which cargo compiles, takes them."""
    if shutil.which("cargo") is None:
        pytest.skip("the reader of quiche is compiled with cargo")
    found = subprocess.run(
        ["cargo", "run", "--locked", "-q", "--manifest-path", QUICHE / "Cargo.toml", "--",
         Path(result.folder) / "trace.sqlog"],
        capture_output=True, text=True, check=True, env={**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target/readers")},
    ).stdout.splitlines()  # fmt: skip
    return [json.loads(line) for line in found[1:]]


@cache
def grammar(rule: str) -> pycddl.Schema:
    """The working group's grammar, to be met by `rule`. In three places its words are changed and not its meaning,
    because the validator would refuse what it describes: a group that a map takes in is written out, the key `time` is
    quoted (a type has that name), and frames, of which a list has several kinds, are held against it one by one.
    """
    text = GRAMMAR.read_text()
    (head,) = re.findall(r"^LogFile = \{\n(.*?)\}", text, re.S | re.M)
    for written, meant, times in (
        ("    ~LogFile\n", head, 2),
        ("    time: float64", '    "time": float64', 1),
        ("? frames: [* $QuicFrame]", "? frames: [* {* text => any}]", 3),
    ):
        assert text.count(written) == times
        text = text.replace(written, meant)
    return pycddl.Schema(f"it = {rule}\n{text}")


def shape(value: Any) -> Any:
    """What the grammar sees of a value: of whole numbers in which of its sizes they fit (8 to 64 bits, below zero, or
    none), of others that they are numbers.
    """
    match value:
        case dict():
            return tuple((key, shape(part)) for key, part in sorted(value.items()))
        case list():
            return (list, *(shape(part) for part in value))
        case bool() | str() | None:
            return value
        case int() if value >= 0:
            return next((bits for bits in (8, 16, 32, 64) if value >> bits == 0), int)
        case _:
            return type(value)


def hold_against_grammar(records: list[Any]) -> None:
    """Raises what the validator says of the first record that the grammar does not allow; maps are closed in it, so that
    a key that it does not know is refused. What has the shape of something before is not asked again.
    """
    header, *following = records
    seen = set()

    def hold(rule: str, value: Any) -> None:
        if (what := (rule, shape(value))) in seen:
            return
        seen.add(what)
        try:
            grammar(rule).validate_cbor(cbor2.dumps(value))
        except pycddl.ValidationError as error:
            raise AssertionError(f"no {rule}: {value}") from error

    hold("QlogFileSeq", header)
    for one in following:
        hold("Event", one | {"data": {}})
        frames = one["data"].get("frames", [])
        hold(RULES[one["name"]], one["data"] | ({"frames": []} if frames else {}))
        for frame in frames:
            hold(frame["frame_type"].title().replace("_", "") + "Frame", frame)
