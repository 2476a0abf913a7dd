"""The registry of papers and its judge: what a claim of each kind asks for, how places are matched, and that every claim
of every figure can be read from its runs.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from dumbbell import suites
from dumbbell.errors import ScenarioError
from dumbbell.runs.store import Store
from dumbbell.suites import claims, findings, judge, measure, score
from dumbbell.suites.book import Book
from dumbbell.suites.changed import Changed, scaled
from dumbbell.suites.claims import Claim
from dumbbell.suites.places import Case, SuiteError, matches
from dumbbell.suites.table import FAST, FULL, Reading, Table, by_place


def claim(kind: str, **given: Any) -> Claim:
    """A claim with a relative tolerance of 10 %."""
    wanted = {"ordering": {"order": ["a", "b"]}, "range": {}, "trend": {"x_var": "x"}}.get(kind, {"expected": 0})
    tolerance = {"kind": "rel", "sim": 0.1}
    return Claim(
        **{"id": "c1", "text": "it holds", "kind": kind, "metric": "jain", "tol": tolerance, **wanted, **given}
    )


class Lines:
    """A table with these lines: name to values at x = 1, 2, ...; one repetition each."""

    kind = "sim"
    id = "paper/fig"

    def __init__(self, **lines: list[float]) -> None:
        self.lines = lines

        class entry:  # noqa: N801
            unjudged: dict[str, str] = {}  # noqa: RUF012

        self.entry = entry

    def read(self, _: str, label: str | None = None, at: dict[str, Any] | None = None) -> list[Reading]:
        """The points of a line."""
        values = self.lines[label or "all"]
        found = [Reading({"x": i + 1}, (value,)) for i, value in enumerate(values)]
        return [one for one in found if matches(one.at, at or {})]


def verdict(of: Claim, **lines: list[float]) -> str:
    """What a claim comes to on these lines; ``a tie`` where it fails as one."""
    table: Any = Lines(**lines)
    found = judge.judge(of, table, table, None)  # type: ignore[arg-type]
    assert found.is_tie == found.reason.startswith("a tie: ")
    return "a tie" if found.is_tie else found.verdict


@pytest.mark.parametrize(
    ("kind", "given", "values", "wanted"),
    [
        ("approx", {"expected": 10}, [10.9], "holds"),
        ("approx", {"expected": 10}, [11.1], "fails"),
        ("value", {"expected": 10}, [9.1, 8.9], "fails"),
        ("range", {"lower": 10}, [10, 1000], "holds"),
        ("range", {"lower": 10}, [9.9], "fails"),  # one bound is a word: above
        ("range", {"upper": 10}, [10.1], "fails"),
        ("range", {"lower": 10, "origin": "derived"}, [9.1], "holds"),  # the smallest number of a table
        ("range", {"lower": 10, "upper": 20}, [9.1, 21.9], "holds"),
        ("range", {"lower": 10, "upper": 20}, [22.1], "fails"),
        ("trend", {"direction": "increase"}, [1, 2, 1.9, 3], "holds"),
        ("trend", {"direction": "increase"}, [1, 2, 1.7, 3], "fails"),
        ("trend", {"direction": "increase"}, [1.0, 1.05, 0.99], "a tie"),
        ("trend", {"direction": "increase"}, [1.0, 1.05, 1.09], "a tie"),
        ("trend", {"direction": "increase"}, [1.0, 0.95, 0.9, 0.85], "fails"),
        ("trend", {"direction": "decrease"}, [3, 2, 1], "holds"),
        ("trend", {"direction": "flat"}, [1, 1.05, 0.95], "holds"),
        ("trend", {"direction": "flat"}, [1, 1.5, 1], "fails"),
        ("trend", {"direction": "increase"}, [1], "unjudged"),
        ("approx", {"expected": 10}, [float("nan")], "unjudged"),
        ("range", {"lower": 10}, [float("inf")], "unjudged"),  # the completion time of a flow that did not complete
    ],
)
def test_a_claim_of_values_holds_where_every_point_is_within_its_tolerance(
    kind: str, given: dict[str, Any], values: list[float], wanted: str
) -> None:
    assert verdict(claim(kind, **given), all=values) == wanted


@pytest.mark.parametrize(
    ("given", "lines", "wanted"),
    [
        ({}, {"a": [3], "b": [2], "c": [1]}, "holds"),
        ({}, {"a": [3], "b": [2.8], "c": [1]}, "a tie"),
        ({}, {"a": [3], "b": [3.2], "c": [1]}, "a tie"),
        ({}, {"a": [3], "b": [3.4], "c": [1]}, "fails"),
        ({}, {"a": [3, 3], "b": [2.8, 3.4], "c": [1, 1]}, "fails"),
        ({"may_tie": ("a",)}, {"a": [3], "b": [3.2], "c": [1]}, "holds"),
        ({"may_tie": ("a",)}, {"a": [3], "b": [3.4], "c": [1]}, "fails"),
        ({"may_tie": ("a",)}, {"a": [3], "b": [2], "c": [2]}, "a tie"),
        ({"slight": ("a",)}, {"a": [3], "b": [2.9], "c": [1]}, "holds"),
        ({"slight": ("a",)}, {"a": [3], "b": [3.1], "c": [1]}, "a tie"),
        ({"min_gap": 0.5}, {"a": [3], "b": [1.5], "c": [0.5]}, "holds"),
        ({"min_gap": 0.5}, {"a": [3], "b": [2], "c": [0.5]}, "fails"),
        ({"min_gap": 0.15}, {"a": [3], "b": [2.8], "c": [0.5]}, "fails"),  # clearly: more than the tolerance
        ({}, {"a": [3, 1], "b": [2, 2], "c": [1, 1]}, "fails"),
    ],
)
def test_an_ordering_holds_where_every_point_has_the_order(
    given: dict[str, Any], lines: dict[str, list[float]], wanted: str
) -> None:
    assert verdict(claim("ordering", order=("a", "b", "c"), **given), **lines) == wanted


def test_lines_of_one_run_are_compared_within_it() -> None:
    cubic = [Reading({"x": 1}, (1.0,), "against BBR"), Reading({"x": 1}, (2.0,), "against BBRv2")]
    bbr2 = [Reading({"x": 1}, (3.0,), "against BBRv2")]
    assert by_place([bbr2, cubic]) == [({"x": 1}, [bbr2[0], cubic[1]])]


def test_a_place_that_names_an_unknown_axis_is_a_fault_of_the_entry() -> None:
    assert matches({"x": 2}, {"x": [1, 2]})
    assert not matches({"x": 2}, {"x_min": 3})
    with pytest.raises(SuiteError, match="no axis buffer"):
        matches({"x": 2}, {"buffer": 1})


@pytest.mark.parametrize("paper", suites.known())
def test_every_figure_of_a_paper_is_there_and_says_what_the_paper_leaves_open(paper: str) -> None:
    for name in suites.ids(paper):
        entry, text = suites.entry_of(name), suites.text_of(name)
        assert entry.choices or not text.not_stated, f"{name} leaves open {text.not_stated}"
        assert set(entry.unjudged) <= {one.id for one in text.claims}
        assert {*entry.also, *entry.needs} <= set(suites.ids(paper))
    known = {f"{name}#{one.id}" for name in suites.ids(paper) for one in suites.text_of(name).claims}
    found = findings.of_suite(paper)
    assert set(found) <= known
    assert {one.bin for one in found.values()} <= set(findings.BINS)


@pytest.fixture
def glances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run of a paper lasts 0.4 s."""
    made = Book._jobs_of

    def glance(self: Book, name: str, case: Case) -> Any:
        short = {key: value for key, value in case.scenario.items() if key != "measure"}
        flows = [
            {
                **{key: value for key, value in flow.items() if key != "stop"},
                **({"start": "0.1s"} if "start" in flow else {}),
            }
            for flow in short["flow"]
        ]
        changed = {**short, "flow": flows, "duration": "0.4s", "repetitions": 1}
        return made(self, name, case._replace(scenario=changed))

    monkeypatch.setattr(Book, "_jobs_of", glance)


