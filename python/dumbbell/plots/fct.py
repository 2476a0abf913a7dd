"""Distribution of the completion times of finite flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dumbbell.results import Result, Results


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
    drawn = 0
    for vary, group in runs.groups():
        rest = ", ".join(f"{key.removeprefix('path.')} = {value}" for key, value in vary.items() if not key.endswith(".cca"))
        for cca in dict.fromkeys(flow["cca"] for flow in group[0].plan["flows"] if flow["size_bytes"] is not None):
            times = np.sort(np.concatenate([completion_times_s(run, cca) for run in group]))
            finite = sum(flow["cca"] == cca and flow["size_bytes"] is not None for run in group for flow in run.plan["flows"])
            label = ", ".join(part for part in (style.name(cca), rest) if part)
            ax.step(times, np.arange(1, times.size + 1) / finite, where="post", color=style.colour(cca), linestyle=style.LINES[drawn % 4], label=label)
            drawn += 1
    if not drawn:
        raise ResultError("no flow of these runs has a size, so none has a completion time")
    ax.set_ylim(0, 1)
    ax.set_xlabel("Completion time (s)")
    ax.set_ylabel("CDF")
    style.legend(ax, columns=3)
    return ax
