"""`dumbbell policy import`: networks of other programs become policies that answer as they do, or are refused."""

from __future__ import annotations

import sys
import zipfile
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trained
from dumbbell.errors import ScenarioError
from dumbbell.policy import file, imports, network
from dumbbell.policy.file import Policy
from dumbbell.policy.imports import Asked
from trained import INPUTS, Named

Step = tuple[str, list[np.ndarray], dict[str, Any]]
STATES = np.random.default_rng(1).uniform(0, 1.5, (100, INPUTS))
SIZES = [INPUTS, 16, 8, 1]


def answers(policy: Policy) -> np.ndarray:
    """Percentages that a policy gives for the states."""
    states = np.floor(STATES * 65536).astype(np.int64)
    sums = [network.run(policy.layers, state) for state in states]
    return policy.header.first + np.searchsorted(policy.thresholds, sums, side="right")


def imported(path: Path, data: bytes, asked: Asked | None = None) -> Policy:
    path.write_bytes(data)
    return imports.policy(path, asked or Asked())[0]


def refusal(path: Path, data: bytes, asked: Asked | None = None) -> str:
    with pytest.raises(ScenarioError) as refused:
        imported(path, data, asked)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def outputs(named: Named, names: list[str], activation: Any) -> np.ndarray:
    """What the last of these layers gives."""
    x = STATES
    for name in names[:-1]:
        x = activation(x @ named[f"{name}.weight"].T + named[f"{name}.bias"])
    return (x @ named[f"{names[-1]}.weight"].T + named[f"{names[-1]}.bias"])[:, 0]


def agree(policy: Policy, action: np.ndarray) -> None:
    """Hold the answers against 100 x 4^action."""
    wanted = np.floor(100 * 4.0**action).astype(int)
    assert (answers(policy) == wanted).sum() >= 98
    assert len(set(wanted)) > 20


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


# ---- ONNX ----


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    random = np.random.default_rng(2)
    return [random.normal(0, 1.2 / shape[0] ** 0.5, shape).astype(np.float32) for shape in shapes]


W1, B1, W2, B2 = arrays((INPUTS, 16), (16,), (16, 1), (1,))
LAST: list[Step] = [("MatMul", [W2], {}), ("Add", [B2], {}), ("Tanh", [], {})]


def test_an_onnx_file_of_gemm_relu_and_tanh_answers_as_it_does(tmp_path):
    steps: list[Step] = [("Gemm", [W1, B1], {}), ("Relu", [], {}), ("Gemm", [W2.T, B2], {"transB": 1}), LAST[-1]]
    policy = imported(tmp_path / "mine.onnx", trained.chain(steps))
    agree(policy, np.tanh(relu(STATES @ W1 + B1) @ W2 + B2)[:, 0])
    assert policy.header.name == "mine"
    assert policy.header.origin.startswith("onnx ")


def test_what_lies_between_two_activations_becomes_one_layer(tmp_path):
    mean, variance, scale, offset = (
        np.linspace(a, b, 16, dtype=np.float32) for a, b in ((-1, 1), (1, 3), (2, 1), (0, 1))
    )
    shape = np.array([-1, INPUTS])
    steps: list[Step] = [
        ("Flatten", [], {"axis": 1}), ("Reshape", [shape], {}), ("Sub", [np.full((1, INPUTS), 0.5)], {}),
        ("Div", [np.array(2.0)], {}), ("MatMul", [W1], {}), ("Add", [B1], {}),
        ("BatchNormalization", [scale, offset, mean, variance], {"epsilon": 0.001}), ("LeakyRelu", [], {"alpha": 0.2}),
        ("Identity", [], {}), ("Mul", [np.full(16, 3.0)], {}), *LAST,
    ]  # fmt: skip
    policy = imported(tmp_path / "mine.onnx", trained.chain(steps, shape=(0, 10, 7)))
    y = ((STATES - 0.5) / 2) @ W1 + B1
    y = (y - mean) / np.sqrt(variance + 0.001) * scale + offset
    agree(policy, np.tanh(3 * np.where(y < 0, 0.2 * y, y) @ W2 + B2)[:, 0])
    assert [layer.weights.shape for layer in policy.layers] == [(16, INPUTS), (1, 16)]


