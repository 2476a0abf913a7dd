"""C controllers of one's own that go wrong: each ends its own run with an error that says where, and nothing else."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import dumbbell

SCENARIO = """\
name = "own"
duration = "3s"

[path]
rate = "20Mbps"
rtt = "20ms"
buffer = "1bdp"

[[flow]]
cca = ["wrong", "reno"]
"""

#: Reno, which does BODY once 500 segments have arrived.
MODULE = """\
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>
static volatile u32 zero;
static u32 *volatile nowhere;
static u32 *volatile elsewhere = (u32 *)0x123456789000;
static volatile u32 sum;
static u32 deep(u32 x)
{
	volatile u32 room[1000];
	room[x % 1000] = x;
	return x ? deep(x + 1) + room[x % 1000] : 0;
}
static void wrong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	if (tcp_sk(sk)->delivered > 500) {
		BODY
	}
	tcp_reno_cong_avoid(sk, ack, acked);
}
static struct tcp_congestion_ops wrong = {
	.ssthresh = tcp_reno_ssthresh, .undo_cwnd = tcp_reno_undo_cwnd, .cong_avoid = wrong_avoid, .name = "wrong",
};
static int __init wrong_register(void) { return tcp_register_congestion_control(&wrong); }
module_init(wrong_register);
"""
#: The same in our style.
OURS = """\
// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A window of Reno's, which does BODY. */
#include "cca.h"

CCA_NO_PARAMS;
CCA_NO_STATE;
CCA_NO_STATES;

CCA_SSTHRESH_OP(wrong_ssthresh) { return max(tcp_sk(sk)->snd_cwnd >> 1, 2U); }
CCA_OP(u32, wrong_undo, struct sock *sk) { return tcp_reno_undo(sk); }
CCA_GUARD_OP(wrong_guard);
CCA_AVOID_OP(wrong_avoid)
{
	volatile u32 zero = 0, sum;
	tcp_reno_grow_as(sk, acked, 1);
	if (tcp_sk(sk)->delivered > 500) {
		BODY
	}
}

CCA_MODULE(tcp_wrong, "wrong", TCP_CONG_NON_RESTRICTED, .ssthresh = wrong_ssthresh, .cong_avoid = wrong_avoid,
	.undo_cwnd = wrong_undo, CCA_GUARD(wrong_guard));
