"""Races: a question in one line, as a scenario, and its answer in sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.controllers import QUINN
from dumbbell.errors import ScenarioError, wrong
from dumbbell.judge import HOLDS, UNCLEAR
from dumbbell.judge.rule import decide
from dumbbell.report.words import named
from dumbbell.results import figures
from dumbbell.results.experiment import repetitions
from dumbbell.results.statistic import Interval, Sample
from dumbbell.results.texts import percent
from dumbbell.runs import vary as varying
from dumbbell.scenario import source
from dumbbell.scenario.file import from_dict
from dumbbell.scenario.own import is_file, name_in
from dumbbell.scenario.toml_text import to_toml
from dumbbell.units import varied_text

if TYPE_CHECKING:
    from dumbbell.results.figures import Row
    from dumbbell.results.load import Results

#: What a race is run with where nothing else is said.
DEFAULTS = {"rate": "100Mbps", "rtt": "30ms", "buffer": "1bdp", "duration": "60s"}
#: Short names of keys that are asked for most, with the values that `--sweep KEY` alone takes.
GRIDS = {
    "path.buffer": "0.25bdp..16bdp/7/log",
    "path.rate": "1Mbps,10Mbps,100Mbps,1Gbps",
    "path.rtt": "5ms..160ms/6/log",
    "path.loss": "0%,0.01%,0.1%,1%",
}
#: Half width of the 95 % interval of a share, and of one controller's goodput, from which on a race is sure.
SURE = ("share ci 0.03", "goodput ci 2%")
#: Repetitions that a race takes at most.
MOST = 30
#: Ratios above this are told as shares: the loser's share is then known to a few percent of itself at best.
_RATIO_MAX = 10.0
#: Figures that the answer is made of.
FIGURES = ("share", "goodput", "srtt", "retrans_rate", "queue", "queue_p95", "utilization", "jain", "drop_rate")
#: Ratios that are no further from one count as equal.
_EQUAL = 0.1
_RACER = re.compile(r"(?:(\d+)x)?([^@]+?)(?:@(.+))?")


class Racer(NamedTuple):
    """A controller that races: its name, how many flows, their own RTT if any, and the file that it is in if any."""

    cca: str
    flows: int = 1
    rtt: str | None = None
    file: str | None = None


def racer(text: str) -> Racer:
    """Read ``bbr``, ``2xbbr``, ``cubic@10ms``, ``./tcp_mine.c``; raises ScenarioError."""
    match = _RACER.fullmatch(text)
    if not match or match[1] == "0":
        raise ScenarioError("CCA", f'got "{text}", wanted a controller such as bbr, 2xbbr, cubic@10ms or ./mine.c')
    count, name, rtt = int(match[1] or 1), match[2], match[3]
    return Racer(name_in(name), count, rtt, name) if is_file(name) else Racer(name, count, rtt)


def scenario(
    racers: Sequence[Racer],
    keys: Mapping[str, object],
    *,
    duration: str = DEFAULTS["duration"],
    overrides: Sequence[str] = (),
) -> dict[str, Any]:
    """The tables of the scenario; `keys` are those of ``[path]``, `overrides` any others. Raises ScenarioError."""
    if not racers:
        raise ScenarioError("CCA", "none given, wanted one controller or more (`dumbbell cca list`)")
    path = {name: keys.get(name) or DEFAULTS[name] for name in ("rate", "rtt", "buffer")}
    path |= {name: value for name, value in keys.items() if value is not None}
    tables = {
        "name": "race",
        "duration": duration,
        # Equal starts would make each repetition the same run.
        "host": {"start_jitter": "1s"},
        "path": path,
        "flow": [
            {
                "cca": each.cca,
                **({"transport": "quinn"} if each.cca.startswith(QUINN) else {}),
                **({"count": each.flows} if each.flows > 1 else {}),
                **({"rtt": each.rtt} if each.rtt else {}),
            }
            for each in racers
        ],
    }
    return source.tables(to_toml(from_dict(tables)), tuple(overrides))


def recording(text: str) -> str:
    """The file of a recorded link: a path, or the name of one of the gallery (``5g``); raises ScenarioError."""
    from dumbbell.scenario.gallery import FOLDER

    if Path(text).exists():
        return text
    names = {path.stem: path for path in sorted((FOLDER / "traces").iterdir()) if path.suffix != ".md"}
    if text in names:
        return str(names[text])
    raise wrong("--trace", text, f"a file, or a recording of the gallery: {', '.join(names)}", list(names))


def axes(texts: Sequence[str]) -> dict[str, Any]:
    """What ``buffer`` or ``path.rtt=10ms,100ms`` vary, as keys with their values; raises ScenarioError."""
    varied: dict[str, Any] = {}
    for text in texts:
        key, equals, values = text.partition("=")
        key = key if "." in key or "[" in key else f"path.{key}"
        if not equals and key not in GRIDS:
            known = [name.removeprefix("path.") for name in GRIDS]
            raise wrong("--sweep", text, f"KEY=VALUES, or one of: {', '.join(known)}", known)
        varied[key] = values if equals else GRIDS[key]
    return varied


class Race(NamedTuple):
    """What came of a race.

    Attributes
    ----------
    scenario
        The text of the scenario file: `dumbbell run` gives the same figures for it.
    tables, vary
        The scenario's tables, and what varies in them.
    results
        The runs, each repetition of each point.
    sentences
        The answer: who got how much, then queue, losses and use of the link; of a sweep how the share goes along it.
    repetitions
        The most that a point took.
    doubts
        What is not sure after the last repetition.
    """

    scenario: str
    tables: Mapping[str, Any]
    vary: Mapping[str, Any]
    results: Results
    sentences: list[str]
    repetitions: int
    doubts: list[str]

    def __str__(self) -> str:
        return "\n".join([*self.sentences, *self.doubts])

    def _repr_html_(self) -> str:
        """The answer, then the figures of each point, for a notebook."""
        said = "".join(f"<p><b>{escape(text)}</b></p>" for text in self.sentences)
        doubts = "".join(f"<p>{escape(text)}</p>" for text in self.doubts)
        return f"{said}{doubts}{self.results._repr_html_()}"


def told(results: Results, tables: Mapping[str, Any], vary: Mapping[str, Any]) -> Race:
    """The answer that these runs give."""
    means = rows(results)
    cases = repetitions(means)
    count = max(row.n for row in means)
    if len(cases) > 1:
        from dumbbell.report.trends import sentences

        said = sentences([figures.measured(result) for result in results])
        said = said or [f"{varied_text(case[0].vary)}: {_answer(case)}" for case in cases.values()]
    else:
        said = [_answer(means)]
    sentences_ = [f"{text.rstrip('.')}." for text in said]
    return Race(_saved(tables, vary, count), tables, vary, results, sentences_, count, _doubts(cases))


def rows(results: Results) -> list[Row]:
    """The figures of each controller at each point, over the repetitions."""
    of_runs = [row for run in results for row in figures.rows(figures.measured(run), FIGURES, by="table")]
    return figures.over_repetitions(of_runs)


def _answer(rows: Sequence[Row]) -> str:
    """One sentence for one point, such as ``BBRv3 got 1.6 ± 0.1 times CUBIC's share; queue 14 ms``."""
    ranked = sorted(rows, key=lambda row: -(row.value("share") or 0.0) / row.flows)
    said = _alone(rows[0]) if len(rows) == 1 else _win(*ranked) if len(rows) == 2 else _ranking(ranked)
    return "; ".join([said, *_state(ranked)])


