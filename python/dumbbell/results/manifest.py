"""manifest.json as typed data: what a result folder says of itself. Fields that a later version adds are left out,
missing or wrong ones are errors.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from dumbbell.errors import ResultError
from dumbbell.files import MANIFEST_MAX, UnreadableError, read_bytes
from dumbbell.plan.base import Count, View
from dumbbell.plan.view import PlanView

#: Version of the folder's format that this package reads; version 1 had other figures of the queue and of shares.
SCHEMA_VERSION = 3


class FlowSummary(View, frozen=True, kw_only=True):
    """Figures of one flow over the run, or over its measured part; None where one is not defined (docs/results.md)."""

    name: str
    transport: str
    table: Count
    cca: str
    rtt_ms: float
    goodput_mbps: float
    goodput_bytes: Count
    share: float
    retrans_rate: float | None
    srtt_mean_ms: float | None
    srtt_p95_ms: float | None
    owd_mean_ms: float | None = None
    owd_p95_ms: float | None = None
    owd_p99_ms: float | None = None
    fct_s: float | None
    packets_sent: Count


class LinkSummary(View, frozen=True, kw_only=True):
    """Figures of one link; None where one is not defined."""

    utilization: float
    queue_mean_ms: float | None = None
    queue_p50_ms: float | None = None
    queue_p95_ms: float | None = None
    queue_p99_ms: float | None = None
    sojourn_mean_ms: float | None = None
    sojourn_p50_ms: float | None = None
    sojourn_p95_ms: float | None = None
    sojourn_p99_ms: float | None = None
    drops: Count
    marks: Count = 0
    drop_rate: float


class Summary(View, frozen=True, kw_only=True):
    """The engine's own summary of a run: its bottleneck, further links, flows in the order of the plan, Jain's index of
    `jain_flows` of them.
    """

    link: LinkSummary
    links: tuple[LinkSummary, ...] = ()
    flows: tuple[FlowSummary, ...]
    jain: float | None
    jain_flows: Count
    packets_delivered: Count = 0
    events: Count = 0

    @property
    def data_links(self) -> tuple[LinkSummary, ...]:
        """The links by the number that tables give them: 0 is the bottleneck."""
        return (self.link, *self.links)


class TableFile(View, frozen=True, kw_only=True):
    """Size and SHA-256 that a file of the folder had when it was written."""

    bytes: Count
    sha256: str = ""


class Manifest(View, frozen=True, kw_only=True):
    """Manifest of a result folder (docs/results.md)."""

    schema_version: int
    name: str
    position: Count
    vary: dict[str, Any]
    together: list[list[str]] = field(default_factory=list)
    repetition: Count
    seed: Count
    scenario: str = ""
    set: list[str] = field(default_factory=list)
    plan: PlanView
    summary: Summary
    warnings: list[str]
    versions: dict[str, str] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    git: str | None = None
    kernel: str = ""
    created: str = ""
    wall_s: float = 0.0
    backend: str = "sim"
    controllers: list[dict[str, Any]] = field(default_factory=list)
    emulator: dict[str, Any] | None = None
    files: dict[str, TableFile] = field(default_factory=dict)

    def __post_init__(self) -> None:
        flows, links = len(self.plan.flows), len(self.plan.recorded_links) - 1
        if len(self.summary.flows) != flows:
            raise ValueError(f"summary.flows has {len(self.summary.flows)} flows, its plan {flows}")
        if len(self.summary.links) != links and self.summary.links:
            raise ValueError(
                f"summary.links has {len(self.summary.links)} links, its plan {links} after the bottleneck"
            )


class _Version(Struct):
    schema_version: int


#: Made here, because msgspec looks up the types of a struct when it is first decoded, and crashes where two threads do
#: that at once, as the workers of `dumbbell run --json`.
_VERSION, _MANIFEST = msgspec.json.Decoder(_Version), msgspec.json.Decoder(Manifest)


def read(folder: Path) -> Manifest:
    """The manifest of a folder; raises ResultError that names the file and what is wrong in it."""
    path = folder / "manifest.json"
    try:
        data = read_bytes(path, MANIFEST_MAX)
    except UnreadableError as error:
        raise ResultError(f"{folder}: no result folder ({error})") from None
    try:
        version = _VERSION.decode(data).schema_version
        if version != SCHEMA_VERSION:
            age = "a newer" if version > SCHEMA_VERSION else "an older"
            raise ResultError(f"{folder}: format version {version}, wanted {SCHEMA_VERSION}: made by {age} dumbbell")
        return _MANIFEST.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ResultError(f"{path}: damaged: {_said(error)}") from None


class _Sweep(Struct):
    runs: list[str]


def expected_runs(folder: Path) -> list[str]:
    """Names of the runs that a sweep's folder is to hold, from its sweep.json; raises OSError or ValueError where there
    is none that can be read.
    """
    try:
        return msgspec.json.decode(read_bytes(folder / "sweep.json", MANIFEST_MAX), type=_Sweep).runs
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(_said(error)) from None


def unfinished(folder: Path) -> str:
    """Say how many of a sweep's runs are there, as in ``5 of 6 runs are there``; empty where none is missing, or nobody
    knows.
    """
    try:
        expected = expected_runs(folder)
        missing = [name for name in expected if not (folder / name / "manifest.json").is_file()]
    except (OSError, ValueError):
        return ""
    return f"{len(expected) - len(missing)} of {len(expected)} runs are there" if missing else ""


def _said(error: Exception) -> str:
    """Say what is wrong and where, as a person would name the place."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    what, at, place = str(error).rpartition(" - at `$")
    if not at:
        return str(error)
    key = place.rstrip("`").lstrip(".")
    return (f"{key}: " if key else "") + what.replace("`", "")
