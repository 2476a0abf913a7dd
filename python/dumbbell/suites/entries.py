"""The entries of a suite as data: its file `entries.toml` (docs/suites.md).

An entry's runs are tables of a scenario file over those that the suite has in common; lists make a grid, as there, and
the cases come of the scenario language's own functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dumbbell import plan
from dumbbell.errors import ScenarioError, wrong
from dumbbell.results.catalogue import FIGURES
from dumbbell.scenario.declare import Sub, Table, build, key, raw, replaced
from dumbbell.scenario.file import Scenario, from_dict
from dumbbell.scenario.plain_kinds import SWITCH

from .changed import override, value_at
from .claims import Read, of_suite
from .compared import line_of
from .folders import SPECIFICATION, Suite, shipped, tables
from .measure import metric
from .panels import PANELS, Cells, Page, page
from .places import Case, product
from .table import Entry, Line, Profile
from .words import ANY_TABLE, ANYTHING, TABLES, TEXT, TEXTS, WORDS

if TYPE_CHECKING:
    from dumbbell.scenario.keytypes import Fixed

    from .panels import Panel

#: The file of a suite.
NAME = "entries.toml"
#: Wherever it is written in a table of runs: the name of the line.
LINE = "LINE"
#: Tables and keys of a scenario file that runs may have.
_SCENARIO = tuple(name for name in Scenario.KEYS if name not in ("name", "limits", "expect"))


class Runs(Table):
    """Runs of an entry: keys of a scenario file, what varies among them as lists."""

    line: Fixed[tuple[str, ...]] = key(
        TEXTS, "the runs once for each of these names, which stand where `LINE` is written", default=(), varies=False
    )
    series: Fixed[str] = key(
        WORDS,
        "the line of the figure that all flows of a run belong to; default: `LINE`, or where there are no lines, and"
        " where it is empty, the flows' names are the lines",
        default=LINE,
        varies=False,
    )
    at: Fixed[dict[str, Any]] = key(
        ANY_TABLE,
        'where a run stands on the axes of the figure: `axis = "path.buffer"`, the number of a key\'s value; products'
        ' and quotients of such, "path.rate * path.rtt / 8"; `{ along = "path.rate", values = [...] }`, a value for'
        " each of a list; other texts and numbers as they are",
        default={},
        varies=False,
    )
    flow: Fixed[tuple[Any, ...]] = key(
        ANYTHING,
        "flows: names of `[flows]`, or tables, which have what `like` names under it",
        default=(),
        varies=False,
    )
    full: Fixed[dict[str, Any]] = key(ANY_TABLE, "what differs in the full profile", default={}, varies=False)
    fast: Fixed[dict[str, Any]] = key(ANY_TABLE, "what differs with --fast", default={}, varies=False)
    quick: Fixed[dict[str, Any]] = key(ANY_TABLE, "what differs from that in a first look", default={}, varies=False)


for _name in _SCENARIO:
    if _name not in Runs.KEYS:
        _key = key(ANYTHING, f"as in a scenario file: {Scenario.KEYS[_name].doc}", default=None, varies=False)
        _key.__set_name__(Runs, _name)
        setattr(Runs, _name, _key)
        Runs.KEYS[_name] = _key


class Text(Runs):
    """An entry: keys of its runs, which those of `runs` have in common, and these."""

    id: Fixed[tuple[str, ...]] = key(
        TEXTS, "its name, or those of several that differ in what `each` has", varies=False
    )
    like: Fixed[str | None] = key(
        TEXT, "an entry above whose keys it has where it has none", default=None, varies=False
    )
    each: Fixed[dict[str, Any]] = key(
        ANY_TABLE, 'of several: a key, such as "path.loss", with a value for each of them', default={}, varies=False
    )
    runs: Fixed[tuple[dict[str, Any], ...]] = key(
        TABLES, "tables of runs; default: the entry's own", default=(), varies=False
    )
    flows: Fixed[dict[str, Any]] = key(
        ANY_TABLE, "names of `[flows]` that are other [[flow]] tables in this entry", default={}, varies=False
    )
    choices: Fixed[dict[str, Any]] = key(ANY_TABLE, "what is left open, and what was chosen", default={}, varies=False)
    draw: Fixed[tuple[Panel, ...]] = key(PANELS, "panels of its picture", default=(), varies=False)
    page: Fixed[Page] = key(Sub(Page), "how they stand", default=Page(), varies=False)
    cells: Fixed[Cells | None] = key(Sub(Cells), "a table of numbers, instead of panels", default=None, varies=False)
    names: Fixed[dict[str, Any]] = key(
        ANY_TABLE, "names in claims that are no line, and the lines that they stand for", default={}, varies=False
    )
    is_one_figure: Fixed[bool] = key(
        SWITCH, "of several: a trend is over the runs of all of them", default=False, varies=False
    )
    unjudged: Fixed[dict[str, Any]] = key(ANY_TABLE, "claims that cannot be judged, and why", default={}, varies=False)


class File(Table):
    """The entries of a suite, and what they have in common."""

    flows: Fixed[dict[str, Any]] = key(
        ANY_TABLE, "names of the figures, each with a [[flow]] table", default={}, varies=False
    )
    base: Fixed[dict[str, Any]] = key(ANY_TABLE, "tables of a scenario that all runs have", default={}, varies=False)
    full: Fixed[dict[str, Any]] = key(ANY_TABLE, "what differs in the full profile", default={}, varies=False)
    fast: Fixed[dict[str, Any]] = key(ANY_TABLE, "what differs with --fast", default={}, varies=False)
    quick: Fixed[dict[str, Any]] = key(ANY_TABLE, "what differs from that in a first look", default={}, varies=False)
    choices: Fixed[dict[str, Any]] = key(ANY_TABLE, "choices of every entry that has runs", default={}, varies=False)
    shared: Fixed[dict[str, Any]] = key(
        ANY_TABLE, 'values that several entries have: `key = "@NAME"` stands for that of NAME', default={}, varies=False
    )
    entry: Fixed[tuple[dict[str, Any], ...]] = key(TABLES, "the entries", default=(), varies=False)


@cache
def of_folder(suite: Suite) -> dict[str, Entry]:
    """The entries of a suite by their name, in the order of the file. Raises ScenarioError that names the file."""
    path = suite.folder / NAME
    try:
        file = build(File, tables(path), "")
        entries = dict(_entries(suite, file))
    except ScenarioError as error:
        raise error.under(str(path)) from None
    _check_metrics(suite, entries)
    return entries


def _check_metrics(suite: Suite, entries: Mapping[str, Entry]) -> None:
    """Raise ScenarioError for claims that name neither a figure nor a metric of the suite."""
    for name, text in of_suite(suite.name).items():
        entry = entries.get(name.partition("/")[2])
        for claim in text.claims if entry else ():
            read = claim.read
            is_own = read is not None and (read.reader or read.number is not None or read.source != "runs")
            if entry is None or is_own or claim.needs or claim.id in entry.unjudged:
                continue
            if metric(claim.metric, entry.metrics) is None:
                names = [*entry.metrics, *FIGURES]
                error = wrong(f"{name}#{claim.id}: metric", claim.metric, "a figure (docs/metrics.md)", names)
                raise error.under(str(suite.folder / (SPECIFICATION if text.about else "claims.toml")))


def readings(suite: Suite) -> ModuleType | None:
    """The Python of a suite; None where all of it is data."""
    path = suite.folder / "readings.py"
    if not path.exists():
        return None
    if suite.name in shipped():
        return import_module(f"{__package__}.{suite.name}.readings")
    spec = spec_from_file_location(f"{suite.name}_readings", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _entries(suite: Suite, file: File) -> Iterator[tuple[str, Entry]]:
    own = readings(suite)
    written: dict[str, dict[str, Any]] = {}
    for i, table in enumerate(file.entry):
        at = f"entry[{i}]"
        like = table.get("like")
        if like is not None and like not in written:
            raise wrong(f"{at}.like", like, "an entry above: " + ", ".join(written), list(written))
        whole = merged(written[like] if like else {}, {key: value for key, value in table.items() if key != "like"})
        whole["each"] = table.get("each", whole.get("each", {}))
        names = TEXTS.take(whole.get("id"), f"{at}.id")
        for number, name in enumerate(names):
            if name in written or name in names[:number]:
                raise wrong(f"{at}.id", name, "an id of its own; another entry has it")
        written |= dict.fromkeys(names, whole)
        for number, name in enumerate(names):
            given = _shared(_each(whole, names, number, at), {**file.shared, **getattr(own, "SHARED", {})})
            text = build(Text, {**given, "id": name}, f"{at} ({name})")
            yield name, _entry(suite, file, text, names, own)


def _named_lines(names: Mapping[str, Any]) -> dict[str, str | Line]:
    """The names that claims and pictures have for lines: another name, or what is read."""
    return {
        name: line if isinstance(line, str) else line_of(build(Read, line, f"names.{name}"))
        for name, line in names.items()
    }


def _shared(value: Any, known_values: Mapping[str, Any]) -> Any:
    """A value with what its `@NAME` stand for."""
    if isinstance(value, str) and value.startswith("@"):
        if value[1:] not in known_values:
            raise wrong("shared", value, "a name of [shared]: " + ", ".join(known_values), list(known_values))
        others = {name: other for name, other in known_values.items() if name != value[1:]}
        return _shared(known_values[value[1:]], others)
    if isinstance(value, Mapping):
        return {name: _shared(item, known_values) for name, item in value.items()}
    return [_shared(item, known_values) for item in value] if isinstance(value, list) else value


def _each(whole: Mapping[str, Any], names: Sequence[str], number: int, at: str) -> dict[str, Any]:
    """The keys of one of several entries."""
    table: dict[str, Any] = deepcopy({key: value for key, value in whole.items() if key != "each"})
    for path, values in whole.get("each", {}).items():
        if not isinstance(values, list) or len(values) != len(names):
            raise wrong(f'{at}.each."{path}"', values, f"a list of {len(names)} values, one for each id")
        _set(table, path, values[number], f'{at}.each."{path}"')
    return table


def _set(table: dict[str, Any], path: str, value: Any, at: str) -> None:
    """Set a key by its path, such as ``flow[0].count``."""
    *steps, last = [int(step) if step.isdigit() else step for step in re.split(r"[.\[]", path.replace("]", ""))]
    place: Any = table
    try:
        for step in steps:
            place = place[step] if isinstance(step, int) else place.setdefault(step, {})
        place[last] = value
    except (TypeError, IndexError, AttributeError):
        raise wrong(at, path, "a key of the entry; a list is to be there") from None


def _entry(suite: Suite, file: File, text: Text, names: Sequence[str], own: ModuleType | None) -> Entry:
    (name,) = text.id
    claims = of_suite(suite.name)
    if f"{suite.name}/{name}" not in claims:
        raise wrong("entry.id", name, "an id that claims.toml has, too", list(claims))
    told = claims[f"{suite.name}/{name}"]
    read = {other for claim in told.claims if claim.read for other in claim.read.entries()}
    python = {kind: getattr(own, kind, {}) for kind in ("METRICS", "READERS", "PANELS")}
    blocks = _blocks(file, text)
    flows = {**file.flows, **text.flows}
    file = replaced(file, ("flows",), (flows, flows))

    def cases(profile: Profile, overrides: tuple[str, ...] = ()) -> Iterator[Case]:
        try:
            for block in blocks:
                yield from _cases(file, block, profile, overrides)
        except ScenarioError as error:
            raise error.under(f"{suite.folder / NAME}: {name}") from None

    return Entry(
        cases=cases,
        draw=text.cells.build() if text.cells else page(text.draw, text.page, python["PANELS"]),
        panels=text.draw,
        choices={**(file.choices if blocks else {}), **text.choices},
        metrics=python["METRICS"],
        readers=python["READERS"],
        names=_named_lines(text.names),
        flows={name: _named(file, name) for name in file.flows},
        also=tuple(f"{suite.name}/{other}" for other in names if other != name) if text.is_one_figure else (),
        needs=tuple(f"{suite.name}/{other}" for other in sorted(read)),
        cells=text.cells.of_table if text.cells else (),
        unjudged=text.unjudged,
    )


def _blocks(file: File, text: Text) -> list[dict[str, Any]]:
    """The tables of runs of an entry, each with what it has from the entry and the suite."""
    common = {name: value for name, value in raw(text).items() if name in Runs.KEYS}
    suite = {**file.base, "full": file.full, "fast": file.fast, "quick": file.quick}
    if not text.runs and "flow" not in common:
        return []
    for block in text.runs:
        build(Runs, block, "runs")
    return [merged(merged(suite, common), block) for block in text.runs or ({},)]


def merged(table: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """A table with what another one has; tables within it are merged in turn."""
    whole = dict(table)
    for name, value in other.items():
        under = whole.get(name)
        whole[name] = merged(under, value) if isinstance(under, Mapping) and isinstance(value, Mapping) else value
    return whole


def _cases(file: File, block: Mapping[str, Any], profile: Profile, overrides: tuple[str, ...]) -> Iterator[Case]:
    """The cases of a table of runs: the first place of each line, then the second."""
    table: Mapping[str, Any] = block
    for of_profile in (*profile.over, profile.name):
        table = merged(table, block.get(of_profile, {}))
    runs = build(Runs, table, "")
    grids = [list(_of_line(file, runs, line, overrides)) for line in runs.line or ("",)]
    return chain.from_iterable(zip(*grids, strict=True))


def _of_line(file: File, runs: Runs, line: str, overrides: tuple[str, ...]) -> Iterator[Case]:
    tables = _with_line(raw(runs), line)
    given = {name: value for name, value in tables.items() if name in _SCENARIO}
    written_tables = deepcopy({**given, "flow": [_flow(file, table) for table in tables["flow"]]})
    override(written_tables, overrides, placing=_placing(tables.get("at", {})))
    scenario = from_dict(written_tables)
    series = tables.get("series", line) or None
    for case in plan.cases(scenario):
        written = {name: value for name, value in raw(case.scenario).items() if name != "together"}
        places = {axis: _place(at, case, scenario, written) for axis, at in tables.get("at", {}).items()}
        yield Case(series, places, written)


def _with_line(value: Any, line: str) -> Any:
    """A value with the line's name where `LINE` is written."""
    if isinstance(value, str):
        return value.replace(LINE, line)
    if isinstance(value, Mapping):
        return {name: _with_line(item, line) for name, item in value.items()}
    return [_with_line(item, line) for item in value] if isinstance(value, list) else value


