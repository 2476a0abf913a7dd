"""Policies: networks in integers, their files, checkpoints, and the controller that they make."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest

import dumbbell
from conftest import ROOT
from dumbbell.errors import ScenarioError
from dumbbell.policy import file, imports, network, others, tensorflow
from dumbbell.policy.file import Header, Layer, Policy
from dumbbell.policy.network import Dense
from dumbbell.scenario.own import Own
from trained import INPUTS, actor, write_checkpoint

#: What Orca does with its authors' network.
SCENARIOS = sorted((ROOT / "scenarios/orca").glob("*.toml"))


def floats(kind: str = "leaky", width: int = 32) -> list[Dense]:
    """A network of three layers with random weights."""
    random = np.random.default_rng(7)

    def dense(outputs: int, inputs: int, kind: str, slope: float) -> Dense:
        return Dense(
            random.normal(0, 1.5 / inputs**0.5, (outputs, inputs)), random.normal(0, 0.3, outputs), kind, slope
        )

    return [dense(width, INPUTS, kind, 0.2), dense(width, width, kind, 0.2), dense(1, width, "leaky", 1.0)]


def policy(layers: list[Dense], name: str = "mine") -> Policy:
    """The same as a policy with Orca's answers."""
    whole = [network.integers(layer) for layer in layers]
    first, thresholds = network.orca_thresholds(whole[-1].shift)
    said = [Layer(layer.shift, layer.kind, layer.slope) for layer in whole]
    return Policy(Header(name, "a network", said, first, licence="none"), whole, thresholds)


def answer(made: Policy, x: np.ndarray) -> int:
    """Its percentage for inputs in 1/65536."""
    return made.header.first + int(np.searchsorted(made.thresholds, network.run(made.layers, x), side="right"))


@pytest.mark.parametrize("kind", ["leaky", "tanh"])
def test_integers_answer_as_floating_point_does(kind):
    layers = floats(kind)
    made = policy(layers)
    states = np.random.default_rng(1).uniform(0, 1.5, (100, INPUTS))
    outputs = states
    for layer in layers:
        outputs = layer(outputs)
    wanted = network.percentages(outputs[:, 0])
    given = np.array([answer(made, np.floor(x * 65536).astype(np.int64)) for x in states])
    assert (wanted == given).sum() >= 98
    assert np.abs(wanted - given).max() <= 2
    assert wanted.min() < 80
    assert wanted.max() > 120


@pytest.mark.parametrize("kind", ["leaky", "tanh"])
def test_the_controller_answers_as_the_same_integers_in_python_do(tmp_path, kind):
    made = policy(floats(kind))
    file.write(made, tmp_path / "mine.safetensors")
    scenario = {
        "name": "own", "duration": "4s", "path": {"rate": "20Mbps", "rtt": "30ms", "buffer": "1bdp", "loss": "0.1%"},
        "flow": [{"cca": "mine"}], "record": {"variables": True},
    }  # fmt: skip
    result = dumbbell.run(scenario, out=tmp_path / "out", cca=[tmp_path / "mine.safetensors"])[0]
    signals = ("thr", "pacing", "loss", "acks", "dt", "delay", "metric")
    held, history, compared, percent = dict.fromkeys(signals, 0), np.zeros(INPUTS, dtype=np.int64), 0, None
    readings: dict[int, dict[str, int]] = {}
    for row in result.variables.to_pylist():
        readings.setdefault(row["t_ns"], {})[row["name"]] = row["value"]
    for values in readings.values():
        seen = {name: values[f"signal_{name}"] for name in signals if f"signal_{name}" in values}
        held |= seen
        percent = values.get("percent", percent)
        if seen:
            history = np.concatenate([history[7:], [held[name] for name in signals]])
        if seen and percent is not None:
            assert percent == answer(made, history)
            compared += 1
    assert compared > 80


