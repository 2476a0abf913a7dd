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
    VALUE := FIGURE[@LINK] | event KIND | count COUNTER | state S | state S after S2 begins|ends
             | [longest|first] stay in S | limit WHAT | reduction after KIND | longest gap in COLUMN
             | [largest|smallest|mean|median] variable V | [largest|...] sample COLUMN [at S begins|ends | at TIME]
             | first|last event KIND | first|last state S | first|last limit WHAT
             | time "COLUMN OP NUMBER|[NUMBER x] COLUMN|path WHAT [and ...]" | path WHAT | derived WHAT
             each with [of A] [with CASE] [from TIME] [to TIME], TIME in seconds or RTTs (20rtt)

A number has the unit that tables print, or one behind it. An amount in percent is a part of what it is compared with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from .parse_values import Part, ValueReader
from .questions import Precision, Sign
from .rule import Tolerance
from .sentence import Along, Both, Compare, Either, Narrow, Ranking, Sentence
from .values import Baseline, Count, Given, Reading, Scaled, Stay, Value, Variable, dimension
from .words import SIGNS

_TURNED: dict[str, Sign] = {">=": "<=", "<=": ">=", ">": "<", "<": ">", "==": "==", "!=": "!="}
_DIRECTIONS: dict[str, Literal["increase", "decrease"]] = {"rises": "increase", "falls": "decrease"}


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


class _Reader(ValueReader):
    """One pass over the words of a sentence."""

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
        wanted = f'a sign ({" ".join(SIGNS)}), within, ci, rises, falls or is flat behind "{value}"'
        word = self.take(wanted)
        if word in SIGNS:
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
        if self.next_is("baseline"):
            if isinstance(left, Variable):
                self.fail(f'a number behind "{left}"')
            return Scaled(factor, Baseline())
        other = self.value()
        counted, size = dimension(other)
        if isinstance(left, Variable) and isinstance(other, Given):
            self.units.add(counted if counted in ("bit/s", "s") else "")
            return Scaled(factor, other)
        of_left, own = dimension(left)
        if isinstance(left, Variable):
            self.fail(f'a number, or path WHAT, behind "{left}"')
        if counted != of_left:
            self.fail(f'a value in the unit of "{left}", got "{other}"')
        return Scaled(factor, other, size / own)

    def tolerance(self, left: Value) -> Tolerance:
        number, unit = self.number()
        return Tolerance(share=number / 100) if unit == "%" else Tolerance(self.amount(left, number, unit))


def _each(value: Value, sign: Sign) -> Value:
    """The value whose row decides for all: of stays that must be long, the shortest."""
    if not isinstance(value, Stay) or value.which != "each":
        return value
    return value._replace(shortest=sign.startswith(">"))


def names(sentences: Sequence[Sentence]) -> list[str]:
    """The figures that these sentences read."""
    values = (value for one in sentences for value in one.values())
    return list(dict.fromkeys(value.figure for value in values if isinstance(value, Reading)))