def _flow(file: File, given: Any) -> dict[str, Any]:
    """A [[flow]] table, named as the figure names it."""
    table = {"like": given} if isinstance(given, str) else dict(given)
    like = table.pop("like", None)
    if like is None:
        return table
    return merged({"name": like, **_named(file, like)}, table)


def _named(file: File, name: str) -> dict[str, Any]:
    """The table of a name of `[flows]`, over that of the name that it is like."""
    if name not in file.flows:
        raise wrong("flow.like", name, "a name of [flows]: " + ", ".join(file.flows), list(file.flows))
    table = {key: value for key, value in file.flows[name].items() if key != "like"}
    like = file.flows[name].get("like")
    return merged(_named(file, like), table) if like else table


#: A key of a scenario, such as ``flow[0].count``.
_KEY = re.compile(r"[a-z_]+(\[\d+\])?(\.[a-z_0-9]+(\[\d+\])?)+")
_NUMBER = re.compile(r"-?[0-9.]+")


def _placing(axes: Mapping[str, Any]) -> set[str]:
    """The keys that place a case on the axes."""
    texts = [str(at["along"] if isinstance(at, Mapping) else at) for at in axes.values()]
    return {word for text in texts for word in re.split(r" [*/] ", text) if _KEY.fullmatch(word)}


