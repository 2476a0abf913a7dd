"""The set-up of Yang and others, and what several of their figures read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dumbbell.suites.table import Reading, Table

if TYPE_CHECKING:
    from dumbbell.suites.table import Place

#: Parts of 256 for the loss thresholds in per cent; 255 is the largest that the module takes.
ALPHAS = {2: 5, 5: 13, 10: 26, 15: 38, 20: 51, 30: 77, 50: 128, 100: 255}


def variant(alpha: int, beta: float = 0.3) -> dict[str, Any]:
    """BBRv2(alpha, beta) of the paper: loss threshold in per cent, and the factor of reductions."""
    params = {"loss_thresh": ALPHAS[alpha], **({} if beta else {"beta": 0})}
    return {"name": f"BBRv2({alpha}%,{beta:g})", "cca": "bbr2", "params": params}


#: [[flow]] tables by the paper's names. Section 5 runs BBRv2+ with a loss threshold of 20 %.
FLOWS: dict[str, dict[str, Any]] = {
    "CUBIC": {"cca": "cubic"},
    "BBRv1": {"cca": "bbr"},
    "BBRv2": {"cca": "bbr2"},
    "BBRv2+": {"cca": "bbr2plus", "params": {"loss_thresh": ALPHAS[20]}},
    "BBRv2+ (dual mode off)": {
        "cca": "bbr2plus",
        "params": {"loss_thresh": ALPHAS[20], "switch_to_bbr2_thresh": 0},
    },
}

COMMON = {
    "BBRv2+": "the published module with its defaults, and a loss threshold of 20 %, as section 5 says",
    "packets": "single frames. The paper does not say whether offloads were off; netem's rate has no bucket, and one"
    " that holds a super-packet would let bursts pass",
    "TCP": "the rules of Linux 6.12; the paper ran BBRv2's alpha kernel on Ubuntu 18.04",
    "repetitions": "starts at random within 100 ms, so that they differ",
}
NO_LENGTH = "60 s: the length is not printed for this experiment"


def flow(label: str, **keys: Any) -> dict[str, Any]:
    """A [[flow]] table by the paper's name of the controller."""
    return {"name": label, **FLOWS[label], **keys}


def scenario(
    tables: Sequence[Mapping[str, Any]],
    *,
    duration: str,
    repetitions: int,
    buffer: str,
    rate: Any = "40Mbps",
    rtt: str = "40ms",
    record: Mapping[str, Any] | None = None,
    **path: Any,
) -> dict[str, Any]:
    """A scenario of this testbed; without `record` only summaries are kept."""
    return {
        "duration": duration,
        "repetitions": repetitions,
        "path": {"rate": rate, "rtt": rtt, "buffer": buffer, **path},
        "host": {"start_jitter": "100ms"},
        "flow": list(tables),
        "record": {"samples": False, "queue": False, "events": False, **(record or {})},
    }


def as_another(name: str) -> Callable[[Table, str, Place], list[Reading]]:
    """A name in claims for a line that has another."""

    def read(table: Table, metric: str, at: Place) -> list[Reading]:
        return table.read(metric, name, at)

    return read