def test_a_clip_at_the_end_of_an_onnx_file_reaches_both_bounds(tmp_path):
    z = (np.tanh(STATES @ W1 + B1) @ W2 + B2)[:, 0]
    scaling: list[Step] = [("Sub", [np.array(z.mean())], {}), ("Mul", [np.array(4 / np.ptp(z))], {})]
    steps: list[Step] = [("Gemm", [W1, B1], {}), ("Tanh", [], {}), *LAST[:2], *scaling]
    policy = imported(tmp_path / "a.onnx", trained.chain([*steps, ("Clip", [np.array(-1.0), np.array(1.0)], {})]))
    action = np.clip(4 * (z - z.mean()) / np.ptp(z), -1, 1)
    agree(policy, action)
    assert {25, 400} <= set(answers(policy))
    with_attributes = trained.chain([*steps, ("Clip", [], {"min": -1.0, "max": 1.0})])
    assert (answers(imported(tmp_path / "b.onnx", with_attributes)) == answers(policy)).all()


def test_what_else_an_onnx_graph_computes_does_not_count(tmp_path):
    nodes = [
        trained.node("Identity", ["stored"], "weights"), trained.node("Gemm", ["x", "weights"], "h"),
        trained.node("LSTM", ["x", "x"], "value"), trained.node("Constant", [], "c", value=trained.tensor(W2.T)),
        trained.node("Transpose", ["c"], "w2"), trained.node("Tanh", ["h"], "t"), trained.node("MatMul", ["t", "w2"], "z"),
        trained.node("Shape", ["z"], "s"), trained.node("Expand", ["z", "s"], "e"), trained.node("Tanh", ["e"], "action"),
    ]  # fmt: skip
    data = trained.onnx(nodes, [trained.tensor(W1, "stored")], output="action")
    agree(imported(tmp_path / "a.onnx", data), np.tanh(np.tanh(STATES @ W1) @ W2)[:, 0])


def test_an_onnx_file_may_keep_its_numbers_in_a_file_next_to_it(tmp_path):
    place = b"".join(trained.field(13, trained.field(1, key) + trained.field(2, value)) for key, value in (
        ("location", "numbers"), ("offset", "8"), ("length", str(W1.nbytes))))  # fmt: skip
    outside = b"".join(trained.field(1, size) for size in W1.shape) + trained.field(2, 1) + trained.field(8, "w")
    outside += place + trained.field(14, 1)
    nodes = [
        trained.node("MatMul", ["x", "w"], "h"),
        trained.node("MatMul", ["h", "w2"], "z"),
        trained.node("Tanh", ["z"], "y"),
    ]
    data = trained.onnx(nodes, [outside, trained.tensor(W2, "w2")])
    (tmp_path / "numbers").write_bytes(b"\0" * 8 + W1.tobytes())
    agree(imported(tmp_path / "a.onnx", data), np.tanh(STATES @ W1 @ W2)[:, 0])
    assert "wanted a file in the folder" in refusal(tmp_path / "b.onnx", data.replace(b"numbers", b"../bers"))
    (tmp_path / "numbers").write_bytes(b"")
    assert "beyond the file" in refusal(tmp_path / "a.onnx", data)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([("MatMul", [W1], {}), ("Elu", [], {}), *LAST], 'operator "Elu", wanted Add, '),
        ([("MatMul", [W1], {}), ("Clip", [np.array(0.0), np.array(6.0)], {}), *LAST], "operator Clip to 0 to 6"),
        ([("MatMul", [W1], {}), ("LeakyRelu", [], {"alpha": -1.0}), *LAST], "operator LeakyRelu with a slope of -1"),
        ([("MatMul", [W1[:60]], {}), *LAST], "a network of 60 inputs, wanted [70], or [10, 7]: 7 signals"),
        ([("MatMul", [W1], {}), ("Tanh", [], {})], "a network of 16 outputs, wanted 1"),
        ([("MatMul", [W1], {}), ("MatMul", [W1], {}), ("Tanh", [], {})], "a layer of 70 inputs behind one of 16"),
        ([("MatMul", [W1], {}), ("Add", [np.ones(3)], {}), *LAST], "input 1 has the shape [3] behind 16 outputs"),
        ([("MatMul", [np.ones((INPUTS, 300))], {}), ("Tanh", [], {})], "numbers of 70 x 300, wanted 1 to 256 x 256"),
        ([("MatMul", [W1 * np.nan], {}), *LAST], "a weight is not a number"),
        ([("MatMul", [W1 * 1e30], {}), *LAST], "is beyond what integers hold"),
        ([("Cast", [], {"to": 7}), ("MatMul", [W1], {}), *LAST], "operator Cast to another type"),
        ([("MatMul", [W1], {}), *LAST[:2]], "--action: the network ends without either"),
        ([("MatMul", [W1], {}), *[("Relu", [], {})] * 9, *LAST], "a network of 10 layers, wanted 1 to 8"),
    ],
)  # fmt: skip
def test_an_onnx_file_of_another_network_is_refused_by_what_is_in_it(tmp_path, steps, said):
    assert said in refusal(tmp_path / "x.onnx", trained.chain(steps))


