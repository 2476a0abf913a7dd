"""Our own controllers in flows over the emulated path: loaded for a run, and what they say of themselves. Needs root,
BPF and network namespaces.
"""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from conftest import ROOT
from dumbbell import kernel, plan
from dumbbell.backends import linux
from dumbbell.backends.request import Request
from emulated import PAYLOAD, ran, scenario, untroubled, why_not


def why_not_loaded() -> str:
    """What is missing for these tests, if anything."""
    return why_not() or ("" if kernel.built_in() else "built without clang: no controllers for the kernel")


pytestmark = [
    pytest.mark.alone,
    pytest.mark.root,
    pytest.mark.skipif(bool(why_not_loaded()), reason=why_not_loaded() or "everything is there"),
]

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def ours(name: str) -> set[str]:
    """Kernel names under which runs have loaded a controller."""
    return {word for word in AVAILABLE.read_text().split() if word.startswith(f"d_{name}_")}


def test_a_file_of_your_own_runs_in_the_kernel_and_in_the_simulator_alike(tmp_path: Path, cli: Any) -> None:
    before = ours("gentle")
    flows = '[[flow]]\ncca = "gentle"\nparams = { beta = 1000 }\n[[flow]]\ncca = "gentle"\nparams = { beta = 512 }'
    file = ("--cca", str(ROOT / "scenarios" / "examples" / "gentle.c"))
    result = ran(cli, tmp_path, "own", *file, seconds=8, flows=flows)
    names = result.manifest["emulator"]["controllers"]
    assert [name.startswith("d_gentle_") for name in names] == [True, True]
    assert names[0] != names[1]
    assert [(one["name"], one["replaces_built_in"]) for one in result.manifest["controllers"]] == [("gentle", False)]
    assert result.summary["flows"][0]["share"] > 0.55, "1000/1024 of its window after a loss, against 512/1024"
    states = set(result.samples["cca_state"].to_pylist())
    assert states >= {"AVOIDANCE"}, "the controller reports on itself"
    assert untroubled(result) == []
    assert ours("gentle") == before


@pytest.mark.parametrize(
    ("file", "text", "what"),
    [
        ("mine.py", "class Mine:\n    def on_ack(self, sample):\n        return 10, None\n", "a Python class"),
        ("", "", "a Linux module or a BPF program"),
    ],
)
def test_what_bpf_does_not_take_is_refused(tmp_path: Path, cli: Any, file: str, text: str, what: str) -> None:
    path = tmp_path / file if file else ROOT / "scenarios" / "examples" / "tcp_steady.c"
    if file:
        path.write_text(text)
    name = "mine" if file else "steady"
    done = cli("run", scenario(tmp_path, "own", flows=f'[[flow]]\ncca = "{name}"'), "--on", "linux", "--cca", path)
    assert done.returncode == 2, done.stderr
    assert f"{what} of your own, wanted a C file that includes cca.h, which the kernel takes by BPF" in done.stderr


def test_controllers_that_the_kernel_lacks_are_loaded_for_the_run_only_each_with_its_parameters(
    tmp_path: Path, cli: Any
) -> None:
    before = ours("cubic")
    flows = (
        '[[flow]]\ncca = "cubic"\nparams = { beta = 1000 }\n[[flow]]\ncca = "cubic"\nparams = { beta = 256'
        ' }\n[[flow]]\ncca = "cubic"'
    )
    result = ran(cli, tmp_path, "loaded", seconds=8, flows=flows)
    names = result.manifest["emulator"]["controllers"]
    assert len(set(names)) == 3, "flows that differ in parameters have a controller each"
    assert names[2] == "cubic", "the kernel's own"
    gentle, harsh, _ = result.summary["flows"]
    assert gentle["goodput_mbps"] > 1.3 * harsh["goodput_mbps"], (
        "1000/1024 of its window after a loss, against 256/1024"
    )
    assert untroubled(result) == []
    assert ours("cubic") <= before


def test_two_runs_at_once_each_have_their_own_controller(tmp_path: Path, cli: Any) -> None:
    before = ours("bbr2")
    started = []
    for name, threshold in (("one", 10), ("two", 20)):
        file = scenario(
            tmp_path, name, seconds=3, flows=f'[[flow]]\ncca = "bbr2"\nparams = {{ loss_thresh = {threshold} }}'
        )
        command = [
            sys.executable,
            "-m",
            "dumbbell",
            "run",
            str(file),
            "--on",
            "linux",
            "--out",
            str(tmp_path / f"out-{name}"),
        ]
        started.append((name, subprocess.Popen(command, stderr=subprocess.PIPE, text=True)))
    used = []
    for name, process in started:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
        [result] = dumbbell.load(tmp_path / f"out-{name}")
        assert untroubled(result) == []
        assert result.summary["flows"][0]["goodput_mbps"] > 10
        used += result.manifest["emulator"]["controllers"]
    assert len(set(used)) == 2, used
    assert ours("bbr2") <= before


