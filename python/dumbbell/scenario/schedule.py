"""Quantities that change in steps (rate, RTT, loss) or follow a trace, as a person writes them and as a plan has
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import units
from dumbbell.units import UnitError

from . import kinds
from .moments import FORM as MOMENT_FORM
from .moments import Moment
from .plain_kinds import SWITCH, Kind
from .recordings.forms import NAMES

if TYPE_CHECKING:
    from .recordings.model import Choice

FORM = '{ steps = [["0s", "40Mbps"], ["2s", "45Mbps"]], repeat = true }'
RTT_FORM = '{ steps = [["0s", "20ms"], ["10s", "60ms"]], repeat = false }'
TRACE_FORM = '{ trace = "file" }'
RECORDING_FORM = '{ trace = "path.csv", repeat = true }'
RADIO_FORM = '{ lte = "mobile", mean = "8Mbps" }'
MOBILITY = ("stationary", "mobile")
RATE_BPS = range(1_000, 10**12 + 1)

#: Shortest time between two steps of a schedule, ns: below it a step is a slip of the unit, and pictures of it have no
#: end.
STEP_MIN_NS = 1_000

#: Most steps of a schedule: a day in steps of a second, with room.
STEPS_MAX = 100_000

#: Shortest step of an interpolation, ns.
INTERPOLATE_MIN_NS = 100_000

#: Longest synthetic radio link, after which it repeats, ns: an hour is 180,000 steps.
RADIO_MAX_NS = 3600 * 10**9


class Schedule(NamedTuple):
    """A quantity that changes in steps."""

    steps: tuple[tuple[int, int], ...]
    """(ns, value), ascending, the first at 0."""
    repeat_ns: int | None = None
    """When the steps begin again."""
    mean: int | None = None
    """Of a recording: the mean over all of it."""

    @property
    def nominal(self) -> int:
        """Value that sizes in BDP refer to: the mean of a recording, otherwise the first value above zero; 0 where
        there is none.
        """
        return next((value for _, value in self.steps if value), 0) if self.mean is None else self.mean

    def map(self, change: Callable[[int], int]) -> Schedule:
        """The schedule of what `change` makes of each value."""
        steps = tuple((at, change(value)) for at, value in self.steps)
        return Schedule(steps, self.repeat_ns, None if self.mean is None else change(self.mean))


#: Keys of a recording or a Mahimahi trace.
TRACE_KEYS = (
    "trace", "format", "column", "unit", "time", "time_unit", "where", "repeat", "offset", "interpolate", "opportunity",
)  # fmt: skip

#: Those of a recording.
RECORDING_KEYS = TRACE_KEYS[:-1]


class TraceFile(NamedTuple):
    """A recording or a Mahimahi trace as written."""

    file: str
    form: str | None = None
    """What form the file has; None where its content tells."""
    column: str | None = None
    unit: str | None = None
    """Of the column."""
    time: str | None = None
    """The column of the times."""
    time_unit: str | None = None
    where: tuple[tuple[str, str], ...] = ()
    """Columns and what their cells must be in the rows that are used."""
    repeat: bool | None = None
    """Whether it begins again at its end; None where that is not written."""
    offset_ns: int = 0
    """Where in the recording the run begins."""
    interpolate_ns: int | None = None
    """Steps of this length on straight lines between the values; None for a step at each value."""
    opportunity_bytes: int | None = None
    """Of a Mahimahi trace."""
    written: tuple[str, ...] = ()
    """The keys that were written."""

    def choice(self, quantity: str) -> Choice:
        """Choice in the file, for values of a quantity."""
        from .recordings.model import Choice  # only with a recording, and start-up counts

        return Choice(self.form, self.column, self.unit, self.time, self.time_unit, self.where, quantity)


class Radio(NamedTuple):
    """A synthetic radio link as written."""

    radio: str
    mobility: str
    mean_bps: int
    length_ms: int
    seed: int

    def steps(self) -> list[tuple[int, int]]:
        """Its capacity: (ns, bit/s)."""
        from dumbbell import _native

        return _native.radio_course(*self)


Rate = int | Schedule | TraceFile | Radio
"""Of a link: constant in bit/s, in steps, or as recorded."""
Rtt = int | Schedule | TraceFile
"""Nanoseconds, their steps, or a recording, whose steps take its place in a plan (`traced.py`)."""


def nominal(value: Rtt) -> int:
    """The value itself, or that of a schedule which sizes in BDP refer to."""
    assert not isinstance(value, TraceFile), "recordings are settled before plans are made"
    return value.nominal if isinstance(value, Schedule) else value


def in_steps(value: Mapping[str, Any], parse: Callable[[object], int], wanted: str) -> Schedule:
    """Parse a table with `steps`; raises UnitError. ``repeat = true`` keeps the last value for as long as the one
    before it.
    """
    unknown = sorted(set(value) - {"steps", "repeat"})
    steps = value.get("steps")
    if (
        unknown
        or not isinstance(steps, (list, tuple))
        or not steps
        or not all(isinstance(step, (list, tuple)) and len(step) == 2 for step in steps)
    ):
        raise UnitError(wanted + (f"; no key {unknown[0]}" if unknown else ""))
    if len(steps) > STEPS_MAX:
        raise UnitError(f"{STEPS_MAX} steps at most")
    parsed = tuple((_time(at), parse(item)) for at, item in steps)
    if parsed[0][0] != 0:
        raise UnitError('steps, the first of them at "0s"')
    pairs = [(earlier[0], later[0]) for earlier, later in pairwise(parsed)]
    if any(isinstance(earlier, Moment) and not isinstance(later, Moment) for earlier, later in pairs):
        raise UnitError(f"no fixed time after a step at a moment, but the moment with a time: {MOMENT_FORM}")
    if any(isinstance(at, Moment) for at, _ in parsed):
        if value.get("repeat", False) is not False:
            raise UnitError("no repeat of steps at moments")
        return Schedule(parsed)
    if any(later <= earlier for earlier, later in pairs):
        raise UnitError("steps in ascending order of time")
    if any(later - earlier < STEP_MIN_NS for earlier, later in pairs):
        raise UnitError(f"steps at least {units.span_text(STEP_MIN_NS)} apart")
    repeat = value.get("repeat", False)
    return Schedule(parsed, repeat_ns(repeat if isinstance(repeat, bool) else units.span_ns(repeat), parsed))


def _time(value: object) -> int:
    """A time from the start of the run, or a moment; raises UnitError."""
    moment = Moment.parse(value)
    if moment is not None:
        return moment
    try:
        return units.span_ns(value)
    except UnitError as error:
        raise UnitError(f"{error}, or a moment such as {MOMENT_FORM}") from None


def repeat_ns(period: bool | int, steps: tuple[tuple[int, int], ...]) -> int | None:  # noqa: FBT001 - as it is written
    """Time at which steps begin again: at the period, or after the last was as long as the one before it; raises
    UnitError.
    """
    if period is False:
        return None
    if period is True:
        if len(steps) < 2:
            raise UnitError("two steps at least to repeat")
        return 2 * steps[-1][0] - steps[-2][0]
    if period < steps[-1][0] + STEP_MIN_NS:
        raise UnitError(f"a repeat after the last step, by {units.span_text(STEP_MIN_NS)} or more")
    return period


def _rate_step(value: object) -> int:
    rate = units.rate_bps(value)
    if rate and rate not in RATE_BPS:
        raise UnitError("rates of 1kbps to 1Tbps, or 0bps for an outage")
    return rate


def _rate(value: object) -> Rate:
    if not isinstance(value, Mapping):
        constant: int = kinds.RATE.parse(value)
        return constant
    if "trace" in value:
        return trace_file(value, 'a trace such as { trace = "file", repeat = true, opportunity = "1514B" }')
    if "lte" in value or "wifi" in value:
        return _radio(value)
    steps = in_steps(
        value, _rate_step, f"a rate, or steps such as {FORM}, or a trace such as {TRACE_FORM}, or {RADIO_FORM}"
    )
    if steps.nominal == 0 or (steps.repeat_ns is None and steps.steps[-1][1] == 0):
        raise UnitError(
            "steps whose outages end: a last rate above zero, or `repeat` and a rate above zero among its steps"
        )
    return steps


def trace_file(value: Mapping[str, Any], wanted: str, keys: tuple[str, ...] = TRACE_KEYS) -> TraceFile:
    """Parse a table with `trace`; raises UnitError."""
    unknown = sorted(set(value) - set(keys))
    if unknown or not isinstance(value["trace"], str) or not value["trace"]:
        raise UnitError(wanted + (f"; no key {unknown[0]}" if unknown else ""))
    form, column, time, unit, time_unit = (value.get(key) for key in ("format", "column", "time", "unit", "time_unit"))
    if form is not None and form not in NAMES:
        raise UnitError("format = one of: " + ", ".join(f'"{known}"' for known in NAMES))
    for key, name in (("column", column), ("time", time)):
        if name is not None and (not isinstance(name, str) or not name):
            raise UnitError(f'a column by its heading, such as {key} = "rtt_ms"')
    if unit is not None or time_unit is not None:
        check_units(unit, time_unit, column)
    interpolate = None if "interpolate" not in value else units.span_ns(value["interpolate"])
    if interpolate is not None and interpolate < INTERPOLATE_MIN_NS:
        raise UnitError(f"interpolate of {units.span_text(INTERPOLATE_MIN_NS)} or more")
    opportunity = kinds.size("1B", "1GB").parse(value["opportunity"]) if "opportunity" in value else None
    repeat = SWITCH.parse(value["repeat"]) if "repeat" in value else None
    offset = units.span_ns(value.get("offset", "0s"))
    return TraceFile(
        value["trace"], form, column, unit, time, time_unit, conditions(value.get("where", {})), repeat, offset,
        interpolate, opportunity, tuple(value),
    )  # fmt: skip


def check_units(unit: object, time_unit: object, column: object) -> None:
    """Raise UnitError for what is no unit of a column or of times."""
    from .recordings import headings  # only with a recording, and start-up counts

    if unit is not None and (not isinstance(unit, str) or headings.unit(unit) is None):
        raise UnitError("unit = one of: " + "; ".join(headings.UNITS_WANTED.values()))
    if unit is not None and column is None:
        raise UnitError("column next to unit: the heading of the column that has it")
    if time_unit is not None and (not isinstance(time_unit, str) or time_unit.casefold() not in headings.TIMES):
        raise UnitError("time_unit = one of: " + headings.UNITS_WANTED["time"])


def conditions(value: object) -> tuple[tuple[str, str], ...]:
    """Parse what rows must have, by heading; raises UnitError."""
    if not isinstance(value, Mapping) or not all(
        isinstance(cell, (str, int, float)) and not isinstance(cell, bool) for cell in value.values()
    ):
        raise UnitError("headings and the text of their cells, such as where = { run_num = 1 }")
    return tuple((str(name), str(cell)) for name, cell in value.items())


def _radio(value: Mapping[str, Any]) -> Radio:
    unknown = sorted(set(value) - {"lte", "wifi", "mean", "length", "seed"})
    kind = "lte" if "lte" in value else "wifi"
    if unknown or ("lte" in value and "wifi" in value) or value[kind] not in MOBILITY or "mean" not in value:
        wanted = (
            f'a radio link such as {{ {kind} = "stationary" | "mobile", mean = "8Mbps", length = "60s", seed = 1 }}'
        )
        raise UnitError(wanted + (f"; no key {unknown[0]}" if unknown else ""))
    mean = units.rate_bps(value["mean"])
    if not 100_000 <= mean <= 10**10:
        raise UnitError("a mean of 100kbps to 10Gbps")
    length, seed = units.span_ns(value.get("length", "60s")), value.get("seed", 1)
    if length % 20_000_000 or not 10**9 <= length <= RADIO_MAX_NS:
        raise UnitError("a length of 1s to 1h, in whole steps of 20ms (it repeats)")
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**53:
        raise UnitError(f"a seed from 0 to {2**53 - 1}")
    return Radio(kind, value[kind], mean, length // 1_000_000, seed)


def _rtt(value: object) -> Rtt:
    course = _course(value, kinds.RTT, "an RTT")
    if isinstance(course, Schedule) and course.steps[0][1] == 0:
        raise UnitError("steps whose first RTT is above zero, because buffers refer to it")
    return course


def _delay(value: object) -> Rtt:
    return _course(value, kinds.DELAY, "a delay")


def _course(value: object, constant: Kind, what: str) -> Rtt:
    if not isinstance(value, Mapping):
        parsed: int = constant.parse(value)
        return parsed
    if "trace" in value:
        return trace_file(value, f"a recording such as {RECORDING_FORM}", RECORDING_KEYS)
    return in_steps(value, kinds.DELAY.parse, f"{what}, or steps such as {RTT_FORM}")


def _table(required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": [required], "properties": properties}


def steps_schema(item: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of steps of these values."""
    step = {"type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [{"type": "string"}, item]}
    return {"type": "array", "minItems": 1, "items": step}


WHERE_SCHEMA: dict[str, Any] = {"type": "object", "additionalProperties": {"type": ["string", "number"]}}
REPEAT_SCHEMA = {"anyOf": [{"type": "boolean"}, {"type": "string"}]}
RECORDING_PROPERTIES: dict[str, Any] = {
    "trace": {"type": "string", "minLength": 1},
    "format": {"enum": list(NAMES)},
    "column": {"type": "string", "minLength": 1},
    "unit": {"type": "string"},
    "time": {"type": "string", "minLength": 1},
    "time_unit": {"type": "string"},
    "where": WHERE_SCHEMA,
    "repeat": {"type": "boolean"},
    "offset": {"type": "string"},
    "interpolate": {"type": "string"},
}
_RECORDING = _table("trace", **RECORDING_PROPERTIES)
_TRACE = _table("trace", **RECORDING_PROPERTIES, opportunity={"type": "string"})
_RADIO = [
    _table(
        kind,
        **{kind: {"enum": list(MOBILITY)}},
        mean=kinds.RATE.schema,
        length=kinds.SPAN.schema,
        seed={"type": "integer", "minimum": 0},
    )
    for kind in ("lte", "wifi")
]
RATE = Kind(
    _rate,
    {
        "anyOf": [
            kinds.RATE.schema,
            _table("steps", steps=steps_schema(kinds.RATE.schema), repeat=REPEAT_SCHEMA),
            _TRACE,
            *_RADIO,
        ]
    },
)


def _or_course(kind: Kind) -> dict[str, Any]:
    return {
        "anyOf": [
            kind.schema,
            _table("steps", steps=steps_schema(kind.schema), repeat=REPEAT_SCHEMA),
            _RECORDING,
        ]
    }


RTT = Kind(_rtt, _or_course(kinds.RTT))
DELAY = Kind(_delay, _or_course(kinds.DELAY))