"""
#: Line of BODY, in both.
LINE = 17

WRONG = {
    "tcp_sk(sk)->snd_cwnd /= zero;": "divides by zero",
    "*nowhere = 1;": "follows a NULL pointer",
    "*elsewhere = 1;": "accesses memory that is not its own",
    "sum = deep(1);": "uses up the stack",
    "for (;;) sum++;": "does not return: it has run for 3 s of processor time",
    "((u8 *)inet_csk_ca(sk))[512] = 1;": "writes past its 512 bytes of private state",
    "BUG_ON(sk);": f"tcp_wrong.c:{LINE}: BUG_ON(sk)",
    "__builtin_trap();": "reaches an instruction that is none",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "x.toml").write_text(SCENARIO)
    (tmp_path / "tmp").mkdir()
    return tmp_path


def write(folder: Path, body: str) -> None:
    (folder / "tcp_wrong.c").write_text(MODULE.replace("BODY", body))


@pytest.mark.parametrize("body", WRONG)
def test_a_crash_ends_its_own_run_and_says_where(folder: Path, cli: Any, body: str) -> None:
    write(folder, body)
    arguments = ("run", "x.toml", "--cca", "tcp_wrong.c", "--out", "out", "--jobs", "1", "--json")
    done = cli(*arguments, env={**os.environ, "TMPDIR": str(folder / "tmp")})
    assert done.returncode == 1, done.stderr
    said, failed = done.stderr.splitlines()
    assert failed == "dumbbell: 1 of 2 runs failed"
    assert WRONG[body] in said
    assert re.search(r"own_flow0\.cca=wrong: .*wrong: cong_avoid\(\) .* at [0-3]\.\d{6} s", said), said
    if "private" not in said and "BUG_ON" not in said:
        line = 12 if "stack" in said else LINE
        assert re.search(rf"tcp_wrong\.c:({line}|{line - 1}): ", said), said
    assert [json.loads(text)["vary"]["flow[0].cca"] for text in done.stdout.splitlines()] == ["reno"]
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["own_flow0.cca=reno", "sweep.json"]
    assert not list((folder / "tmp").glob("dumbbell-*"))
    # The finished run stays, the other is tried again and fails again.
    again = cli(*arguments, "--resume")
    assert again.returncode == 1
    assert WRONG[body] in again.stderr


def test_a_crash_of_module_init_is_bad_input(folder: Path, cli: Any) -> None:
    text = MODULE.replace("BODY", "").replace("{ return tcp_register", "{ *nowhere = 1; return tcp_register")
    (folder / "tcp_wrong.c").write_text(text)
    done = cli("run", "x.toml", "--cca", "tcp_wrong.c")
    assert done.returncode == 2
    assert "the module: module_init() follows a NULL pointer" in done.stderr


@pytest.mark.parametrize("text", [MODULE, OURS], ids=["module", "ours"])
def test_the_sanitizer_says_what_it_finds(folder: Path, cli: Any, text: str) -> None:
    (folder / "tcp_wrong.c").write_text(text.replace("BODY", "{ u32 room[2] = { 0 }; sum = room[2 + zero]; }"))
    done = cli("run", "x.toml", "--cca", "tcp_wrong.c", "--out", "out", env={**os.environ, "CCA_SANITIZE": "1"})
    assert done.returncode == 1
    found, said = done.stderr.splitlines()[-2:]
    assert re.search(rf"tcp_wrong\.c:{LINE}:\d+: runtime error: index 2 out of bounds", found), done.stderr
    assert "wrong: cong_avoid() was aborted" in said


def test_what_runs_here_and_not_by_bpf_is_a_warning(folder: Path, cli: Any) -> None:
    (folder / "tcp_wrong.c").write_text(OURS.replace("BODY", "sum = (int)acked / ((int)ack | 1);"))
    for command in (("check",), ("run", "--out", "out")):
        done = cli(*command, "x.toml", "--cca", "tcp_wrong.c")
        assert done.returncode == 0
        (said,) = done.stderr.splitlines()
        assert said.startswith(f"dumbbell: warning: tcp_wrong.c:{LINE}:")
        assert "signed division, which BPF does not have: make its operands unsigned; " in said
    (folder / "tcp_wrong.c").write_text(OURS.replace("BODY", "sum = acked / (ack | 1);"))
    assert cli("check", "x.toml", "--cca", "tcp_wrong.c").stderr == ""


def test_memory_that_is_overwritten_ends_the_run(folder: Path, cli: Any) -> None:
    write(folder, "{ u8 *room = kmalloc(10, 0); memset(room - 32, 7, 600); kfree(room); }")
    done = cli("run", "x.toml", "--cca", "tcp_wrong.c", "--out", "out")
    assert done.returncode == 1
    assert "wrong" in done.stderr
    assert (folder / "out" / "own_flow0.cca=reno" / "manifest.json").exists()


def test_a_warning_of_a_module_is_a_warning_of_the_run(folder: Path) -> None:
    write(folder, "WARN_ON(sk); tcp_sk(sk)->snd_cwnd = 0; return;")
    wrong, reno = dumbbell.run(folder / "x.toml", folder / "out", cca=[folder / "tcp_wrong.c"])
    first, second = wrong.warnings[-2:]
    assert re.fullmatch(rf"wrong: .*tcp_wrong\.c:{LINE}: WARN_ON\(sk\), first at \d\.\d{{6}} s", first)
    assert second.startswith("wrong: cong_avoid() leaves snd_cwnd at 0, first at ")
    assert not [text for text in reno.warnings if "wrong" in text]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_an_endless_loop(folder: Path, jobs: str, request: pytest.FixtureRequest) -> None:
    # As a terminal leaves it: a program started in the background of a script ignores it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    write(folder, 'asm volatile("");\n\t\tfor (;;) sum++;')
    command = [
        sys.executable,
        "-m",
        "dumbbell",
        "run",
        "x.toml",
        "--cca",
        "tcp_wrong.c",
        "--out",
        "out",
        "--jobs",
        jobs,
    ]
    process = subprocess.Popen(
        [*command, "--set", 'flow[0].cca="wrong"', "--set", "repetitions=2", "--quiet"],
        cwd=folder,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder / "tmp")},
    )
    until = time.monotonic() + 60
    while not list(folder.glob("out/.tmp-*/samples.parquet")) and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=5)
    assert process.returncode == 130, stderr
    assert b"interrupted" in stderr
    assert not list(folder.glob("out/*/manifest.json"))
    assert not list((folder / "tmp").glob("dumbbell-*"))


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_a_python_controller_is_not_its_own_exception(
    folder: Path, sent: signal.Signals, status: int, request: pytest.FixtureRequest
) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    (folder / "busy.py").write_text(
        "import pathlib\nclass Wrong:\n    def on_ack(self, sample):\n"
        "        pathlib.Path('began').touch()\n        while True:\n            pass\n"
    )
    command = [sys.executable, "-m", "dumbbell", "run", "x.toml", "--cca", "busy.py", "--out", "out", "--quiet"]
    process = subprocess.Popen(
        [*command, "--set", 'flow[0].cca="wrong"', "--jobs", "1"], cwd=folder, stderr=subprocess.PIPE
    )
    until = time.monotonic() + 60
    while not (folder / "began").exists() and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(sent)
    _, stderr = process.communicate(timeout=5)
    assert process.returncode == status, stderr
    assert re.fullmatch(rb"dumbbell: interrupted; .*\n", stderr)


#: Divides a window among the flows that are open.
SHARED = """\
#include <linux/module.h>
#include <net/tcp.h>
static u32 open;
static void shared_init(struct sock *sk) { open++; }
static void shared_release(struct sock *sk) { open--; }
static void shared_avoid(struct sock *sk, u32 ack, u32 acked) { tcp_sk(sk)->snd_cwnd = 60 / open; }
static struct tcp_congestion_ops shared = {
	.init = shared_init, .release = shared_release, .cong_avoid = shared_avoid,
	.ssthresh = tcp_reno_ssthresh, .undo_cwnd = tcp_reno_undo_cwnd, .name = "shared",
};
static int __init shared_register(void) { return tcp_register_congestion_control(&shared); }
module_init(shared_register);
"""


def test_release_is_called_when_a_flow_ends(folder: Path) -> None:
    (folder / "tcp_shared.c").write_text(SHARED)
    made = {
        "duration": "14s",
        "path": {"rate": "50Mbps", "rtt": "20ms", "buffer": "2bdp"},
        "flow": [{"cca": "shared", "count": 12, "spacing": "1s", "size": "2MB"}],
    }
    (run,) = dumbbell.run(made, folder / "out", cca=[folder / "tcp_shared.c"])
    times = [flow["fct_s"] for flow in run.summary["flows"]]
    assert len(times) == 12
    assert max(times) - min(times) < 0.001 * max(times), times


def test_the_process_of_a_run_also_serves_python_controllers(folder: Path) -> None:
    write(folder, "")

    class Fixed:
        def on_ack(self, sample: Any) -> tuple[int, None]:
            if sample.delivered_total > 2000:
                raise ValueError("enough")
            return 20, None

    made = {
        "duration": "1s",
        "path": {"rate": "20Mbps", "rtt": "20ms", "buffer": "1bdp"},
        "flow": [{"cca": "wrong"}, {"cca": "fixed"}],
    }
    (run,) = dumbbell.run(made, folder / "out", cca=[folder / "tcp_wrong.c"], controllers={"fixed": Fixed})
    assert all(flow["goodput_mbps"] > 1 for flow in run.summary["flows"])
    with pytest.raises(dumbbell.ControllerError, match=r"(?s)the controller raised\nTraceback.*ValueError: enough"):
        dumbbell.run(
            {**made, "duration": "5s"}, folder / "two", cca=[folder / "tcp_wrong.c"], controllers={"fixed": Fixed}
        )