@pytest.mark.usefixtures("glances")
@pytest.mark.parametrize("paper", suites.known())
def test_every_claim_of_a_paper_can_be_read_from_its_runs(paper: str, tmp_path: Path) -> None:
    book = Book(Store(tmp_path), FAST)
    for name in suites.ids(paper):
        judged = book.judged(name)
        assert len(judged.verdicts) == len(claims.of_suite(paper)[name].claims)
        if judged.table.points and judged.table.entry.draw:
            judged.table.entry.draw(judged.table)


@pytest.mark.usefixtures("glances")
def test_what_is_drawn_beside_a_figure_is_hollow_and_dotted_in_the_same_axes(tmp_path: Path) -> None:
    table, other = (
        Book(Store(tmp_path), FAST, changed=Changed(scale)).table("kfoury2020/fig11a") for scale in (1.0, 0.5)
    )
    assert table.entry.draw is not None
    alone = [len(ax.lines) for ax in table.entry.draw(table).axes]
    table.beside, other.kind = other, "uml"
    axes = table.entry.draw(table).axes
    assert [len(ax.lines) > before for ax, before in zip(axes, alone, strict=True)] == [True] * len(axes)
    rates = [point.runs[0].plan.links[0].rate_bps for point in (table.points[0], other.points[0])]
    assert rates == [10**9, 10**9 // 2]
    hollow = [
        line for ax in axes for line in ax.lines if line.get_markerfacecolor() == "none" and line.get_marker() != "x"
    ]
    assert {line.get_linestyle() for line in hollow} == {":"}


def _caption(name: str, tmp_path: Path) -> tuple[Any, str]:
    """A figure, and the line below it."""
    table = Book(Store(tmp_path), FAST).table(name)
    assert table.entry.draw is not None
    figure = table.entry.draw(table)
    return figure, " ".join(figure.legends[0].get_title().get_text().split())


@pytest.mark.usefixtures("glances")
def test_a_caption_explains_the_marks_that_are_drawn_and_no_others(tmp_path: Path) -> None:
    for name, said, unsaid in (
        ("kfoury2020/fig14a", "rings: the paper's numbers", "flat ends"),
        ("borgli/fig2", "flat ends: the paper's bounds", "rings"),
        (
            "yang2021/fig17",
            "dots: each path; marks: arithmetic means over the paths; ellipses: one standard deviation",
            "the paper's",
        ),
        ("borgli/fig4", "300 s", "the paper's"),
    ):
        _, caption = _caption(name, tmp_path)
        assert unsaid not in caption, name
        assert said.replace("300 s", "0.4 s") in caption, name


@pytest.mark.usefixtures("glances")
def test_a_mark_at_the_end_of_an_axis_is_not_cut(tmp_path: Path) -> None:
    figure, _ = _caption("kfoury2020/fig16a", tmp_path)
    (ax,) = figure.axes
    (ring,) = {float(line.get_ydata()[0]) for line in ax.lines if line.get_markersize() == 9}  # type: ignore[arg-type,index]
    assert ring == 90
    radius = 9 / 2 / (ax.get_position().height * figure.get_figheight() * 72)
    assert ax.get_ylim()[1] > ring + radius * ax.get_ylim()[1]


def test_the_full_profile_has_the_papers_times_and_repetitions() -> None:
    figures = [name for name in suites.ids("kfoury2020") if suites.text_of(name).category != "specification"]
    for name in figures:
        for case in suites.entry_of(name).cases(FULL):
            assert case.scenario["repetitions"] == 10
            assert case.scenario["duration"] in ("300s", "400s")


def test_a_scaled_scenario_has_its_rates_and_sizes_times_the_factor_and_its_buffer_in_bdp() -> None:
    given = {
        "path": {"rate": "1Gbps", "buffer": "0.5bdp", "burst": "500kB"},
        "flow": [{"cca": "bbr", "size": "100MB"}, {"cca": "cubic", "max_rate": "8.5Mbps"}],
    }
    assert scaled(given, 0.1) == {
        "path": {"rate": "0.1Gbps", "buffer": "0.5bdp", "burst": "50kB"},
        "flow": [{"cca": "bbr", "size": "10MB"}, {"cca": "cubic", "max_rate": "0.85Mbps"}],
    }
    with pytest.raises(ScenarioError, match="--scale"):
        scaled({**given, "path": {**given["path"], "buffer": "63pkt"}}, 0.1)  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("paper", "name", "value"),
    [
        ("kfoury2020/fig10a", "goodput_flow_mean", 900.0),
        ("kfoury2020/fig4a", "each goodput", [8.0, 10.0]),
        ("yang2021/fig18b", "in_flight", 250_000.0),
        ("gomez_fabric/exp-bw-cdf", "bandwidth_estimates", [1000.0]),
        ("kfoury2020/fig9a", "srtt_flow_mean", 90.0),
        ("kfoury2020/fig14a", "jain_all", 0.9),
        ("kfoury2020/fig16a", "each_fct", [1.5]),
    ],
)
def test_runs_at_a_tenth_of_the_rates_are_read_at_the_papers_scale(paper: str, name: str, value: Any) -> None:
    entry = suites.entry_of(paper)
    metric = measure.metric(name, entry.metrics)
    assert metric is not None
    measured = 0.1 if metric.grows_with_rate else 1.0
    own = [one * measured for one in value] if isinstance(value, list) else value * measured
    known = {**entry.metrics, name: metric._replace(read=lambda _, __: own)}
    table = Table(suites.text_of(paper), replace(entry, metrics=known), [], changed=Changed(0.1))
    assert table.metric(name).read(None, None) == pytest.approx(value)  # type: ignore[arg-type]
    assert (measured < 1) == (metric.unit in ("Mbit/s", "bytes"))


