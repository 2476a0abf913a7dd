"""Training of policies by recipes (docs/gym.md)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dumbbell
from dumbbell import _native
from dumbbell.errors import ScenarioError
from dumbbell.policy import file as policies
from dumbbell.policy import network
from dumbbell.policy.network import Dense, integers
from dumbbell.scenario import own
from dumbbell.training import evolution, recipe

RECIPE = """
name = "trial"
summary = "A trial"
hidden = [4]
generations = 4
pairs = 2
episodes = 2
pool = 4
validation = 2
validate_every = 2

[[links]]
scenario = { duration = "2s", path = { rate = "12Mbps", rtt = "20ms", buffer = "1bdp" }, flow = [{ cca = "agent" }] }
draw = { "path.rate" = { log = ["4Mbps", "12Mbps"] } }
"""


def trained(folder: Path, text: str = RECIPE, state: str = "state") -> policies.Policy:
    """The policy of a recipe."""
    file = folder / "trial.toml"
    file.write_text(text)
    training = evolution.Training(*recipe.read(file), folder, folder / state, threads=2)
    training.run(lambda _: None)
    return training.policy()


def test_the_same_recipe_gives_the_same_bytes(tmp_path):
    once, again = (policies.encoded(trained(tmp_path, state=state)) for state in ("a", "b"))
    assert once == again
    other = trained(tmp_path, RECIPE.replace('name = "trial"', 'name = "trial"\nseed = 2'), "c")
    assert policies.encoded(other) != once


def test_training_that_was_interrupted_goes_on_to_the_same_bytes(tmp_path):
    whole = policies.encoded(trained(tmp_path, state="whole"))
    training = evolution.Training(*recipe.read(tmp_path / "trial.toml"), tmp_path, tmp_path / "parts", threads=1)

    def interrupt(point: evolution.Point) -> None:
        if point.generation == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        training.run(interrupt)
    assert policies.encoded(trained(tmp_path, state="parts")) == whole


def test_the_curve_has_a_line_for_each_generation(tmp_path):
    trained(tmp_path)
    lines = (tmp_path / "state" / evolution.CURVE).read_text().splitlines()
    assert lines[0] == "generation,reward,best,validation"
    assert [line.split(",")[0] for line in lines[1:]] == ["0", "1", "2", "3", "4"]
    assert [bool(line.split(",")[3]) for line in lines[1:]] == [True, False, True, False, True]


def test_a_state_of_another_recipe_is_refused(tmp_path):
    trained(tmp_path)
    with pytest.raises(ScenarioError, match="state of another recipe"):
        trained(tmp_path, RECIPE + "\n# changed")


def test_the_command_writes_a_policy_that_runs(tmp_path, cli):
    (tmp_path / "trial.toml").write_text(RECIPE)
    done = cli("policy", "train", "trial.toml", "--quiet")
    assert "trial.safetensors: 70-4-1, 289 numbers, recipe" in done.stdout
    policy = policies.read(tmp_path / "trial.safetensors")
    assert policy.header.grow_percent == 100
    scenario = {
        "duration": "2s",
        "path": {"rate": "12Mbps", "rtt": "20ms", "buffer": "1bdp"},
        "flow": [{"cca": "trial"}],
    }
    (result,) = dumbbell.run(scenario, cca=[tmp_path / "trial.safetensors"])
    assert result.flows["goodput_bytes"][0].as_py() > 1e6


def test_rewards_do_not_depend_on_the_number_of_threads(tmp_path):
    file = tmp_path / "trial.toml"
    file.write_text(RECIPE)
    pool = recipe.Pool(recipe.read(file)[0], tmp_path, 4, recipe.POOL)
    zeros = policies.native([integers(Dense(np.zeros((1, 70)), np.zeros(1)))])
    one, many = (pool.rewards([zeros], [0, 1, 2, 3], [1, 2, 3, 4], threads) for threads in (1, 4))
    np.testing.assert_array_equal(one, many)
    assert ((one > 0) & (one <= 1)).all()


def test_the_engine_answers_as_the_arithmetic_says_that_policies_are_checked_by():
    random = np.random.default_rng(1)
    layers = [
        integers(Dense(random.normal(size=(9, 70)) / 5, random.normal(size=9), "tanh")),
        integers(Dense(random.normal(size=(5, 9)), random.normal(size=5), slope=0.2)),
        integers(Dense(random.normal(size=(1, 5)), random.normal(size=1))),
    ]
    first, thresholds = network.orca_thresholds(layers[-1].shift)
    states = random.integers(0, 3 << 16, size=(200, 70))
    expected = [first + int(np.searchsorted(thresholds, network.run(layers, state), "right")) for state in states]
    assert policies.native(layers).answer(states.tolist()) == expected
    assert len(set(expected)) > 20


@pytest.mark.parametrize(
    "layers",
    [
        [],
        [([0] * 69, [0], 0, "leaky", 0)],
        [([0] * 140, [0, 0], 0, "leaky", 0)],
        [([0] * 70, [0], 40, "leaky", 0)],
    ],
)
def test_the_engine_refuses_layers_that_do_not_fit(layers):
    with pytest.raises(ValueError, match="wanted"):
        _native.Policy(layers, [0] * 1026, [0], 25)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("pairs = 2", "pairs = 0"), "pairs"),
        (("hidden = [4]", "hidden = [300]"), "hidden"),
        (("hidden = [4]", "hiden = [4]"), "hiden"),
        (('name = "trial"', 'name = "a name that is too long"'), "name"),
        (('cca = "agent"', 'cca = "cubic"'), "agent"),
        (('"12Mbps"] }', '"12ms"] }'), "path.rate"),
    ],
)
def test_a_wrong_recipe_is_one_line_that_names_the_key(tmp_path, change, said):
    with pytest.raises(ScenarioError, match=said) as raised:
        trained(tmp_path, RECIPE.replace(*change))
    assert "\n" not in str(raised.value)


def test_a_name_that_no_recipe_has_says_which_there_are():
    with pytest.raises(ScenarioError, match="kestrel"):
        recipe.located("kestral")


@pytest.mark.parametrize(
    "file", sorted((Path(recipe.__file__).parent / "recipes").glob("*.toml")), ids=lambda file: file.stem
)
def test_recipes_of_the_package_can_be_followed(file):
    wanted, _ = recipe.read(file)
    assert wanted.name == file.stem
    pool = recipe.Pool(wanted, file.parent, 20, recipe.POOL)
    assert all(episode.agents for episode in pool.episodes)


def test_the_policy_of_the_package_is_that_of_its_recipe(tmp_path):
    digest = recipe.read(recipe.located("kestrel"))[1]
    shipped = own.shipped("kestrel")
    assert shipped
    header = policies.read(shipped).header
    assert header.origin.startswith(f"recipe {digest}, generation ")
    assert shipped.stat().st_size < 100_000
    lines = shipped.with_suffix(".csv").read_text().splitlines()
    assert lines[-1].startswith("200,")


def test_the_policy_of_the_package_is_loaded_by_its_name():
    scenario = {
        "duration": "5s",
        "path": {"rate": "48Mbps", "rtt": "40ms", "buffer": "2bdp"},
        "flow": [{"cca": "kestrel"}],
    }
    with pytest.raises(ScenarioError, match="--cca kestrel"):
        dumbbell.run(scenario)
    (run,) = dumbbell.run(scenario, cca=["kestrel"])
    assert run.summary.link.utilization > 0.85
