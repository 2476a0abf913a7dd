"""Scenario files with ``[[expect]]`` tables: their sentences, and every run that these need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.controllers import QUINN
from dumbbell.errors import ScenarioError, wrong
from dumbbell.judge.grammar import refuse_doubted
from dumbbell.judge.parse import names, sentence
from dumbbell.judge.sentence import Both, Compare, Either, Sentence
from dumbbell.judge.values import Baseline, Gap, Limit, Moment, Reading, Reduction, Scaled, Time, Variable
from dumbbell.runs.jobs import jobs_of
from dumbbell.runs.study import plans_of_several_links
from dumbbell.scenario import source
from dumbbell.scenario.declare import raw
from dumbbell.scenario.file import Given, from_file, from_text
from dumbbell.scenario.keylines import lines

if TYPE_CHECKING:
    from dumbbell.judge.values import Value
    from dumbbell.runs.job import Job
    from dumbbell.scenario.expect import Expect
    from dumbbell.scenario.file import Scenario
    from dumbbell.scenario.own import Own

#: A file with expectations, before it is read as a scenario.
_HAS_ANY = re.compile(r"^\s*(\[\[\s*expect\s*\]\]|expect\s*=)", re.MULTILINE)
#: The name of a baseline that an expectation does not name.
MAIN = "main"
#: The name of the flow whose controller a file is about; that of further ones begins with it, as candidate-far.
CANDIDATE = "candidate"


class Asked(NamedTuple):
    """One expectation.

    Attributes
    ----------
    table
        As it is written.
    sentence
        What it says.
    number, line
        Its place in the file: from 0, and the line of its head.
    cases
        What is different in the other runs that it reads, by the text behind ``with``.
    """

    table: Expect
    sentence: Sentence
    number: int
    line: int
    cases: dict[str, tuple[str, ...]]

    @property
    def name(self) -> str:
        """Its name, or its sentence."""
        return self.table.name or self.table.that

    @property
    def baseline(self) -> str | None:
        """The name of the baseline that it is held against, if any."""
        has_one = any(
            isinstance(part.right, Scaled) and isinstance(part.right.value, Baseline) for part in self.compared
        )
        return self.table.baseline or MAIN if has_one else None

    @property
    def compared(self) -> list[Compare]:
        """The comparisons that it is made of."""
        return list(_compared(self.sentence))


def _compared(sentence: Sentence) -> Iterator[Compare]:
    if isinstance(sentence, Compare):
        yield sentence
    elif isinstance(sentence, (Both, Either)):
        for part in sentence.parts:
            yield from _compared(part)


def options_of(overrides: Iterable[str], files: Iterable[str], candidate: str | None, on: str) -> list[str]:
    """The options of `dumbbell test` that repeat what these gave."""
    words = [word for text in overrides for word in ("--set", text)]
    words += [word for file in files for word in ("--cca", file)]
    words += ["--candidate", candidate] if candidate else []
    return [*words, *(["--on", on] if on != "sim" else [])]


class File(NamedTuple):
    """A scenario file, its expectations, and its runs: those of the file, then those of each case."""

    given: Given
    asked: list[Asked]
    left_out: int
    """Expectations that are of other back ends, or whose name was not asked for."""
    jobs: dict[tuple[str, ...], list[Job]]

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.given.source)


def files_of(paths: Iterable[str | Path]) -> list[Path]:
    """The files of these paths: files as they are, and of folders those below them that expect something. Raises
    ScenarioError where there is none.
    """
    files: list[Path] = []
    for given in paths:
        path = source.located(given)
        if not path.is_dir():
            files.append(path)
            continue
        below = [
            file for file in sorted(path.rglob("*.toml")) if not any(part.startswith(".") for part in file.parts[1:])
        ]
        files += [file for file in below if _HAS_ANY.search(_text(file))]
    if not files:
        raise ScenarioError("FILE", f"no [[expect]] in {', '.join(map(str, paths))}, wanted a scenario file with one")
    return list(dict.fromkeys(files))


def _text(file: Path) -> str:
    try:
        return source.read(file)
    except ScenarioError:
        return ""


def read(
    path: Path,
    *,
    overrides: tuple[str, ...] = (),
    own: Own | None = None,
    on: str = "sim",
    only: str | None = None,
    candidate: str | None = None,
) -> File:
    """Read a file, and plan its runs; `only` keeps expectations whose name or sentence has this text, `candidate` is
    the controller of the flows of that name. Raises ScenarioError that names the file and the line.
    """
    if candidate is not None:  # before the overrides, which may give it parameters
        written = from_file(path)
        overrides = (*_replaced(written.scenario, _of_candidate(written), candidate), *overrides)
    return of_given(from_file(path, overrides=overrides), overrides=overrides, own=own, on=on, only=only)


def of_given(
    given: Given, *, overrides: tuple[str, ...] = (), own: Own | None = None, on: str = "sim", only: str | None = None
) -> File:
    """The same of a scenario that has been read, which may be in no file; `overrides` are those that it has."""
    if not given.scenario.expect:
        raise ScenarioError("expect", "has none, wanted an [[expect]] table", source=given.source)
    everything = expectations(given, overrides=overrides)
    kept = [
        one
        for one in everything
        if (not one.table.on or on.partition(":")[0] in one.table.on)
        and (only is None or only in one.name or only in one.table.that)
    ]
    jobs = _planned(given, kept, overrides, own, on) if kept else {}
    return File(given, kept, len(everything) - len(kept), jobs)


def expectations(given: Given, *, overrides: tuple[str, ...] = ()) -> list[Asked]:
    """The expectations of a scenario; raises ScenarioError that names the file and the line."""
    scenario = given.scenario
    if not scenario.expect:
        return []
    by_key = lines(given.text)
    try:
        return [_asked(scenario, i, by_key.get(f"expect[{i}]", 1)) for i in range(len(scenario.expect))]
    except ScenarioError as error:
        raise source.placed(error, given.text, given.source, overrides) from None


def _asked(scenario: Scenario, number: int, line: int) -> Asked:
    table, at = scenario.expect[number], f"expect[{number}]"
    said = sentence(table.that, f"{at}.that", of=table.of)
    cases = {
        value.case: _overrides(scenario, value, f"{at}.that")
        for value in said.values()
        if isinstance(value, Reading) and value.case
    }
    for value in said.values():
        name = _table_of(value)
        if name and not getattr(scenario.record, name):
            raise ScenarioError(f"{at}.that", f'"{value}" needs the table of {name}; [record] {name} = true')
    _check_at(scenario, table.at, f"{at}.at")
    return Asked(table, said, number, line, cases)


def _table_of(value: Value) -> str:
    """The table that a value needs and a run has only where it is asked for, or may be without; empty for none."""
    if isinstance(value, Variable):
        return "samples" if value.source == "sample" else "variables"
    if isinstance(value, Limit) or (isinstance(value, Moment) and value.what == "limit"):
        return "limits"
    if isinstance(value, (Time, Gap, Reduction)):
        return "samples"
    return ""


def _check_at(scenario: Scenario, at: dict[str, Any], key: str) -> None:
    """Raise ScenarioError for a key that does not vary, or a value that it never has."""
    axes = {name: axis for axis in scenario.axes for name in axis.keys}
    for name, wanted in at.items():
        if name not in axes:
            raise wrong(f"{key}.{name}", wanted, f"a key that varies: {', '.join(axes) or 'none does'}", list(axes))
        values = list(dict.fromkeys(str(point.vary[name]) for point in axes[name].points))
        for value in wanted if isinstance(wanted, list) else [wanted]:
            if str(value) not in values:
                raise wrong(f"{key}.{name}", value, f"one of: {', '.join(values)}", values)


def _overrides(scenario: Scenario, reading: Reading, at: str) -> tuple[str, ...]:
    """The keys that make a case."""
    tables = [flow.name or raw(flow).get("cca") for flow in scenario.flow]
    made: list[str] = []
    for part in (reading.case or "").split(","):
        name, equals, value = part.partition("=")
        if not equals:
            made += _replaced(scenario, _candidates(scenario, reading, at), part)
        elif name in tables:
            made += _replaced(scenario, [i for i, table in enumerate(tables) if is_called(table, name)], value)
        else:
            made.append(part)
    return tuple(made)


def is_called(table: object, name: str) -> bool:
    """True if a [[flow]] table is the one of this name, or another flow of the candidate."""
    return table == name or (name == CANDIDATE and str(table).startswith(f"{CANDIDATE}-"))


def _of_candidate(given: Given) -> list[int]:
    """The [[flow]] tables of the controller that a file is about."""
    tables = [i for i, flow in enumerate(given.scenario.flow) if is_called(flow.name, CANDIDATE)]
    if not tables:
        names = ", ".join(flow.name or str(raw(flow).get("cca")) for flow in given.scenario.flow)
        raise ScenarioError("--candidate", f"no flow is called {CANDIDATE}, there are: {names}", source=given.source)
    return tables


def _replaced(scenario: Scenario, tables: Sequence[int], cca: str) -> list[str]:
    """Another controller in these [[flow]] tables, with the transport that it is of; parameters of the one before mean
    nothing to it. A table that has this controller already keeps its parameters.
    """
    made = []
    for i in tables:
        written = raw(scenario.flow[i])
        if written.get("cca") == cca:
            continue
        made += [f"flow[{i}].cca={cca}", *([f"flow[{i}].params={{}}"] if "params" in written else [])]
        if cca.startswith(QUINN) or written.get("transport") == "quinn":
            made.append(f"flow[{i}].transport={'quinn' if cca.startswith(QUINN) else 'tcp'}")
    return made


def _candidates(scenario: Scenario, reading: Reading, at: str) -> list[int]:
    """The [[flow]] tables whose controller a case replaces: those that the figure is of."""
    written = [raw(flow) for flow in scenario.flow]
    of, having = reading.of, [i for i, flow in enumerate(written) if "cca" in flow]
    if of and (number := re.fullmatch(r"flow\[(\d+)\]", of)):
        return [int(number[1])]
    named = [i for i in having if of is not None and of in (written[i].get("name"), written[i]["cca"])]
    if named:
        return named
    if len({str(written[i]["cca"]) for i in having}) == 1:
        return having
    known = list(dict.fromkeys(str(written[i].get("name") or written[i]["cca"]) for i in having))
    wanted = f'whose controller it replaces, such as "with {known[0]}={reading.case}"'
    raise wrong(at, f"with {reading.case}", wanted)


def _planned(
    given: Given, asked: Sequence[Asked], overrides: tuple[str, ...], own: Own | None, on: str
) -> dict[tuple[str, ...], list[Job]]:
    """The runs of the file and of its cases."""
    scenario = given.scenario
    # Those of all expectations, so that one that is asked for alone has the same runs.
    count = max(scenario.repetitions, *(table.repetitions for table in scenario.expect))
    repeated = (*overrides, f"repetitions={count}") if count > scenario.repetitions else overrides
    cases = dict.fromkeys([(), *(case for one in asked for case in one.cases.values())])
    planned = {}
    for case in cases:
        of_case = (*repeated, *case)
        planned[case] = jobs_of([_changed(given, of_case)], Path(), overrides=of_case, own=own, on=on)
    for one in asked:
        at = f"{given.source}: expect[{one.number}].that"
        refuse_doubted(names([one.sentence]), plans_of_several_links(planned[()]), at)
    return planned


def _changed(given: Given, overrides: tuple[str, ...]) -> Given:
    """The scenario with these overrides, from its file if it has one."""
    if not overrides:
        return given
    if given.source:
        return from_file(given.source, overrides=overrides)
    scenario = given.scenario
    return Given(from_text(given.text, name=scenario.name, overrides=overrides, folder=scenario.folder), given.text)
