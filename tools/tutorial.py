"""Runs the commands of docs/tutorial.md and writes their tables and pictures into the page: `make tutorial`; with
--check it only says what differs.

In a section, the ``sh`` block is run as it stands; the ``text`` block shows what the last `dumbbell show`, or else
`dumbbell run`, of the block above it printed; pictures that the commands write go into docs/img/tutorial with fewer
colours, which makes them small.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/tutorial.md"
PICTURES = ROOT / "docs/img/tutorial"
#: Colours of a picture: lines, text and their soft edges need no more.
COLOURS = 48

_BLOCK = re.compile(r"```(sh|text)\n(.*?)```", re.DOTALL)


class Ran(NamedTuple):
    """What a run of the page gave: its text with fresh tables, its commands, and the pictures that they wrote."""

    text: str
    commands: list[str]
    pictures: list[Path]


def run(page: str, folder: Path) -> Ran:
    """Run every command of a page in `folder`; raises CalledProcessError for one that fails."""
    environment = {
        **os.environ,
        "COLUMNS": "80",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONIOENCODING": "utf-8",
    }
    commands: list[str] = []
    table = ""

    def fresh(match: re.Match[str]) -> str:
        nonlocal table
        kind, text = match.groups()
        if kind == "text":
            return f"```text\n{table}```"
        for command in text.replace("\\\n", " ").splitlines():
            commands.append(command)
            printed = subprocess.run(
                command, shell=True, cwd=folder, env=environment, check=True, capture_output=True, text=True
            ).stdout
            if command.split()[1] in ("run", "show"):
                table = printed
        return match.group()

    text = _BLOCK.sub(fresh, page)
    return Ran(text, commands, sorted(folder.glob("*.png")))


def shrink(picture: Path, to: Path) -> None:
    """Write a picture with few colours."""
    from PIL import Image

    with Image.open(picture) as image:
        image.convert("RGB").quantize(COLOURS).save(to, optimize=True)


def main() -> int:
    """Write, or compare."""
    page = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        ran = run(page, Path(folder))
        if "--check" in sys.argv:
            print("docs/tutorial.md is fresh" if ran.text == page else "docs/tutorial.md differs: make tutorial")
            return int(ran.text != page)
        PAGE.write_text(ran.text, encoding="utf-8")
        PICTURES.mkdir(parents=True, exist_ok=True)
        for picture in ran.pictures:
            shrink(picture, PICTURES / picture.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
