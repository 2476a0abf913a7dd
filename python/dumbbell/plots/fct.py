"""Distribution of the completion times of finite flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell.units import value_text

from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dumbbell.metrics import Column
    from dumbbell.results import Result, Results

#: Times that span more than this get a logarithmic axis.
_WIDE = 20


@style.styled
def fct(results: Results | Result, *, ax: Axes | None = None) -> Axes:
    """Cumulative distribution of completion times, a line per controller and varied values; repetitions count together.

    The share is of all finite flows, so a line that ends below 1 had flows which did not complete.
    """
    import numpy as np

    from dumbbell.errors import ResultError
    from dumbbell.metrics import completion_times_s
    from dumbbell.results import Results

    runs = results if isinstance(results, Results) else Results([results])
    ax = style.axes(ax)
    lines: list[tuple[str, str, Column, int]] = []
    for vary, group in runs.groups():
        for cca in dict.fromkeys(flow.cca for flow in group[0].plan.flows if flow.is_finite):
            times = np.sort(np.concatenate([completion_times_s(run, cca) for run in group]))
            finite = sum(flow.cca == cca and flow.is_finite for run in group for flow in run.plan.flows)
            lines.append((cca, _label(cca, vary, group[0]), times, finite))
    if not lines:
        raise ResultError("no flow of these runs has a size, so none has a completion time")
    drawn: dict[str, int] = {}
    for cca, label, times, finite in lines:
        nth = drawn[cca] = drawn.get(cca, -1) + 1
        colour = style.shade(cca, nth, sum(line[0] == cca for line in lines))
        ax.step(times, np.arange(1, times.size + 1) / finite, where="post", color=colour, linestyle=style.LINES[nth % len(style.LINES)], label=label)
    ends = [float(end) for _, _, times, _ in lines if times.size for end in (times[0], times[-1])]
    if ends and max(ends) > _WIDE * min(ends):
        style.log_axis(ax)
    ax.set_ylim(0, 1)
    ax.set_xlabel("Completion time (s)")
    ax.set_ylabel("CDF")
    style.legend(ax, columns=2)
    return ax


def _label(cca: str, vary: dict[str, Any], run: Result) -> str:
    """The controller, those of endless flows beside it, and what varies else."""
    beside = dict.fromkeys(style.name(flow.cca) for flow in run.plan.flows if not flow.is_finite)
    head = style.name(cca) + (f" beside {' and '.join(beside)}" if beside else "")
    return ", ".join([head, *(f"{key.removeprefix('path.')} = {value_text(value)}" for key, value in vary.items() if not key.endswith(".cca"))])
