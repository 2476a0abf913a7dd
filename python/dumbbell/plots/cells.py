"""The points of `plot vary`: a metric for every combination of varied values and every group, its repetitions
together.
"""

from __future__ import annotations

from collections import Counter
from math import isinf
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ResultError, ScenarioError, wrong
from dumbbell.results.catalogue import EVENTS, Measured
from dumbbell.results.experiment import repetitions
from dumbbell.results.statistic import mean_interval
from dumbbell.results.windows import chosen_flows

from . import groups, keys, look, reading
from .keys import FOLDER, SCENARIO

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dumbbell.plan.view import Window
    from dumbbell.results.catalogue import Figure
    from dumbbell.results.load import Result, Results

    from .groups import Group
    from .keys import VariedKey


#: Cases of keys in step that have places on an axis; more are a sample, of which there is no room to name each.
CASES_MOST = 12


class Cell(NamedTuple):
    """One combination of varied values, and the figure of one group in its repetitions."""

    vary: dict[str, Any]
    run: Result
    group: Group | None
    """None for a figure of the run as a whole."""
    number: int
    """Which group it is: the same in all runs."""
    values: list[float]
    sizes: tuple[int, int]
    """How many flows the group has, at least and at most over the repetitions: some arrive by chance."""

    def interval(self, metric: Figure) -> tuple[float, float, float, bool]:
        """Mean, and the ends of its 95 % interval over the repetitions, cut to what is possible; whether they were."""
        mean, half, _ = mean_interval(self.values)
        if not half > 0:  # nan for a single one
            return mean, mean, mean, False
        low, high = metric.possible(mean, half)
        return mean, low, high, (low, high) != (mean - half, mean + half)


class Collected(NamedTuple):
    """All cells, and the keys that vary."""

    cells: list[Cell]
    keys: dict[str, VariedKey]
    metric: Figure
    lacking: int = 0
    """Runs in which a line or bar has no value, though it has one in others."""
    unreached: int = 0
    """Points left out because a percentile of one of their repetitions lies among what never ended."""
    rest: str = ""
    """Whose the rest is, where parts of a whole of two are drawn once."""

    @property
    def groups(self) -> int:
        """Number of groups in all runs."""
        return len({cell.number for cell in self.cells})

    def link_rate(self, cells: Sequence[Cell]) -> float | None:
        """The rate that bounds the metric of some of the cells, Mbit/s."""
        return link_rate(cells) if self.metric.is_bounded_by_link else None

    def fair_share(self, cells: Sequence[Cell]) -> float | None:
        """The share of some of the cells if all flows had the same; None where they differ in it, or it is no share."""
        if self.metric.name != "share":
            return None
        shares = {cell.group.size / len(cell.run.plan.flows) for cell in cells if cell.group}
        return shares.pop() if len(shares) == 1 else None

    @property
    def beside(self) -> tuple[VariedKey, ...]:
        """Keys of a sample that have no place in the figure."""
        return tuple(other for key in self.keys.values() for other in key.beside)

    @property
    def is_repeated(self) -> bool:
        """True if any cell has several repetitions."""
        return any(len(cell.values) > 1 for cell in self.cells)

    @property
    def was_cut(self) -> bool:
        """True if any interval was cut at what is possible."""
        return any(cell.interval(self.metric)[3] for cell in self.cells)


def varied_keys(
    results: Results,
    *,
    needed: bool = True,
    along: str | None = None,
    whole: Mapping[str, Sequence[Any]] | None = None,
    as_points: bool = False,
) -> dict[str, VariedKey]:
    """The keys of which the runs have several values, those whose values go in step as one; raises ResultError where
    there is none, or where scenarios do not vary the same.

    `along` is the one of them that stands for those that go with it; `whole` has the values of a sweep of which these
    are the first runs; `as_points`: a random sample may be points along one of its keys.
    """
    names = list(dict.fromkeys(run.name for run in results))
    first = set(results[0].vary)
    if any(set(run.vary) != first for run in results):
        raise ResultError(
            f"{len(names)} scenarios in this folder ({', '.join(names)}), which do not vary the same keys: choose one"
            f" with --run, such as --run '{names[0]}*'"
        )
    varied = {key: keys.of(key, list(results), (whole or {}).get(key)) for key in results[0].vary}
    if len(names) > 1:
        varied[SCENARIO] = keys.VariedKey(SCENARIO, "Scenario", "", tuple(names), ())
    varied = {key: of for key, of in varied.items() if len(of.values) > 1}
    if needed and not varied:
        raise ResultError("no key varies in these results; a list instead of a value in the scenario makes it vary")
    for group in results[0].manifest.together:
        parts = [varied[key] for key in group if key in varied]
        if len(parts) > 1:
            sample = _sample(parts, along) if as_points else []
            varied = _with(varied, parts, sample or [_in_step(parts, list(results), along)])
    return varied


