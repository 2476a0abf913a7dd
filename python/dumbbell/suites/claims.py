"""Claims of a suite, as data: its file `claims.toml`, an ``[[entry]]`` per figure or table, and in the same form
`specification.toml`: what the paper says of how an algorithm works or a test is set up.

A claim is one of five kinds. ``value`` and ``approx``: `expected` within the tolerance. ``range``: between `lower` and
`upper`, with the tolerance as slack; one bound alone ("always above 80 %") has no slack, unless its `origin` is
``derived``: then it is the smallest or largest number of a table. ``ordering``: `order` names series from the highest
to the lowest, which differ by more than the tolerance. `min_gap` asks for a distance as a part of the higher one, for
words such as "clearly" and "much". `may_tie` names those whose next may be as high, for words such as "similar" and "no
worse"; `slight` those for which the right sign is enough ("slightly higher"). ``trend``: along `x_var` in `direction`;
reversals smaller than the tolerance are ignored, and the ends differ by more than it. Shares and Jain's index are
fractions. `tol` has a tolerance for the simulator and one for real stacks. `read` says what is read, where that is not
the figure `metric` of each line in `series` or `order` at every place of `at` (`Read`).
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import judge as judging
from dumbbell.errors import ScenarioError, wrong
from dumbbell.scenario.declare import Each, Sub, Table, build, key, raw, replaced
from dumbbell.scenario.plain_kinds import SWITCH, Choice, Kind, whole
from dumbbell.units import UnitError

from .folders import SPECIFICATION, known, read
from .words import ANY_TABLE, NUMBER, NUMBERS, TABLES, TEXT, TEXTS, WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dumbbell.scenario.keytypes import Fixed


class Tolerance(NamedTuple):
    """How far off a figure may be: ``abs`` in the figure's unit, ``rel`` as a part of what is expected."""

    kind: str
    size: float

    @property
    def of_judge(self) -> judging.Tolerance:
        """The same as the judge takes it."""
        return judging.Tolerance(self.size) if self.kind == "abs" else judging.Tolerance(share=self.size)


class Tolerances(Table):
    """How far off a figure may be."""

    kind: Fixed[str] = key(
        Choice("abs", "rel"), "`abs`: in the figure's unit; `rel`: as a part of what is expected", varies=False
    )
    sim: Fixed[float] = key(NUMBER, "in the simulator", varies=False)
    emu: Fixed[float | None] = key(NUMBER, "on real stacks; default: as in the simulator", default=None, varies=False)

    def of(self, kind: str) -> Tolerance:
        """That of what ran: ``sim``, or a real stack."""
        return Tolerance(self.kind, self.sim if kind == "sim" or self.emu is None else self.emu)


class Read(Table):
    """What a claim reads, where that is not its figure of each of its lines."""

    figure: Fixed[str | None] = key(TEXT, "another figure than the claim's `metric`", default=None, varies=False)
    lines: Fixed[tuple[str, ...]] = key(TEXTS, "other lines than the claim's `series`", default=(), varies=False)
    at: Fixed[dict[str, Any] | None] = key(ANY_TABLE, "another place than the claim's `at`", default=None, varies=False)
    having: Fixed[str | None] = key(TEXT, "only runs with a flow of this name", default=None, varies=False)
    entry: Fixed[tuple[str, ...]] = key(
        TEXTS, "other entries of the suite, instead of the claim's", default=(), varies=False
    )
    over: Fixed[str | None] = key(
        Choice("ratio", "difference", "gain", "shortfall"),
        "the first of two `parts` against the second, place by place: over it, less it, or by how many per cent it is"
        " above or below",
        default=None,
        varies=False,
    )
    parts: Fixed[tuple[dict[str, Any], ...]] = key(
        TABLES,
        "of `over` its two sides, of an ordering one for each name in its order: tables like this one, which have what"
        " they do not say from it",
        default=(),
        varies=False,
    )
    by: Fixed[str | None] = key(
        TEXT, "places that are alike on this axis are one, the mean", default=None, varies=False
    )
    mean: Fixed[bool] = key(SWITCH, "the mean over all places", default=False, varies=False)
    of_mean: Fixed[bool] = key(SWITCH, "each line over its own mean", default=False, varies=False)
    ends: Fixed[bool] = key(
        SWITCH, "of a figure of every flow, or phase, the smallest and the largest", default=False, varies=False
    )
    falls: Fixed[float | None] = key(
        NUMBER,
        "the first place along `by` at which a line is at most this part of its first",
        default=None,
        varies=False,
    )
    number: Fixed[float | None] = key(NUMBER, "this number, and nothing of the runs", default=None, varies=False)
    numbers: Fixed[tuple[float, ...]] = key(
        NUMBERS, "these numbers for 1, 2, ... on the axis `by`, and nothing of the runs", default=(), varies=False
    )
    source: Fixed[str] = key(
        Choice("runs", "parameters", "settings"),
        "what figures are of. `parameters`: a parameter of each line's controller as the runs set it, fractions in"
        " units of one; `settings`: a key of the runs, or sums and products of such, in ms, Mbit/s and kB. Nothing runs"
        " for either",
        default="runs",
        varies=False,
    )
    reader: Fixed[str | None] = key(
        TEXT, "a function of the suite's `readings.py`, which reads what it likes", default=None, varies=False
    )

    def part(self, given: Mapping[str, Any]) -> Read:
        """One of its parts."""
        return build(
            Read, {**{name: value for name, value in raw(self).items() if name not in _OF_WHOLE}, **given}, "read"
        )

    def check(self) -> None:
        """Raise ScenarioError for parts that cannot be."""
        if self.numbers and not self.by:
            raise ScenarioError("read.by", "missing: the axis of `numbers`")
        if self.over and len(self.parts) != 2:
            raise wrong("read.parts", f"{len(self.parts)} tables", f'two with over = "{self.over}"')
        for part in self.parts:
            self.part(part)

    def entries(self) -> set[str]:
        """The other entries whose runs it reads."""
        if self.source != "runs":
            return set()
        return {*self.entry, *(name for part in self.parts for name in self.part(part).entries())}


