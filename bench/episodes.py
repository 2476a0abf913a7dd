#!/usr/bin/env python3
"""Steps per second of the environments, and of rollouts inside the engine: `make bench-episodes`.

One core, one flow at 48 Mbit/s, 40 ms, 2 BDP, an action that leaves the window; times are those of the processor, so
that other work on the machine counts little. The last column is simulated seconds per second.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from dumbbell.gym import OrcaEnv, OrcaVectorEnv
from dumbbell.policy import file
from dumbbell.policy.network import Dense, integers
from dumbbell.training.drawn import AGENT
from dumbbell.training.recipe import POOL, Links, Pool, Recipe

SCENARIO = {
    "name": "bench",
    "duration": "3600s",
    "path": {"rate": "48Mbps", "rtt": "40ms", "buffer": "2bdp"},
    "flow": [{"cca": AGENT}],
}
PERIOD_S = 0.031
STEPS = 4000


def single() -> int:
    """Steps of one environment."""
    env = OrcaEnv(SCENARIO)
    env.reset(seed=1)
    for _ in range(STEPS):
        env.step(np.zeros(1))
    return STEPS


def vector() -> int:
    """Steps of eight worlds together."""
    envs = OrcaVectorEnv(8, SCENARIO, threads=1)
    envs.reset(seed=1)
    for _ in range(STEPS // 8):
        envs.step(np.zeros((8, 1)))
    return STEPS


def resets() -> int:
    """Episodes that begin, up to their first reading."""
    env = OrcaEnv(SCENARIO)
    for seed in range(STEPS // 40):
        env.reset(seed=seed)
    return STEPS // 40


def rollouts() -> int:
    """Steps of a 70-16-1 network inside the engine."""
    scenario = {**SCENARIO, "duration": "120s"}
    pool = Pool(Recipe("bench", "", [Links(scenario)]), file.Path(), 1, POOL)
    layers = [
        integers(Dense(np.zeros((16, 70)), np.zeros(16), "tanh")),
        integers(Dense(np.zeros((1, 16)), np.zeros(1))),
    ]
    pool.rewards([file.native(layers)], [0], [1], threads=1)
    return round(120 / PERIOD_S)


def measure(what: str, run: Callable[[], int]) -> None:
    """Print a line."""
    run()
    began = time.process_time()
    count = run()
    each = (time.process_time() - began) / count
    speed = "" if run is resets else f"{PERIOD_S / each:10,.0f}"
    print(f"{what:32} {1 / each:10,.0f}/s {1e6 * each:10.1f} us {speed}")


if __name__ == "__main__":
    measure("one environment, steps", single)
    measure("eight in a vector, steps", vector)
    measure("rollouts in the engine, steps", rollouts)
    measure("resets", resets)