def test_orca_without_its_network_says_how_to_get_it():
    flow = {"cca": "orca"}
    with pytest.raises(ScenarioError, match="dumbbell policy import CHECKPOINT"):
        dumbbell.check(
            {"name": "o", "duration": "1s", "path": {"rate": "1Mbps", "rtt": "1ms", "buffer": "1bdp"}, "flow": [flow]}
        )


def test_a_kernel_takes_a_policy_whatever_its_name(tmp_path):
    """A C name begins with no digit, and the kernel has room for 13 letters."""
    file.write(policy(floats(), "3-nets-of-mine"), tmp_path / "a.safetensors")
    own = Own.load([tmp_path / "a.safetensors"])
    assert own.kernel_refusals() == []
    assert Path(own.for_bpf("3-nets-of-mine", "flow[0].cca")).name == "p_3_nets_of_m.c"


def test_a_file_is_the_same_policy_again_and_the_same_bytes(tmp_path):
    made = policy(floats())
    for name in ("a", "b"):
        file.write(made, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert file.read(tmp_path / "a").digest == made.digest


def damaged(data: bytes) -> dict[str, bytes]:
    """Files that are none, by what is wrong with them."""
    length = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + length])

    def with_header(change: dict[str, object]) -> bytes:
        said = json.loads(head["__metadata__"]["dumbbell"]) | change
        text = json.dumps(head | {"__metadata__": {"dumbbell": json.dumps(said)}}).encode()
        return struct.pack("<Q", len(text)) + text + data[8 + length :]

    return {
        "cut off": data[:-100],
        "empty": b"",
        "a header of a gigabyte": struct.pack("<Q", 1 << 30) + data[8:],
        "no header of ours": struct.pack("<Q", 2) + b"{}",
        "another version": with_header({"version": 99}),
        "another base": with_header({"base": "bbr"}),
        "other layers": with_header({"layers": [{"shift": 24}]}),
        "no name": with_header({"name": ""}),
        "a name that is no word": with_header({"name": 'a"'}),
        "the end of a comment": with_header({"origin": "*/ int x;"}),
        "two lines": with_header({"licence": "a\nb"}),
        "an unknown key": with_header({"colour": "red"}),
        "an unknown activation": with_header({"layers": [{"shift": 24, "kind": "gelu"}] * 3}),
    }


def test_a_damaged_file_is_refused_in_one_line(tmp_path):
    file.write(policy(floats()), tmp_path / "good")
    for what, data in damaged((tmp_path / "good").read_bytes()).items():
        (tmp_path / "bad.safetensors").write_bytes(data)
        with pytest.raises(ScenarioError) as refused:
            Own.load([tmp_path / "bad.safetensors"])
        assert "wanted a policy file" in str(refused.value), what
        assert "\n" not in str(refused.value), what


def test_a_checkpoint_is_read_without_tensorflow(tmp_path):
    named = actor()
    write_checkpoint(tmp_path / "model.ckpt-1", named)
    given = tensorflow.read(tmp_path / "model.ckpt-1").variables
    assert given.keys() == named.keys()
    for name, array in named.items():
        assert np.allclose(given[name], array, atol=1e-6), name


def test_batch_normalisation_is_folded_into_the_layers(tmp_path):
    named = actor()
    write_checkpoint(tmp_path / "model.ckpt-1", named)
    x = np.random.default_rng(5).uniform(0, 1, (10, INPUTS))
    y = x
    for place, norm in (("fc1", "batch_normalization"), ("fc2", "batch_normalization_1")):
        y = y @ named[f"actor/{place}/kernel"] + named[f"actor/{place}/bias"]
        y = (y - named[f"actor/{norm}/moving_mean"]) / np.sqrt(named[f"actor/{norm}/moving_variance"] + 1e-3)
        y += named[f"actor/{norm}/beta"]
        y = np.where(y < 0, 0.2 * y, y)
    y = y @ named["actor/dense/kernel"] + named["actor/dense/bias"]
    z = x
    for layer in imports.read(tmp_path / "model.ckpt-1", imports.Asked()).layers:
        z = layer(z)
    assert np.allclose(y, z, atol=1e-5)