#: What is of a whole reading and not of its parts.
_OF_WHOLE = ("parts", "over", "mean", "of_mean", "falls")


def _names(value: object) -> tuple[str, ...]:
    """``BBRv1,BBRv2`` is two lines; ``paced, no loss`` and ``BBRv2(2%,0)`` are one."""
    if not isinstance(value, str):
        names: tuple[str, ...] = TEXTS.parse(value)
        return names
    if not value:
        raise UnitError("names of lines")
    return (value,) if ", " in value else tuple(re.split(r",(?![^(]*\))", value))


class Claim(Table):
    """One claim about a figure or table."""

    id: Fixed[str] = key(TEXT, "number within its entry, such as `c3`", varies=False)
    text: Fixed[str] = key(TEXT, "what is claimed, in words", varies=False)
    kind: Fixed[str] = key(
        Choice("value", "approx", "range", "ordering", "trend"), "what has to hold (docs/reproduce.md)", varies=False
    )
    metric: Fixed[str] = key(TEXT, "a figure (docs/metrics.md), or a metric of the suite's `readings.py`", varies=False)
    series: Fixed[tuple[str, ...]] = key(
        Kind(_names, TEXTS.schema),
        "the lines that it is about, as a list, or with commas between them; default: the run as a whole",
        default=(),
        varies=False,
    )
    at: Fixed[dict[str, Any]] = key(
        ANY_TABLE,
        "where on the axes: `axis = value`, a list of values, `axis_min`, `axis_max`; of trends also `from_x`, `to_x`;"
        " default: everywhere",
        default={},
        varies=False,
    )
    expected: Fixed[float | None] = key(NUMBER, "of `value` and `approx`: the number", default=None, varies=False)
    lower: Fixed[float | None] = key(NUMBER, "of `range`: the lower bound", default=None, varies=False)
    upper: Fixed[float | None] = key(NUMBER, "of `range`: the upper bound", default=None, varies=False)
    order: Fixed[tuple[str, ...]] = key(
        TEXTS, "of `ordering`: lines from the highest to the lowest", default=(), varies=False
    )
    min_gap: Fixed[float] = key(
        NUMBER, "of `ordering`: the least distance, as a part of the higher one", default=0.0, varies=False
    )
    may_tie: Fixed[tuple[str, ...]] = key(
        TEXTS, "of `ordering`: names that the next one may equal within the tolerance", default=(), varies=False
    )
    slight: Fixed[tuple[str, ...]] = key(
        TEXTS, "of `ordering`: names that are ahead only slightly: the right sign is enough", default=(), varies=False
    )
    any_place: Fixed[bool] = key(SWITCH, "of `ordering`: at one place at least", default=False, varies=False)
    x_var: Fixed[str] = key(WORDS, "of `trend`: the axis", default="", varies=False)
    direction: Fixed[str] = key(
        Choice("increase", "decrease", "flat"), "of `trend`: where it goes", default="flat", varies=False
    )
    tol: Fixed[Tolerances] = key(Sub(Tolerances), "the tolerance", varies=False)
    read: Fixed[Read | None] = key(Sub(Read), "what is read", default=None, varies=False)
    unit: Fixed[str] = key(WORDS, "unit of the number", default="", varies=False)
    strength: Fixed[str] = key(
        WORDS, "`numeric`: a printed number; `text`: read from prose; `qualitative`", default="", varies=False
    )
    origin: Fixed[str] = key(WORDS, "where it stands", default="", varies=False)
    note: Fixed[str] = key(WORDS, "a remark", default="", varies=False)
    about: Fixed[tuple[str, ...]] = key(TEXTS, "other controllers than the entry's `about`", default=(), varies=False)
    sim_applicable: Fixed[bool] = key(SWITCH, "whether a simulation can have it", default=True, varies=False)

    def check(self) -> None:
        """Raise ScenarioError where what its kind needs is missing."""
        has = {
            "ordering": len(self.order) > 1,
            "range": self.lower is not None or self.upper is not None,
            "trend": bool(self.x_var),
        }.get(self.kind, self.expected is not None)
        if not has:
            needs = {"ordering": "order, with two names or more", "range": "lower or upper", "trend": "x_var"}
            raise ScenarioError("kind", f'missing next to "{self.kind}": {needs.get(self.kind, "expected")}')

    @property
    def needs(self) -> str:
        """Thing that the claim needs and a simulation cannot have."""
        return "" if self.sim_applicable else "a real network or testbed, which is not simulated"

    @property
    def wanted(self) -> Any:
        """Value that the claim expects, as `reproduce --json` prints it."""
        if self.kind == "ordering":
            return list(self.order)
        if self.kind == "trend":
            return f"{self.direction} over {self.x_var}"
        if self.kind == "range":
            return [self.lower, self.upper]
        return self.expected