def _win(first: Row, last: Row) -> str:
    """Who got how many times whose share, of one flow each."""
    ratio = _ratio(first, last)
    is_several = first.flows > 1 or last.flows > 1
    winner, loser = (f"{'a flow of ' * is_several}{named(row)}" for row in (first, last))
    if ratio is None or ratio.mean - ratio.half_width > _RATIO_MAX:
        return f"{_whose(first)} got {_share(first)} of all that was delivered, {_whose(last)} the rest"
    apart = ratio._replace(mean=ratio.mean - 1)
    if decide(apart, _EQUAL) == HOLDS:
        return f"{winner} and {loser} got equal shares, to {_EQUAL:.0%} (ratio {_plus(ratio)})"
    if decide(apart, 0.0) == UNCLEAR:
        return f"it is not clear who gets more: {winner} got {_plus(ratio)} times {loser}'s share"
    return f"{winner} got {_plus(ratio)} times {loser}'s share"


def _ranking(ranked: Sequence[Row]) -> str:
    listed = ", ".join(f"{_whose(row)} {_share(row)}" for row in ranked)
    return f"of all that was delivered {listed}"


def _whose(row: Row) -> str:
    return f"{row.flows} flows of {named(row)}" if row.flows > 1 else named(row)


def _share(row: Row) -> str:
    """The share of all flows of a row, in percent."""
    mean, half, n = row.values["share"]
    return f"{_plus(Interval(100 * mean, 100 * half, n))} %"


