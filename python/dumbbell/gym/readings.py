"""Rows of the engine, and what environments make of them: observations, rewards, and percentages of the window.

A row is what Orca's monitor has seen in one period (cca/orca/controller.h).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dumbbell.errors import ScenarioError, show
from dumbbell.policy import file
from dumbbell.policy.file import HISTORY
from dumbbell.policy.network import ACTIVATION_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

#: Why a world pauses: a flow asks; it has stopped; it has sent all it had; the run is over.
ASKED, STOPPED, COMPLETED, OVER = range(4)
#: Signals of a reading.
SIGNALS = len(file.SIGNALS)
#: 1, as signals have it.
ONE = 1 << ACTIVATION_BITS
#: A row of `dumbbell._native.Episodes.step`: rates in bytes/s, amounts in bytes, cwnd in segments.
ROW = np.dtype(
    [
        ("world", "<i4"),
        ("flow", "<i4"),
        ("kind", "<i4"),
        ("", "<i4"),
        ("at_ns", "<i8"),
        ("received", "<i8"),
        ("read_us", "<u8"),
        ("dt_us", "<u8"),
        ("thr", "<u8"),
        ("thr_max", "<u8"),
        ("pacing", "<u8"),
        ("lost", "<u8"),
        ("acks", "<u4"),
        ("cwnd", "<u4"),
        ("srtt_us", "<u4"),
        ("min_rtt_us", "<u4"),
        ("state", "<i4", (SIGNALS * HISTORY,)),
    ]
)
#: Bytes of a segment's payload, by which Aurora counts.
_MSS = 1448
#: A ratio of Aurora's is at most this.
_RATIO_MOST = 100.0


class Observation(NamedTuple):
    """An observation: `see` makes an array (agents, *shape), between `least` and `most`, of the last `history` rows of
    each agent, an array (agents, history), oldest first.
    """

    see: Callable[[np.ndarray], Floats]
    shape: tuple[int, ...]
    least: float
    most: float
    history: int


Reward = Callable[[np.ndarray], "NDArray[np.float64]"]
"""A function of the last row of each agent, an array (agents,), to their rewards, (agents,)."""


def _orca(rows: np.ndarray) -> Floats:
    seen: Floats = rows["state"][:, -1].astype(np.float32) / np.float32(ONE)
    return seen


def _aurora(rows: np.ndarray) -> Floats:
    """Gradient of the RTT, ratio of the RTT to its minimum, ratio of sent to delivered, of each row (Jay et al., ICML
    2019).

    The RTT is the smoothed one, and what is sent goes at the pacing rate.
    """
    rtt = rows["srtt_us"].astype(float)
    before = np.concatenate([rtt[:, :1], rtt[:, :-1]], axis=1)
    gradient = np.where((before > 0) & (rows["dt_us"] > 0), (rtt - before) / np.maximum(rows["dt_us"], 1), 0.0)
    ratio = np.where(rtt > 0, rtt / np.maximum(rows["min_rtt_us"], 1), 1.0)
    sent = np.where(rows["thr"] > 0, rows["pacing"] / np.maximum(rows["thr"], 1), 1.0)
    seen = np.stack([gradient, ratio, sent], axis=2)
    bounded: Floats = np.clip(seen, -_RATIO_MOST, _RATIO_MOST).astype(np.float32).reshape(len(rows), -1)
    return bounded


def orca_reward(rows: np.ndarray) -> NDArray[np.float64]:
    """(thr - 5 lost / dt) / max x min(1, 1.25 min_rtt / srtt); at least -4 (Abbasloo et al., SIGCOMM 2020)."""
    newest = rows["state"][:, -SIGNALS:].astype(np.int64)
    # Whole numbers, as the engine's rollouts have them.
    product = (newest[:, 0] - newest[:, 2]) * newest[:, -1]
    reward: NDArray[np.float64] = np.maximum(np.sign(product) * (np.abs(product) // ONE), -4 * ONE) / ONE
    return reward


def aurora_reward(rows: np.ndarray) -> NDArray[np.float64]:
    """10 x packets/s delivered - 1000 x RTT in s - 2000 x share lost (Jay et al., ICML 2019)."""
    thr, lost = rows["thr"].astype(float), rows["lost"].astype(float)
    sent = lost + thr * rows["dt_us"] / 1e6
    share = np.divide(lost, sent, out=np.zeros(len(rows)), where=lost > 0)
    reward: NDArray[np.float64] = 10 * thr / _MSS - 1000 * rows["srtt_us"] / 1e6 - 2000 * share
    return reward


#: Observations and rewards that have names.
OBSERVATIONS = {
    "orca": Observation(_orca, (SIGNALS * HISTORY,), 0.0, 16384.0, 1),
    "aurora": Observation(_aurora, (3 * HISTORY,), -_RATIO_MOST, _RATIO_MOST, HISTORY),
}
REWARDS: dict[str, Reward] = {"orca": orca_reward, "aurora": aurora_reward}


def observation(given: str | Observation) -> Observation:
    """An observation by its name, or one's own."""
    if isinstance(given, Observation):
        return given
    return OBSERVATIONS[_name("observation", given, OBSERVATIONS, "an Observation")]


def reward(given: str | Callable[[np.void], float]) -> Reward:
    """A reward by its name, or one's own function of a row."""
    if callable(given):
        return lambda rows: np.array([given(row) for row in rows], float)
    return REWARDS[_name("reward", given, REWARDS, "a function of a row")]


def _name(what: str, given: object, known: Mapping[str, object], own: str) -> str:
    if not isinstance(given, str) or given not in known:
        raise ScenarioError(what, f"got {show(str(given))}, wanted {', '.join(known)} or {own}")
    return given


def percent(action: float) -> int:
    """Percentage of the window that an action takes: floor(100 x 4^action), of -1 to 1.

    >>> percent(-1), percent(0), percent(1)
    (25, 100, 400)
    """
    return int(100 * 4.0 ** min(max(float(action), -1.0), 1.0))


def one(row: np.void) -> np.ndarray:
    """A row as an array of one."""
    return np.array([row], ROW)


class Histories:
    """The last rows of each agent."""

    def __init__(self, agents: int, length: int) -> None:
        self.rows = np.zeros((agents, length), ROW)

    def begin(self, agent: int) -> None:
        """Forget an agent's rows."""
        self.rows[agent] = np.zeros(1, ROW)

    def add(self, agents: np.ndarray, rows: np.ndarray) -> None:
        """Take a row of each of these agents, and forget its oldest."""
        self.rows[agents, :-1] = self.rows[agents, 1:]
        self.rows[agents, -1] = rows