#: Where BBRv2 may go next (cca/bbr2/probe_bw.h, probe_rtt.h); a state that is shorter than a sample may be missed, so
#: two steps are as good as one.
NEXT = {
    "STARTUP": {"DRAIN", "PROBE_RTT"},
    "DRAIN": {"PROBE_BW_DOWN", "PROBE_RTT"},
    "PROBE_BW_DOWN": {"PROBE_BW_CRUISE", "PROBE_BW_REFILL", "PROBE_RTT"},
    "PROBE_BW_CRUISE": {"PROBE_BW_REFILL", "PROBE_RTT"},
    "PROBE_BW_REFILL": {"PROBE_BW_UP", "PROBE_BW_DOWN", "PROBE_RTT"},
    "PROBE_BW_UP": {"PROBE_BW_DOWN", "PROBE_RTT"},
    "PROBE_RTT": {"PROBE_BW_CRUISE", "PROBE_BW_REFILL", "PROBE_BW_DOWN", "STARTUP"},
}


def is_way(states: list[str]) -> bool:
    """Whether BBRv2 can have been in these one after the other, with at most one unseen in between."""
    return all(b in NEXT[a] or any(b in NEXT[unseen] for unseen in NEXT[a]) for a, b in pairwise(states))


def test_states_and_estimates_are_sampled_as_the_simulator_has_them(tmp_path: Path, cli: Any) -> None:
    flows = '[[flow]]\ncca = "bbr2"\n[[flow]]\ncca = "cubic"\nstart = "1s"'
    real = ran(cli, tmp_path, "told", seconds=9, flows=flows, host='\n[record]\nevery = "10ms"\nstates = true')
    assert cli("run", tmp_path / "told.toml", "--out", tmp_path / "simulated").returncode == 0
    [simulated] = dumbbell.load(tmp_path / "simulated")
    for which, result in (("real", real), ("simulated", simulated)):
        events = result.events.to_pandas()
        states = events[(events.kind == "cca_state") & (events.flow == 0)].note.tolist()
        assert states[:2] == ["STARTUP", "DRAIN"], which
        assert {"PROBE_BW_CRUISE", "PROBE_BW_REFILL", "PROBE_RTT"} <= set(states), which
        assert is_way(states), (which, states)
        assert {"Recovery", "Open"} <= set(events[(events.kind == "ca_state") & (events.flow == 1)].note), which
        of_bbr2 = result.samples.to_pandas().query("flow == 0 and t_us > 1_000_000")
        assert of_bbr2.cca_state.isin(NEXT).all(), which
        # The smallest RTT that there can be, and no more than the queue makes it.
        assert of_bbr2.cca_min_rtt_us.between(20_000, 65_000).all(), which
        assert set(of_bbr2.pacing_gain[of_bbr2.cca_state == "PROBE_BW_UP"]) == {1.25}, which
        assert (of_bbr2.inflight_hi.dropna() >= 4).all(), which
        alone = result.samples.to_pandas().query("flow == 0 and t_us > 700_000 and t_us < 1_000_000")
        assert alone.bw_bps.median() == pytest.approx(20e6 * PAYLOAD, rel=0.1), which
        flow = result.flows.to_pandas().iloc[0]
        assert of_bbr2.lost_total.is_monotonic_increasing, which
        assert of_bbr2.lost_total.iloc[-1] <= flow.lost_segs, which
        # What was dropped last is not known to be lost yet; what was late may be thought lost.
        assert flow.lost_segs == pytest.approx(flow.queue_drops, rel=0.2, abs=20), which
    of_cubic = real.samples.to_pandas().query("flow == 1")
    assert (of_cubic.cca_state == "").all(), "the kernel's own does not tell"
    assert of_cubic.inflight_hi.isna().all()


