"""Runs as tables for a person; rich is imported here only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from msgspec import structs

from dumbbell import units

if TYPE_CHECKING:
    from rich.console import Console

    from dumbbell.manifest import Manifest

#: Widest table.
WIDTH_MAX = 200

#: Runs with more flows than this are shown by controller.
FLOWS_SHOWN = 8


def console() -> Console:
    """Stdout for tables, as wide as they need: a narrow terminal wraps lines, but no figure is cut; rich itself obeys NO_COLOR."""
    from rich.console import Console

    return Console(width=WIDTH_MAX, highlight=False)


#: Heads of the figures, in the order of `_rows`.
HEADS = ("goodput\nMbit/s", "share", "retrans", "srtt ms\nmean", "srtt ms\np95", "complete\ns", "Jain", "util.", "queue ms\nmean", "drops", "marks")
_P95, _COMPLETE, _MARKS = 4, 5, 10

#: Narrower terminals get no column for the 95th percentile, so that the rest can be read.
WIDE = 96


def print_runs(manifests: list[Manifest], folder: Path) -> None:
    """A row per run and flow."""
    from rich import box
    from rich.table import Table

    out = console()
    keys = list(dict.fromkeys(key for m in manifests for key in m["vary"]))
    many = len({m["name"] for m in manifests}) > 1
    repeated = any(m["repetition"] for m in manifests)
    finite = any(flow["fct_s"] is not None for m in manifests for flow in m["summary"]["flows"])
    marked = any(manifest["summary"]["link"]["marks"] for manifest in manifests)
    left_out = set() if marked else {_MARKS}
    left_out |= ({_P95} if get_terminal_size((WIDTH_MAX, 24)).columns < WIDE else set()) | (set() if finite else {_COMPLETE})
    table = Table(
        title=f"{manifests[0]['name'] if not many else 'runs'} ({folder}){_qdisc(manifests)}", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for head in (["scenario"] if many else []) + [key.removeprefix("path.") for key in keys] + (["rep"] if repeated else []) + ["flow"]:
        table.add_column(head)
    for head in _without(HEADS, left_out):
        table.add_column(head, justify="right")
    for manifest in manifests:
        first = ([manifest["name"]] if many else []) + [_word(manifest["vary"].get(key)) for key in keys]
        first += [str(manifest["repetition"])] if repeated else []
        for i, (label, *figures) in enumerate(_rows(manifest)):
            table.add_row(*(first if i == 0 else [""] * len(first)), label, *_without(figures, left_out))
    out.print(table)
    _print_links(out, manifests)
    for manifest in manifests:
        for warning in manifest["warnings"]:
            out.print(f"warning: {manifest['name']} {json.dumps(manifest['vary'])}: {warning}", markup=False)


def _qdisc(manifests: list[Manifest]) -> str:
    """The queue discipline of all runs, where it is one and another than drop tail."""
    kinds = {manifest["plan"]["bottleneck"]["qdisc"]["kind"] for manifest in manifests}
    return f", {kinds.pop()}" if len(kinds) == 1 and kinds != {"fifo"} else ""


def _print_links(out: Console, manifests: list[Manifest]) -> None:
    """A line per further link and run."""
    for manifest in manifests:
        varied = ", ".join(f"{key.removeprefix('path.')} = {_word(value)}" for key, value in manifest["vary"].items())
        for link, plan in zip(manifest["summary"]["links"], manifest["plan"]["links"]):
            figures = f"utilization {link['utilization']:.3f}, queue {_ms(link.queue_mean_ms)} ms, drops {link['drops']}"
            marks = f", marks {link['marks']}" if link["marks"] else ""
            out.print(f"link {plan['name']}{f' ({varied})' if varied else ''}: {figures}{marks}", markup=False)


def _without(items: Sequence[str], left_out: set[int]) -> list[str]:
    return [item for i, item in enumerate(items) if i not in left_out]


def _word(value: object) -> str:
    return units.value_text(value)


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _rows(manifest: Manifest) -> list[list[str]]:
    summary = manifest["summary"]
    link = summary["link"]
    end = ["" if summary.jain is None else f"{summary.jain:.3f}", f"{link['utilization']:.3f}", _ms(link.queue_mean_ms), str(link["drops"]), str(link["marks"])]
    flows: list[Any] = [{**structs.asdict(flow), "label": f"{flow.name} {flow.rtt_ms:g} ms"} for flow in summary.flows]
    if len(flows) > FLOWS_SHOWN:
        flows = _by_controller(flows, [flow.is_finite for flow in manifest.plan.flows])
    return [_flow(flow) + (end if i == 0 else [""] * len(end)) for i, flow in enumerate(flows)]


def _flow(flow: dict[str, Any]) -> list[str]:
    fct = "" if flow["fct_s"] is None else f"{flow['fct_s']:.3f}"
    label = flow["label"]
    return [
        *(label, f"{flow['goodput_mbps']:.2f}", f"{flow['share']:.3f}", f"{flow['retrans_rate']:.2%}"),
        *("" if flow[name] is None else f"{flow[name]:.1f}" for name in ("srtt_mean_ms", "srtt_p95_ms")),
        fct,
    ]


def _by_controller(flows: list[dict[str, Any]], finite: list[bool]) -> list[dict[str, Any]]:
    grouped: dict[tuple[str, bool], list[dict[str, Any]]] = {}
    for flow, ends in zip(flows, finite):
        grouped.setdefault((flow["name"], ends), []).append(flow)
    return [_merged(cca, group, finite=ends) for (cca, ends), group in grouped.items()]


def _merged(cca: str, group: list[dict[str, Any]], *, finite: bool) -> dict[str, Any]:
    """Goodput and share are sums, the rest means over the flows; of finite flows, which go on at different times, all are means."""

    def mean(name: str) -> float | None:
        values = [flow[name] for flow in group if flow[name] is not None]
        return sum(values) / len(values) if values else None

    divisor = len(group) if finite else 1
    return {
        "label": f"{len(group)} x {cca}{', each' if finite else ''}",
        "goodput_mbps": sum(flow["goodput_mbps"] for flow in group) / divisor,
        "share": sum(flow["share"] for flow in group) / divisor,
        **{name: mean(name) for name in ("retrans_rate", "srtt_mean_ms", "srtt_p95_ms", "fct_s")},
    }