def _sample(parts: Sequence[VariedKey], along: str | None) -> list[VariedKey]:
    """The keys of a random sample of points: the first with numbers, or the one asked for, along x; those without
    numbers, which tell points apart. Nothing where these cases are no sample: where all of them have a place on an
    axis, or no key has numbers.
    """
    numeric = [part for part in parts if part.numbers]
    chosen = next((part for part in numeric if along in (None, part.key)), None)
    if chosen is None or max(len(part.values) for part in parts) <= CASES_MOST:
        return []
    others = tuple(part for part in numeric if part is not chosen)
    plain = [part for part in parts if not part.numbers]
    return [chosen._replace(is_scattered=True, beside=others), *plain]


def _with(
    varied: dict[str, VariedKey], parts: Sequence[VariedKey], instead: Sequence[VariedKey]
) -> dict[str, VariedKey]:
    """The keys with others in the place of these."""
    gone = [part.key for part in parts]
    return {
        key_of.key: key_of
        for key, of in varied.items()
        for key_of in (instead if key == gone[0] else [] if key in gone else [of])
    }


def _in_step(parts: list[VariedKey], runs: list[Result], along: str | None) -> VariedKey:
    """These keys as one."""
    joined = keys.in_step(parts, runs)
    for part in parts:
        if part.key == along:
            if len(part.values) < len(joined.values):
                raise ResultError(
                    f"{along}: several of the cases that go together have the same value of it; use --x '{joined.key}'"
                )
            joined = part._replace(is_scattered=_is_scattered(part, parts, runs))
    return joined


def _is_scattered(along: VariedKey, parts: Sequence[VariedKey], runs: Sequence[Result]) -> bool:
    """True if what goes in step with a key rises and falls along it, as in a random sample of points."""
    order = sorted(runs, key=lambda run: along.position(run.vary[along.key]))
    others = [
        [part.position(run.vary[part.key]) for run in order] for part in parts if part.numbers and part is not along
    ]
    return any(values not in (sorted(values), sorted(values, reverse=True)) for values in others)


def collect(
    results: Results,
    metric: Figure,
    window: Window | None,
    *,
    needed: bool = True,
    along: str | None = None,
    whole: Mapping[str, Sequence[Any]] | None = None,
    as_points: bool = False,
    grouped: Callable[[Result], list[Group]] = groups.of,
) -> Collected:
    """Read the metric of every run; `needed`: something must vary; `along`: the key along x, if one is asked for;
    `whole`: the values of a sweep that goes on; `as_points`: of a random sample; `grouped`: the groups of a run.
    """
    varied = varied_keys(results, needed=needed, along=along, whole=whole, as_points=as_points)
    read_groups = {id(run): [] if metric.of_run else grouped(run) for run in results}
    numbers = _numbers(results, read_groups)
    cells: list[Cell] = []
    lacking: list[set[int]] = []
    unreached = 0
    for runs in repetitions(results).values():
        vary = {key: varied_key.value_of(runs[0]) for key, varied_key in varied.items()}
        read: dict[int, list[tuple[Group | None, float]]] = {}
        for run in runs:
            span = reading.window_of(run, window) if window else run.plan.window
            table_numbers = numbers[_source(run)]
            lacking.append({0} if metric.of_run else set(table_numbers.values()))
            for group in [None] if metric.of_run else read_groups[id(run)]:
                value = metric.value(Measured(run, span), group.flows if group else ())
                if value is not None:
                    number = 0 if group is None else table_numbers[group.table]
                    read.setdefault(number, []).append((group, value * metric.scale))
                    lacking[-1].discard(number)
        for number, same in sorted(read.items()):
            values = [value for _, value in same]
            if any(map(isinf, values)):
                unreached += 1
                continue
            cells.append(Cell(vary, runs[0], same[0][0], number, values, sizes_of([group for group, _ in same])))
    if unreached and not cells:
        why = "" if metric.name in EVENTS else ", because too few transfers or messages ended"
        raise ResultError(f"{metric.name} is not reached in any run{why}")
    if not cells:
        is_windowed = window is not None or results[0].plan.window is not None
        has_none = "it counts every packet of a whole run, so it has no window"
        raise ResultError(
            f"no run has {metric.name}: {has_none if metric.of_whole_runs and is_windowed else metric.absent}"
        )
    drawn = {cell.number for cell in cells}
    return Collected(cells, varied, metric, sum(not drawn.isdisjoint(without) for without in lacking), unreached)


