"""Flows that arrive at random, drawn when a plan is made, so that a plan names each of them.

Draws come from SHA-256 of (seed, the table's place, what the draw is for, its number), 64 bits each, in units of 2^-64.
Logarithms, roots and powers are those of `decimal` with 30 digits, which rounds correctly, so that the same scenario
gives the same plan on any machine.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from dumbbell import units
from dumbbell.errors import wrong
from dumbbell.files import DATA_MAX, UnreadableError, read_text
from dumbbell.units import UnitError

from .declare import Forms, Key, Table, Variant, key, raw_at
from .kinds import SIZE, SPAN_ABOVE_ZERO
from .plain_kinds import Kind

if TYPE_CHECKING:
    from decimal import Decimal

    from .keytypes import Fixed, MaybeQuantity, Quantity, Ratio, Text

_FREQUENCY = 'a frequency, such as "10/s" (/s, /min, /h)'
_UNITS = {"/s": 1, "/min": 60, "/h": 3600}

#: Digits of a weight in a file of sizes: it fits 32 bits.
_WEIGHT_DIGITS = 10


Fraction = tuple[int, int]


def _per_second(value: object) -> Fraction:
    """Arrivals per second."""
    numerator, denominator, unit = units.split(value, _FREQUENCY)
    if unit not in _UNITS or numerator == 0:
        raise UnitError(_FREQUENCY)
    return numerator, denominator * _UNITS[unit]


class Sizes(Variant):
    """Distribution of the sizes of transfers."""

    AT = "flow.arrivals.sizes"

    @abstractmethod
    def draw(self, draws: Draws, folder: FilePath, at: str) -> Iterator[int]:
        """Sizes in bytes without an end."""


def _shape(value: object) -> Fraction:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = repr(value)
    try:
        numerator, denominator, unit = units.split(value, "")
    except UnitError:
        numerator, denominator, unit = 0, 1, ""
    if unit or not 0 < numerator <= 100 * denominator:
        raise UnitError("a number above 0, at most 100")
    return numerator, denominator


_NUMBER = Kind(_shape, {"type": "number", "exclusiveMinimum": 0, "maximum": 100})


class ParetoSizes(Sizes, form="pareto"):
    """Pareto: P(size > x) = (least / x)^shape."""

    shape: Ratio = key(_NUMBER, "exponent of the tail; the mean is `least` x shape / (shape - 1)", default=1.2)
    least: Quantity = key(SIZE, "smallest size")
    most: Quantity = key(SIZE, "largest size; what is drawn above it becomes it", default="1GB")

    def draw(self, draws: Draws, folder: FilePath, at: str) -> Iterator[int]:  # noqa: ARG002 - all forms have a folder
        """Sizes in bytes without an end."""
        from decimal import Decimal

        (numerator, denominator), least, most = self.shape, self.least, self.most
        if least > most:
            raise wrong(f"{at}.most", raw_at(self, "most"), f"at least `least` ({raw_at(self, 'least')})")
        top = (Decimal(most) / least).ln()  # where the power would have more digits than a number may
        for u in draws.uniform("size"):
            power = -u.ln() * denominator / numerator
            yield most if power >= top else min(most, int(least * power.exp()))


class LognormalSizes(Sizes, form="lognormal"):
    """Lognormal: the logarithm of the size is normal."""

    median: Quantity = key(SIZE, "median size")
    sigma: Ratio = key(_NUMBER, "standard deviation of the size's natural logarithm", default=1)
    most: Quantity = key(SIZE, "largest size; what is drawn above it becomes it", default="1GB")

    def draw(self, draws: Draws, folder: FilePath, at: str) -> Iterator[int]:  # noqa: ARG002
        """Sizes in bytes without an end."""
        from decimal import Decimal

        (numerator, denominator), median, most = self.sigma, self.median, self.most
        if median > most:
            raise wrong(f"{at}.most", raw_at(self, "most"), f"at least `median` ({raw_at(self, 'median')})")
        top = (Decimal(most) / median).ln()
        for normal in draws.normal("size"):
            power = normal * numerator / denominator
            yield most if power >= top else max(1, min(most, int(median * power.exp())))


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise UnitError("the name of a file")
    return value


class FileSizes(Sizes, form="file", sign="file"):
    """A file with a size and its weight a line, such as ``10kB 3``; a line that begins with # is a comment."""

    file: Fixed[str] = key(
        Kind(_text, {"type": "string", "minLength": 1}), "the file, relative to the scenario's", varies=False
    )

    def draw(self, draws: Draws, folder: FilePath, at: str) -> Iterator[int]:
        """Sizes in bytes without an end."""
        try:
            lines = read_text(folder / self.file, DATA_MAX).removeprefix("\ufeff").splitlines()
        except UnreadableError as error:
            raise wrong(f"{at}.file", self.file, f"a readable file ({error})") from None
        pairs: list[tuple[int, int]] = []
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.lstrip().startswith("#"):
                size, _, weight = line.strip().partition(" ")
                try:
                    pairs += _table(
                        [
                            (
                                size,
                                int(weight) if weight.strip().isdecimal() and len(weight) <= _WEIGHT_DIGITS else weight,
                            )
                        ]
                    )
                except UnitError:
                    raise wrong(
                        f"{at}.file",
                        self.file,
                        f'a size and a whole weight in each line, such as "10kB 3" (line {number} is not)',
                    ) from None
        if not pairs:
            raise wrong(f"{at}.file", self.file, 'lines with a size and a whole weight, such as "10kB 3" (it has none)')
        return _weighted(pairs, draws)