def test_a_claim_about_a_rate_is_judged_at_the_papers_scale(tmp_path: Path) -> None:
    verdicts = {
        one.claim.id: one
        for one in Book(Store(tmp_path), FAST, changed=Changed(0.1)).judged("kfoury2020/fig10a").verdicts
    }
    assert (verdicts["c1"].claim.expected, verdicts["c1"].verdict) == (900, "holds")
    assert verdicts["c1"].measured == pytest.approx(900, rel=0.08)
    assert verdicts["c6"].measured == pytest.approx(17, abs=10), "of 1000 Mbit/s: BBRv2 collapses"


@pytest.mark.usefixtures("glances")
def test_a_capacity_is_that_of_the_link_that_was_run(tmp_path: Path) -> None:
    parts = [
        Book(Store(tmp_path), FAST, changed=Changed(scale))
        .table("yang2021/fig8")
        .read("part_of_rate", "CUBIC", {"loss_pct": 0})
        for scale in (1.0, 0.5)
    ]
    assert parts[0][0].mean == pytest.approx(parts[1][0].mean, rel=0.3)


@pytest.mark.usefixtures("glances")
def test_whatever_is_written_of_a_scaled_figure_says_so(tmp_path: Path) -> None:
    book = Book(Store(tmp_path), FAST, changed=Changed(0.1))
    judged = book.judged("kfoury2020/fig11a")
    assert judged.table.entry.draw is not None
    caption = judged.table.entry.draw(judged.table).legends[0].get_title().get_text()
    assert "run at 0.1 of the paper's rates and drawn at the paper's scale" in " ".join(caption.split())
    board = score.as_json([judged], FAST, book.changed)
    assert (board["scale"], board["entries"][0]["scale"]) == (0.1, 0.1)
    page = score.markdown([judged], FAST, {}, book.changed)
    assert "Made with `--scale 0.1`. Rates and bursts are 0.1 of the papers'" in page
    assert "`dumbbell reproduce kfoury2020/fig11a --fast --scale 0.1`" in page