def grouped_by(results: Results, flows: str | Sequence[int] | None) -> Callable[[Result], list[Group]]:
    """What makes the groups of a run, of these flows only; a run may have none of them, unless no run has. Raises
    ScenarioError.
    """
    if flows is None:
        return groups.of
    chosen: dict[int, list[int]] = {}
    errors = []
    for run in results:
        try:
            chosen[id(run)] = chosen_flows(run, flows)
        except ScenarioError as error:
            errors.append(error)
    if not chosen:
        raise errors[0]
    return lambda run: groups.of(run, chosen[id(run)]) if id(run) in chosen else []


def folded(collected: Collected) -> Collected:
    """The same with one of two groups whose figures sum to one in every run: one line says both. It is the user's own
    controller, else the first.
    """
    if collected.metric.of_run or collected.metric.bound != 1 or collected.groups != 2:
        return collected
    pairs: dict[int, list[Cell]] = {}
    for cell in collected.cells:
        pairs.setdefault(id(cell.run), []).append(cell)
    for pair in pairs.values():
        whole = [sum(values) for values in zip(*(cell.values for cell in pair))]
        is_complete = len(pair) == 2 and len({len(cell.values) for cell in pair}) == 1
        if not is_complete or any(abs(each - 1) > 1e-6 for each in whole):
            return collected
    numbers = sorted({cell.number for cell in collected.cells})
    of_own = {cell.number for cell in collected.cells if cell.group and look.is_own(cell.group.cca)}
    kept = of_own.pop() if len(of_own) == 1 else numbers[0]
    others = {cell.group.label for cell in collected.cells if cell.number != kept and cell.group}
    return collected._replace(
        cells=[cell for cell in collected.cells if cell.number == kept],
        rest=others.pop() if len(others) == 1 else "the others",
    )


def link_rate(cells: Sequence[Cell]) -> float | None:
    """The bottleneck's rate, Mbit/s; None where it changes or differs between runs, or where not all flows cross it."""
    rates = {cell.run.plan.bounding_rate_bps(cell.group.flows if cell.group else None) for cell in cells}
    rate = rates.pop() if len(rates) == 1 else None
    return None if rate is None else rate / 1e6


def sizes_of(of: Sequence[Group | None]) -> tuple[int, int]:
    """Smallest and largest number of flows of a group, at least and at most; 0 for a run as a whole."""
    sizes = [group.size if group else 0 for group in of]
    return min(sizes), max(sizes)


def _source(run: Result) -> tuple[str, Any]:
    """Source of a run's tables: its scenario, and the folder where several are compared."""
    return run.name, run.vary.get(FOLDER)


def _numbers(
    results: Sequence[Result], read_groups: Mapping[int, Sequence[Group]]
) -> dict[tuple[str, Any], dict[int, int]]:
    """The number of each group by its table, for each source of runs: that of its table, where all sources have the
    same flows in it. Else groups are found by their flows, since a table of two scenarios may hold different ones.
    """
    sources: dict[tuple[str, Any], dict[int, set[tuple[str, str, str]]]] = {}
    for run in results:
        tables = sources.setdefault(_source(run), {})
        for group in read_groups[id(run)]:
            tables.setdefault(group.table, set()).add((group.name, group.cca, group.transport))
    first, *others = sources.values()
    if all(tables == first for tables in others):
        return {source: {table: table for table in tables} for source, tables in sources.items()}
    known: dict[tuple[frozenset[tuple[str, str, str]], int], int] = {}
    by_source: dict[tuple[str, Any], dict[int, int]] = {}
    for source, tables in sources.items():
        before: Counter[frozenset[tuple[str, str, str]]] = Counter()
        for table, kinds in sorted(tables.items()):
            flows = frozenset(kinds)
            number = known.setdefault((flows, before[flows]), len(known))
            by_source.setdefault(source, {})[table] = number
            before[flows] += 1
    return by_source


