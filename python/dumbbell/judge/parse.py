"""The grammar of ``[[expect]]``: text in, a sentence of `sentence.py` out (docs/test.md has it for people).

    VALUE OP NUMBER|VALUE [+- AMOUNT]        goodput of a >= 0.8 x goodput of a with cubic
    NUMBER OP VALUE OP NUMBER                25% <= share of a <= 80%
    ... or ...                               retrans_rate <= 1% or retrans_rate <= 2 x retrans_rate with reno
    VALUE within AMOUNT of NUMBER|VALUE      goodput within 2% of baseline
    FIGURE ci WIDTH                          goodput ci 2%
    order A > B >= C by FIGURE [+- AMOUNT]   order bbr > bbr3 >= cubic by goodput
    VALUE rises|falls|is flat along KEY      queue falls along path.buffer
    state S [of A] never                     state PROBE_RTT never
    variable V [of A] WHEN == WORD           variable startup_end at STARTUP ends == plateau
    VALUE := FIGURE[@LINK] | event KIND | count COUNTER | state S | state S after S2 begins|ends | [longest] stay in S
             | limit WHAT
             | variable V [at S begins|ends | at TIME] | largest|smallest variable V
             each with [of A] [with CASE] [from TIME] [to TIME], TIME in seconds or RTTs (20rtt)

A number has the unit that tables print, or one behind it. An amount in percent is a part of what it is compared with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NoReturn, get_args

from dumbbell import units
from dumbbell.errors import ScenarioError, wrong
from dumbbell.results.catalogue import canonical, figure
from dumbbell.results.limits import LIMITS

from .grammar import amount
from .questions import Precision, Sign
from .rule import Tolerance
from .sentence import (
    Along,
    Baseline,
    Both,
    Compare,
    Count,
    Counter,
    Delay,
    Either,
    Limit,
    Narrow,
    Ranking,
    Reading,
    Rtts,
    Scaled,
    Sentence,
    Stay,
    Value,
    Variable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

Part = tuple[float, float] | None
"""From when to when, in seconds of the run; None for all of it."""

_SIGNS = get_args(Sign)
_SPLIT = re.compile(r"(>=|<=|==|!=|\+-|±|>|<)")
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(%|[A-Za-z][A-Za-z/]*)?")
_TURNED: dict[str, Sign] = {">=": "<=", "<=": ">=", ">": "<", "<": ">", "==": "==", "!=": "!="}
_DIRECTIONS: dict[str, Literal["increase", "decrease"]] = {"rises": "increase", "falls": "decrease"}
_FORMS = (
    'a sentence such as "jain >= 0.9", "goodput within 2% of baseline", "queue falls along path.buffer" or'
    ' "event rto == 0"'
)

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


def sentence(text: str, at: str = "that", *, of: str | None = None, part: Part = None) -> Sentence:
    """Read one sentence; `of` is whose values are that do not say it, and `part` from when to when, in seconds. Raises
    ScenarioError that names the key `at`.
    """
    return _Reader(text, at, of, part).whole()


def value(text: str, at: str = "value", *, of: str | None = None, part: Part = None) -> Value:
    """Read one value, as sentences have it; raises ScenarioError that names the key `at`."""
    reader = _Reader(text, at, of, part)
    read = reader.value()
    if reader.i < len(reader.words):
        reader.fail(f'nothing more behind "{read}"')
    return read


def _tokens(text: str) -> Iterator[str]:
    """Words, numbers and signs; what stands behind `with`, or between quotes, is one word."""
    before = ""
    for word in re.findall(r'"[^"]*"|\S+', text):
        if word.startswith('"') or before == "with":
            yield word.strip('"')
        else:
            yield from filter(None, _SPLIT.split(word))
        before = word


class _Reader:
    """One pass over the words of a sentence."""

    def __init__(self, text: str, at: str, of: str | None, part: Part) -> None:
        self.text, self.at, self.of, self.part = text, at, of, part
        self.words, self.i = list(_tokens(text)), 0
        self.units: set[str] = set()
        """Units of the numbers that a variable is compared with."""

    def whole(self) -> Sentence:
        made: Sentence = self.order() if self.next_is("order") else self.statement()
        if self.i < len(self.words) and self.words[self.i] == "or":
            made = self.either(made)
        if self.i < len(self.words):
            self.fail(f'nothing more behind "{" ".join(self.words[: self.i])}", got "{self.words[self.i]}"')
        return made

    def either(self, first: Sentence) -> Either:
        parts = [first]
        while self.next_is("or"):
            parts.append(self.statement())
        if not all(isinstance(part, (Compare, Both)) for part in parts):
            self.fail("comparisons on both sides of or")
        return Either(tuple(parts))  # type: ignore[arg-type]

    def statement(self) -> Sentence:
        if self.is_number():
            return self.between()
        value = self.value()
        wanted = f'a sign ({" ".join(_SIGNS)}), within, ci, rises, falls or is flat behind "{value}"'
        word = self.take(wanted)
        if word in _SIGNS:
            return self.compare(value, word)  # type: ignore[arg-type]
        if word == "within":
            return self.within(value)
        if isinstance(value, Count) and word == "never":
            return Compare(value, "==", 0.0)
        if isinstance(value, Reading) and word in ("ci", "rises", "falls", "is"):
            return self.narrow(value) if word == "ci" else self.along(value, word)
        return self.fail(wanted)

    def compare(self, left: Value, sign: Sign) -> Compare:
        if isinstance(left, Variable) and not self.is_number():
            return self.compare_word(left, sign)
        right = self.right(left)
        tolerance = self.tolerance(left) if self.next_is("+-", "±") else Tolerance()
        return Compare(_each(self.clauses(self.in_unit(left)), sign), sign, right, tolerance)

    def compare_word(self, left: Variable, sign: Sign) -> Compare:
        word = self.take("a number or a word")
        if sign not in ("==", "!=") or not re.fullmatch(r"\w+", word) or word in ("baseline", "x"):
            self.fail(f'a number behind "{left} {sign}", or == and a word')
        return Compare(self.clauses(left._replace(word=word)), sign, 1.0)

    def in_unit(self, value: Value) -> Value:
        """A variable with the unit of the numbers that it was compared with."""
        if not isinstance(value, Variable) or not self.units:
            return value
        if len(self.units) > 1:
            self.fail(f'numbers in one unit behind "{value}", got {" and ".join(map(repr, sorted(self.units)))}')
        return value._replace(unit=next(iter(self.units)))  # type: ignore[arg-type]

    def between(self) -> Both:
        low, unit = self.number()
        first = self.sign()
        value = self.value()
        second = self.sign()
        least, most = self.amount(value, low, unit), self.amount(value, *self.number())
        value = self.in_unit(value)
        return Both(
            (
                Compare(_each(value, _TURNED[first]), _TURNED[first], least),
                Compare(_each(value, second), second, most),
            )
        )

    def within(self, left: Value) -> Compare:
        near = self.tolerance(left)
        self.expect("of")
        right = self.right(left)
        return Compare(self.in_unit(left), "==", right, near)

    def narrow(self, left: Reading) -> Narrow:
        width, unit = self.number()
        if not width > 0:
            self.fail("a width above zero behind ci")
        is_relative = unit == "%"
        size = width / 100 if is_relative else self.amount(left, width, unit)
        return Narrow(left, Precision(left.figure, size, is_relative))

    def along(self, left: Reading, word: str) -> Along:
        if word == "is":
            self.expect("flat")
        self.expect("along")
        key = self.take("a varied key, such as path.buffer")
        tolerance = self.tolerance(left) if self.next_is("+-", "±") else Tolerance()
        if word == "is" and tolerance == Tolerance():
            self.fail(f'how flat: "is flat along {key} +- 5%"')
        return Along(left, "flat" if word == "is" else _DIRECTIONS[word], key, tolerance)

    def order(self) -> Ranking:
        names, ties = [self.take("a name")], set()
        while (sign := self.take("> or >=, or by FIGURE")) != "by":
            if sign not in (">", ">="):
                self.fail(f'> or >= behind "{names[-1]}"')
            if sign == ">=":
                ties.add(names[-1])
            names.append(self.take("a name"))
        if len(names) < 2:
            self.fail("two names or more, such as: order bbr > cubic by goodput")
        reading = self.reading(whose=False)
        tolerance = self.tolerance(reading) if self.next_is("+-", "±") else Tolerance()
        return Ranking(tuple(reading._replace(of=name) for name in names), frozenset(ties), tolerance)

    def value(self) -> Value:
        """The next value, in the part of the run that it says, or else in that of the sentence."""
        return self.in_part(self.plain_value())

    def in_part(self, value: Value) -> Value:
        """The value in the part of the sentence, unless it says when itself."""
        is_at = isinstance(value, Variable) and (value.at_s is not None or value.state is not None)
        if self.part is None or is_at or not isinstance(value, (Reading, Count, Variable, Limit)):
            return value
        if value.start_s is not None or value.end_s is not None:
            return value
        return value._replace(start_s=self.part[0], end_s=self.part[1])

    def plain_value(self) -> Value:
        if self.next_is("event"):
            return self.clauses(Count("event", self.one_of("an event", EVENTS)))
        if self.next_is("count"):
            return self.clauses(Counter(self.one_of("a counter", COUNTERS)))
        if self.next_is("limit"):
            return self.clauses(Limit(self.one_of("a limit", LIMITS)))
        if self.next_is("largest", "smallest", "last"):
            pick = self.words[self.i - 1]
            self.expect("variable")
            return self.variable(pick)
        if self.next_is("variable"):
            return self.variable("last")
        return self.value_of_states() or self.reading()

    def one_of(self, what: str, known: Sequence[str]) -> str:
        """Take one of these words."""
        word = self.take(f"{what}, one of: {', '.join(known)},")
        if word not in known:
            raise wrong(self.at, word, f"{what}, one of: {', '.join(known)}", list(known))
        return word

    def value_of_states(self) -> Value | None:
        """How often, how long or when the controller was in a state; None where the next word is of none."""
        is_longest = self.next_is("longest")
        if is_longest or self.words[self.i : self.i + 1] == ["stay"]:
            self.expect("stay")
            self.expect("in")
            return self.clauses(Stay(self.take("a state, such as PROBE_RTT"), is_longest=is_longest))
        if self.next_is("state"):
            state = self.take("a state, such as PROBE_RTT")
            entered = self.clauses(Count("state", state))
            return self.delay(state, entered.of) if self.next_is("after") else entered
        return None

    def variable(self, pick: str) -> Value:
        self.units.clear()
        name = self.take("a variable, such as max_bw")
        value = self.clauses(Variable(name, pick))  # type: ignore[arg-type]
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
        after = self.take("a state")
        edge = self.take("begins or ends")
        if edge not in ("begins", "ends"):
            self.fail(f'begins or ends behind "after {after}"')
        return self.clauses(Delay(state, after, edge, of))  # type: ignore[arg-type]

    def reading(self, *, whose: bool = True) -> Reading:
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

    def right(self, left: Value) -> float | Scaled:
        """What a value is compared with."""
        if not self.is_number():
            return self.scaled(1.0, left)
        number, unit = self.number()
        if self.next_is("x"):
            if unit:
                self.fail(f'a plain number before x, got "{number:g}{unit}"')
            return self.scaled(number, left)
        return self.amount(left, number, unit)

    def scaled(self, factor: float, left: Value) -> Scaled:
        if isinstance(left, Variable):
            self.fail(f'a number behind "{left}"')
        if self.next_is("baseline"):
            return Scaled(factor, Baseline())
        other = self.reading()
        if not isinstance(left, Reading) or figure(left.figure).unit != figure(other.figure).unit:
            self.fail(f'a figure in the unit of "{left}", got "{other}"')
        return Scaled(factor, other)

    def tolerance(self, left: Value) -> Tolerance:
        number, unit = self.number()
        return Tolerance(share=number / 100) if unit == "%" else Tolerance(self.amount(left, number, unit))

    def amount(self, value: Value, number: float, unit: str) -> float:
        """A number in the unit of a value, as metrics compute it."""
        if isinstance(value, Reading):
            return amount(value.figure, number, unit, self.text, self.at)
        if isinstance(value, Variable):
            return self.variable_amount(value, number, unit)
        if isinstance(value, Limit):
            return number / 100 if unit == "%" else self.fail(f'a share of the time behind "{value}", such as 5%')
        if isinstance(value, (Count, Counter)):
            return number if not unit else self.fail(f"a count without a unit, got {number:g}{unit}")
        if not unit:
            self.fail(f'a time with its unit behind "{value}", such as 200ms')
        return self.seconds(f"{number:g}{unit}")

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

    def instant(self, text: str) -> float:
        match = _NUMBER.fullmatch(text)
        return Rtts(match[1]) if match and match[2] == "rtt" else self.seconds(text)

    def seconds(self, text: str) -> float:
        try:
            return units.span_ns(text) / 1e9
        except units.UnitError as error:
            raise wrong(self.at, text, str(error)) from None

    def number(self) -> tuple[float, str]:
        text = self.take("a number")
        match = _NUMBER.fullmatch(text)
        if match is None:
            self.fail(f'a number, got "{text}"')
        unit = match[2] or ""
        if not unit and self.i < len(self.words) and self.words[self.i] in ("%", "ms", "s", "us", "Mbit/s"):
            unit = self.take("")
        return float(match[1]), unit

    def is_number(self) -> bool:
        return self.i < len(self.words) and _NUMBER.fullmatch(self.words[self.i]) is not None

    def sign(self) -> Sign:
        word = self.take("a sign")
        if word not in _SIGNS:
            self.fail(f'a sign ({" ".join(_SIGNS)}), got "{word}"')
        return word  # type: ignore[return-value]

    def next_is(self, *words: str) -> bool:
        """Take the next word if it is one of these."""
        is_it = self.i < len(self.words) and self.words[self.i] in words
        self.i += is_it
        return is_it

    def expect(self, word: str) -> None:
        if not self.next_is(word):
            self.fail(f'"{word}" behind "{" ".join(self.words[: self.i])}"')

    def take(self, what: str) -> str:
        if self.i >= len(self.words):
            self.fail(f"{what} at the end" if self.words else _FORMS)
        self.i += 1
        return self.words[self.i - 1]

    def fail(self, wanted: str) -> NoReturn:
        raise ScenarioError(self.at, f'got "{self.text}", wanted {wanted}')


def _each(value: Value, sign: Sign) -> Value:
    """The value whose row decides for all: of stays that must be long, the shortest."""
    if not isinstance(value, Stay) or value.is_longest:
        return value
    return value._replace(shortest=sign.startswith(">"))


def names(sentences: Sequence[Sentence]) -> list[str]:
    """The figures that these sentences read."""
    values = (value for one in sentences for value in one.values())
    return list(dict.fromkeys(value.figure for value in values if isinstance(value, Reading)))
