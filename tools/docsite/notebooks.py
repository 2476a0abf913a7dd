"""The notebooks as pages of the site: their text, code and stored outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"
#: How docs/README.md begins a link to one.
LINKED = "../notebooks/"


def page(name: str) -> str:
    """The page of a notebook."""
    return f"notebooks/{Path(name).stem}.md"


def pages() -> dict[str, Any]:
    """Every notebook as a page."""
    return {}
