"""Commands of the pages: each line that starts `dumbbell` in a `sh` block of README.md or docs/ is one that the command
line takes; those of docs/start.md run, and print what the page says; README has the figures of docs/speed.md.
"""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest

from conftest import ROOT, Cli
from dumbbell.cli import commands
from dumbbell.errors import DumbbellError

START = (ROOT / "docs/start.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(r"^```(?:sh|bash|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`(dumbbell [^`\n]+)`")
#: Running text names a command without its arguments, or with a word in capitals in the place of one.
_NO_MORE = re.compile(r'arguments are required|expected one argument|got "[A-Z]+"')
#: What ends the arguments of a command in a line of the shell.
_ENDS = {"|", ">", ">>", "&&", "||", "&", ";", "2>", "<"}


def written(page: Path) -> list[list[str]]:
    """The words of each `dumbbell` command of a page, without the program's name."""
    text = page.read_text(encoding="utf-8")
    blocks = re.sub(r"\\\n\s*", " ", "".join(_BLOCK.findall(text))).splitlines()
    found = []
    for line in [*blocks, *_INLINE.findall(text)]:
        if line.startswith("dumbbell "):
            words = shlex.split(line, comments=True)[1:]
            found.append(words[: next((at for at, word in enumerate(words) if word in _ENDS), len(words))])
    return found


@pytest.mark.parametrize(
    "page", [page for page in PAGES if written(page)], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_the_command_line_takes_every_command_of_a_page(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = []
    for name, *words in written(page):
        if name.startswith("-") or "[" in "".join(words) or "--help" in words:
            continue
        try:
            commands.parser(name).parse_args(words, argparse.Namespace(command=name))
        except (SystemExit, KeyError, DumbbellError) as error:
            said = capsys.readouterr().err.strip() if isinstance(error, SystemExit) else str(error)
            if not _NO_MORE.search(said):
                refused.append((shlex.join([name, *words]), said.splitlines()[-1]))
    assert refused == []


def test_many_commands_are_looked_at() -> None:
    assert sum(len(written(page)) for page in PAGES) > 150


def test_the_first_steps_run_as_they_stand(tmp_path: Path, cli: Cli) -> None:
    (race,) = [words for words in written(ROOT / "docs/start.md") if words[0] == "race"]
    (said,) = re.findall(r"^BBRv3 got .*$", START, re.MULTILINE)
    assert said in cli(*race).stdout.splitlines()
    (scenario,) = re.findall(r"```toml\n(.*?)```", START, re.DOTALL)
    (tmp_path / "exp.toml").write_text(scenario)
    for words in written(ROOT / "docs/start.md"):
        if words[0] in ("run", "plot", "report"):
            done = cli(*[word for word in words if word != "--open"])
            assert done.returncode == 0, done.stderr
    assert list(tmp_path.rglob("*.png"))
    assert list(tmp_path.rglob("*.html"))


def test_readme_and_start_have_the_figures_of_the_pages() -> None:
    """What stands on two pages is the same on both."""
    (said,) = re.findall(r"^BBRv3 got .*$", START, re.MULTILINE)
    assert said in (ROOT / "docs/race.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"\| ([\d,]{7,}) \| [^|]*: ([\d,]{5,}) \| \**([\d.]+)\** \|", readme)
    speed = (ROOT / "docs/speed.md").read_text(encoding="utf-8").split("| scenario | simulator |")[1].split("\n\n")[0]
    for own, other, times in rows:
        assert f"| {own} (" in speed
        assert f"| {other} (" in speed
        assert f"| {times} |" in speed
        assert int(own.replace(",", "")) / int(other.replace(",", "")) == pytest.approx(float(times), rel=0.01)
    assert [float(times) < 1 for *_, times in rows] == [False, False, False, True], "the row that we lose is shown"