def test_nobody_paces_a_flow_whatever_the_machines_default(tmp_path: Path) -> None:
    """The route names its controller from the SYN on, so a default of BBR leaves no pacing behind; asked from the
    socket by a controller that tells.
    """
    case = dumbbell.from_file(scenario(tmp_path, "paced", seconds=2, flows='[[flow]]\ncca = "reno"')).scenario
    planned = plan.runs(case)[0]
    with kernel.load(str(ROOT / "tests" / "controllers" / "pacing.c"), numbered=True) as controller:
        planned.plan["flows"][0]["cca"] = controller.kernel_name
        planned.plan["record"]["states"] = True
        linux.run(Request(planned, "linux"), tmp_path / "out")
    states = dumbbell.load(tmp_path / "out")[0].samples.to_pandas().cca_state
    assert set(states) - {""} == {"UNPACED"}


def _flow_of(tmp_path: Path, kernel_name: str, name: str, *, seconds: int, path: str) -> dumbbell.Result:
    """A flow of a controller that a test has loaded, sampled by its states."""
    host = '\n[record]\nevery = "10ms"\nstates = true'
    planned = plan.runs(
        dumbbell.from_file(
            scenario(tmp_path, name, seconds=seconds, flows='[[flow]]\ncca = "reno"', path=path, host=host)
        ).scenario
    )[0]
    planned.plan["flows"][0]["cca"] = kernel_name
    linux.run(Request(planned, "linux"), tmp_path / name)
    return dumbbell.load(tmp_path / name)[0]


@pytest.mark.parametrize("is_undo", [0, 1])
def test_an_answer_that_a_kernel_made_up_is_repaired(tmp_path: Path, is_undo: int) -> None:
    """Reno whose ssthresh() or undo_cwnd() answers what was on the stack: losses, reordering (undone) and an outage of
    a second (timeouts).
    """
    path = """buffer = "1bdp"
loss = { steps = [["0s", "0.5%"], ["2s", "100%"], ["3s", "0.5%"]] }
jitter = { kind = "uniform", spread = "3ms", reorder = true }"""
    file = str(ROOT / "tests" / "controllers" / "garbage.c")
    with kernel.load(file, {"answer": 1 << 24, "is_undo": is_undo}, numbered=True) as controller:
        result = _flow_of(tmp_path, controller.kernel_name, "garbage", seconds=6, path=path)
    flow, samples = result.flows.to_pandas().iloc[0], result.samples.to_pandas()
    assert flow.rtos > 1, "the outage"
    # The path holds 67 segments; slow start goes to twice that before its first loss.
    assert samples.cwnd.max() < 300
    assert flow.retrans_segs < 0.2 * flow.segs_sent


def test_a_window_stays_that_of_the_path_where_a_timer_begins_the_recovery(tmp_path: Path, cli: Any) -> None:
    """Some kernels run no hook in such a timer. Between it and the next ACK the window may be anything, and nothing new
    is sent; then it is repaired.
    """
    flows = '[[flow]]\ncca = "cubic"\nparams = { hystart = 0 }\ncount = 16'
    result = ran(
        cli,
        tmp_path,
        "timers",
        seconds=8,
        path='buffer = "1bdp"\nloss = "15%"',
        flows=flows,
        host='\n[record]\nevery = "10ms"',
    )
    samples = result.samples.to_pandas()
    assert len(samples) > 10_000
    # The path holds 67 segments.
    assert (samples.cwnd > 300).mean() < 0.01
    assert (samples.ssthresh.dropna() < 300).all()


@pytest.mark.parametrize("name", ["bbr", "bbr2", "bbr3", "tsunami"])
def test_a_flow_of_ours_takes_no_more_memory_than_its_path_needs(tmp_path: Path, cli: Any, name: str) -> None:
    """What a socket may still send lies in the kernel's memory, which all flows of the machine share: 16 bytes for each
    that the path holds, at most.
    """
    script = (
        f"sleep 0.5; iperf3 -c $DUMBBELL_FAR -C $(cat {tmp_path}/name) -t 5 > /dev/null & sleep 4.5; ss -tmH dst"
        " 10.2.0.1; wait"
    )
    options = ["--rate", "50mbit", "--delay", "10ms", "--buffer", "4bdp", "--far", "iperf3 -s"]
    with kernel.load(name, numbered=True) as controller:
        (tmp_path / "name").write_text(controller.kernel_name)
        done = cli("shell", *options, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    limits = [int(limit) for limit in re.findall(r"\btb(\d+)", done.stdout)]
    held = [int(bytes_) for bytes_ in re.findall(r"\bw(\d+)", done.stdout)]
    assert len(limits) == 2, "the control connection and the data"
    assert max(limits) <= 16 * 625_000, "50 Mbit/s over 20 ms, and four times that in the queue"
    assert max(held) <= 16 * 625_000
