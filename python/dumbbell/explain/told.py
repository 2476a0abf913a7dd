"""What is said of runs where people meet their figures: sentences on all flows of a run, within a bound on the cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import DumbbellError, ResultError

from .again import is_made_again, with_tables
from .explained import explain

if TYPE_CHECKING:
    from dumbbell.results.load import Result

    from .explained import Explained

#: Runs that are explained in one place, and flows of a run times its [[flow]] tables: each of these costs milliseconds.
RUNS, FLOWS = 8, 500
#: Seconds that runs may have taken, together, that are made again for tables that they lack.
AGAIN_S = 10.0
#: Sentences on one run, and flows that one of them names.
_SENTENCES, _NAMED = 8, 3


class Told(NamedTuple):
    """What is said of a run.

    Attributes
    ----------
    flows
        Its flows as `explain` has them; none where the run is left out.
    note
        Why it is left out, or what cannot be told of it; empty as a rule.
    """

    flows: list[Explained]
    note: str = ""

    @property
    def sentences(self) -> list[str]:
        """The sentences of all flows."""
        return sentences(self.flows)

    def __str__(self) -> str:
        return "\n".join([*self.sentences, *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in str(self).splitlines())

    def of(self, flow: str) -> list[Explained]:
        """What is said of one flow."""
        return [one for one in self.flows if one.flow == flow]


def why(
    result: Result, flow: str | None = None, *, at: float | None = None, proves: bool = False, everything: bool = False
) -> Told:
    """Say why the flows of a run got what they got (docs/explain.md); `print` shows the sentences.

    Parameters
    ----------
    flow
        The name of a [[flow]] table; all of them unless given.
    at
        A moment of the run, in seconds: what was at work about that time, instead of in the whole run.
    proves
        Make the run again without each cause, where its rule says how, and say whether it is why.
    everything
        All rules that hold, instead of the two that tell most.

    Raises
    ------
    ResultError
        There is no such flow or moment in the run.
    """
    run, untold = with_tables(result)
    how: dict[str, Any] = {"proves": proves, "everything": everything}
    if at is None:
        return Told(explain(run, flow, **how), untold)
    flows, absent = [], []
    for name in run.plan.groups if flow is None else [flow]:
        try:
            flows += explain(run, name, at=at, **how)
        except ResultError as error:  # it was not there at that time
            absent.append(error)
    if not flows:
        raise absent[0]
    return Told(flows, untold)


class Teller:
    """Explains one run after the other; what would take too long is left out, and `Told.note` says so."""

    def __init__(self) -> None:
        self._told: dict[str, Told] = {}
        self._again_s = 0.0

    def tell(self, run: Result) -> Told:
        """What is said of a run; the same again of one that has been asked about."""
        key = str(run.folder)
        if key not in self._told:
            self._told[key] = self._explained(run)
        return self._told[key]

    def _explained(self, run: Result) -> Told:
        if len(self._told) >= RUNS:
            return Told([], left_out(run, f"at most {RUNS} runs are explained here"))
        self._again_s += again_s(run)
        if said := refused(run, self._again_s):
            return Told([], said)
        try:
            return why(run)
        except DumbbellError as error:
            return Told([], left_out(run, str(error)))


def again_s(run: Result) -> float:
    """Seconds that it takes to make the run again for its tables: as many as it took; 0 where it is not."""
    return run.manifest.wall_s if is_made_again(run) else 0.0


def refused(run: Result, seconds: float) -> str:
    """Why it would take too long to explain the run, where runs are made again in so many seconds; empty if not."""
    flows, tables = len(run.plan.flows), len(run.plan.groups)
    if flows * tables > FLOWS:
        return left_out(run, f"{flows} flows of {tables} [[flow]] tables take too long here")
    if seconds > AGAIN_S:
        return left_out(run, f"it would be made again for its tables, and runs of more than {AGAIN_S:g} s are not")
    return ""


def left_out(run: Result, why_not: str) -> str:
    """The note on a run that is not explained."""
    return f"Not explained: {why_not}. `dumbbell explain {run.folder}` does."


def sentences(said: Sequence[Explained], names: Mapping[str, str] | None = None) -> list[str]:
    """Sentences on flows; those of which the same is said share one, and those about a moment begin with the time that
    they are of. The first few: `dumbbell explain` has all. `names` has other names of flows.
    """
    by_text: dict[tuple[str, str], list[str]] = {}
    for one in said:
        for text in [cause.sentence for cause in one.causes] or [""]:
            by_text.setdefault((one.part, text), []).append((names or {}).get(one.flow, one.flow))
    made, before = [], ""
    for (part, text), flows in by_text.items():
        sentence = _sentence(text, flows)
        made.append(f"{part[0].upper()}{part[1:]}: {sentence}" if part != before else sentence)
        before = part
    more = len(made) - _SENTENCES
    return made if more <= 0 else [*made[:_SENTENCES], f"And {more} more, which `dumbbell explain` says."]


def _sentence(text: str, flows: Sequence[str]) -> str:
    more = len(flows) - _NAMED
    names = [*flows[:_NAMED], *([f"{more} more"] if more > 0 else [])]
    named = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    if text:
        return f"{named} {text}" if len(flows) == 1 else f"Each of {named} {text}"
    return f"{named}: no rule explains what {'it' if len(flows) == 1 else 'they'} got."
