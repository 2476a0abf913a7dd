"""The page of `dumbbell evaluate`: one file without a program, to attach to a draft."""

from __future__ import annotations

import base64
import io
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from dumbbell.expect.evaluated import WORST
from dumbbell.plan.origin import versions
from dumbbell.plots import look

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dumbbell.expect.evaluated import Cell, Chapter, Evaluation, Said

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --pass: #1a7f37; --concern: #9a6700; --fail: #cf222e; }
@media (prefers-color-scheme: dark) {
  :root { --pass: #3fb950; --concern: #d29922; --fail: #ff7b72; }
  .pic { background: #fff; }
}
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 75rem; padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
h3 { font-size: 1rem; display: inline; }
.wide { overflow-x: auto; } .small { font-size: .85rem; } .pic { max-width: 100%; border-radius: 4px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .6rem; text-align: left; vertical-align: top; }
code { font-size: .85em; overflow-wrap: anywhere; }
.pass { color: var(--pass); } .concern { color: var(--concern); } .fail { color: var(--fail); font-weight: 600; }
"""
#: Nothing but its own styles and pictures.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(said: Evaluation) -> str:
    """The whole file: verdicts by section, then every cell with its figures, its picture and its command."""
    head, build = said.suite.head, versions()
    made = ", ".join(f"{name} {value}" for name, value in build.items())
    title = f"{said.candidate}: {head.title}"
    intro = (
        f"Profile {said.how.profile}, on {escape(said.how.on)}. Bounds: Dumbbell's, version {head.bounds}"
        f" (<code>scenarios/suites/{escape(said.suite.name)}</code>); the document has none."
        + (f" References in the same place: {escape(', '.join(head.references))}." if head.references else "")
        + " ~: chance may decide."
    )
    rows = "".join(_summary(chapter) for chapter in said.chapters)
    body = "".join(_chapter(chapter, said.candidate) for chapter in said.chapters)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{escape(title)}</h1>\n"
        f'<p>{intro}</p>\n<div class="wide"><table>'
        f"<tr><th>section</th><th>title</th><th>level</th><th>verdict</th></tr>{rows}"
        f'</table></div>\n{body}<p class="small">{escape(made)}</p>\n</main>\n</body>\n</html>\n'
    )


def _summary(chapter: Chapter) -> str:
    section = chapter.section
    link = f'<a href="#s{section.number}">{escape(section.number)}</a>' if chapter.cells else escape(section.number)
    return (
        f"<tr><td>{link}</td><td>{escape(section.title)}</td><td>{escape(section.level)}</td>"
        f'<td class="{_class(chapter.grade)}">{escape(chapter.text)}</td></tr>'
    )


def _chapter(chapter: Chapter, candidate: str) -> str:
    section = chapter.section
    head = f'<h2 id="s{section.number}">{escape(section.number)} {escape(section.title)}</h2>\n'
    head += "".join(f"<p>{escape(text)}</p>\n" for text in (section.note, section.question) if text)
    groups = groupby(chapter.cells, key=lambda cell: (cell.file, cell.name))
    return head + "".join(_group(list(cells), candidate) for _, cells in groups)


def _group(cells: Sequence[Cell], candidate: str) -> str:
    """The cells of one name of a file: picture, table, commands."""
    first = cells[0]
    references = list(first.references)
    worst = min((cell.said.grade for cell in cells), key=WORST.index)
    names = "".join(f"<th>{escape(name)}</th>" for name in (candidate, *references))
    rows = "".join(
        f'<tr><td>{escape(cell.where)}</td><td class="{_class(cell.said.grade)}">{_word(cell)}</td>'
        + "".join(
            f'<td class="{_class(said.grade)}">{escape(said.measured or said.reason)}</td>'
            for said in (cell.said, *cell.references.values())
        )
        + f"<td>{escape(cell.wanted)}</td></tr>"
        for cell in cells
    )
    picture = _picture(cells, candidate)
    is_open = " open" if worst != "pass" else ""
    return (
        f'<details{is_open}><summary><h3 style="display:inline">{escape(first.file.stem)}: {escape(first.name)}</h3>'
        f' <span class="{_class(worst)}">{worst}</span></summary>\n'
        f'<img class="pic" alt="{escape(first.title)} of {escape(", ".join((candidate, *references)))}"'
        f' src="{picture}">\n'
        f'<div class="wide"><table class="small"><tr><th>where</th><th>verdict</th>{names}<th>wanted</th></tr>'
        f"{rows}</table></div>\n"
        f"<p><code>{escape(first.command)}</code></p></details>\n"
    )


def _word(cell: Cell) -> str:
    return escape(cell.said.grade + "~" * cell.said.is_unclear + (f", {cell.note}" if cell.note else ""))


def _class(grade: str | None) -> str:
    return (grade or "none").replace(" ", "-")


def _picture(cells: Sequence[Cell], candidate: str) -> str:
    """The figure of the candidate and of the references over the places, as an SVG in the page."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dumbbell", "font.size": 8}):
        labels = [cell.where or cell.name for cell in cells]
        width = max(6.0, 4.0 + 0.07 * max(map(len, labels)))  # long places leave no room for the axes
        drawn = Figure(figsize=(width, 1.2 + 0.16 * len(cells)), layout="constrained")
        ax = drawn.add_subplot()
        places = range(len(cells))
        for name, column in _columns(cells, candidate):
            points = [(said.value, i) for i, said in zip(places, column) if said is not None and said.value is not None]
            if points:
                marker = "D" if name == candidate else "o"
                style = look.of(name)
                ax.plot(*zip(*points), marker, color=style.colour, markersize=6 if name == candidate else 4, label=name)
        ax.set_yticks(list(places), labels)
        ax.margins(y=0.3 / len(cells))
        ax.invert_yaxis()
        ax.set_xlabel(cells[0].title)
        ax.grid(axis="x", alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        drawn.legend(loc="outside right upper", frameon=False)
        with io.BytesIO() as file:
            drawn.savefig(file, format="svg", metadata={"Date": None})
            data = base64.b64encode(file.getvalue()).decode()
    return f"data:image/svg+xml;base64,{data}"


def _columns(cells: Sequence[Cell], candidate: str) -> Iterable[tuple[str, list[Said | None]]]:
    """The references, then the candidate on top of them."""
    for name in cells[0].references:
        yield name, [cell.references.get(name) for cell in cells]
    yield candidate, [cell.said for cell in cells]
