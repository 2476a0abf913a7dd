"""Controllers of one's own, end to end: C in our style and in Linux's form, and Python classes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import dumbbell
from dumbbell.errors import ControllerError, ScenarioError
from dumbbell.scenario.own import Own

EXAMPLES = Path(__file__).resolve().parents[1] / "scenarios" / "examples"

SCENARIO = """\
name = "own"
duration = "3s"

[path]
rate = "20Mbps"
rtt = "20ms"
buffer = "1bdp"

[[flow]]
cca = "CCA"
"""

#: Linux's form; what the window is after a loss tells the parameter and, by `runs`, what a module remembers.
MODULE = """\
#include <linux/module.h>
#include <net/tcp.h>

static int keep = 512;
module_param(keep, int, 0644);
static u32 flows;

static void mine_init(struct sock *sk) { flows++; }
static u32 mine_ssthresh(struct sock *sk) { return max(tcp_snd_cwnd(tcp_sk(sk)) * keep / 1024 / flows, 2U); }

static struct tcp_congestion_ops mine = {
	.init = mine_init, .ssthresh = mine_ssthresh, .undo_cwnd = tcp_reno_undo_cwnd, .cong_avoid = tcp_reno_cong_avoid,
	.owner = THIS_MODULE, .name = "NAME",
};

