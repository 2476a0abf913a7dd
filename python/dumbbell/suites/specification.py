"""What the papers say of a controller, and what came of it, for `dumbbell cca show`: from each suite's file
`specification.toml` and the verdicts that are kept, without the rest of the suites, which takes a second to read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .folders import SPECIFICATION, shipped, tables
from .standing import stored

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: The word of a claim that was added after the verdicts were kept, or that nothing can judge.
UNJUDGED = "unjudged"


class Statement(NamedTuple):
    """A claim about how a controller works."""

    entry: str
    id: str
    text: str
    verdict: str

    def as_json(self) -> dict[str, str]:
        """As `dumbbell cca show --json` prints it."""
        return self._asdict()


def about(controller: str) -> list[Statement]:
    """The statements of the papers about a controller, in their order."""
    verdicts = stored()["claims"]
    return [
        Statement(entry, claim["id"], claim["text"], verdicts.get(f"{entry}#{claim['id']}", UNJUDGED))
        for suite in shipped().values()
        for entry, claim in _claims(suite.name, tables(suite.folder / SPECIFICATION), controller)
    ]


def _claims(suite: str, file: Mapping[str, Any], controller: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The claims about a controller as the file has them, each with the name of its entry."""
    of_entry: dict[str, list[Mapping[str, Any]]] = {}
    for entry in file.get("entry", ()):
        of_entry[entry["id"]] = [*of_entry.get(entry.get("like"), ()), *entry.get("claims", ())]
        for claim in of_entry[entry["id"]]:
            if controller in claim.get("about", entry.get("about", ())):
                yield f"{suite}/{entry['id']}", claim


def summary(controller: str) -> str:
    """Say in two lines how many statements are checked and hold, and what prints them; empty where there are none."""
    statements = about(controller)
    if not statements:
        return ""
    judged = [statement for statement in statements if statement.verdict != UNJUDGED]
    held = sum(statement.verdict == "holds" for statement in judged)
    entries = dict.fromkeys(statement.entry for statement in statements)
    return (
        f"Papers: {len(statements)} statement{'s' * (len(statements) != 1)} about it,"
        f" {len(judged)} checked, {held} hold:\n"
        f"  dumbbell reproduce {' '.join(entries)}"
    )