def _ratio(first: Row, last: Row) -> Interval | None:
    """Share of one flow over that of another, in each repetition; None where one of them got nothing."""
    pairs = list(zip(first.sample("share").values, last.sample("share").values))
    if any(not one or not other for one, other in pairs):
        return None
    scale = last.flows / first.flows
    return Sample(tuple(scale * one / other for one, other in pairs), first.seeds).interval  # type: ignore[operator]


def _plus(value: Interval) -> str:
    """``1.60 ± 0.12``: two digits of the half width, and three decimals at most."""
    if value.n < 2 or math.isnan(value.half_width):
        return f"{value.mean:.3g}"
    half = value.half_width
    digits = min(max(1 - math.floor(math.log10(half)), 0), 3) if half else 3
    return f"{value.mean:.{digits}f} ± {half:.{digits}f}"


def _alone(row: Row) -> str:
    goodput = f"{_plus(row.values['goodput'])} Mbit/s"
    fair = f", Jain's index {_plus(row.values['jain'])}" if row.flows > 1 and "jain" in row.values else ""
    return f"{_whose(row)} got {goodput}{fair}"


def _state(ranked: Sequence[Row]) -> list[str]:
    """Queue, packets sent again, and use of the link."""
    of_run, parts = ranked[0], []
    if (queue := of_run.value("queue")) is not None:
        parts.append(f"queue {queue:.3g} ms (p95 {of_run.value('queue_p95'):.3g} ms)")
    again = [(named(row), value) for row in ranked if (value := row.value("retrans_rate")) is not None]
    texts = [f"{percent(value, 2)} %" for _, value in again]
    if len(again) == 1:
        parts.append(f"{texts[0]} sent again")
    elif again:
        parts.append("sent again " + ", ".join(f"{text} ({name})" for text, (name, _) in zip(texts, again)))
    if (used := of_run.value("utilization")) is not None:
        parts.append(f"{percent(used, 1)} % of the link used")
    return parts


def _doubts(cases: Mapping[Any, Sequence[Row]]) -> list[str]:
    from dumbbell.judge.grammar import precision
    from dumbbell.runs.study import missed

    wide: dict[str, int] = {}
    for rows in cases.values():
        for why in missed([precision(SURE[len(rows) == 1])], rows):
            wide[why] = wide.get(why, 0) + 1
    return [
        f"Not sure yet: {why}" + (f", at {count} of {len(cases)} points" if len(cases) > 1 else "") + "."
        for why, count in wide.items()
    ]


def _saved(tables: Mapping[str, Any], vary: Mapping[str, Any], count: int) -> str:
    """The text of the scenario with what varies in it."""
    written = {**tables, "repetitions": count}
    text = to_toml(from_dict(written))
    if vary:
        overrides = varying.overrides(text, (), varying.of(vary), together=(), sample=None, seed=1)
        text = to_toml(from_dict(source.tables(text, overrides)))
    return "# Written by `dumbbell race`: `dumbbell run` gives the same figures.\n" + text
