"""Whatever is written, the answer is a plan or a ScenarioError, never another exception."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dumbbell import ScenarioError, from_dict, from_text, plan
from dumbbell.scenario.declare import Table, Variant
from dumbbell.scenario.file import Flow, Host, Path, Record
from dumbbell.scenario.routes import Ack, Link
from dumbbell.scenario.schema import tables
from dumbbell.scenario.source import override

WORDS = st.sampled_from(
    [
        "1bdp",
        "40Mbps",
        "20ms",
        "0.01%",
        "100pkt",
        "500kB",
        "cubic",
        "bbr",
        "fifo",
        "fq",
        "auto",
        "uniform",
        "1e9s",
        "0s",
        "-1ms",
        "",
        "fq_codel",
        "quic",
        "buffer",
        "10/s",
        "bottleneck",
        "l1",
        "9" * 30 + "Gbps",
        "\x00",
    ]
)
SCALARS = st.one_of(WORDS, st.text(max_size=8), st.integers(), st.floats(), st.booleans())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)


#: Tables that stand instead of values, with their words.
INNER = [one for one in tables() if one.KEYS and one not in (Path, Ack, Link, Host, Flow, Record)]


@st.composite
def inner(draw: st.DrawFn) -> dict[str, Any]:
    """A table instead of a value, with mostly known keys."""
    kind = draw(st.sampled_from(INNER))
    given_ = draw(st.dictionaries(st.sampled_from(sorted(kind.KEYS)), SCALARS, max_size=5))
    return {**given_, kind.TAG: kind.FORM} if issubclass(kind, Variant) and kind.FORM else given_


def table(kind: type[Table]) -> st.SearchStrategy[dict[str, Any]]:
    """Tables with mostly known keys and mostly plausible values."""
    keys = st.one_of(st.sampled_from(sorted(kind.KEYS)), st.sampled_from(sorted(kind.KEYS)), st.text(max_size=6))
    return st.dictionaries(keys, st.one_of(VALUES, inner(), st.lists(inner(), max_size=2)), max_size=6)


SCENARIOS = st.fixed_dictionaries(
    {"duration": st.one_of(st.just("10s"), VALUES)},
    optional={
        "name": VALUES,
        "seed": VALUES,
        "repetitions": st.one_of(st.integers(0, 3), VALUES),
        "path": table(Path).map(lambda t: {"rate": "10Mbps", "rtt": "20ms", "buffer": "1bdp", **t}),
        "link": st.lists(
            table(Link).map(lambda t: {"name": "l1", "rate": "10Mbps", "buffer": "1bdp", **t}), max_size=2
        ),
        "host": table(Host),
        "record": table(Record),
        "flow": st.lists(st.one_of(table(Flow).map(lambda t: {"cca": "cubic", **t}), VALUES), max_size=3),
        "extra": VALUES,
    },
)


def outcome(given_: dict[str, Any]) -> list[plan.Planned] | None:
    refused = None
    try:
        return plan.runs(from_dict(given_))
    except ScenarioError as error:
        refused = error
    assert str(refused)
    assert "\n" not in refused.problem
    return None


@given(SCENARIOS)
@settings(max_examples=400, deadline=None)
def test_any_tables_give_a_plan_or_a_scenario_error(given_: dict[str, Any]) -> None:
    for run in outcome(given_) or []:
        assert run.plan["duration_ns"] > 0
        assert all(0 <= flow["start_ns"] < flow["stop_ns"] <= run.plan["duration_ns"] for flow in run.plan["flows"])


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_any_text_gives_a_scenario_or_a_scenario_error(text: str) -> None:
    try:
        from_text(text)
    except ScenarioError:
        return


@given(st.text(alphabet="path.flow[]01=rate cca\"'{}", max_size=30))
@settings(max_examples=300, deadline=None)
def test_any_override_changes_the_tables_or_is_refused(text: str) -> None:
    try:
        override({"path": {"rate": "1Mbps"}, "flow": [{"cca": "cubic"}]}, text)
    except ScenarioError:
        return


def test_every_table_has_a_kind_of_its_own() -> None:
    names = [one.__name__ for one in tables()]
    assert len(names) == len(set(names)) > 40
