"""The notebooks as pages of the site: their text, code and stored outputs; nothing is run."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import rewriting

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"
#: How docs/README.md begins a link to one.
LINKED = "../notebooks/"


def page(name: str) -> str:
    """The page of a notebook."""
    return f"notebooks/{Path(name).stem}.md"


def pages(complain: Callable[[str], object]) -> dict[str, str | bytes]:
    """Every notebook as a page, and its pictures; `complain` is told of dead links."""
    made: dict[str, str | bytes] = {}
    for path in sorted(FOLDER.glob("*.ipynb")):
        parts = []
        for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                parts.append(rewriting.relinked(source, path, complain=complain))
                continue
            parts.append(f"```python\n{source}\n```")
            for kind, content in _outputs(cell):
                if kind == "image/png":
                    picture = f"{path.stem}-{number}.png"
                    made[f"notebooks/{picture}"] = base64.b64decode(content)
                    parts.append(f"![What the cell above draws]({picture})")
                else:
                    parts.append(content if kind == "text/html" else f"```text\n{content.rstrip()}\n```")
        parts.append(f"[The notebook itself]({rewriting.REPOSITORY}/blob/main/notebooks/{path.name})")
        made[page(path.name)] = "\n\n".join(parts) + "\n"
    return made


def _outputs(cell: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The richest form of each output, with its kind."""
    for output in cell["outputs"]:
        data = output.get("data", {"text/plain": output.get("text", "")})
        kind = next(one for one in ("image/png", "text/html", "text/plain") if one in data)
        yield kind, "".join(data[kind])
