"""The judge: each kind of question, the four words, margins, and how often equal engines are taken for different ones."""

from __future__ import annotations

import math
from random import Random

import pytest

from dumbbell.errors import ScenarioError
from dumbbell.judge import Bound, Order, Precision, Sample, Tolerance, Trend, Verdict, Within
from dumbbell.judge.grammar import bound, precision
from dumbbell.judge.questions import together
from dumbbell.judge.rule import SINGLE, decide
from dumbbell.judge.verdict import worst
from dumbbell.results.statistic import Interval, difference


def sample(*values: float | None) -> Sample:
    """Repetitions with the seeds 0, 1, ..."""
    return Sample(values, tuple(range(len(values))))


@pytest.mark.parametrize(
    ("text", "values", "word", "margin"),
    [
        ("utilization >= 95%", [0.96], "holds", 0.01),
        ("utilization >= 95%", [0.94], "fails", -0.01),
        ("utilization >= 95%", [0.95], "holds", 0.0),
        ("utilization > 95%", [0.95], "fails", 0.0),
        ("utilization >= 0.95", [0.96, 0.961, 0.962], "holds", 0.011),
        ("utilization >= 0.95", [0.90, 0.96, 1.0], "unclear", 0.0033),
        ("queue <= 5", [7.0, 7.1, 7.2], "fails", -2.1),
        ("drops == 0", [0.0, 0.0], "holds", 0.0),
        ("drops == 0", [0.0, 0.0, 3.0], "unclear", -1.0),
        ("drops == 0", [3.0], "fails", -3.0),
        ("drops != 0", [3.0, 3.0], "holds", 3.0),
        ("fct <= 2", [1.0, None], "unjudged", math.nan),
        ("fct_p99 <= 2", [math.inf], "fails", -math.inf),
    ],
)
def test_a_bound_is_decided_by_the_mean_and_unclear_where_its_interval_holds_the_line(
    text: str, values: list[float | None], word: str, margin: float
) -> None:
    question = bound(text)
    verdict = question.judge(sample(*values))
    assert verdict.word == word
    assert verdict.margin == pytest.approx(margin, abs=1e-4, nan_ok=True)
    assert bool(verdict.reason) == (word != "holds")


def test_a_reason_has_the_measured_value_and_what_is_wanted() -> None:
    assert Bound("queue", "<=", 5.0).judge(sample(7.125)).reason == "queue 7.125, wanted <= 5"
    assert bound("fct <= 2").judge(sample(1.0, None)).reason == "1 of 2 repetitions has no fct"
    assert bound("fct <= 2").judge(sample(None)).reason == "the run has no fct"


def test_a_precision_is_a_width_of_the_interval() -> None:
    assert precision("goodput ci 10%").judge(sample(10.0, 10.1, 9.9)).word == "holds"
    wide = precision("goodput ci 1%").judge(sample(10.0, 12.0, 8.0))
    assert (wide.word, wide.reason) == ("fails", "goodput: wider than wanted after 3 repetitions")
    assert Precision("jain", 0.1, is_relative=False).judge(sample(1.0)).word == "unjudged"


@pytest.mark.parametrize(
    ("question", "values", "word"),
    [
        (Within(0.9, 0.9, Tolerance(0.05)), [0.86], "holds"),
        (Within(0.9, 0.9, Tolerance(0.05)), [0.84], "fails"),
        (Within(0.9, 0.9, Tolerance(0.05)), [0.79], "fails"),
        (Within(0.9, 0.9, Tolerance(0.05)), [0.84, 0.841, 0.842], "fails"),
        (Within(0.9, 0.9, Tolerance(0.05)), [0.74, 0.84, 0.94], "unclear"),
        (Within(10.0, 20.0, Tolerance(share=0.1)), [9.1], "holds"),
        (Within(10.0, 20.0, Tolerance(share=0.1)), [15.0], "holds"),
        (Within(10.0, 20.0, Tolerance(share=0.1)), [25.0], "fails"),
        (Within(0.8, None, Tolerance(0.1), is_strict=True), [0.79], "fails"),
        (Within(0.8, None, Tolerance(0.1), is_strict=True), [0.79, 0.78, 0.82], "unclear"),
        (Within(0.8, None, Tolerance(0.1)), [0.79], "holds"),
        (Within(0.8, None, Tolerance(0.1)), [math.nan], "unjudged"),
    ],
)
def test_a_value_is_within_ends_give_or_take_a_tolerance(question: Within, values: list[float], word: str) -> None:
    assert question.judge(sample(*values)).word == word


