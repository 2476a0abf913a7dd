"""The verdict in words: who got what, how full the link was, how long the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell.plots import groups, look
from dumbbell.results import figures
from dumbbell.results.catalogue import figure, shown
from dumbbell.results.experiment import repetitions
from dumbbell.results.texts import mean_text, partly_text, percent_text
from dumbbell.units import rate_text

from .gathered import labels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dumbbell.plan.view import LinkView, PlanView
    from dumbbell.results.catalogue import Measured
    from dumbbell.results.figures import Row
    from dumbbell.results.load import Result

#: Most links of one run that are told of.
_LINKS = 4
#: Combinations that are told one by one; of more, the extremes are.
_TOLD = 3
#: What is to be known of figures that compare flows whose data go both ways.
_BOTH_WAYS = "are of the flows down and up together, which cross different links."


def verdict(runs: Sequence[Measured]) -> list[str]:
    """Sentences; one for each combination where they are few, else what the smallest and the largest are."""
    rows = [row for run in runs for row in figures.rows(run, _names(run.result.plan), by="table")]
    cases, same = repetitions(figures.over_repetitions(rows)), repetitions(run.result for run in runs)
    first = {key: results[0] for key, results in same.items()}
    if not cases:
        return []
    if len(cases) <= _TOLD:
        names = dict(zip(first, labels(list(first.values()))))
        return [
            (f"{names[key]}: " if len(cases) > 1 else "") + _of_case(rows, first[key]) for key, rows in cases.items()
        ]
    return _of_sweep(list(cases.values()), [same[key] for key in cases])


def _names(plan: PlanView) -> list[str]:
    """The figures that the sentences are made of: of flows, and of each link that they tell of."""
    links = _told_links(plan)
    return [name + at for name in shown("words") for at in (links if figure(name).of_link else ("",))]


def _told_links(plan: PlanView) -> dict[str, LinkView]:
    """The links to tell of, by what names them in a figure: the bottleneck, or where that may not be the link that
    matters, each that data cross.
    """
    if not plan.doubted_bottleneck:
        return {"": plan.bottleneck}
    return {f"@{link.name}": link for link in plan.crossed_links[:_LINKS]}


def _of_case(rows: Sequence[Row], run: Result) -> str:
    of = " of the bytes" if figures.is_rate_another_share(rows) else ""
    most = sorted(rows, key=lambda row: -(row.value("share") or 0))
    parts = [who for row in most if (who := _got(row, len(rows), of))]
    more = len(parts) - 4
    said = _listed(parts[:4] + ([f"{more} more shared the rest"] if more > 0 else [])) + "."
    said += "".join(_of_link(rows[0], at, link) for at, link in _told_links(run.plan).items())
    jain = rows[0].values.get("jain")
    if jain is not None and len(rows) > 1:
        said += f" Jain's index is {mean_text('jain', jain)}{partly_text(rows[0].lacking('jain'), rows[0].n)}."
    return said + (f" Parts of the bytes and Jain's index {_BOTH_WAYS}" if run.plan.mixes_directions else "")


def _of_link(row: Row, at: str, link: LinkView) -> str:
    """How full a link was, and how long its queue; `at` names it in figures, empty for the only one that is told of."""
    full, queue, late = (row.values.get(name + at) for name in ("utilization", "queue", "queue_p95"))
    if full is None:
        return ""
    rate = f" of {rate_text(link.rate_bps)}" if link.is_constant else ""
    said = f" The link{f' {link.name}' if at else ''}{rate} was {percent_text(full.mean)} full"
    if queue is not None:
        said += f"; its queue was {mean_text('queue', queue)} ms long on average"
        said += f", {mean_text('queue_p95', late)} ms at the 95th percentile" if late is not None else ""
    return said + "."


def _got(row: Row, count: int, of: str) -> str:
    goodput, share = row.values.get("goodput"), row.values.get("share")
    if goodput is None:
        return ""
    name = named(row)
    who = f"{row.size} flows of {name}" if row.flows > 1 else name
    part = f" ({percent_text(share.mean)}{of})" if share is not None and count > 1 else ""
    return f"{who} got {mean_text('goodput', goodput)} Mbit/s{part}"


def named(row: Row) -> str:
    """The flows of a row as sentences call them."""
    shown = look.name(row.cca)
    return shown if row.name == row.cca else f"{row.name} ({shown})" if shown not in row.name else row.name


def _listed(parts: Sequence[str]) -> str:
    return (
        parts[0]
        if len(parts) == 1
        else ", ".join(parts[:-1]) + " and " + parts[-1]
        if parts
        else "No flow got anything"
    )


def _of_sweep(cases: Sequence[Sequence[Row]], runs: Sequence[Sequence[Result]]) -> list[str]:
    """The extremes. `runs` are the repetitions of each case."""
    names = labels([same[0] for same in runs])
    said = [f"{sum(map(len, runs))} runs of {len(cases)} combinations."]
    by_name: dict[str, list[tuple[float, str]]] = {}
    for rows, name, same in zip(cases, names, runs):
        found = {pairs[0][1].table: pairs[0][1].label for pairs in groups.together(same)}
        for row in rows:
            share = row.value("share")
            if share is not None and len(rows) > 1:
                by_name.setdefault(found.get(row.table, row.name), []).append((share, name))
    for label in list(by_name)[:6]:
        low, high = (f"{percent_text(part)} ({name})" for part, name in (min(by_name[label]), max(by_name[label])))
        said.append(f"{label} got {low} to {high} of the bytes.")
    if by_name and any(same[0].plan.mixes_directions for same in runs):
        said.append(f"Parts of the bytes {_BOTH_WAYS}")
    told = dict.fromkeys(at for same in runs for at in _told_links(same[0].plan))
    for at in told:
        link = f"link {at[1:]}" if at else "link"
        queue = f"The queue{f' of {link}' if at else ''} was {{}} to {{}} long on average."
        said += _extremes(cases, names, "utilization" + at, percent_text, f"The {link} was {{}} to {{}} full.")
        said += _extremes(cases, names, "queue" + at, lambda ms: f"{ms:.1f} ms", queue)
    return said


def _extremes(
    cases: Sequence[Sequence[Row]], names: Sequence[str], name: str, say: Callable[[float], str], text: str
) -> list[str]:
    """The sentence on the smallest and the largest of a figure of the runs, with their cases; none where no run has it.
    `text` has a place for each.
    """
    values = [(value, case) for rows, case in zip(cases, names) if (value := rows[0].value(name)) is not None]
    if not values:
        return []
    return [text.format(*(f"{say(value)} ({case})" for value, case in (min(values), max(values))))]
