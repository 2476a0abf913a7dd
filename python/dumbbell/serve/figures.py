"""The figures of the papers for the page: what each claims, and its cases as scenarios to look at.

A case is loaded in the short form of `dumbbell reproduce --fast`, once, with its samples: it is a look at one point of
the figure. The figure itself, and the judgement of its claims, is the command's.
"""

from __future__ import annotations

from typing import Any

from dumbbell.errors import wrong
from dumbbell.suites import chosen, entry_of, ids, text_of
from dumbbell.suites.folders import shipped
from dumbbell.suites.places import Case
from dumbbell.suites.table import FAST


def papers() -> list[dict[str, Any]]:
    """The papers with their figures and tables, in their order."""
    return [
        {"id": suite.name, "title": suite.title, "figures": [_short(name) for name in ids(suite.name)]}
        for suite in shipped().values()
    ]


def figure(name: str) -> dict[str, Any]:
    """Claims of a figure, what the paper leaves open, and its cases. Raises ScenarioError for none of them."""
    if chosen([name]) != [name]:
        raise wrong("figure", name, "a figure or table of a paper", [])
    text = text_of(name)
    return {
        **_short(name),
        "claims": [claim.text for claim in text.claims],
        "not_stated": list(text.not_stated),
        "cases": [_case(name, case) for case in entry_of(name).cases(FAST, ())],
    }


def _short(name: str) -> dict[str, Any]:
    text = text_of(name)
    return {"id": name, "item": text.item, "title": text.title}


def _case(name: str, case: Case) -> dict[str, Any]:
    tables = {key: value for key, value in case.scenario.items() if key not in ("record", "repetitions")}
    words = [case.series or "", *(f"{key} {value}" for key, value in case.at.items())]
    return {"label": ", ".join(filter(None, words)), "tables": {"name": name.replace("/", "-"), **tables}}