def test_an_onnx_file_of_another_input_or_a_branch_is_refused(tmp_path):
    steps: list[Step] = [("Flatten", [], {}), ("MatMul", [W1], {}), *LAST]
    assert "an input of shape [7, 10]" in refusal(tmp_path / "x.onnx", trained.chain(steps, shape=(1, 7, 10)))
    branch = trained.onnx([trained.node("Add", ["x", "x"], "y")], [])
    assert "operator Add of 2 inputs that are no constants" in refusal(tmp_path / "x.onnx", branch)
    ring = trained.onnx([trained.node("Tanh", ["y"], "y")], [])
    assert "wanted a chain of layers" in refusal(tmp_path / "x.onnx", ring)


# ---- stable-baselines3 and torch ----

PPO = ["mlp_extractor.policy_net.0", "mlp_extractor.policy_net.2", "action_net"]
SAC = ["actor.latent_pi.0", "actor.latent_pi.2", "actor.mu"]
TD3 = ["actor.mu.0", "actor.mu.2", "actor.mu.4"]


def leaky(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, 0.01 * x, x)


@pytest.mark.parametrize(
    ("names", "activation", "function", "action"),
    [
        (PPO, "", np.tanh, "clip"), (PPO, "ReLU", relu, "clip"), (PPO, "LeakyReLU", leaky, "clip"),
        (SAC, "", relu, "tanh"), (TD3, "", relu, "tanh"), (TD3, "Tanh", np.tanh, "tanh"),
    ],
)  # fmt: skip
def test_a_model_of_stable_baselines3_answers_as_it_does(tmp_path, names, activation, function, action):
    named = trained.layers(SIZES, names)
    critic = trained.layers([INPUTS, 4, 1], ["critic.qf0.0", "critic.qf0.2"])
    policy = imported(tmp_path / "mine.zip", trained.model(named | critic, trained.settings(activation)))
    z = outputs(named, names, function)
    agree(policy, np.tanh(z) if action == "tanh" else np.clip(z, -1, 1))


def test_wide_layers_of_tanh_are_followed_over_the_whole_range(tmp_path):
    named = trained.layers([INPUTS, 64, 64, 1], PPO)
    z = outputs(named, PPO, np.tanh)
    named["action_net.weight"] = named["action_net.weight"] / z.std()
    named["action_net.bias"] = (named["action_net.bias"] - z.mean()) / z.std()
    policy = imported(tmp_path / "mine.zip", trained.model(named))
    agree(policy, np.clip(outputs(named, PPO, np.tanh), -1, 1))
    assert {25, 400} <= set(answers(policy))


