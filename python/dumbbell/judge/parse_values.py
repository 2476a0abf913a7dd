"""Values of sentences from text: what stands on either side of a sign, and numbers in the unit of a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dumbbell import units
from dumbbell.errors import wrong
from dumbbell.results.catalogue import canonical, figure
from dumbbell.results.columns import COUNTING, QUEUE_STATES, SAMPLE_NUMBERS, SAMPLE_WORDS, unit_of
from dumbbell.results.limits import LIMITS

from .grammar import amount
from .values import (
    DERIVED,
    GIVEN,
    Count,
    Counter,
    Delay,
    Derived,
    Gap,
    Given,
    Limit,
    Moment,
    Reading,
    Reduction,
    Stay,
    Test,
    Time,
    Value,
    Variable,
    dimension,
)
from .words import Words

if TYPE_CHECKING:
    from collections.abc import Callable


Part = tuple[float, float] | None
"""From when to when, in seconds of the run; None for all of it."""

#: Kinds of events (docs/results.md, events.parquet).
EVENTS = (
    "start", "established", "stop", "complete", "ca_state", "cca_state", "loss_detected", "retransmit", "rto", "tlp",
    "undo", "drop_queue", "drop_random", "ecn_mark",
)  # fmt: skip

#: Counters of flows (docs/results.md, flows.parquet).
COUNTERS = (
    "segs_sent", "retrans_segs", "lost_segs", "queue_drops", "aqm_drops", "policed_drops", "random_drops", "damaged",
    "duplicated", "recoveries", "rtos", "tlps", "undos", "acks_sent", "ecn_marks",
)  # fmt: skip


class ValueReader(Words):
    """Values of a text; `of` is whose they are, and `part` the part of the run, where they do not say it."""

    def __init__(self, text: str, at: str, of: str | None, part: Part) -> None:
        super().__init__(text, at)
        self.of, self.part = of, part
        self.units: set[str] = set()
        """Units of the numbers that a variable is compared with."""

    def value(self) -> Value:
        """The next value, in the part of the run that it says, or else in that of the sentence."""
        return self.in_part(self.plain_value())

    def in_part(self, value: Value) -> Value:
        """The value in the part of the sentence, unless it says when itself."""
        is_at = isinstance(value, Variable) and (value.at_s is not None or value.state is not None)
        if self.part is None or is_at or isinstance(value, Delay):
            return value
        if value.start_s is not None or value.end_s is not None:
            return value
        return value._replace(start_s=self.part[0], end_s=self.part[1])

    def plain_value(self) -> Value:
        """The next value with what stands behind it."""
        heads: dict[str, Callable[[], Value]] = {
            "event": lambda: Count("event", self.one_of("an event", EVENTS)),
            "count": lambda: Counter(self.one_of("a counter", COUNTERS)),
            "limit": lambda: Limit(self.one_of("a limit", LIMITS)),
            "path": lambda: Given(self.one_of("what a scenario gives a path", list(GIVEN))),
            "derived": lambda: Derived(self.one_of("what is derived", list(DERIVED))),
            "time": self.time,
            "reduction": self.reduction,
        }
        if self.next_is(*heads):
            return self.clauses(heads[self.words[self.i - 1]]())
        return self.picked() or self.value_of_states() or self.reading()

    def reduction(self) -> Reduction:
        """What stands behind `reduction`."""
        self.expect("after")
        return Reduction(self.one_of("an event", EVENTS))

    def picked(self) -> Value | None:
        """A variable, a column of the samples, or a moment; None where the next word is of none."""
        if self.next_is("variable"):
            return self.variable("last")
        if self.next_is("sample"):
            return self.variable("last", "sample")
        if not self.next_is("largest", "smallest", "mean", "median", "first", "last"):
            return None
        pick = self.words[self.i - 1]
        if pick == "first" or (pick == "last" and self.words[self.i : self.i + 1] != ["variable"]):
            return self.moment(pick)
        if self.next_is("sample"):
            return self.variable(pick, "sample")
        self.expect("variable")
        return self.variable(pick)

    def moment(self, edge: str) -> Value:
        """When something first began, or last ended; or the first stay in a state."""
        if edge == "first" and self.next_is("stay"):
            self.expect("in")
            return self.clauses(Stay(self.take("a state, such as PROBE_RTT"), which="first"))
        if self.next_is("event"):
            return self.clauses(Moment(edge, "event", self.one_of("an event", EVENTS)))  # type: ignore[arg-type]
        if self.next_is("limit"):
            return self.clauses(Moment(edge, "limit", self.one_of("a limit", LIMITS)))  # type: ignore[arg-type]
        self.expect("state")
        return self.clauses(Moment(edge, "state", self.take("a state, such as PROBE_RTT")))  # type: ignore[arg-type]

    def value_of_states(self) -> Value | None:
        """How often, how long or when the controller was in a state, or the longest gap; None where the next word is of
        none.
        """
        is_longest = self.next_is("longest")
        if is_longest and self.next_is("gap"):
            self.expect("in")
            return self.clauses(Gap(self.one_of("a column that counts", COUNTING)))
        if is_longest or self.words[self.i : self.i + 1] == ["stay"]:
            self.expect("stay")
            self.expect("in")
            which: Literal["longest", "each"] = "longest" if is_longest else "each"
            return self.clauses(Stay(self.take("a state, such as PROBE_RTT"), which=which))
        if self.next_is("state"):
            state = self.take("a state, such as PROBE_RTT")
            entered = self.clauses(Count("state", state))
            return self.delay(state, entered.of) if self.next_is("after") else entered
        return None

    def time(self) -> Time:
        """Comparisons of columns in quotes, with `and` between them."""
        text = self.take('comparisons in quotes, such as "cwnd >= 0.9 x path bdp"')
        reader = ValueReader(text, self.at, self.of, self.part)
        tests = [reader.test()]
        while reader.next_is("and"):
            tests.append(reader.test())
        if reader.i < len(reader.words):
            reader.fail("nothing more, or another comparison behind and")
        return Time(text, tuple(tests))

    def test(self) -> Test:
        """One comparison of a column."""
        column = self.one_of("a column of the samples or the queue", (*SAMPLE_NUMBERS, *SAMPLE_WORDS, *QUEUE_STATES))
        sign, factor = self.sign(), 1.0
        if column in SAMPLE_WORDS:
            if sign not in ("==", "!="):
                self.fail(f"== or != behind {column}")
            return Test(column, sign, factor, self.take("a word"))
        if self.is_number():
            number, unit = self.number()
            if not self.next_is("x"):
                return Test(column, sign, factor, self.of_column(column, number, unit))
            factor = number
        if not self.next_is("path"):
            return Test(column, sign, factor, self.one_of("a column", (*SAMPLE_NUMBERS, *QUEUE_STATES)))
        given = self.clauses(Given(self.one_of("what a scenario gives a path", list(GIVEN))))
        assert isinstance(given, Given)
        return Test(column, sign, factor, given)

    def of_column(self, column: str, number: float, unit: str) -> float:
        """A number in the unit of a column."""
        if not unit:
            return number
        base, size = unit_of(column)
        value = self.variable_amount(Variable(column), number, unit)
        if base not in self.units:
            self.fail(f'a number in the unit of {column}, got "{number:g}{unit}"')
        return value / size

    def variable(self, pick: str, source: str = "variable") -> Value:
        """A variable, or a column of the samples, with the moment or part of the run."""
        self.units.clear()
        is_sample = source == "sample"
        name = self.one_of("a column", SAMPLE_NUMBERS) if is_sample else self.take("a variable, such as max_bw")
        unit = unit_of(name)[0] if is_sample else ""
        value = self.clauses(Variable(name, pick, unit=unit, source=source))  # type: ignore[arg-type]
        assert isinstance(value, Variable)
        if not self.next_is("at"):
            return value
        if pick != "last" or value.start_s is not None or value.end_s is not None:
            self.fail(f'either a moment or a part of the run behind "{value}"')
        if self.is_number():
            return self.clauses(value._replace(at_s=self.seconds(self.take("a time"))))
        state, edge = self.take("a state, or a time"), self.take("begins or ends")
        if edge not in ("begins", "ends"):
            self.fail(f'begins or ends behind "at {state}"')
        return self.clauses(value._replace(state=state, edge=edge))  # type: ignore[arg-type]

    def delay(self, state: str, of: str | None) -> Value:
        """What stands behind `state S after`."""
        after = self.take("a state")
        edge = self.take("begins or ends")
        if edge not in ("begins", "ends"):
            self.fail(f'begins or ends behind "after {after}"')
        return self.clauses(Delay(state, after, edge, of))  # type: ignore[arg-type]

    def reading(self, *, whose: bool = True) -> Reading:
        """A figure."""
        made = self.clauses(Reading(canonical(self.take("a figure (docs/metrics.md)"), self.at)))
        assert isinstance(made, Reading)
        return made if whose else made._replace(of=None)

    def clauses(self, value: Value) -> Value:
        """The value with what stands behind it."""
        own: dict[str, object] = {}
        while self.i < len(self.words) and self.words[self.i] in ("of", "with", "from", "to"):
            word = self.words[self.i]
            key = {"of": "of", "with": "case", "from": "start_s", "to": "end_s"}[word]
            if key in own:  # of the left side, at the end of the sentence
                break
            self.i += 1
            given = self.take(f"what {word} means")
            if key not in value._fields:
                self.fail(f'no "{word}" behind "{value}"')
            own[key] = self.instant(given) if word in ("from", "to") else given
        if "of" in value._fields and not (isinstance(value, Reading) and figure(value.figure).of_run):
            own.setdefault("of", value.of or self.of)
        return value._replace(**own)  # type: ignore[arg-type]

    def amount(self, value: Value, number: float, unit: str) -> float:
        """A number in the unit of a value, as metrics compute it."""
        if isinstance(value, Reading):
            return amount(value.figure, number, unit, self.text, self.at)
        if isinstance(value, Variable):
            return self.variable_amount(value, number, unit)
        counted = dimension(value)[0]
        if counted == "share":
            what = "the time" if isinstance(value, (Limit, Time)) else "the whole"
            return number / 100 if unit == "%" else self.fail(f'a share of {what} behind "{value}", such as 5%')
        if counted in ("count", "segments"):
            return number if not unit else self.fail(f"a count without a unit, got {number:g}{unit}")
        if counted == "s" and not unit:
            self.fail(f'a time with its unit behind "{value}", such as 200ms')
        return self.of_unit(value, counted, f"{number:g}{unit}")

    def of_unit(self, value: Value, counted: str, text: str) -> float:
        """A time, a rate or a size as its unit says."""
        try:
            if counted == "s":
                return units.span_ns(text) / 1e9
            return float(units.rate_bps(text) if counted == "bit/s" else units.size_bytes(text))
        except units.UnitError as error:
            raise wrong(self.at, text, f'{error} behind "{value}"') from None

    def variable_amount(self, value: Variable, number: float, unit: str) -> float:
        """A number as its unit says: a rate in bit/s, a time in s, a plain number in the unit of the variable."""
        if not unit:
            self.units.add("")
            return number
        for base, parse in (("bit/s", units.rate_bps), ("s", lambda text: units.span_ns(text) / 1e9)):
            try:
                amount = float(parse(f"{number!r}{unit}"))
            except units.UnitError:
                continue
            self.units.add(base)
            return amount
        return self.fail(f'a plain number, a rate or a time behind "{value}", got {number:g}{unit}')
