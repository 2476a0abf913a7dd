"""The playground on the site: the folder that `make wasm` has made, where there is one."""

from __future__ import annotations

import shutil
from pathlib import Path

BUILT = Path(__file__).resolve().parents[2] / "build/playground"
#: Its folder on the site, beside the page docs/playground.md.
PLACE = "playground"
#: What that page begins with there.
_OPENS = f'<p><a class="md-button" href="{PLACE}/index.html">Open the playground</a></p>'


def copied(site: Path, built: Path = BUILT) -> bool:
    """Copy it into the site; says whether there is one."""
    if not (built / "index.html").is_file():
        return False
    shutil.copytree(built, site / PLACE, dirs_exist_ok=True)
    return True


def opened(markdown: str, built: Path = BUILT) -> str:
    """The page on it with a link that opens it, after the heading."""
    if not (built / "index.html").is_file():
        return markdown
    heading, _, rest = markdown.partition("\n")
    return f"{heading}\n\n{_OPENS}\n{rest}"
