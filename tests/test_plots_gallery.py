"""Every kind of picture over the gallery: warnings are errors, legends lie inside, axes have units, and what is drawn
is what the tables hold.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from zlib import crc32

import numpy as np
import pyarrow.parquet as pq
import pytest

from conftest import ROOT
from dumbbell import ResultError, Results, from_file, plan, plot
from dumbbell.api import run
from dumbbell.scenario.declare import is_written

GALLERY = sorted((ROOT / "scenarios").glob("*.toml"))

#: Simulated time after the last start, s: 5 million packets at 10 Gbit/s would take too long.
SHOWN_S = {"fabric-10g": 0.1}

#: All starts come within this time, s: a run is cut, but every flow of it is there.
STARTS_S = 1.0

#: Titles of axes that have no unit, because they count or compare.
UNITLESS = (
    "Share of",
    "Slowdown",
    "Jain",
    "Flow",
    "Utilization",
    "Size of",
    "Controller",
    "Queue discipline",
    "Number of",
    "Scenario",
    "Rate",
)

#: Beside goodput, which all scenarios are drawn as, each is drawn as one or two of these.
SINGLE = [kind for kind in plot.OF_ONE_RUN if kind != "goodput"]
VARY: list[dict[str, object]] = [
    {},
    {"metric": "queue_p95"},
    {"metric": "rtt_p99", "log": True},
    {"metric": "share"},
    {"metric": "retrans_rate"},
]

#: What the shortened runs of a scenario cannot be drawn as, and the words of the refusal. Everything else must be
#: drawn.
REFUSED = {
    ("short-transfer", "slowdown"): "a bin of size needs 5 flows that completed",
    ("short-flows-p99", "states"): "flows have states, and this plot has rows for 20",
}


def _most(count: object) -> int:
    """The largest of a number, or of the list of those that vary it."""
    return max(count) if isinstance(count, (list, tuple)) else int(count)  # type: ignore[call-overload, no-any-return]


def shortened(path: Path, folder: Path) -> Results:
    """The first and the last two cases of a scenario, cut to what shows every flow."""
    given = from_file(path).scenario
    spans = [flow.start / 1e9 + _most(flow.count) * flow.spacing / 1e9 for flow in given.flow]
    scale = min(1.0, STARTS_S / max(*spans, 1e-9))
    duration = scale * max(spans) + SHOWN_S.get(path.stem, 0.7)
    overrides = [f'duration="{duration:.3f}s"', "repetitions=1"]
    overrides += ['host.start_jitter="10ms"'] if is_written(given.host, "start_jitter") else []
    overrides += ['measure.from="0s"'] if given.measure is not None else []
    for i, flow in enumerate(given.flow):
        for key, ns in (("start", flow.start), ("spacing", flow.spacing)):
            if scale < 1 and ns:
                overrides.append(f'flow[{i}].{key}="{scale * ns / 1e9:.3f}s"')
        if flow.stop is not None:
            overrides.append(f'flow[{i}].stop="{duration:.3f}s"')
        if flow.arrivals is not None:
            overrides += [f'flow[{i}].arrivals.until="{duration:.3f}s"', f'flow[{i}].arrivals.rate="100/s"']
    cases = plan.cases(from_file(path, overrides=tuple(overrides)).scenario)
    found = []
    for number in sorted({0, len(cases) - 2, len(cases) - 1} & set(range(len(cases)))):
        found += [(cases[number].vary, result) for result in run(cases[number].scenario, folder / str(number), jobs=1)]
    for vary, result in found:
        result.manifest.vary.update(vary)
    return Results([result for _, result in found])


def texts_of(figure: object) -> list[object]:
    """The texts of a figure that are drawn: ticks, titles, legends, captions, numbers in cells."""
    from matplotlib.text import Text

    shown = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]  # type: ignore[attr-defined]
    drawn: dict[object, bool] = {}
    for ax in figure.axes:  # type: ignore[attr-defined]
        for axis in (ax.xaxis, ax.yaxis, *(beside.yaxis for beside in ax.child_axes)):
            low, high = sorted(axis.get_view_interval())
            updated = axis._update_ticks()
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                is_drawn = low <= tick.get_loc() <= high and tick in updated
                drawn |= {tick.label1: is_drawn, tick.label2: is_drawn}
    return [text for text in shown if drawn.get(text, True)]


def overlaps(figure: object) -> list[str]:
    """Which texts of a figure cover others, and which are cut off at its edge; a point of tolerance."""
    figure.draw_without_rendering()  # type: ignore[attr-defined]
    texts, edge = texts_of(figure), figure.bbox  # type: ignore[attr-defined]
    tolerance = figure.dpi / 72  # type: ignore[attr-defined]
    boxes = [text.get_window_extent() for text in texts]  # type: ignore[attr-defined]
    words = [" ".join(text.get_text().split()) for text in texts]  # type: ignore[attr-defined]
    turned = [text.get_rotation() % 90 != 0 for text in texts]  # type: ignore[attr-defined]
    told = [
        f"{words[i]!r} is cut off"
        for i, box in enumerate(boxes)
        if box.x0 < -tolerance or box.y0 < -tolerance or box.x1 > edge.x1 + tolerance or box.y1 > edge.y1 + tolerance
    ]
    for i, one in enumerate(boxes):
        for j, other in enumerate(boxes[:i]):
            across = min(one.x1, other.x1) - max(one.x0, other.x0)
            up = min(one.y1, other.y1) - max(one.y0, other.y0)
            if min(across, up) > tolerance and not (turned[i] and turned[j]):  # the boxes of slanted texts overlap
                told.append(f"{words[j]!r} and {words[i]!r} overlap by {across:.0f} x {up:.0f} dots")
    return told


def checked(figure: object) -> None:
    """Legend, caption and axes of a figure lie inside it, no text covers another, and titles have units."""
    assert overlaps(figure) == []
    edge = figure.bbox  # type: ignore[attr-defined]
    for legend in figure.legends:  # type: ignore[attr-defined]
        box = legend.get_window_extent()
        assert box.x0 >= -1, "the legend is cut off at the left"
        assert box.y0 >= -1, "the legend is cut off at the bottom"
        assert box.x1 <= edge.x1 + 1, "the legend is cut off at the right"
    for ax in figure.axes:  # type: ignore[attr-defined]
        box = ax.get_tightbbox()
        assert box.x0 >= -2
        assert box.x1 <= edge.x1 + 2
        assert box.y0 >= -2
        assert box.y1 <= edge.y1 + 2
        for title in (ax.get_xlabel(), ax.get_ylabel()):
            text = " ".join(title.split())
            assert not text or text.endswith(")") or text.startswith(UNITLESS), f"no unit: {text}"


def singles(path: Path) -> list[str]:
    """What the last run of a scenario is drawn as: decided by its name, so that a new scenario changes no other's."""
    nth = crc32(path.stem.encode())
    return list(dict.fromkeys(["goodput", SINGLE[nth % len(SINGLE)], SINGLE[nth // 7 % len(SINGLE)]]))


def kinds(path: Path, results: Results) -> list[tuple[str, Results, dict[str, object]]]:
    """What the runs of a scenario are drawn as; over all scenarios every kind but `latency`, which needs requests."""
    nth, last = crc32(path.stem.encode()), Results(results[-1:])
    made: list[tuple[str, Results, dict[str, object]]] = [
        (kind, last, {"bin_s": 0.1} if "put" in kind else {}) for kind in singles(path)
    ]
    if results.varied():
        made += [
            ("vary", results, VARY[nth % len(VARY)]),
            ("tradeoff", results, {"delay": (None, "queue", "rtt")[nth % 3]}),
        ]
    if any(flow.is_finite for one in results for flow in one.plan.flows):
        made += [("fct", results, {}), ("slowdown", results, {})]
    return made


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_every_picture_of_the_gallery_is_whole(path: Path, tmp_path: Path) -> None:
    results = shortened(path, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        listed = kinds(path, results)
        in_column = crc32(path.stem.encode()) % len(listed)  # one of them in the width of a column too
        for nth, (kind, some, given) in enumerate(listed):
            if (path.stem, kind) in REFUSED:
                with pytest.raises(ResultError, match=REFUSED[path.stem, kind]):
                    plot.draw(kind, some, **given)
                continue
            if nth == in_column:
                checked(plot.draw(kind, some, **given, paper="column"))
            figure = plot.draw(kind, some, **given)
            checked(figure)
            if kind == "goodput":
                assert any(text.get_text().startswith("link rate") for text in figure.legends[0].get_texts()), (
                    "the capacity is named"
                )


def test_the_gallery_shows_every_kind_of_one_run() -> None:
    assert {kind for path in GALLERY for kind in singles(path)} == set(plot.OF_ONE_RUN)
    assert {stem for stem, _ in REFUSED} <= {path.stem for path in GALLERY}


@pytest.mark.parametrize("stem", ["pair-cubic-bbr", "parking-lot", "rtt-unfairness", "wifi-acks"])
def test_series_over_time_are_the_columns_of_the_tables(stem: str, tmp_path: Path) -> None:
    result = shortened(ROOT / "scenarios" / f"{stem}.toml", tmp_path)[0]
    rows = pq.read_table(result.folder / "samples.parquet").to_pylist()
    for draw, column, scale in (
        (plot.rtt, "rtt_us", 1e-3),
        (plot.cwnd, "cwnd", 1.0),
        (plot.inflight, "in_flight", 1.0),
    ):
        lines = draw(result).get_lines()
        assert len(lines) == len(result.plan.flows)
        expected = {
            tuple(
                np.nan_to_num(
                    [
                        float("nan") if row[column] is None else row[column] * scale
                        for row in rows
                        if row["flow"] == flow
                    ],
                    nan=-1.0,
                ).round(6)
            )
            for flow in range(len(lines))
        }
        assert {tuple(np.nan_to_num(line.get_ydata(), nan=-1.0).round(6)) for line in lines} == expected
    waiting = [row for row in pq.read_table(result.folder / "queue.parquet").to_pylist() if row["link"] == 0]
    drawn = plot.queue(result, unit="ms").get_lines()[0].get_ydata()
    assert list(drawn) == pytest.approx([row["sojourn_us"] / 1000 for row in waiting])