@pytest.mark.usefixtures("glances")
def test_a_figure_at_the_papers_rates_says_nothing_of_a_scale(tmp_path: Path) -> None:
    judged = Book(Store(tmp_path), FAST).judged("kfoury2020/fig11a")
    page = score.markdown([judged], FAST, {})
    assert "--scale" not in page
    assert "`dumbbell reproduce kfoury2020/fig11a --fast`" in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--scale", "0"], "argument --scale: got 0, wanted a number above 0"),
        (["--scale=-1"], "argument --scale: got -1, wanted a number above 0"),
        (["--scale", "nan"], "argument --scale: got nan, wanted a number above 0"),
        (["--scale", "0.00001"], "--scale: got 1e-05, wanted one that kfoury2020/fig10a can be run at (path.burst: "),
        (["--beside", "foo"], '--beside: got "foo", wanted one of: "sim"'),
        (["--beside", "sim"], '--beside: got "sim", wanted another back end than --on sim'),
    ],
)
def test_an_option_that_cannot_be_is_one_error_that_names_it(
    cli: Cli, tmp_path: Path, options: list[str], said: str
) -> None:
    done = cli("reproduce", "kfoury2020/fig10a", "--fast", "--out", tmp_path / "out", "--store", tmp_path, *options)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr


def test_an_unknown_figure_is_refused_with_the_nearest(cli: Cli) -> None:
    done = cli("reproduce", "kfoury2020/fig14x")
    assert done.returncode == 2
    assert "kfoury2020/fig14" in done.stderr
    assert done.stderr.count("\n") == 1