def test_a_model_without_hidden_layers_and_one_with_squashed_output_are_read(tmp_path):
    named = trained.layers([INPUTS, 1], ["action_net"])
    agree(imported(tmp_path / "a.zip", trained.model(named)), np.clip(outputs(named, ["action_net"], None), -1, 1))
    said = trained.settings(policy_kwargs={"squash_output": True})
    agree(imported(tmp_path / "b.zip", trained.model(named, said)), np.tanh(outputs(named, ["action_net"], None)))


@pytest.mark.parametrize(
    ("named", "said", "words"),
    [
        (trained.layers(SIZES, PPO), {"action_space": trained.box([1], "-2.", "2.")}, 'from "-2" to "2", wanted [1] from -1'),
        (trained.layers(SIZES, PPO), {"action_space": trained.box([3], "-1.", "1.")}, "an action of shape [3]"),
        (trained.layers(SIZES, PPO), {"action_space": {":type:": "Discrete"}}, 'a space "Discrete", wanted a Box'),
        (trained.layers(SIZES, PPO), {"observation_space": trained.box([5], "0.", "1.")}, "observations of shape [5], wanted"),
        (trained.layers(SIZES, PPO), trained.settings("ELU"), 'activation "elu", wanted relu, leakyrelu, tanh'),
        (trained.layers(SIZES, PPO), {"policy_kwargs": {"activation_fn": "<function f>"}}, 'activation_fn "<function f>"'),
        (trained.layers(SIZES, ["q_net.0", "q_net.2", "q_net.4"]), {}, 'a policy of "q_net", wanted an MLP of PPO'),
        (trained.layers(SIZES, PPO) | trained.layers([9, 9], ["lstm_actor"]), {}, '"lstm_actor.weight" before its layers'),
        (trained.layers(SIZES, PPO) | trained.layers([9, 9], ["pi_features_extractor.cnn"]), {}, "before its layers"),
        (trained.layers(SIZES, TD3) | trained.layers([9, 9], ["actor.latent_pi.0"]), {}, "SAC with use_sde"),
        (trained.layers(SIZES, [PPO[0], f"{PPO[0][:-1]}1", PPO[2]]), {}, "got [0, 1], wanted layers 0, 2, 4"),
        (trained.layers([INPUTS, 300, 1], [PPO[0], PPO[2]]), {}, "has the sizes [300, 70], wanted at most 256"),
        (trained.layers([INPUTS, 9, 8, 1], [PPO[0], "x", PPO[2]]), {}, "a layer of the sizes [1, 8], wanted 9 inputs"),
    ],
)  # fmt: skip
def test_another_model_of_stable_baselines3_is_refused_by_what_is_in_it(tmp_path, named, said, words):
    assert words in refusal(tmp_path / "x.zip", trained.model(named, trained.settings() | said))


def test_a_state_dict_is_read_where_options_say_what_it_does_not(tmp_path):
    names = ["net.0", "net.2", "net.4"]
    named = trained.layers(SIZES, names)
    asked = Asked(activation="tanh", action="clip")
    policy = imported(tmp_path / "mine.pt", trained.state_dict(named), asked)
    agree(policy, np.clip(outputs(named, names, np.tanh), -1, 1))
    from safetensors.numpy import save

    assert (answers(imported(tmp_path / "mine.safetensors", save(named), asked)) == answers(policy)).all()
    assert "wanted both" in refusal(tmp_path / "x.pt", trained.state_dict(named))
    several = trained.state_dict(named | trained.layers(SIZES, ["critic.0", "critic.2", "critic.4"]))
    assert 'tensors of "critic., net.", wanted the layers of one' in refusal(tmp_path / "x.pt", several, asked)
    assert "a policy file already" in refusal(tmp_path / "x.safetensors", file.encoded(policy), asked)


