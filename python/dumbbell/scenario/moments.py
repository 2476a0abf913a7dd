"""Times in a scenario that a controller decides: ``"DRAIN of candidate begins"``, for a step at a change of its state.

They stand where steps have a time, and as the on time of an application. `dumbbell.plan.moments` finds the instants.
"""

from __future__ import annotations

import re
from typing import Any

from dumbbell import units

from .plain_kinds import Kind

FORM = '"DRAIN of main begins", with "after 5s" or "+ 20ms" behind it if wanted'

#: A time of day that no run reaches, ns: what a moment counts as until its instant is found.
_NEVER_NS = 10**18

_TEXT = re.compile(
    r"(?P<state>[A-Z][A-Z0-9_]*) of (?P<flow>\S.*?) (?P<edge>begins|ends)"
    r"(?: after (?P<after>[0-9][^+]*?))?(?: \+ (?P<offset>\S.*))?"
)


class Moment(int):
    """A time when a controller's state begins or ends; as a number one that never comes.

    Attributes
    ----------
    text
        As it is written.
    state, flow, edge
        The state, the name of its flow, and which end of the state.
    after_ns, offset_ns
        The first such change from this time on counts, and what follows it happens so much later.
    """

    text: str
    state: str
    flow: str
    edge: str
    after_ns: int
    offset_ns: int

    @classmethod
    def parse(cls, text: object) -> Moment | None:
        """The moment that a text names; None for what is not of this form. Raises UnitError for its times."""
        written = _TEXT.fullmatch(text.strip()) if isinstance(text, str) else None
        if written is None:
            return None
        moment = cls(_NEVER_NS)
        moment.text, moment.state, moment.flow, moment.edge = (
            written[0],
            written["state"],
            written["flow"],
            written["edge"],
        )
        moment.after_ns, moment.offset_ns = (units.span_ns(written[name] or "0s") for name in ("after", "offset"))
        return moment


def or_moment(kind: Kind) -> Kind:
    """A time of this kind, or a moment."""

    def parse(value: object) -> Any:
        moment = Moment.parse(value)
        return kind.parse(value) if moment is None else moment

    pattern = re.sub(r"\?P<\w+>", "", f"^{_TEXT.pattern}$")
    return Kind(parse, {"anyOf": [kind.schema, {"type": "string", "pattern": pattern}]})