def order(**more: object) -> Order:
    return Order(("A", "B"), Tolerance(0.1), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "high", "low", "word", "is_tie"),
    [
        (order(), [1.0], [0.8], "holds", False),
        (order(), [1.0], [0.95], "fails", True),
        (order(), [0.8], [1.0], "fails", False),
        (order(), [1.0, 1.4, 0.9], [0.8, 0.8, 0.9], "unclear", False),
        (order(), [1.0, 1.4, 0.9], [0.8, 1.21, 0.69], "holds", False),
        (order(may_tie=frozenset({"A"})), [1.0], [1.05], "holds", False),
        (order(may_tie=frozenset({"A"})), [1.0], [1.15], "fails", False),
        (order(slight=frozenset({"A"})), [1.0], [0.99], "holds", False),
        (order(slight=frozenset({"A"})), [1.0], [1.01], "fails", True),
        (order(min_gap=0.5), [1.0], [0.7], "fails", False),
        (order(min_gap=0.5), [1.0], [0.5], "holds", False),
    ],
)
def test_an_order_needs_more_than_the_tolerance_between_neighbours(
    question: Order, high: list[float], low: list[float], word: str, *, is_tie: bool
) -> None:
    verdict = question.judge([sample(*high), sample(*low)])
    assert (verdict.word, verdict.is_tie) == (word, is_tie)
    if is_tie:
        assert verdict.reason.startswith("a tie: A ")


@pytest.mark.parametrize(
    ("direction", "line", "word", "is_tie"),
    [
        ("increase", [0.2, 0.4, 0.7], "holds", False),
        ("increase", [0.2, 0.6, 0.55, 0.7], "holds", False),
        ("increase", [0.2, 0.6, 0.4, 0.7], "fails", False),
        ("increase", [0.2, 0.25], "fails", True),
        ("decrease", [0.7, 0.2], "holds", False),
        ("decrease", [0.2, 0.7], "fails", False),
        ("flat", [0.5, 0.55, 0.45], "holds", False),
        ("flat", [0.1, 0.5, 0.9], "fails", False),
        ("increase", [0.5], "unjudged", False),
    ],
)
def test_a_trend_is_of_its_ends_and_of_steps_beyond_the_tolerance(
    direction: str, line: list[float], word: str, *, is_tie: bool
) -> None:
    question = Trend(direction, Tolerance(0.1), "buffer")  # type: ignore[arg-type]
    verdict = question.judge([(float(at), sample(value)) for at, value in enumerate(line)])
    assert (verdict.word, verdict.is_tie) == (word, is_tie)


def test_the_worst_word_speaks_for_all_and_nothing_judged_is_unjudged() -> None:
    assert worst(["holds", "unclear", "holds"]) == "unclear"
    assert worst(["holds", "unclear", "unjudged", "fails"]) == "fails"
    assert worst([]) == "unjudged"
    joined = together(
        [Verdict("holds", None, 3.0), Verdict("fails", None, -1.0, "a"), Verdict("fails", None, -2.0, "b")]
    )
    assert joined == Verdict("fails", None, -2.0, "a; b")
    many = together([Verdict("fails", None, -1.0, text) for text in "abcde"])
    assert many.reason == "a; b; c; 2 more"


def test_a_difference_of_single_runs_fails_beyond_two_tolerances() -> None:
    words = [decide(Interval(apart, math.nan, 1), 1.0, single=SINGLE) for apart in (1.0, -1.5, SINGLE, 2.1, -math.inf)]
    assert words == ["holds", "unclear", "unclear", "fails", "fails"]


def test_repetitions_are_paired_by_seed_whatever_their_order() -> None:
    before, after = Sample((1.0, 2.0, 9.0), (7, 8, 9)), Sample((9.5, 1.5, 2.5), (9, 7, 8))
    assert difference(before, after) == (Interval(0.5, 0.0, 3), True)
    assert not difference(before, Sample((1.0, 2.0, 9.0), (1, 2, 3)))[1]
    assert not difference(Sample((1.0, 2.0)), Sample((1.0, 2.0)))[1], "seeds are not known"


@pytest.mark.parametrize("n", [3, 5, 10])
def test_equal_engines_differ_in_no_more_than_one_judgement_of_twenty(n: int) -> None:
    draw = Random(n)
    words = []
    for _ in range(4000):
        one, other = ([draw.gauss(1.0, 0.3) for _ in range(n)] for _ in range(2))
        words.append(decide(difference(sample(*one), sample(*other))[0], 0.0))
    assert 0.03 < words.count("fails") / len(words) < 0.06, "without a tolerance it is the 5 % of the interval"
    words = []
    for _ in range(4000):
        one, other = ([draw.gauss(1.0, 0.1) for _ in range(n)] for _ in range(2))
        words.append(decide(difference(sample(*one), sample(*other))[0], 0.07))
    assert words.count("fails") / len(words) < 0.05


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (bound, "utilization => 1", "wanted COLUMN OP NUMBER"),
        (bound, "utilisation ci 5%", "wanted COLUMN OP NUMBER"),
        (bound, "utilization >= 95", 'wanted "0.95" or "95%": utilization is at most 1'),
        (bound, "goodputt > 1", 'did you mean "goodput"?'),
        (precision, "goodput >= 1", "wanted FIGURE ci WIDTH"),
        (precision, "goodput ci 0", "wanted FIGURE ci WIDTH"),
        (precision, "goodput ci -1", "wanted FIGURE ci WIDTH"),
        (precision, "jain ci 5", '"0.05", or "5%" of the mean'),
    ],
)
def test_a_question_that_cannot_be_read_is_refused_with_what_is_accepted(read: object, text: str, said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        read(text)  # type: ignore[operator]
    assert said in str(refused.value)
