"""Every kind of picture over the gallery: warnings are errors, legends lie inside, axes have units, and what is drawn is what the tables hold."""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from conftest import ROOT
from dumbbell import ResultError, Results, from_file, plan, plot, units
from dumbbell.sweep import run

GALLERY = sorted((ROOT / "scenarios").glob("*.toml"))

#: Simulated time after the last start, s: 5 million packets at 10 Gbit/s would take too long.
SHOWN_S = {"fabric-10g": 0.3}

#: Titles of axes that have no unit, because they count or compare.
UNITLESS = ("Share of", "Slowdown", "Jain", "Flow", "Utilization", "Size of", "Controller", "Queue discipline", "Number of", "Scenario", "Rate")


def shortened(path: Path, folder: Path) -> Results:
    """The first and the last two cases of a scenario, cut to what shows every flow."""
    given = from_file(path).scenario
    starts = [units.span_ns(flow.start) + (flow.count if isinstance(flow.count, int) else 1) * units.span_ns(flow.spacing) for flow in given.flow]
    duration = max(starts) / 1e9 + SHOWN_S.get(path.stem, 1)
    overrides = [f'duration="{duration}s"', "repetitions=1"]
    for i, flow in enumerate(given.flow):
        if flow.stop is not None and float(flow.stop.removesuffix("s")) > duration:
            overrides.append(f'flow[{i}].stop="{duration}s"')
        if flow.arrivals is not None:
            overrides.append(f'flow[{i}].arrivals.until="{duration}s"')
    cases = plan.cases(from_file(path, overrides=tuple(overrides)).scenario)
    found = []
    for number in sorted({0, len(cases) - 2, len(cases) - 1} & set(range(len(cases)))):
        found += [(cases[number].vary, result) for result in run(cases[number].scenario, folder / str(number), jobs=1)]
    for vary, result in found:
        result.manifest.vary.update(vary)
    return Results([result for _, result in found])


def checked(figure: object) -> None:
    """Legend, caption and axes of a figure lie inside it, and titles have units."""
    figure.draw_without_rendering()  # type: ignore[attr-defined]
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


def sweeps(results: Results) -> list[tuple[str, dict[str, object]]]:
    """The kinds that apply to these runs as a whole."""
    kinds: list[tuple[str, dict[str, object]]] = []
    if results.varied():
        kinds += [("vary", {}), ("vary", {"metric": "queue_p95"}), ("vary", {"metric": "rtt_p99", "log": True}), ("tradeoff", {"delay": "queue"})]
    if any(flow.is_finite for one in results for flow in one.plan.flows):
        kinds += [("fct", {}), ("slowdown", {})]
    return kinds


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_every_picture_of_the_gallery_is_whole(path: Path, tmp_path: Path) -> None:
    results = shortened(path, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in plot.SINGLE:
            if kind == "states" and len(results[-1].plan.flows) > 20:
                continue
            settings = {"bin_s": 0.1} if kind in ("goodput", "throughput") else {}
            checked(plot.draw(kind, results[-1:], **settings))
        for kind, given in sweeps(results):
            with suppress(ResultError):  # a short run may have nothing of a kind, and says so
                checked(plot.draw(kind, results, **given))
    figure = plot.goodput(results[-1], bin_s=0.1).get_figure()
    assert figure is not None
    assert any(text.get_text().startswith("link rate") for text in figure.legends[0].get_texts()), "the capacity is named"


@pytest.mark.parametrize("stem", ["pair-cubic-bbr", "parking-lot", "rtt-unfairness", "wifi-acks"])
def test_series_over_time_are_the_columns_of_the_tables(stem: str, tmp_path: Path) -> None:
    result = shortened(ROOT / "scenarios" / f"{stem}.toml", tmp_path)[0]
    rows = pq.read_table(result.folder / "samples.parquet").to_pylist()
    for draw, column, scale in ((plot.rtt, "rtt_us", 1e-3), (plot.cwnd, "cwnd", 1.0), (plot.inflight, "in_flight", 1.0)):
        lines = draw(result).get_lines()
        assert len(lines) == len(result.plan.flows)
        expected = {
            tuple(np.nan_to_num([float("nan") if row[column] is None else row[column] * scale for row in rows if row["flow"] == flow], nan=-1.0).round(6))
            for flow in range(len(lines))
        }
        assert {tuple(np.nan_to_num(line.get_ydata(), nan=-1.0).round(6)) for line in lines} == expected
    waiting = [row for row in pq.read_table(result.folder / "queue.parquet").to_pylist() if row["link"] == 0]
    drawn = plot.queue(result, unit="ms").get_lines()[0].get_ydata()
    assert list(drawn) == pytest.approx([row["sojourn_us"] / 1000 for row in waiting])
