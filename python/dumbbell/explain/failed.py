"""Why the flows of expectations that fail got what they got."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from dumbbell.errors import ResultError
from dumbbell.expect.judged import grouped
from dumbbell.judge import FAILS
from dumbbell.results.load import Result
from dumbbell.results.windows import flows_of

from .told import sentences

if TYPE_CHECKING:
    from dumbbell.expect.judged import Line

    from .told import Teller


def explained(lines: Sequence[Line], teller: Teller) -> Iterator[Line]:
    """These lines in their order; the first line that fails of each expectation says why its flow got what it got, of
    one run of its place.
    """
    firsts = {id(next((line for line in own if line.word == FAILS), None)) for own in grouped(lines).values()}
    for line in lines:
        yield line._replace(explained=_why(line, teller)) if id(line) in firsts and line.folder else line


def _why(line: Line, teller: Teller) -> tuple[str, ...]:
    run = Result(line.folder)
    told = teller.tell(run)
    about = _about(line, run)
    said = [one for one in told.flows if not about or one.flow in about]
    return (*sentences(said), *([told.note] if told.note else []))


def _about(line: Line, run: Result) -> set[str]:
    """The [[flow]] tables that the left side of a sentence is about, or else its row; none: all of them."""
    of = next(iter(line.asked.sentence.values())).of or line.judged.label
    flows = run.plan.flows
    if number := re.fullmatch(r"flow\[(\d+)\]", of):
        return {flow.name for flow in flows if flow.table == int(number[1])}
    with suppress(ResultError):  # such as lowest
        return {flows[i].name for i in flows_of(run, of)}
    return set()
