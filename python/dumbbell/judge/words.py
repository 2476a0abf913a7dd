"""The words of a sentence, taken one after the other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn, get_args

from dumbbell import units
from dumbbell.errors import ScenarioError, wrong

from .questions import Sign
from .values import Rtts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SIGNS = get_args(Sign)
_SPLIT = re.compile(r"(>=|<=|==|!=|\+-|±|>|<)")
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(%|[A-Za-z][A-Za-z/]*)?")
_FORMS = (
    'a sentence such as "jain >= 0.9", "goodput within 2% of baseline", "queue falls along path.buffer" or'
    ' "event rto == 0"'
)


def _tokens(text: str) -> Iterator[str]:
    """Words, numbers and signs; what stands behind `with`, or between quotes, is one word."""
    before = ""
    for word in re.findall(r'"[^"]*"|\S+', text):
        if word.startswith('"') or before == "with":
            yield word.strip('"')
        else:
            yield from filter(None, _SPLIT.split(word))
        before = word


class Words:
    """One pass over the words of a text; what is wrong is said of the key `at`."""

    def __init__(self, text: str, at: str) -> None:
        self.text, self.at = text, at
        self.words, self.i = list(_tokens(text)), 0

    def one_of(self, what: str, known: Sequence[str]) -> str:
        """Take one of these words."""
        word = self.take(f"{what}, one of: {', '.join(known)},")
        if word not in known:
            raise wrong(self.at, word, f"{what}, one of: {', '.join(known)}", list(known))
        return word

    def instant(self, text: str) -> float:
        """A time in seconds, or in RTTs."""
        match = _NUMBER.fullmatch(text)
        return Rtts(match[1]) if match and match[2] == "rtt" else self.seconds(text)

    def seconds(self, text: str) -> float:
        """A time in seconds."""
        try:
            return units.span_ns(text) / 1e9
        except units.UnitError as error:
            raise wrong(self.at, text, str(error)) from None

    def number(self) -> tuple[float, str]:
        """A number, and the unit behind it."""
        text = self.take("a number")
        match = _NUMBER.fullmatch(text)
        if match is None:
            self.fail(f'a number, got "{text}"')
        unit = match[2] or ""
        if not unit and self.i < len(self.words) and self.words[self.i] in ("%", "ms", "s", "us", "Mbit/s"):
            unit = self.take("")
        return float(match[1]), unit

    def is_number(self) -> bool:
        """True if the next word is a number."""
        return self.i < len(self.words) and _NUMBER.fullmatch(self.words[self.i]) is not None

    def sign(self) -> Sign:
        """A sign of comparison."""
        word = self.take("a sign")
        if word not in SIGNS:
            self.fail(f'a sign ({" ".join(SIGNS)}), got "{word}"')
        return word  # type: ignore[return-value]

    def next_is(self, *words: str) -> bool:
        """Take the next word if it is one of these."""
        is_it = self.i < len(self.words) and self.words[self.i] in words
        self.i += is_it
        return is_it

    def expect(self, word: str) -> None:
        """Take this word, or fail."""
        if not self.next_is(word):
            self.fail(f'"{word}" behind "{" ".join(self.words[: self.i])}"')

    def take(self, what: str) -> str:
        """The next word; `what` is what it is to be."""
        if self.i >= len(self.words):
            self.fail(f"{what} at the end" if self.words else _FORMS)
        self.i += 1
        return self.words[self.i - 1]

    def fail(self, wanted: str) -> NoReturn:
        """Raise ScenarioError that says what was wanted."""
        raise ScenarioError(self.at, f'got "{self.text}", wanted {wanted}')
