"""The verdicts on all claims of the papers that are kept, in `standing.json`; `tools/papers_page.py` writes it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The file.
PATH = Path(__file__).with_name("standing.json")


@cache
def stored() -> Mapping[str, Any]:
    """The scoreboard that is kept: ``profile``, ``date``, ``commit``, and ``claims`` with a verdict for each."""
    kept: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    return kept


def made() -> str:
    """Say of which run the stored verdicts are."""
    kept = stored()
    how = "" if kept["profile"] == "full" else f", with --{kept['profile']}"
    return f"Verdicts of {kept['date']}, commit {kept['commit']}{how}"