Weights = tuple[tuple[int, int], ...]
"""Sizes in bytes, each with its weight."""


def _table(value: object) -> Weights:
    wanted = 'sizes with whole weights, such as [["10kB", 9], ["1MB", 1]]'
    if (
        not isinstance(value, (list, tuple))
        or not value
        or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in value)
    ):
        raise UnitError(wanted)
    if not all(isinstance(weight, int) and not isinstance(weight, bool) and 0 < weight < 2**32 for _, weight in value):
        raise UnitError(wanted)
    return tuple((SIZE.parse(size), weight) for size, weight in value)


def _weighted(table: Sequence[tuple[int, int]], draws: Draws) -> Iterator[int]:
    sums = list(accumulate(weight for _, weight in table))
    for word in draws.words("size"):
        yield table[bisect_right(sums, word * sums[-1] >> 64)][0]


class _SizeOrTable(Kind):
    """One size, or sizes with their weights, which are not values to vary."""

    def __init__(self) -> None:
        pair = {
            "type": "array",
            "minItems": 2,
            "maxItems": 2,
            "prefixItems": [SIZE.schema, {"type": "integer", "minimum": 1}],
        }
        super().__init__(self._parse, {"anyOf": [SIZE.schema, {"type": "array", "minItems": 1, "items": pair}]})

    @staticmethod
    def _parse(value: object) -> Weights:
        return _table(value) if isinstance(value, (list, tuple)) else ((SIZE.parse(value), 1),)


class Arrivals(Table):
    """Flows that open at random times: a Poisson process."""

    AT = "flow.arrivals"

    rate: Key[Text, Fraction] = key(
        Kind(_per_second, {"type": "string", "pattern": rf"^\s*{units.NUMBER}\s*/(s|min|h)\s*$"}),
        "mean number of flows per time",
    )
    until: MaybeQuantity = key(SPAN_ABOVE_ZERO, "when the last one may open; default: the end of the run", default=None)
    sizes: Key[Any, Sizes | Weights] = key(
        Forms(Sizes, other=_SizeOrTable()),
        'payload of each: one size, [["10kB", 9], ["1MB", 1]] with weights, { file = "..." }, or { kind = "pareto" |'
        ' "lognormal", ... }',
        varies=False,
    )

    def mean_count(self, start_ns: int, end_ns: int) -> int:
        """Mean number of flows from the start until the last one may open, or the end; rounded up."""
        numerator, denominator = self.rate
        length = max((end_ns if self.until is None else self.until) - start_ns, 0)
        return -(-length * numerator // (10**9 * denominator))


class Draws:
    """Random numbers for one [[flow]] table of one run."""

    def __init__(self, seed: int, at: str) -> None:
        self.seed, self.at = seed, at

    def words(self, use: str) -> Iterator[int]:
        """64 random bits each."""
        import hashlib

        number = 0
        while True:
            digest = hashlib.sha256(f"{self.seed}/{self.at}.{use}/{number}".encode()).digest()
            yield from (int.from_bytes(digest[i : i + 8], "big") for i in range(0, 32, 8))
            number += 1

    def uniform(self, use: str) -> Iterator[Decimal]:
        """Above 0, up to 1."""
        from decimal import Decimal

        for word in self.words(use):
            yield Decimal(word + 1) / 2**64

    def normal(self, use: str) -> Iterator[Decimal]:
        """Mean 0, standard deviation 1: the polar method (Marsaglia and Bray 1964)."""
        draws = self.uniform(use)
        for a, b in zip(draws, draws):
            x, y = 2 * a - 1, 2 * b - 1
            s = x * x + y * y
            if 0 < s < 1:
                factor = (-2 * s.ln() / s).sqrt()
                yield x * factor
                yield y * factor


def expand(
    arrivals: Arrivals, start_ns: int, end_ns: int, *, seed: int, at: str, folder: FilePath, most: int
) -> list[tuple[int, int]]:
    """(start in ns, size in bytes) of each flow, the first an exponential time after `start_ns`; raises ScenarioError
    for more than `most`.
    """
    until = arrivals.until
    if until is not None and not start_ns < until <= end_ns:
        raise wrong(
            f"{at}.arrivals.until",
            raw_at(arrivals, "until"),
            f"after the start, up to the end of the run ({units.span_text(end_ns)})",
        )
    end = end_ns if until is None else until
    numerator, denominator = arrivals.rate
    if arrivals.mean_count(start_ns, end_ns) > most:
        raise wrong(f"{at}.arrivals.rate", raw_at(arrivals, "rate"), f"at most {most} flows in all")
    from decimal import Context, localcontext

    drawn: list[tuple[int, int]] = []
    with localcontext(Context(prec=30)):  # whatever the caller's is
        draws = Draws(seed, at)
        given = arrivals.sizes
        sizes = (
            given.draw(draws, folder, f"{at}.arrivals.sizes") if isinstance(given, Sizes) else _weighted(given, draws)
        )
        now = start_ns
        for u in draws.uniform("gap"):
            now += int(-u.ln() * (10**9 * denominator) / numerator)
            if now >= end:
                break
            if len(drawn) == most:
                raise wrong(f"{at}.arrivals.rate", raw_at(arrivals, "rate"), f"at most {most} flows in all")
            drawn.append((now, next(sizes)))
    return drawn
