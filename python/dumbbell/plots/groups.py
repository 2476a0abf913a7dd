"""The flows of a run as figures name and group them: those of one [[flow]] table are a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.results.texts import transport as transport_text

from . import look

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dumbbell.results.load import Result


class Group(NamedTuple):
    """The flows of one [[flow]] table: its number and name, their controller and transport, and their numbers in the
    plan.
    """

    table: int
    name: str
    cca: str
    transport: str
    flows: tuple[int, ...]
    label: str
    """Its name for a legend: the controller's as papers write it, and the transport where the run has several."""
    nth: int
    """How many groups of the run before it run the same controller."""
    over: str
    """Its transport for a legend, where the run has several or it is not TCP; else empty."""

    @property
    def size(self) -> int:
        """Number of flows."""
        return len(self.flows)


def of(result: Result, flows: Sequence[int] | None = None) -> list[Group]:
    """The groups of a run in the order of their tables; only with these flows, if given."""
    rows = result.plan.flows
    chosen = range(len(rows)) if flows is None else flows
    by_kind: dict[tuple[Any, ...], list[int]] = {}
    for i in chosen:
        by_kind.setdefault((rows[i].table, rows[i].name, rows[i].cca, rows[i].transport.kind), []).append(i)
    mixed = len({flow.transport.kind for flow in rows}) > 1
    several = {row.table for row in rows} != {
        0
    }  # plans of format 1 have no tables: there each kind of flow counts as one
    listed: list[Group] = []
    for (table, name, cca, transport), members in by_kind.items():
        nth = sum(group.cca == cca for group in listed)
        over = transport_text(transport) if mixed or transport != "tcp" else ""
        listed.append(
            Group(
                table if several else len(listed),
                name,
                cca,
                transport,
                tuple(members),
                _label(name, cca, transport, over),
                nth,
                over,
            )
        )
    return listed


def as_one(result: Result) -> list[Group]:
    """All flows of a run as one group, with the name of the first."""
    return [first._replace(flows=tuple(range(len(result.plan.flows)))) for first in of(result)[:1]]


def together(
    repetitions: Sequence[Result], grouped: Callable[[Result], list[Group]] = of
) -> list[list[tuple[Result, Group]]]:
    """Each group of repetitions in the order of their tables, with the runs that have it: of a table whose flows arrive
    by chance a repetition may have none.
    """
    by_table: dict[int, list[tuple[Result, Group]]] = {}
    for run in repetitions:
        for group in grouped(run):
            by_table.setdefault(group.table, []).append((run, group))
    return [same for _, same in sorted(by_table.items())]


def _label(name: str, cca: str, transport: str, over: str) -> str:
    """``cubic from 10s`` is "CUBIC from 10s"; a name of the user's own stays as it is. The transport is behind it,
    unless it is in "quinn CUBIC" already.
    """
    shown = look.name(cca) + name[len(cca) :] if name == cca or name.startswith(f"{cca} ") else name
    if not over or (cca in look.OF_QUINN and look.name(cca) in shown):
        return shown
    words = [word for word in shown.split() if word != transport]
    if not words:
        return over
    return shown if over in words else f"{' '.join(words)} ({over})"


def dressed(lines: Sequence[tuple[Group, int | None]]) -> list[look.Dress]:
    """The look of lines, each of a flow of a group, or of the whole group: by controller where they have several, else
    by group, else by flow.
    """
    return look.dress(
        [
            [look.Trait(group.cca, is_cca=True), look.Trait(group.table), look.Trait((group.table, flow))]
            for group, flow in lines
        ]
    )


def colours(groups: Sequence[Group]) -> dict[Group, str]:
    """The colour of each group."""
    return {group: of.colour for group, of in zip(groups, dressed([(group, None) for group in groups]), strict=True)}


def flow_labels(groups: Sequence[Group]) -> dict[int, str]:
    """A label for each flow: its group's, with the flow's number before it where a group has several."""
    numbered = any(group.size > 1 for group in groups)
    return {flow: f"{flow}: {group.label}" if numbered else group.label for group in groups for flow in group.flows}
