"""Where `dumbbell search` looks next: worse than chance finds in ten times as many trials, and the same each time."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from dumbbell.scenario.ranges import Amount
from dumbbell.searching.genes import Change
from dumbbell.searching.genome import Genome
from dumbbell.searching.optimise import Modelled, Optimiser, Uniform

Margin = Callable[[tuple[Change, ...]], float | None]
FEW = 200


def number(value: object) -> float:
    """A written time in seconds, or another written amount as it is."""
    amount = Amount.of(value, "")
    return float(amount.number / 1000 if amount.unit == "ms" else amount.number)


def sphere(changes: tuple[Change, ...]) -> float:
    """One best place: numbers, and a choice."""
    rate, rtt, buffer, qdisc = (change.values[0] for change in changes)
    away = (number(rate) - 1.73) ** 2 + (1000 * number(rtt) - 1.21) ** 2 + (number(buffer) - 1.55) ** 2
    return away + 0.25 * (qdisc != "codel")


def plateau(changes: tuple[Change, ...]) -> float:
    """Flat but for a slope around the best two times, whichever comes first, as far as each of them is near one."""
    times = sorted(number(change.values[0]) for change in changes if change.gene == 0)
    away = [abs(time - best) for time, best in zip(times, (7, 15))]
    return sum(min(one, 3) for one in away) + abs(number(changes[-1].values[0]) - 2)


def needle(changes: tuple[Change, ...]) -> float | None:
    """A short outage at a round time is much worse than one beside it; some cannot be judged, most are alike."""
    at, length = (number(value) for value in changes[0].values)
    if length > 1.9:
        return None
    off = abs(at - 10 * round(at / 10))
    return (0.0 if off < 0.01 else 1.0 if off < 1 else 1.5) + abs(length - 0.3) + abs(number(changes[1].values[0]) - 3)


#: Of each function the bounds.
FUNCTIONS: dict[Margin, list[str]] = {
    sphere: ["path.rate=1Mbps..2Mbps", "path.rtt=1ms..2ms", "path.buffer=1bdp..2bdp", "path.qdisc=fifo,codel,pie"],
    plateau: ["outages=2..2:100ms..2s@1s..19s", "path.buffer=1bdp..4bdp"],
    needle: ["outages:100ms..2s@1s..39s", "path.buffer=0.5bdp..8bdp"],
}


def best(optimiser: Optimiser, genome: Genome, margin: Margin, budget: int) -> float:
    """The smallest margin among so many candidates."""
    smallest = math.inf
    for _ in range(budget // 8):
        margins = [margin(genome.changes(at)) for at in optimiser.ask()]
        optimiser.tell(margins)
        smallest = min([smallest, *(one for one in margins if one is not None)])
    return smallest


@pytest.mark.parametrize("margin", FUNCTIONS, ids=lambda margin: margin.__name__)
def test_a_tenth_of_the_trials_finds_more_than_chance(margin):
    genome = Genome(FUNCTIONS[margin], 40)
    for seed in (101, 102, 103):
        chance = best(Uniform(genome, 8, seed), genome, margin, 10 * FEW)
        assert best(Modelled(genome, 8, seed, list), genome, margin, FEW) < chance


def asked(budget: int, margin: Margin, seed: int = 7) -> list[bytes]:
    """The coordinates that are asked for, in order."""
    genome = Genome(FUNCTIONS[margin], 40)
    optimiser = Modelled(genome, 8, seed, list)
    looked: list[bytes] = []
    for _ in range(budget // 8):
        batch = optimiser.ask()
        looked += [at.tobytes() for at in batch]
        optimiser.tell([margin(genome.changes(at)) for at in batch])
    return looked


def test_the_same_seed_asks_for_the_same_and_another_for_others():
    assert asked(64, plateau) == asked(64, plateau)
    assert asked(64, plateau) != asked(64, plateau, seed=8)


def test_what_is_asked_for_does_not_depend_on_the_number_of_threads():
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        alone = asked(160, plateau)
    assert asked(160, plateau) == alone


@pytest.mark.parametrize("margin", [None, -math.inf, 1.0])
def test_margins_that_say_nothing_do_not_end_a_search(margin):
    """All are unjudged, never complete or are alike: it starts again, and asks for what it has not tried."""
    genome = Genome(["path.buffer=1bdp..4bdp", "path.qdisc=fifo,codel"], 20)
    optimiser = Modelled(genome, 8, 1, list)
    looked = []
    for _ in range(60):
        batch = optimiser.ask()
        looked += [at.tobytes() for at in batch]
        optimiser.tell([margin] * len(batch))
    assert len(set(looked)) > 400


def test_a_search_goes_on_where_few_candidates_differ():
    genome = Genome(["path.qdisc=fifo,codel", "host.tso=true,false"], 20)
    optimiser = Modelled(genome, 8, 1, list)
    for _ in range(8):
        optimiser.tell([at.sum() for at in optimiser.ask()])


def test_candidates_that_are_written_alike_are_one_place():
    """Whichever of two outages comes first, and whether by itself or as a multiple: what is written counts."""
    genome = Genome(["outages=1..2:1s..2s@2s..12s"], 20)
    # number of outages; then of each: time, what it is rounded to (of itself, 0.2, 1, 5 and 10 s), length
    by_itself = [1.0, 0.3, 0.0, 0.5, 0.8, 0.0, 0.2]
    other_order = [1.0, 0.8, 0.0, 0.2, 0.3, 0.0, 0.5]
    rounded = [1.0, 0.32, 0.75, 0.5, 0.77, 0.5, 0.2]
    one_alone, other_rest = [0.0, 0.4, 0.0, 0.5, 0.9, 0.0, 0.2], [0.0, 0.4, 0.0, 0.5, 0.1, 0.0, 0.7]
    places = genome.places(np.array([by_itself, other_order, rounded, one_alone, other_rest]))
    assert (places[0] == places[1]).all()
    assert (places[0] == places[2]).all()
    assert (places[3] == places[4]).all()
    assert (places[0] != places[3]).any()


@pytest.mark.parametrize("text", ["outages=3:20ms..2s", "rivals=1..2", "path.rtt=5ms..200ms", "path.qdisc=fifo,codel"])
def test_the_place_of_a_candidate_is_where_its_values_are(text):
    genome, random = Genome([text], 20), np.random.default_rng(3)
    at = np.array([genome.drawn(random) for _ in range(100)])
    for row, place in zip(at, genome.places(at)):
        changes = genome.changes(row)
        own = sorted([_part(genome, change) for change in changes])
        places = list(place[len(place) - genome.genes[0].most * len(own[0]) if own else 0 :])
        assert np.allclose(places[: sum(map(len, own))], [one for parts in own for one in parts], atol=1e-3)


def _part(genome: Genome, change: Change) -> list[float]:
    """Where each value is between the ends of its field."""
    parts = []
    for field, value in zip(genome.genes[change.gene].fields, change.values):
        if field.values:
            parts.append(field.values.index(value) / (len(field.values) - 1))
            continue
        low, high = float(field.low.number), float(field.high)
        own = float(Fraction(Amount.of(value, "").in_unit_of(field.low, "")))
        parts.append(math.log(own / low) / math.log(high / low) if field.is_log else (own - low) / (high - low))
    return parts
