"""Controllers that strangers have written: modules that remember paths, modules that only a kernel compiles, BPF
programs; and those that do not end, end the program, or start others.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import dumbbell
from dumbbell import module_text
from dumbbell.errors import ControllerError, EngineError, ScenarioError
from dumbbell.runs import watchdog
from dumbbell.scenario.own import Own
from dumbbell.uml import store

#: Reno that begins with what was learned of the destination, or of the flow's sender with KEY.
REMEMBERS = """\
#include <linux/module.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <net/tcp.h>
struct learned { struct hlist_node node; u32 key, cwnd; };
static DEFINE_HASHTABLE(table, 3);
static DEFINE_SPINLOCK(lock);
static struct learned *learned_of(u32 key)
{
	struct learned *l;

	hash_for_each_possible(table, l, node, jhash_1word(key, 5))
		if (l->key == key)
			return l;
	return NULL;
}
static void path_init(struct sock *sk)
{
	struct learned *l;

	spin_lock_bh(&lock);
	l = learned_of(KEY);
	if (l)
		tcp_snd_cwnd_set(tcp_sk(sk), min(l->cwnd, 90U));
	spin_unlock_bh(&lock);
}
static void path_release(struct sock *sk)
{
	struct learned *l = learned_of(KEY);

	if (!l) {
		l = kzalloc(sizeof(*l), GFP_ATOMIC);
		l->key = KEY;
		hash_add(table, &l->node, jhash_1word(l->key, 5));
	}
	l->cwnd = tcp_snd_cwnd(tcp_sk(sk));
}
static struct tcp_congestion_ops mem = {
	.init = path_init, .release = path_release, .cong_avoid = tcp_reno_cong_avoid, .ssthresh = tcp_reno_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd, .owner = THIS_MODULE, .name = "mem",
};
static int __init path_register(void) { return tcp_register_congestion_control(&mem); }
module_init(path_register);
MODULE_LICENSE("GPL");
"""

#: What only a kernel has: a timer, which counts.
OF_KERNEL = """\
// SPDX-License-Identifier: GPL-2.0
/* Timed: Reno, and a timer.
 */
#include <linux/module.h>
#include <linux/timer.h>
#include <linux/seq_file.h>
#include <net/ipv6.h>
#include <net/tcp.h>
static int keep = 512;
module_param(keep, int, 0644);
MODULE_PARM_DESC(keep, "what is kept of a window");
static struct timer_list timer;
static void fired(struct timer_list *t) { }
static u32 timed_ssthresh(struct sock *sk)
{
	mod_timer(&timer, jiffies + HZ);
	return max(tcp_snd_cwnd(tcp_sk(sk)) * keep / 1024, 2U);
}
static struct tcp_congestion_ops timed __read_mostly = {
	.ssthresh = timed_ssthresh, .undo_cwnd = tcp_reno_undo_cwnd, .cong_avoid = tcp_reno_cong_avoid,
	.owner = THIS_MODULE, .name = "timed",
};
static int __init timed_register(void)
{
	timer_setup(&timer, fired, 0);
	return tcp_register_congestion_control(&timed);
}
static void __exit timed_unregister(void)
{
	timer_delete_sync(&timer);
	tcp_unregister_congestion_control(&timed);
}
module_init(timed_register);
module_exit(timed_unregister);
MODULE_LICENSE("GPL");
"""

#: Reno as a BPF program, with its own helpers.
BPF = """\
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
char _license[] SEC("license") = "GPL";
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk) { return (struct tcp_sock *)sk; }

SEC("struct_ops")
__u32 BPF_PROG(half_ssthresh, struct sock *sk)
{
	__u32 half = tcp_sk(sk)->snd_cwnd >> 1;

	return half > 2 ? half : 2;
}
SEC("struct_ops")
__u32 BPF_PROG(half_undo, struct sock *sk) { return tcp_reno_undo_cwnd(sk); }
SEC("struct_ops")
void BPF_PROG(half_avoid, struct sock *sk, __u32 ack, __u32 acked) { tcp_reno_cong_avoid(sk, ack, acked); }