def x_key(varied: dict[str, VariedKey], asked: str | None) -> VariedKey:
    """The key along x: what was asked for, else the buffer, else the first with numbers, else the first."""
    if asked is not None:
        if asked not in varied:
            raise wrong("--x", asked, f"a varied key: {', '.join(varied)}", list(varied))
        return varied[asked]
    if "path.buffer" in varied:
        return varied["path.buffer"]
    return next((key for key in varied.values() if key.numbers), next(iter(varied.values())))


def label(
    cell: Cell,
    varied: Sequence[VariedKey],
    x: VariedKey | None,
    cells: Sequence[Cell],
    metric: Figure,
    *,
    panels: Sequence[VariedKey] = (),
) -> str:
    """Label of a line or bar: its group, the opponents, what else varies, and whether it is a sum or a mean.

    `varied` are the keys that tell lines of the figure apart, `cells` those of this line; `panels` have a panel for
    each value.
    """
    group = cell.group
    if group is None:
        return _of_run(cell, varied)
    own = x is not None and is_of(x, cells or [cell])
    head = _on_axis(x, cell) if own and x is not None else group.label
    against = [_other(key, cell) for key in varied if key.is_cca and not is_of(key, [cell])]
    if any(is_of(key, [cell]) for key in (*varied, *panels)) and look.name(group.cca) not in head:
        head = look.name(group.cca) if group.name == group.transport else f"{head} ({look.name(group.cca)})"
    if x is not None and x.is_cca and not own:
        against.append("the one on the axis")
    others = [key.phrase(cell.vary[key.key]) for key in varied if not key.is_cca]
    text = f"{head} beside {' and '.join(against)}" if against else head
    return ", ".join([text, *others]) + _over(cells, metric)


def _on_axis(x: VariedKey, cell: Cell) -> str:
    """The controller on the axis, and of which table where it is that of several."""
    group = cell.group
    assert group is not None
    words = f"the controller on the axis{_over_transport(group)}"
    return f"{table_name(group)}, {words}" if is_of_several(x, cell) else words


def is_of_several(key: VariedKey, cell: Cell) -> bool:
    """True if a key is the controller of several groups."""
    return key.table is None and len(groups.of(cell.run)) > 1


def table_name(group: Group) -> str:
    """A table as figures name it where its controller varies: the user's own name of it, or its key."""
    is_made = group.name == group.cca or group.name.startswith(f"{group.cca} ")
    return f"flow[{group.table}]" if is_made else group.name


def _other(key: VariedKey, cell: Cell) -> str:
    """The controller of other flows, with their transport where legends tell it."""
    text = key.text(cell.vary[key.key])
    same_table = [group for group in groups.of(cell.run) if group.table == key.table and group.cca not in look.OF_QUINN]
    return text + (_over_transport(same_table[0]) if same_table else "")


def _over_transport(group: groups.Group) -> str:
    return f" ({group.over})" if group.over else ""


def is_of(key: VariedKey, cells: Sequence[Cell]) -> bool:
    """True if a key is the controller of the flows that these cells are about."""
    group = cells[0].group
    if group is None or not key.is_cca or key.table is not None:
        return group is not None and key.is_cca and key.table == group.table
    return all(cell.group is not None and cell.group.cca == cell.vary[key.key] for cell in cells)


#: Flows of a group that a legend counts exactly; of more whose number varies it says about how many.
_EXACT_MOST = 20


def _over(cells: Sequence[Cell], metric: Figure) -> str:
    """Over how many flows a group's figure is, where they are several."""
    sizes = sorted({size for cell in cells if cell.group for size in cell.sizes})
    if not sizes or sizes[-1] == 1:
        return ""
    count = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    if len(sizes) > 1 and sizes[-1] > _EXACT_MOST:
        count = f"~{float(f'{(sizes[0] + sizes[-1]) / 2:.2g}'):g}"
    words = {"sum": f"sum of {count}", "mean": f"mean of {count}", "min": f"least of {count}"}
    return f" ({words.get(metric.over, count if '~' in count else f'{count} flows')})"


def _of_run(cell: Cell, varied: Sequence[VariedKey]) -> str:
    others = [key.phrase(cell.vary[key.key]) for key in varied if not key.is_cca]
    mix = " + ".join(group.label for group in groups.of(cell.run)) if any(key.is_cca for key in varied) else ""
    return ", ".join(filter(None, [mix, *others])) or "all flows"


__all__ = ["SCENARIO", "Cell", "Collected", "collect", "is_of", "label", "varied_keys", "x_key"]
