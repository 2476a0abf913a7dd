"""Recipes: how a policy is trained, as a TOML file (docs/gym.md).

A recipe decides every number of the policy that comes of it: its digest goes into the policy's file.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from dumbbell import _native
from dumbbell.controllers import NAME_MAX
from dumbbell.errors import ScenarioError, show
from dumbbell.files import UnreadableError, read_bytes
from dumbbell.policy.file import LAYERS
from dumbbell.policy.network import WIDTH

from .drawn import AGENT, Drawn, Episode

#: Largest file, bytes.
_MOST = 1 << 20
#: Random streams of a recipe's seed.
POOL, VALIDATION, START, NOISE, EPISODES = range(5)


class Links(msgspec.Struct, forbid_unknown_fields=True):
    """Links of one kind: a scenario with a flow of `cca = "agent"`, and the keys of it that are drawn."""

    scenario: dict[str, Any]
    draw: dict[str, dict[str, list[Any]]] = {}
    weight: int = 1
    """How many episodes are of this kind, against the others."""


class Recipe(msgspec.Struct, forbid_unknown_fields=True):
    """See docs/gym.md for each key."""

    name: str
    """Of the controller."""
    summary: str
    links: list[Links]
    seed: int = 1
    hidden: tuple[int, ...] = (16,)
    """Widths of the hidden layers, which end with tanh."""
    reward: Literal["orca", "share"] = "share"
    generations: int = 400
    pairs: int = 16
    """Pairs of candidates of a generation, which differ from it by a step and by its opposite."""
    episodes: int = 16
    """On which each candidate of a generation is tried, the same for all."""
    pool: int = 512
    """Episodes that are drawn in advance."""
    validation: int = 64
    """Further ones, which decide what generation is kept."""
    validate_every: int = 20
    sigma: float = 0.05
    """Size of a candidate's step, for each number of the network."""
    rate: float = 0.02
    """Of learning (Adam)."""
    decay: float = 0.001
    """Of the numbers in each generation, times the rate."""
    period_us: int = 31_000
    age_us: int = 10_000
    grow_percent: int = 100
    """Defaults of the controller's parameters, which flows that ask have unless they are drawn."""
    licence: str = ""


def located(name: str) -> Path:
    """The file of a recipe, or of one that the package has by this name; raises ScenarioError for a word that is no
    file.
    """
    path, own = Path(name), Path(__file__).parent / "recipes"
    shipped = own / f"{name}.toml"
    if path.exists() or "/" in name or path.suffix:
        return path
    if not shipped.exists():
        names = ", ".join(sorted(file.stem for file in own.glob("*.toml")))
        raise ScenarioError("RECIPE", f"got {show(name)}, wanted a file or one of: {names}")
    return shipped


def read(file: str | Path) -> tuple[Recipe, str]:
    """A recipe, and the digest of its text; raises ScenarioError."""
    path = Path(file)
    try:
        data = read_bytes(path, _MOST)
        recipe = msgspec.toml.decode(data, type=Recipe)
    except (UnreadableError, msgspec.MsgspecError, ValueError) as error:
        said = (str(error) or type(error).__name__).splitlines()[0]
        raise ScenarioError("RECIPE", f"got {path} ({said}), wanted a recipe (docs/gym.md)") from None
    _check(recipe)
    return recipe, hashlib.sha256(data).hexdigest()


def _check(recipe: Recipe) -> None:
    counts = (recipe.pairs, recipe.episodes, recipe.pool, recipe.validation, recipe.validate_every)
    expected = [
        ("name", 0 < len(recipe.name.encode()) <= NAME_MAX, f"1 to {NAME_MAX} bytes"),
        ("links", bool(recipe.links) and all(links.weight > 0 for links in recipe.links), "links, of weights above 0"),
        (
            "hidden",
            0 < len(recipe.hidden) < LAYERS and all(0 < n <= WIDTH for n in recipe.hidden),
            f"up to {LAYERS - 1} widths, 1 to {WIDTH}",
        ),
        ("generations", recipe.generations >= 0, "0 or more"),
        ("pairs", all(count > 0 for count in counts), "pairs, episodes, pool, validation and validate_every above 0"),
        ("sigma", recipe.sigma > 0 and recipe.rate > 0 and recipe.decay >= 0, "sigma and rate above 0, and a decay"),
        ("seed", 0 <= recipe.seed < 2**53, "0 to 2^53 - 1"),
    ]
    for key, holds, wanted in expected:
        if not holds:
            raise ScenarioError(key, f"got {getattr(recipe, key)!r}, wanted {wanted}")


class Pool:
    """Episodes of a recipe, of which some are drawn again and again."""

    def __init__(self, recipe: Recipe, folder: Path, count: int, stream: int) -> None:
        random = np.random.default_rng([recipe.seed, stream])
        kinds = [Drawn(_placed(recipe, links.scenario, folder), links.draw) for links in recipe.links]
        wheel = [drawn for drawn, links in zip(kinds, recipe.links) for _ in range(links.weight)]
        # In turn, so that each kind has its share of any pool.
        self.episodes = [wheel[number % len(wheel)].episode(random) for number in range(count)]
        self._seconds = np.array([_seconds(episode) for episode in self.episodes])
        by_share = recipe.reward == "share"
        self._engine = _native.Rollouts(
            [(e.plan, e.agents, max(e.share_bps // 8, 1) if by_share else 0) for e in self.episodes]
        )

    def rewards(
        self, policies: list[_native.Policy], episodes: list[int], seeds: list[int], threads: int
    ) -> np.ndarray:
        """Mean reward over time of each policy (a row) in each of these episodes (a column)."""
        jobs = [(p, e, s) for p in range(len(policies)) for e, s in zip(episodes, seeds)]
        got = [reward for _, reward in self._engine.run(policies, jobs, threads)]
        shape = (len(policies), len(episodes))
        mean: np.ndarray = np.array(got, float).reshape(shape) / 65536e6 / self._seconds[episodes]
        return mean


def _placed(recipe: Recipe, scenario: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The scenario with the recipe's parameters; its recordings are looked for next to the recipe."""
    params = {key: getattr(recipe, key) for key in ("period_us", "age_us", "grow_percent")}
    flows = [
        {**flow, "params": {**params, **flow.get("params", {})}} if flow.get("cca") == AGENT else flow
        for flow in scenario.get("flow", [])
    ]
    path = scenario.get("path", {})
    rate = path.get("rate")
    if isinstance(rate, dict) and "trace" in rate:
        path = {**path, "rate": {**rate, "trace": str(folder / rate["trace"])}}
    return {**scenario, "path": path, "flow": flows}


def _seconds(episode: Episode) -> float:
    """How long the flows that ask are there, together, s."""
    plan = msgspec.json.decode(episode.plan)
    flows = [plan["flows"][number] for number in episode.agents]
    total: float = sum(flow["stop_ns"] - flow["start_ns"] for flow in flows) / 1e9
    return total