def _place(at: Any, case: plan.Case, scenario: Scenario, written: Mapping[str, Any]) -> Any:
    """Place of a case on one axis."""
    if isinstance(at, Mapping):
        return _along(build(_Along, at, "at"), case, scenario)
    if not isinstance(at, str):
        return at
    if not _KEY.fullmatch(at.partition(" ")[0]):
        return at
    return product(at, lambda word: _number(word, written) if _KEY.fullmatch(word) else _number("at", {"at": word}))


class _Along(Table):
    """A value for each of a list's."""

    along: Fixed[str] = key(TEXT, "the key that has the list", varies=False)
    values: Fixed[list[Any]] = key(ANYTHING, "as many values", varies=False)


def _along(at: _Along, case: plan.Case, scenario: Scenario) -> Any:
    """The value for what a case has of a list, or of lists that go in step."""
    axes = [axis for axis in scenario.axes if at.along in axis.keys]
    if not axes:
        raise wrong("at.along", at.along, "a key that has a list", [key for axis in scenario.axes for key in axis.keys])
    keys, points = axes[0]
    if not isinstance(at.values, list) or len(at.values) != len(points):
        raise wrong("at.values", at.values, f"a list of {len(points)} values, as {at.along} has them")
    return at.values[[point.vary for point in points].index({key: case.vary[key] for key in keys})]


def _number(path: str, written: Any) -> float:
    """The number of a key's value: 0.1 of ``0.1bdp``."""
    written = value_at(written, path)
    if written is None:
        raise wrong("at", path, "a key that the runs have")
    number = _NUMBER.match(str(written))
    if number is None or isinstance(written, (Mapping, list)):
        raise wrong("at", path, f"a key whose value is a number, with or without a unit; it is {written!r}")
    text = number[0]
    return float(text) if "." in text else int(text)