@pytest.mark.parametrize(
    ("described", "said"),
    [
        (b"\x80\x02cos\nsystem\nX\x04\0\0\0true\x85R.", 'its pickle names "os.system"'),
        (b"\x80\x02cbuiltins\neval\n.", 'its pickle names "builtins.eval"'),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", 'its pickle names "os.system"'),
        (b"\x80\x02ctorch\nBFloat16Storage\n.", 'its pickle names "torch.BFloat16Storage"'),
        (b"\x80\x02(i__main__\nA\n.", "the instruction INST"),
        (b"\x80\x02}(X\x01\0\0\0aK\x01u.", "it holds no state dict"),
        (b"\x80\x02R.", "its pickle is damaged"),
        (b"\x80\x02r\xff\xff\xff\x7f.", "its pickle is damaged"),
        (b"\x80\x02" + b")" + b"\x85" * 100_000 + b"}(h\0N" + b"u.", "its pickle is damaged"),
    ],
)
def test_a_pickle_is_never_executed(tmp_path, described, said):
    data = trained.state_dict(trained.layers([INPUTS, 1], ["0"]), described)
    assert said in refusal(tmp_path / "x.pt", data, Asked(activation="tanh", action="clip"))


def test_a_zip_file_that_unpacks_to_more_than_is_wanted_is_refused(tmp_path):
    members = {"archive/data.pkl": b"\0" * (1 << 28)}
    bomb = trained.zipped(members, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 1 << 20
    assert "has 268435456 bytes, wanted at most 262144" in refusal(tmp_path / "x.zip", bomb)
    many = trained.zipped({str(i): b"" for i in range(3_000)})
    assert "a zip file of more than 2000 members" in refusal(tmp_path / "x.zip", many)


# ---- What is asked ----


def test_what_is_asked_may_not_contradict_what_the_file_says(tmp_path):
    named = trained.layers(SIZES, PPO)
    model = trained.model(named, trained.settings("ReLU"))
    assert "--action: got tanh, but the file says clip" in refusal(tmp_path / "x.zip", model, Asked(action="tanh"))
    assert "--activation says tanh" in refusal(tmp_path / "x.zip", model, Asked(activation="tanh"))
    assert "--name" in refusal(tmp_path / "best model (3).zip", model)
    assert imported(tmp_path / "best model (3).zip", model, Asked(name="best-3")).header.name == "best-3"


def test_what_integers_cannot_follow_has_a_note(tmp_path):
    steps: list[Step] = [("MatMul", [W1 * 1e5], {}), ("Relu", [], {}), ("MatMul", [W2 * 1e-5], {}), ("Tanh", [], {})]
    (tmp_path / "x.onnx").write_bytes(trained.chain(steps))
    _, notes = imports.policy(tmp_path / "x.onnx")
    assert [note.startswith("integers answer otherwise") for note in notes] == [True]


def test_other_files_are_refused_with_what_can_be_imported(tmp_path):
    for data in (b"", b"x" * 100, b"\x80\x02}."):
        assert "wanted an ONNX file, a model of stable-baselines3 (.zip)" in refusal(tmp_path / "x.bin", data)
    with pytest.raises(ScenarioError, match="No such file"):
        imports.policy(tmp_path / "absent")


def test_the_command_imports_and_shows_a_model(tmp_path, cli):
    (tmp_path / "ppo.zip").write_bytes(trained.model(trained.layers(SIZES, PPO)))
    done = cli("policy", "import", tmp_path / "ppo.zip", "-o", tmp_path / "p.safetensors", "--name", "mine")
    assert "70-16-8-1" in done.stdout
    shown = cli("policy", "show", tmp_path / "p.safetensors").stdout
    assert "25 to 400 % of the window" in shown
    assert "PPO or A2C of stable-baselines3 whose output is clipped to -1 to 1" in shown


def test_damaged_files_are_refused_in_one_line():
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "fuzz"))
    import policies

    assert policies.run(Namespace(seconds=5, seed=3, only=None)) == 0
