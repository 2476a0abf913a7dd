"""Figures are declared once: what people see of them follows from the declaration, and flows are named in one way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

import dumbbell
from dumbbell import Result
from dumbbell.errors import ScenarioError
from dumbbell.results import figures
from dumbbell.results.catalogue import FIGURES, Place, figure, shown
from dumbbell.results.statistic import Interval
from dumbbell.results.texts import change_text, interval_text
from dumbbell.results.windows import chosen_flows


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    path = dumbbell.Path(rate="10Mbps", rtt="20ms", buffer="1bdp")
    flow = [
        dumbbell.Flow(cca="cubic", count=2),
        dumbbell.Flow(cca="reno", transport="quic", name="web"),
        dumbbell.Flow(cca="cubic", transport="quic", name="late"),
    ]
    (run,) = dumbbell.run(dumbbell.Scenario(duration="1s", path=path, flow=flow), tmp_path_factory.mktemp("run") / "o")
    return run


def test_no_two_figures_are_called_the_same() -> None:
    for called in ("name", "field", "axis_title", "heading"):
        names = [getattr(one, called) for one in FIGURES.values()]
        assert len(set(names)) == len(names), called


@pytest.mark.parametrize("place", get_args(Place))
def test_every_place_shows_figures_in_the_order_of_the_catalogue(place: Place) -> None:
    assert shown(place)
    assert shown(place) == [name for name in FIGURES if name in shown(place)]


def test_percent_is_a_matter_of_the_declaration_alone() -> None:
    rate = figure("retrans_rate")
    assert (rate.scale, rate.bound, rate.most, rate.is_fraction) == (100, 100, 1, False)
    assert interval_text("retrans_rate", Interval(0.0125, 0.001, 3)) == "1.25 ± 0.10"
    assert change_text("retrans_rate", Interval(0.0125, 0.001, 3)) == "+1.25 ± 0.10"
    assert figure("share").is_fraction


def test_a_percentile_that_is_not_reached_is_printed_and_has_no_difference() -> None:
    assert interval_text("fct_p99", Interval(float("inf"), float("nan"), 3)) == "not reached"
    assert change_text("fct_p99", Interval(float("inf"), float("nan"), 3)) == ""
    assert interval_text("fct_p99", None) == ""


def test_a_figure_of_a_link_has_the_links_name_in_all_of_its_titles() -> None:
    of_up = figure("drops@up")
    assert (of_up.name, of_up.heading, of_up.axis_title) == ("drops@up", "drops up", "Packets dropped at up (packets)")
    assert figure("queue@up").long == "Queueing delay over time, mean, of up"


@pytest.mark.parametrize(
    ("asked", "flows"),
    [
        (None, [0, 1, 2, 3]),
        ("all", [0, 1, 2, 3]),
        ("1-2, 0", [0, 1, 2]),
        ("web", [2]),
        ("reno", [2]),
        ("cubic", [0, 1]),
        ("quic", [2, 3]),
        ([3], [3]),
    ],
)
def test_flows_are_asked_for_by_number_table_controller_or_transport(
    result: Result, asked: Any, flows: list[int]
) -> None:
    assert chosen_flows(result, asked) == flows


@pytest.mark.parametrize("asked", ["4", "2-1", "cubik", "", "0,,1"])
def test_a_flow_that_is_not_there_is_refused_with_what_is(result: Result, asked: str) -> None:
    with pytest.raises(ScenarioError, match="--flows"):
        chosen_flows(result, asked)


def test_show_refuses_flows_as_plot_does(result: Result, cli: Callable[..., Any]) -> None:
    done = cli("show", result.folder, "--flows", "cubik")
    assert (done.returncode, done.stdout) == (2, "")
    assert 'did you mean "cubic"?' in done.stderr


def test_a_row_says_how_many_flows_over_which_transport(result: Result) -> None:
    rows = figures.rows(figures.measured(result), ["goodput"], by="table")
    assert [row.label for row in rows] == ["2 x cubic", "web (QUIC)", "late (QUIC)"]


def test_a_notebook_has_the_headings_of_tables(result: Result) -> None:
    page = dumbbell.load(Path(result.folder))._repr_html_()
    assert all(f"<th>{figure(name).heading}</th>" in page for name in shown("notebook"))
    assert "<td>2 x cubic</td>" in page