def test_a_checkpoint_of_something_else_and_a_damaged_one_are_refused(tmp_path):
    write_checkpoint(tmp_path / "other", {"policy/dense/bias": np.zeros(3)})
    with pytest.raises(ScenarioError, match='got variables of "policy", without actor/fc1/kernel'):
        imports.policy(tmp_path / "other")
    with pytest.raises(ScenarioError, match="FILE"):
        imports.policy(tmp_path / "absent")
    write_checkpoint(tmp_path / "model", actor())
    index = tmp_path / "model.index"
    whole = index.read_bytes()
    for cut in range(0, len(whole), 7):
        index.write_bytes(whole[:cut])
        with pytest.raises(ScenarioError, match="FILE"):
            imports.policy(tmp_path / "model")


def test_the_command_imports_shows_and_prints_the_source(tmp_path, cli):
    write_checkpoint(tmp_path / "model", actor())
    done = cli("policy", "import", tmp_path / "model", "-o", tmp_path / "orca.safetensors")
    assert "70-24-24-1" in done.stdout
    assert "not the checkpoint that Orca's authors publish" in done.stderr
    assert "licence   MIT" in cli("policy", "show", tmp_path / "orca.safetensors").stdout
    source = cli("policy", "source", tmp_path / "orca.safetensors").stdout
    (tmp_path / "orca.c").write_text(source)
    assert "orca" in Own.load([tmp_path / "orca.c"]).sources


def fig23(cli, orca: object):
    """A second of a link of Yang's Fig. 23(a), with this in the place that the environment names."""
    return cli(
        "reproduce", "yang2021/fig23a", "--fast", "--repetitions", 1, "--at", "trace=wifi 1", "--set", "duration=1s",
        "--json", "--out", "out", env=os.environ | {others.VARIABLES["orca"]: str(orca)},
    )  # fmt: skip


def test_reproduce_runs_orca_where_the_environment_names_its_network(tmp_path, cli):
    def claim(done):
        return next(said for said in json.loads(done.stdout)["claims"] if said["id"] == "c3")

    none = claim(fig23(cli, ""))
    assert none["verdict"] == "unjudged"
    assert none["reason"].startswith("Orca is not here: set $DUMBBELL_ORCA to its authors' checkpoint")
    file.write(policy(floats(), "orca"), tmp_path / "orca.safetensors")
    assert [said["series"] for said in claim(fig23(cli, tmp_path / "orca.safetensors"))["measured"]][1:] == ["Orca"]
    page = (tmp_path / "out/scoreboard.md").read_text()
    assert "- Orca: the network of $DUMBBELL_ORCA, which is not its authors' (origin: unknown)" in page


def test_what_the_environment_names_and_is_not_orca_is_refused(tmp_path, cli):
    file.write(policy(floats(), "mine"), tmp_path / "mine.safetensors")
    for name, said in (("absent", "got "), ("mine.safetensors", 'the policy "mine"; wanted orca')):
        done = fig23(cli, tmp_path / name)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("dumbbell: $DUMBBELL_ORCA: ")
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario_of_orca_plans_with_a_policy_of_that_name(path, tmp_path):
    file.write(policy(floats(), "orca"), tmp_path / "orca.safetensors")
    assert dumbbell.check(path, cca=[tmp_path / "orca.safetensors"])


@pytest.mark.skipif(not others.place("orca"), reason="$DUMBBELL_ORCA does not name Orca's network")
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_orca_does_what_its_scenarios_expect(path, tmp_path):
    file.write(others.read("orca"), tmp_path / "orca.safetensors")
    lines = dumbbell.verify(path, cca=[tmp_path / "orca.safetensors"], store=tmp_path / "store")
    assert {(line.asked.name, line.word) for line in lines if line.word != "holds"} == set()