class Text(Table):
    """Claims of one figure or table."""

    id: Fixed[str] = key(TEXT, "such as `fig9a`", varies=False)
    item: Fixed[str | None] = key(
        TEXT, "its name in the paper, such as `Fig. 9(a)`; default: the id", default=None, varies=False
    )
    title: Fixed[str] = key(TEXT, "what it shows", varies=False)
    category: Fixed[str] = key(WORDS, "`figure`, `table` or `text`", default="figure", varies=False)
    about: Fixed[tuple[str, ...]] = key(
        TEXTS, "controllers whose algorithm its claims describe (`dumbbell cca show`)", default=(), varies=False
    )
    priority: Fixed[int] = key(whole(1, 3), "1: a headline figure; 3: weak evidence", default=1, varies=False)
    not_stated: Fixed[tuple[str, ...]] = key(TEXTS, "what the paper leaves open", default=(), varies=False)
    ambiguity: Fixed[str] = key(WORDS, "what can be read in two ways", default="", varies=False)
    grid_note: Fixed[str] = key(WORDS, "what its points are taken from", default="", varies=False)
    like: Fixed[str | None] = key(
        TEXT, "an entry above whose claims are made of this one too, before its own", default=None, varies=False
    )
    claims: Fixed[tuple[Claim, ...]] = key(Each(Claim, minimum=0, most=1000), "its claims", default=(), varies=False)


class _File(Table):
    """The file."""

    entry: Fixed[tuple[Text, ...]] = key(Each(Text, minimum=0, most=1000), "the entries", default=(), varies=False)


@cache
def of_suite(suite: str) -> dict[str, Text]:
    """The entries of a suite by their id with the suite before it, in its order. Raises ScenarioError."""
    texts: dict[str, Text] = {}
    folder = known()[suite].folder
    for text in (*read(folder / SPECIFICATION, _File).entry, *read(folder / "claims.toml", _File).entry):
        name, item = f"{suite}/{text.id}", text.item or text.id
        claims = (*_shared(text, suite, texts), *text.claims)
        whole = replaced(text, ("claims",), (claims, claims))
        texts[name] = replaced(replaced(whole, ("id",), (name, name)), ("item",), (item, item))
    return texts


def _shared(text: Text, suite: str, above: Mapping[str, Text]) -> tuple[Claim, ...]:
    """The claims of the entry that it is like."""
    if text.like is None:
        return ()
    if f"{suite}/{text.like}" not in above:
        raise wrong(f"entry ({text.id}): like", text.like, "an entry above", list(above))
    return above[f"{suite}/{text.like}"].claims
