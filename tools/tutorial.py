"""Runs the commands of docs/tutorial.md, docs/plots.md and docs/orca.md and writes their tables and pictures into the
pages: `make tutorial`; with --check it only says what differs. A page's name chooses it: `tools/tutorial.py plots`.

In a section, the ``sh`` block is run as it stands; the ``text`` block shows what the last `dumbbell show`, or else
`dumbbell run`, of the block above it printed; pictures that the commands write go into docs/img/ and the page's
name, smaller and with fewer colours.
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
#: The pages and the folders of their pictures.
PAGES = {
    "tutorial": (PAGE, PICTURES),
    "plots": (ROOT / "docs/plots.md", ROOT / "docs/img/plots"),
    "orca": (ROOT / "docs/orca.md", ROOT / "docs/img/orca"),
}
#: Variables without which a page is left as it is.
NEEDED = {"orca": "DUMBBELL_ORCA"}
#: Dots across a picture.
WIDTH = 800
#: Colours of a picture: lines, text and their soft edges need no more.
COLOURS = 192

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
    """Write a picture with fewer dots and colours."""
    from PIL import Image

    with Image.open(picture) as image:
        whole = image.convert("RGB")
    if whole.width > WIDTH:
        whole = whole.resize((WIDTH, round(whole.height * WIDTH / whole.width)), Image.Resampling.LANCZOS)
    # Each colour counts once, so that the few dots of a mark keep theirs.
    met = sorted({tuple(part & 0xF8 for part in colour) for _, colour in whole.getcolors(whole.width * whole.height)})
    each = Image.new("RGB", (len(met) + 64, 1), "white")
    each.putdata(met)
    whole.quantize(palette=each.quantize(COLOURS), dither=Image.Dither.NONE).save(to, optimize=True)


def main() -> int:
    """Write, or compare."""
    asked = [word for word in sys.argv[1:] if word in PAGES] or list(PAGES)
    lacking = [name for name in asked if name in NEEDED and not os.environ.get(NEEDED[name])]
    for name in lacking:
        print(f"{PAGES[name][0].name}: not run, since ${NEEDED[name]} is not set", file=sys.stderr)
    return max(
        [_write(*PAGES[name], is_check="--check" in sys.argv) for name in asked if name not in lacking], default=0
    )


def _write(page: Path, pictures: Path, *, is_check: bool) -> int:
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        ran = run(text, Path(folder))
        if is_check:
            print(f"{page.name} {'is fresh' if ran.text == text else 'differs: make tutorial'}")
            return int(ran.text != text)
        page.write_text(ran.text, encoding="utf-8")
        pictures.mkdir(parents=True, exist_ok=True)
        for picture in ran.pictures:
            shrink(picture, pictures / picture.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