SEC(".struct_ops.link")
struct tcp_congestion_ops half = {
	.ssthresh = (void *)half_ssthresh,
	.undo_cwnd = (void *)half_undo,
	.cong_avoid = (void *)half_avoid,
	.name = "half",
};
"""

SWEEP = """\
duration = "1s"
[path]
rate = "10Mbps"
rtt = "20ms"
buffer = ["1bdp", "2bdp", "3bdp"]
[[flow]]
cca = "mine"
"""


def two(cca: str, **host: str) -> dict[str, Any]:
    """Two flows, one after the other."""
    path = {"rate": "40Mbps", "rtt": "40ms", "buffer": "2bdp"}
    return {
        "duration": "12s",
        "path": path,
        "host": host,
        "flow": [{"cca": cca, "size": "8MB"}, {"cca": cca, "start": "8s"}],
    }


def first_windows(run: dumbbell.Result) -> tuple[int, int]:
    """The last window of the first flow, and the least of the second one."""
    table = pq.read_table(run.folder / "samples.parquet", columns=["flow", "cwnd"]).to_pylist()
    windows = [[row["cwnd"] for row in table if row["flow"] == flow and row["cwnd"]] for flow in (0, 1)]
    return windows[0][-1], windows[1][0]


def test_a_module_remembers_paths_within_a_run(tmp_path: Path) -> None:
    file = tmp_path / "tcp_mem.c"
    file.write_text(REMEMBERS.replace("KEY", "sk->sk_daddr"))
    made = {**two("mem"), "repetitions": 2}
    runs = dumbbell.run(made, tmp_path / "out", 2, cca=[file])
    for run in runs:
        last, began = first_windows(run)
        assert last > 90
        assert began >= 90, "the second flow begins with what the first has learned"
    alone = dumbbell.run({**made, "repetitions": 1, "flow": made["flow"][1:]}, tmp_path / "alone", cca=[file])
    table = pq.read_table(alone[0].folder / "samples.parquet", columns=["cwnd"]).to_pylist()
    assert next(row["cwnd"] for row in table if row["cwnd"]) < 40, "a run begins with an empty table"


def test_linux_remembers_the_path_as_well(tmp_path: Path) -> None:
    try:
        store.find()
    except EngineError as error:
        pytest.skip(str(error))
    file = tmp_path / "tcp_mem.c"
    file.write_text(REMEMBERS.replace("KEY", "sk->sk_daddr"))
    (run,) = dumbbell.run(two("mem"), tmp_path / "out", cca=[file], on="uml")
    assert first_windows(run)[1] >= 90


@pytest.mark.parametrize(
    ("key", "host", "remembers"),
    [
        ("sk->sk_daddr", {"receivers": "own"}, False),
        ("sk->sk_rcv_saddr", {}, False),
        ("inet_sk(sk)->inet_daddr", {}, True),
        ("ntohs(sk->sk_dport)", {"receivers": "own"}, True),
        ("sk->sk_num", {}, False),
    ],
)
def test_addresses_tell_flows_and_hosts_apart(
    tmp_path: Path, key: str, host: dict[str, str], *, remembers: bool
) -> None:
    file = tmp_path / "tcp_mem.c"
    file.write_text(REMEMBERS.replace("KEY", key))
    (run,) = dumbbell.run(two("mem", **host), tmp_path / "out", cca=[file])
    assert (first_windows(run)[1] >= 90) == remembers


def test_a_bpf_program_runs_as_the_same_controller_does(tmp_path: Path) -> None:
    file = tmp_path / "half.bpf.c"
    file.write_text(BPF)
    made = {"duration": "3s", "path": {"rate": "20Mbps", "rtt": "20ms", "buffer": "1bdp"}, "flow": [{"cca": "half"}]}
    (program,) = dumbbell.run(made, tmp_path / "bpf", cca=[file])
    made["flow"] = [{"cca": "reno"}]
    (reno,) = dumbbell.run(made, tmp_path / "reno")
    columns = ["t_us", "cwnd", "ssthresh", "srtt_us", "segs_sent"]
    tables = [pq.read_table(run.folder / "samples.parquet", columns=columns) for run in (program, reno)]
    assert tables[0].equals(tables[1])
    with pytest.raises(ScenarioError, match=r"a Linux module or a BPF program of your own, wanted a C file that inc"):
        Own.load([file]).for_bpf("half", "flow[0].cca")


# ---- what only a kernel compiles ----


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('struct tcp_congestion_ops a = { .name = "one" };\ntcp_register_congestion_control(&a)', "one"),
        ('static struct tcp_congestion_ops a __read_mostly = {\n\t.flags = 1,\n\t.name\t= "one",\n};', "one"),
        ('/* .name = "no" */ struct tcp_congestion_ops a = { /* .name = "no" */ .name = "one" };', "one"),
        ('#define NAME "one"\nstruct tcp_congestion_ops a = { .name = NAME };', "one"),
        ('#define NAME OTHER\n#define OTHER "one"\nstruct tcp_congestion_ops a = { .name = NAME };', "one"),
        ("struct tcp_congestion_ops a = { .name = KBUILD_MODNAME };", "tcp_file"),
        (
            'struct tcp_congestion_ops b = { .name = "two" }; struct tcp_congestion_ops a = { .name = "one" }; f(&a);'.replace(
                "f(", "tcp_register_congestion_control("
            ),
            "one",
        ),
        ("struct tcp_congestion_ops a = { .init = f };", None),
        ("int x;", None),
        ("struct tcp_congestion_ops a = { .name = UNKNOWN };", None),
    ],
)
def test_a_text_tells_the_name_of_its_module(text: str, name: str | None) -> None:
    assert module_text.registered_name(text, "tcp_file") == name


def test_a_text_tells_what_its_module_is() -> None:
    found = module_text.described(OF_KERNEL, "timed")
    assert (found.summary, found.license) == ("Timed: Reno, and a timer", "GPL")
    (param,) = found.params.values()
    assert param == ("keep", 512, -(2**31), 2**31 - 1, "int", "what is kept of a window")


def test_what_the_simulator_lacks_is_named_at_once_and_only_the_simulator_refuses(tmp_path: Path, cli: Any) -> None:
    (tmp_path / "tcp_timed.c").write_text(OF_KERNEL)
    (tmp_path / "x.toml").write_text(SWEEP.replace("mine", "timed"))
    done = cli("check", "x.toml", "--cca", "tcp_timed.c")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    for part in ("linux/timer.h (timers)", "functions mod_timer(), timer_delete_sync(), timer_setup()", "--on uml "):
        assert part in done.stderr, done.stderr
    own = Own.load([tmp_path / "tcp_timed.c"], on=["sim", "uml"])
    assert own.known()["timed"].params["keep"].default == 512
    with pytest.raises(ScenarioError, match=r"linux/timer\.h"):
        own.check(["timed"])
    compared = cli("compare", "x.toml", "--on", "sim,uml", "--cca", "tcp_timed.c")
    assert compared.returncode == 2
    assert "linux/timer.h (timers)" in compared.stderr


def test_a_module_that_only_a_kernel_compiles_runs_there(tmp_path: Path, cli: Any) -> None:
    try:
        store.find()
    except EngineError as error:
        pytest.skip(str(error))
    (tmp_path / "tcp_timed.c").write_text(OF_KERNEL)
    (tmp_path / "x.toml").write_text(SWEEP.replace("mine", "timed").replace('["1bdp", "2bdp", "3bdp"]', '"1bdp"'))
    done = cli("run", "x.toml", "--on", "uml", "--cca", "tcp_timed.c", "--out", "out", "-q", "--set",
               "flow[0].params.keep=700")  # fmt: skip
    assert done.returncode == 0, done.stderr
    (run,) = dumbbell.load(tmp_path / "out")
    assert run.summary["flows"][0]["goodput_mbps"] > 5
    wrong = cli("check", "x.toml", "--on", "uml", "--cca", "tcp_timed.c", "--set", "flow[0].params.kepe=1")
    assert 'did you mean "keep"?' in wrong.stderr


# ---- controllers that misbehave ----


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("command", ["run", "sweep"])
@pytest.mark.parametrize("raised", ["SystemExit(0)", "SystemExit", "GeneratorExit()", 'Odd("a")'])
def test_no_exception_of_a_controller_ends_the_program(
    tmp_path: Path, cli: Any, command: str, jobs: str, raised: str
) -> None:
    (tmp_path / "x.toml").write_text(SWEEP)
    (tmp_path / "mine.py").write_text(
        f"class Odd(BaseException):\n    pass\n\nclass Mine:\n    def on_ack(self, s):\n        raise {raised}\n"
    )
    done = cli(command, "x.toml", "--cca", "mine.py", "--jobs", jobs, "--out", "out")
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if "the controller raised" in line]
    name = raised.partition("(")[0]
    assert len(said) == 1, done.stderr
    assert f"raised {name}(" in said[0]
    assert "in on_ack() (mine.py:6)" in said[0]
    assert "the same error in 2 more runs" in done.stderr
    assert "3 of 3 runs failed" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "body", ["while True: pass", "import time; time.sleep(1000)", "import threading; threading.Event().wait()"]
)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_hook_that_does_not_return_is_interrupted(
    tmp_path: Path, sent: signal.Signals, body: str, jobs: str, request: pytest.FixtureRequest
) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    (tmp_path / "x.toml").write_text(SWEEP)
    (tmp_path / "mine.py").write_text(
        f"import pathlib\nclass Mine:\n    def on_ack(self, s):\n        pathlib.Path('began').touch()\n        {body}\n"
    )
    command = [sys.executable, "-m", "dumbbell", "run", "x.toml", "--cca", "mine.py", "--out", "out", "-q"]
    process = subprocess.Popen([*command, "--jobs", jobs], cwd=tmp_path, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not (tmp_path / "began").exists() and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(sent)
    process.communicate(timeout=10)
    assert process.returncode == 128 + sent
    assert not (tmp_path / "out").exists()


def test_a_hook_that_does_not_return_ends_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dumbbell.cli import main

    monkeypatch.setattr(watchdog, "CALL_MAX_S", 1)
    (tmp_path / "x.toml").write_text(SWEEP)
    (tmp_path / "mine.py").write_text("import time\nclass Mine:\n    def on_ack(self, s):\n        time.sleep(100)\n")
    monkeypatch.chdir(tmp_path)
    began = time.monotonic()
    assert main(["run", "x.toml", "--cca", "mine.py", "--jobs", "2", "--out", "out", "-q"]) == 1
    assert time.monotonic() - began < 30

    class Loops:
        def on_ack(self, _: Any) -> None:
            while True:
                pass

    made = {"duration": "1s", "path": {"rate": "10Mbps", "rtt": "20ms", "buffer": "1bdp"}, "flow": [{"cca": "loops"}]}
    with pytest.raises(ControllerError, match="the hook does not return"):
        dumbbell.run(made, tmp_path / "loops", controllers={"loops": Loops})


def test_an_import_that_does_not_end_is_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dumbbell.scenario import own

    monkeypatch.setattr(own, "_IMPORT_MAX_S", 0.3)
    for n, text in enumerate(["while True: pass", "import time\ntime.sleep(100)"]):
        file = tmp_path / f"mine{n}.py"
        file.write_text(text)
        with pytest.raises(ScenarioError, match="its import has not ended"):
            Own.load([file])
    (tmp_path / "odd.py").write_text("raise GeneratorExit")
    with pytest.raises(ControllerError, match=r"raised GeneratorExit\(\) in <module>\(\)"):
        Own.load([tmp_path / "odd.py"])


def test_the_first_rtt_of_a_python_controller_is_a_number(tmp_path: Path) -> None:
    seen: list[int | None] = []

    class Watch:
        def init(self, sample: Any) -> None:
            seen.append(sample.rtt_us)

        def on_ack(self, sample: Any) -> tuple[int, None]:
            seen.append(sample.rtt_us)
            return 20, None

    made = {"duration": "1s", "path": {"rate": "10Mbps", "rtt": "20ms", "buffer": "1bdp"}, "flow": [{"cca": "watch"}]}
    dumbbell.run(made, tmp_path / "out", controllers={"watch": Watch})
    assert seen[0] == 20_000
    assert all(seen[:10])


#: C that misbehaves once the connection is open, or when it is loaded, and what is said of it.
WRONG = {
    "fork();": "starts another process or program",
    "for (;;) kmalloc(1 << 24, GFP_KERNEL);": "asks for more memory than the 1 GiB",
    "tcp_sk(sk)->mss_cache = 0;": "sets mss_cache to 0, which is TCP's own",
    "raise(19);": "waits, sleeps or stops itself: it has done nothing for 10 s",
    "static DEFINE_SPINLOCK(own); spin_lock(&own); spin_lock(&own);": "&own is taken twice: a deadlock",
    "CONSTRUCTOR for (;;) barrier();": "constructor() does not return: it has run for 3 s",
    "CONSTRUCTOR fork();": "constructor() starts another process or program",
}


@pytest.mark.parametrize("body", WRONG)
def test_a_module_that_misbehaves_ends_in_one_line(tmp_path: Path, cli: Any, body: str) -> None:
    start = "__attribute__((constructor)) static void start(void)\n{\n\tBODY\n}\n" if "CONSTRUCTOR" in body else ""
    hook = "" if start else body
    text = REMEMBERS.replace("KEY", "1").replace("l = learned_of(1);\n\tif", f"{hook}\n\tl = learned_of(1);\n\tif")
    declared = "#include <net/tcp.h>\nextern int fork(void);\nextern int raise(int number);\n"
    text = text.replace("#include <net/tcp.h>\n", declared + start.replace("BODY", body.removeprefix("CONSTRUCTOR ")))
    (tmp_path / "tcp_mem.c").write_text(text)
    (tmp_path / "x.toml").write_text(SWEEP.replace("mine", "mem").replace('["1bdp", "2bdp", "3bdp"]', '"1bdp"'))
    done = cli("run", "x.toml", "--cca", "tcp_mem.c", "--out", "out", "-q")
    assert done.returncode == (2 if start else 1), done.stderr
    assert WRONG[body] in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_compiler_ends_with_the_command(tmp_path: Path, sent: signal.Signals, request: pytest.FixtureRequest) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    doubled = "".join(f"#define A{n} A{n - 1} A{n - 1}\n" for n in range(1, 40))
    file = tmp_path / f"bomb_{os.getpid()}.c"
    file.write_text(f"#include <net/tcp.h>\n#define A0 x\n{doubled}int a = 0 A39;\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "dumbbell", "cca", "show", str(file)], cwd=tmp_path, stderr=subprocess.PIPE
    )
    until = time.monotonic() + 60
    while not compilers(file) and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(sent)
    process.communicate(timeout=10)
    assert process.returncode in (-sent, 128 + sent)
    until = time.monotonic() + 5
    while compilers(file) and time.monotonic() < until:
        time.sleep(0.05)
    assert not compilers(file)


def compilers(file: Path) -> list[int]:
    """Compilers of this file that run."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if str(file).encode() in words and b"dumbbell" not in words:
            found.append(int(folder.name))
    return found


@pytest.mark.parametrize("command", [("kernel", "load"), ("cca", "show"), ("run", "x.toml", "--cca")])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, cli: Any, command: tuple[str, ...]) -> None:
    (tmp_path / "x.toml").write_text(SWEEP)
    (tmp_path / "zero.c").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.c")
    with (tmp_path / "huge.c").open("wb") as huge:
        huge.truncate(5 << 30)
    for name in ("zero.c", "pipe.c", "huge.c"):
        done = cli(*command, name)
        assert done.returncode == 2, done.stderr
        assert name in done.stderr
        assert "regular file" in done.stderr or "at most" in done.stderr or "4 MB" in done.stderr
        assert done.stderr.count("\n") == 1