static int __init mine_register(void) { return tcp_register_congestion_control(&mine); }
module_init(mine_register);
MODULE_LICENSE("GPL");
"""


class Fixed:
    """A fixed window, unpaced.

    More text.
    """

    def __init__(self, window: int = 20) -> None:
        self.window = window

    def on_ack(self, sample: Any) -> tuple[int, None]:
        """Say the same each time."""
        assert sample.acked >= 0
        return self.window, None


def scenario(cca: str) -> dict[str, Any]:
    return {"duration": "2s", "path": {"rate": "20Mbps", "rtt": "20ms", "buffer": "4bdp"}, "flow": [{"cca": cca}]}


def write(folder: Path, name: str = "mine") -> Path:
    file = folder / "tcp_mine.c"
    file.write_text(MODULE.replace("NAME", name))
    return file


def samples(folder: Path) -> bytes:
    return (folder / "samples.parquet").read_bytes()


def test_a_module_runs_and_the_manifest_says_what_it_was(tmp_path: Path, cli: Any) -> None:
    file = write(tmp_path, "reno")
    (tmp_path / "x.toml").write_text(SCENARIO.replace("CCA", "reno"))
    loaded = cli("run", "x.toml", "--cca", file, "--out", "loaded", "--json")
    assert loaded.returncode == 0, loaded.stderr
    (record,) = json.loads((tmp_path / "loaded" / "own" / "manifest.json").read_text())["controllers"]
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert {**record, "compiler": ""} == {
        "name": "reno",
        "file": str(file),
        "sha256": digest,
        "compiler": "",
        "replaces_built_in": True,
    }
    assert record["compiler"]
    assert cli("run", "x.toml", "--out", "plain").returncode == 0
    assert json.loads((tmp_path / "plain" / "own" / "manifest.json").read_text())["controllers"] == []
    # The same algorithm with the same integers: the same run.
    columns = ["t_us", "cwnd", "ssthresh", "srtt_us", "segs_sent"]
    loaded_table, plain_table = (
        pq.read_table(tmp_path / name / "own" / "samples.parquet", columns=columns) for name in ("loaded", "plain")
    )
    assert loaded_table.equals(plain_table)


def test_runs_at_once_share_nothing_and_parameters_belong_to_flows(tmp_path: Path) -> None:
    file = write(tmp_path)
    made = {**scenario("mine"), "repetitions": 4, "host": {"hz": 250}}  # a kernel that no run has asked for yet
    many = dumbbell.run(made, tmp_path / "many", 4, cca=[file])
    one = dumbbell.run(made, tmp_path / "one", 1, cca=[file])
    assert [samples(run.folder) for run in many] == [samples(run.folder) for run in one]
    made["flow"] = [{"cca": "mine", "params": {"keep": 900}}, {"cca": "mine", "params": {"keep": 100}}]
    made["repetitions"] = 1
    (run,) = dumbbell.run(made, tmp_path / "params", cca=[file])
    big, small = (flow["goodput_mbps"] for flow in run.manifest["summary"]["flows"])
    assert big > 2 * small


def test_resume_wants_the_same_source(tmp_path: Path, cli: Any) -> None:
    file = write(tmp_path)
    (tmp_path / "x.toml").write_text(SCENARIO.replace("CCA", "mine"))
    arguments = ("run", "x.toml", "--cca", file, "--out", "out", "--resume")
    assert cli(*arguments).returncode == 0
    assert cli(*arguments).returncode == 0
    file.write_text(MODULE.replace("NAME", "mine").replace("512", "600"))
    again = cli(*arguments)
    assert again.returncode == 1
    assert "other controllers" in again.stderr


def test_show_lists_parameters_with_the_range_of_their_type(tmp_path: Path, cli: Any) -> None:
    shown = cli("cca", "show", EXAMPLES / "tcp_steady.c").stdout
    assert "steady (Dual BSD/GPL)" in shown
    assert "TCP Steady: an example" in shown
    assert "alpha = 1 int  (-2147483648 to 2147483647)\n      segments added per round-trip time" in shown
    assert shown.index("alpha =") < shown.index("beta =")
    assert "delay-target" in cli("cca", "list", "--cca", EXAMPLES / "delay_target.py").stdout
    assert "target_us = 5000" in cli("cca", "show", "delay-target", "--cca", EXAMPLES / "delay_target.py").stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#include <linux/nothing.h>\n", "tcp_bad.c:1:10: fatal error: linux/nothing.h: No such file or directory"),
        ("#include <net/tcp.h>\nvoid f(void) { g(); }\n", "tcp_bad.c:2:"),
        ("#include <net/tcp.h>\nint g(void);\nint f(void) { return g(); }\n", "tcp_bad.c:2: `g` is not defined"),
    ],
)
def test_what_does_not_compile_is_bad_input_in_one_line(tmp_path: Path, cli: Any, text: str, message: str) -> None:
    (tmp_path / "tcp_bad.c").write_text(text)
    (tmp_path / "x.toml").write_text(SCENARIO.replace("CCA", "reno"))
    done = cli("run", "x.toml", "--cca", "tcp_bad.c")
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_wrong_files_names_and_parameters_are_bad_input(tmp_path: Path, cli: Any) -> None:
    file = write(tmp_path)
    (tmp_path / "x.toml").write_text(SCENARIO.replace("CCA", "mien"))
    messages = {
        ("run", "x.toml", "--cca", file): 'flow[0].cca: got "mien", wanted one of: ',
        ("cca", "show", "mien", "--cca", file): 'vegas, mine, or a file (.c, .py); did you mean "mine"?',
        ("run", "x.toml", "--cca", "none.c"): '--cca: got "none.c" (No such file',
        (
            "run",
            "x.toml",
            "--cca",
            "x.toml",
        ): '--cca: got "x.toml", wanted a C source (.c), a Python file (.py), a policy (.safetensors) or a program',
        ("run", "x.toml", "--cca", file, "--cca", file): '--cca: "mine" is defined by',
        (
            "check",
            "x.toml",
            "--cca",
            file,
            "--set",
            "flow[0].cca=mine",
            "--set",
            "flow[0].params.kepe=1",
        ): 'did you mean "keep"?',
        ("cca", "show"): "NAME: missing",
    }
    for arguments, message in messages.items():
        done = cli(*arguments)
        assert done.returncode == 2, done.stderr
        assert message in done.stderr


def test_no_compiler_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nonexistent/cc")
    with pytest.raises(ScenarioError, match=r'\$CC is "/nonexistent/cc", which does not run'):
        Own.load([write(tmp_path)])


def test_the_headers_can_be_written_for_an_editor(tmp_path: Path, cli: Any) -> None:
    assert cli("cca", "headers", tmp_path / "inc").returncode == 0
    assert (tmp_path / "inc" / "cca" / "include" / "cca.h").exists()
    assert "kernel_module.h" in (tmp_path / "inc" / "kernel" / "net" / "tcp.h").read_text()


def test_the_examples_run(tmp_path: Path, cli: Any) -> None:
    for name, own in [("own-module", "tcp_steady.c"), ("own-python", "delay_target.py")]:
        done = cli(
            "run", EXAMPLES / f"{name}.toml", "--cca", EXAMPLES / own, "--set", "duration=5s", "--json", "--out", name
        )
        assert done.returncode == 0, done.stderr
        assert all(json.loads(line)["link"]["utilization"] > 0.8 for line in done.stdout.splitlines())


def test_a_python_class_sets_the_window(tmp_path: Path) -> None:
    made = scenario("fixed")
    made["flow"] = [{"cca": "fixed", "params": {"window": [10, 30]}}]
    runs = dumbbell.run(made, tmp_path / "out", controllers={"fixed": Fixed})
    goodputs = [run.manifest["summary"]["flows"][0]["goodput_mbps"] for run in runs]
    # A window of w segments of 1448 bytes per 20.6 ms and no queue (w is below the BDP of 33): w * 0.56 Mbit/s.
    assert goodputs == pytest.approx([10 * 0.565, 30 * 0.565], rel=0.08)
    again = dumbbell.run(made, tmp_path / "again", 1, controllers={"fixed": Fixed})
    assert [samples(run.folder) for run in runs] == [samples(run.folder) for run in again]


def test_the_sample_tells_the_truth(tmp_path: Path) -> None:
    seen: list[Any] = []

    class Watch:
        def init(self, sample: Any) -> None:
            seen.append(("init", sample.cwnd, sample.state, sample.delivery_rate))

        def on_ack(self, sample: Any) -> tuple[float, float]:
            seen.append(sample)
            return 60, 10e6

        def on_loss(self, sample: Any) -> None:
            assert sample.state in ("Open", "Disorder", "CWR")
            seen.append("loss")

    made = scenario("watch")
    made["path"]["loss"] = "0.5%"
    dumbbell.run(made, tmp_path / "out", controllers={"watch": Watch})
    assert seen[0] == ("init", 10, "Open", None)
    acks = [one for one in seen if not isinstance(one, (str, tuple))]
    last = acks[-1]
    assert last.pacing_rate == 10_000_000
    assert (last.cwnd, last.mss) == (60, 1448)
    assert sum(one.acked for one in acks) == last.delivered_total - 1
    assert sum(one.lost for one in acks) == last.lost_total > 0
    assert 20_000 <= last.min_rtt_us <= last.srtt_us < 30_000
    rates = [one.delivery_rate for one in acks[100:] if one.delivery_rate]
    assert sum(rates) / len(rates) == pytest.approx(10e6, rel=0.1)
    assert 0 < seen.count("loss") <= last.lost_total
    assert "Sample(now_us=" in repr(last)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (5, "on_ack() gave 5, wanted (cwnd in segments, pacing rate in bit/s or None)"),
        ((0, None), "on_ack() gave a cwnd of 0, wanted a number of segments from 1 to 4294967295"),
        ((True, None), "on_ack() gave a cwnd of True, wanted a number of segments"),
        (
            (10, -1),
            "on_ack() gave a pacing rate of -1, wanted bit/s from 8 on, or None for a sender that does not pace",
        ),
        ((float("nan"), None), "on_ack() gave a cwnd of nan, wanted a number of segments"),
        (None, "on_ack() gave None"),
        ((1, 2, 3), "on_ack() gave (1, 2, 3)"),
    ],
)
def test_a_wrong_answer_ends_the_run(tmp_path: Path, answer: object, message: str) -> None:
    class Wrong:
        def on_ack(self, _: object) -> object:
            return answer

    with pytest.raises(ControllerError) as raised:
        dumbbell.run(scenario("wrong"), tmp_path / "out", controllers={"wrong": Wrong})
    assert message in str(raised.value)
    assert isinstance(raised.value.error, TypeError)


def test_an_exception_ends_the_run_with_its_traceback(tmp_path: Path, cli: Any) -> None:
    text = (
        "class Mine:\n    def on_ack(self, sample):\n        if sample.now_us > 0:\n            return 1 // 0, None\n  "
        "      return 10, None\n"
    )
    (tmp_path / "mine.py").write_text(text)
    (tmp_path / "x.toml").write_text(SCENARIO.replace("CCA", "mine"))
    done = cli("run", "x.toml", "--cca", "mine.py", "--out", "out")
    assert done.returncode == 1
    assert 'mine.py", line 4, in on_ack' in done.stderr
    assert "ZeroDivisionError" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_python_file_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    with pytest.raises(ScenarioError, match=r"has no class with a method `on_ack`"):
        Own.load([tmp_path / "a.py"])
    (tmp_path / "b.py").write_text("x = 1\ny = = 2\n")
    with pytest.raises(ScenarioError, match=r"b\.py:2:5: error: invalid syntax$"):
        Own.load([tmp_path / "b.py"])
    with pytest.raises(ScenarioError, match="wanted 1 to 15 bytes"):
        Own.load([], {"a-name-that-is-too-long": Fixed})
    with pytest.raises(ScenarioError, match="wanted a class with a method `on_ack`"):
        Own.load([], {"int": int})


@pytest.mark.parametrize("name", ["cubic", "bbr3", "bbr"])
def test_a_copy_of_a_controller_finds_what_it_shares_with_others(tmp_path: Path, name: str) -> None:
    root = Path(__file__).parents[1]
    (tmp_path / f"{name}.c").write_text((root / f"cca/{name}.c").read_text(encoding="utf-8"), encoding="utf-8")
    assert list(Own.load([tmp_path / f"{name}.c"]).sources) == [name]
