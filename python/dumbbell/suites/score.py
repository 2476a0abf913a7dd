"""The scoreboard: how many claims of each paper hold, fail and cannot be judged, and why those fail that do."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from . import findings
from .changed import UNCHANGED, Changed
from .folders import known

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from .book import Judged
    from .findings import Finding
    from .judge import Verdict
    from .table import Profile

#: Columns of the scoreboard after the paper, in order.
COLUMNS = ("claims", "judged", "hold", "share", *findings.BINS, "unclear", "unjudged")


class Line(NamedTuple):
    """One paper, or all of them."""

    paper: str
    claims: int
    holds: int
    unclear: int
    unjudged: int
    bins: dict[str, int]

    @property
    def judged(self) -> int:
        """Claims with a verdict."""
        return self.claims - self.unjudged

    def cells(self) -> list[str]:
        """As the columns have them."""
        share = f"{100 * self.holds / self.judged:.0f} %" if self.judged else "-"
        return [
            *map(str, (self.claims, self.judged, self.holds)), share,
            *(str(self.bins.get(name, 0)) for name in findings.BINS), str(self.unclear), str(self.unjudged),
        ]  # fmt: skip


def lines(judged: Sequence[Judged]) -> list[Line]:
    """A line per paper that was judged, and one for all of them."""
    listed = []
    for suite in known().values():
        own = [entry for entry in judged if entry.text.id.startswith(suite.name + "/")]
        if own:
            listed.append(_line(suite.name, own))
    return [*listed, _line("all", judged)] if len(listed) > 1 else listed


def _line(paper: str, judged: Sequence[Judged]) -> Line:
    verdicts = [(entry.text.id, verdict) for entry in judged for verdict in entry.verdicts]
    count = Counter(verdict.verdict for _, verdict in verdicts)
    bins = Counter(cause(name, verdict) for name, verdict in verdicts if verdict.verdict == "fails")
    return Line(paper, len(verdicts), count["holds"], count["unclear"], count["unjudged"], dict(bins))


def cause(entry: str, verdict: Verdict) -> str:
    """The bin of a claim that fails: `tie` or `here` unless somebody has found out more."""
    finding = findings.of(f"{entry}#{verdict.claim.id}")
    if finding is None:
        return "tie" if verdict.is_tie else "here"
    return finding.bin


def as_json(judged: Sequence[Judged], profile: Profile, changed: Changed = UNCHANGED) -> dict[str, Any]:
    """The whole of it: counts per paper, and every verdict with its finding."""
    return {
        "profile": profile.name,
        "provisional": not profile.is_full,
        "scale": changed.scale,
        "changed": changed.options,
        "papers": [dict(zip(("paper", *COLUMNS), (item.paper, *item.cells()), strict=True)) for item in lines(judged)],
        "entries": [entry_json(item) for item in judged],
    }


def entry_json(entry: Judged, figure: Path | None = None) -> dict[str, Any]:
    """An entry as `dumbbell reproduce --json` prints it."""
    claims = []
    for verdict in entry.verdicts:
        finding = findings.of(f"{entry.text.id}#{verdict.claim.id}") if verdict.verdict == "fails" else None
        claims.append({**verdict.as_json(), **({"finding": finding.as_json()} if finding else {})})
    return {
        "id": entry.text.id,
        "figure": str(figure) if figure else None,
        "scale": entry.table.scale,
        "changed": entry.table.changed.options,
        "left_out": list(entry.table.left_out),
        "claims": claims,
    }


def changed_text(changed: Changed) -> str:
    """Say what the reader changed; empty where nothing is."""
    if not changed:
        return ""
    text = f"Made with `{' '.join(changed.options)}`."
    if changed.scale == 1:
        return text
    return (
        f"{text} Rates and bursts are {changed.scale:g} of the papers', and so are either the numbers of flows or their"
        " sizes. What was measured is brought to the papers' scale: rates and amounts of bytes are divided by it."
    )


def markdown(judged: Sequence[Judged], profile: Profile, figures: dict[str, Path], changed: Changed = UNCHANGED) -> str:
    """The scoreboard as a page: counts, then every figure with its command, its choices and its claims."""
    out = ["# The papers, reproduced", "", *_provisional(profile, changed), *_counts(judged)]
    for suite in known().values():
        own = [entry for entry in judged if entry.text.id.startswith(suite.name + "/")]
        if own:
            out += [f"## {suite.title}", ""]
        for entry in own:
            out += _section(entry, profile, figures.get(entry.text.id))
    return "\n".join(out) + "\n"


def standing(judged: Sequence[Judged], profile: Profile, changed: Changed = UNCHANGED) -> str:
    """The scoreboard on a small page: counts, and the claims that fail by what lies behind it."""
    out = ["# Where the papers stand", "", *_provisional(profile, changed), *_counts(judged), "## What fails", ""]
    for suite in known().values():
        fails: dict[str, list[str]] = {}
        for entry in judged:
            if entry.text.id.startswith(suite.name + "/"):
                for verdict in entry.verdicts:
                    if verdict.verdict == "fails":
                        claim = f"{entry.text.id.partition('/')[2]}#{verdict.claim.id}"
                        fails.setdefault(cause(entry.text.id, verdict), []).append(claim)
        out += [
            f"- {suite.name}, {findings.BINS[name]}: {', '.join(fails[name])}"
            for name in findings.BINS
            if name in fails
        ]
    return "\n".join(out) + "\n"


def _provisional(profile: Profile, changed: Changed) -> list[str]:
    """Remarks on all verdicts of a page."""
    said = [changed_text(changed), ""] if changed else []
    if profile.is_full:
        return said
    words = f"Made with `--{profile.name}`: shorter runs and fewer repetitions than the papers'."
    return [words + " Every verdict is provisional.", "", *said]


def _counts(judged: Sequence[Judged]) -> list[str]:
    head = ["paper", *COLUMNS]
    return [_row(head), _row(["---"] * len(head)), *(_row([line.paper, *line.cells()]) for line in lines(judged)), ""]


def _section(entry: Judged, profile: Profile, figure: Path | None) -> Iterable[str]:
    text = entry.text
    out = [
        f"### {text.item}: {text.title}",
        "",
        f"`{_command(entry, profile)}`",
        "",
    ]
    if figure:
        out += [f"![{text.item}]({figure.name})", ""]
    if entry.table.entry.choices:
        out += [f"- {what}: {chosen}" for what, chosen in entry.table.entry.choices.items()] + [""]
    if entry.table.remarks:
        out += ["Not as in the entry: " + "; ".join(entry.table.remarks) + ".", ""]
    if entry.verdicts:
        out += [_row(["claim", "", "measured", "expected", "tolerance", "why"]), _row(["---"] * 6)]
    for verdict in entry.verdicts:
        claim, finding = verdict.claim, findings.of(f"{text.id}#{verdict.claim.id}")
        reason = verdict.reason
        if verdict.verdict == "fails" and finding:
            reason += f" ({why(finding)})" + "".join(f"; again: `{command}`" for command in finding.run)
        out.append(_row([
            f"{claim.id} {claim.text}", verdict.verdict, measured_text(verdict), wanted_text(verdict),
            f"{verdict.tolerance.size:g} {verdict.tolerance.kind}", reason,
        ]))  # fmt: skip
    return [*out, ""]


def _command(entry: Judged, profile: Profile) -> str:
    """Command that makes this figure."""
    table = entry.table
    words = ["dumbbell reproduce", entry.text.id]
    words += [] if profile.is_full else [f"--{profile.name}"]
    words += table.changed.options
    words += [] if table.kind == "sim" else [f"--on {table.kind}"]
    words += [] if table.beside is None else [f"--beside {table.beside.kind}"]
    return " ".join(words)


def why(finding: Finding) -> str:
    """Say what lies behind a claim that fails."""
    scale = f", {finding.scale}" if finding.scale else ""
    return f"{findings.BINS[finding.bin]}{scale}: {finding.mechanism or finding.evidence}"


def measured_text(verdict: Verdict) -> str:
    """Measured value, in a cell: a number, a few, or the smallest and the largest of many."""
    if verdict.measured is None:
        return "-"
    if not isinstance(verdict.measured, list):
        return f"{verdict.measured:.4g}"
    values = [point["value"] for point in verdict.measured if point["value"] is not None]
    if len(values) > 4:
        return f"{min(values):.4g} to {max(values):.4g} ({len(values)} points)"
    return ", ".join(f"{value:.4g}" for value in values)


def wanted_text(verdict: Verdict) -> str:
    """Value that the paper states, in a cell."""
    wanted = verdict.claim.wanted
    if verdict.claim.kind == "ordering":
        return " > ".join(wanted)
    if verdict.claim.kind == "range":
        low, high = ("" if end is None else f"{end:g}" for end in wanted)
        return f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}"
    return wanted if isinstance(wanted, str) else f"{wanted:g}"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
