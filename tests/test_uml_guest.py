"""Guests in virtual time: scripts, files, failures, seeds and the end of a guest. They need a kernel, which
`dumbbell uml build` makes.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dumbbell.errors import EngineError
from dumbbell.interrupts import Interrupted, Raised
from dumbbell.uml import guest
from dumbbell.uml.store import Kernel
from test_uml_command import is_running

#: What a run may depend on: random numbers of the kernel, process numbers, times, ports, the kernel's addresses.
DRAWS = """\
set -e
ip link set lo up
head -c 4096 /dev/urandom > random
sh -c 'echo $$' > pid
date +%s.%N > began
mktemp -u > name
ip netns add a
ip link add left type veth peer name right netns a
ip address add 10.0.0.1/24 dev left
ip link set left up
ip -n a address add 10.0.0.2/24 dev right
ip -n a link set right up
tc qdisc add dev left root netem delay 10ms 5ms loss 10%
cat /sys/class/net/left/address > address
i=0
while [ $i -lt 20 ]; do echo $i > /dev/udp/x 2>/dev/null || true; ip neighbour flush all; i=$((i + 1)); sleep 0.01; done
cat /proc/net/dev /proc/uptime /proc/stat > counters
date +%s.%N > ended
"""

Boot = Callable[..., Path]


@pytest.fixture
def boot(uml_kernel: Kernel, tmp_path: Path) -> Boot:
    """Runs a script in a guest with a folder of this name; the folder."""

    def run(script: str, name: str = "run", **options: object) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        guest.boot(uml_kernel, folder, init=script, **{"memory_mb": 128, **options})  # type: ignore[arg-type]
        return folder

    return run


def guests(folder: Path) -> list[int]:
    """Processes whose current folder this is."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (path / "cwd").readlink() == folder:
                found.append(int(path.name))
        except OSError:
            continue
    return found


def content(folder: Path) -> dict[str, bytes]:
    """Of all files but the console, which has addresses of this machine's process."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != guest.CONSOLE}


def test_a_script_sees_its_folder_and_leaves_its_files_there(boot: Boot, uml_kernel: Kernel) -> None:
    folder = boot("pwd > where; uname -r > release; echo said; id -u > user")
    assert (folder / "where").read_text() == f"{guest.FOLDER}\n"
    assert (folder / "release").read_text() == f"{uml_kernel.release}\n"
    assert (folder / "user").read_text() == "0\n"
    assert "said\n" in (folder / guest.CONSOLE).read_text()
    assert sorted(path.name for path in folder.iterdir()) == [guest.CONSOLE, "release", "user", "where"]


def test_the_guest_cannot_write_to_the_rest_of_the_machine(boot: Boot, tmp_path: Path) -> None:
    folder = boot(f"touch {tmp_path}/outside 2> error; touch /run/inside")
    assert "Read-only file system" in (folder / "error").read_text()
    assert not (tmp_path / "outside").exists()


def test_an_hour_of_sleep_takes_no_time(boot: Boot) -> None:
    began = time.monotonic()
    folder = boot("date +%s > began; sleep 3600; date +%s > ended")
    assert time.monotonic() - began < 30
    assert 3600 <= int((folder / "ended").read_text()) - int((folder / "began").read_text()) <= 3601


def test_the_memory_is_what_was_asked_for(boot: Boot) -> None:
    folder = boot("cat /proc/meminfo > meminfo", memory_mb=1024)
    match = re.search(r"MemTotal: +(\d+) kB", (folder / "meminfo").read_text())
    assert match
    assert 900_000 < int(match[1]) < 1_048_576


def test_the_tick_is_what_the_kernel_was_built_with(boot: Boot, uml_kernel: Kernel) -> None:
    folder = boot(
        "cat /proc/timer_list > timers || true; grep -h jiffies: timers > a; sleep 10; grep -h jiffies: /proc/timer_list > b"
    )
    before, after = (int((folder / name).read_text().split()[1]) for name in "ab")
    assert 10 * uml_kernel.hz <= after - before <= 10 * uml_kernel.hz + uml_kernel.hz // 100 + 2


def test_the_same_script_and_seed_give_the_same_bytes(boot: Boot) -> None:
    first, again, other = boot(DRAWS, "a", seed=7), boot(DRAWS, "b", seed=7), boot(DRAWS, "c", seed=8)
    assert content(first) == content(again)
    assert content(first)["random"] != content(other)["random"]
    assert content(first)["address"] != content(other)["address"]


def test_several_guests_at_once_do_what_each_does_alone(boot: Boot, tmp_path: Path) -> None:
    alone = content(boot(DRAWS, "alone", seed=3))
    threads = [threading.Thread(target=boot, args=(DRAWS, f"run{i}"), kwargs={"seed": 3}) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(content(tmp_path / f"run{i}") == alone for i in range(4))


def test_a_script_that_fails_is_an_error_with_what_it_said(boot: Boot, uml_kernel: Kernel) -> None:
    with pytest.raises(EngineError) as raised:
        boot("echo the reason >&2; exit 3")
    assert str(raised.value).startswith(
        f"Linux {uml_kernel.name}: the guest's script ended with status 3; its console:"
    )
    assert "\nthe reason\n" in str(raised.value)


def test_a_guest_without_enough_memory_is_an_error_with_its_console(boot: Boot) -> None:
    until = time.monotonic() + 60

    def tick() -> None:
        assert time.monotonic() < until, "the guest has not ended after a minute"

    with pytest.raises(
        EngineError, match=r"(?s)the guest's kernel stopped: Out of memory.*; its console:.* invoked oom-killer"
    ):
        # With half of it the guest may drop and read its programs' pages for ever, while its clock stands still.
        boot("set -e; head -c 300000000 /dev/zero | tail -c 300000000 > /dev/null", memory_mb=128, tick=tick)


def test_a_kernel_that_cannot_start_is_an_error(boot: Boot) -> None:
    with pytest.raises(EngineError, match="the guest ended early"):
        boot("true", memory_mb=1)


def test_an_exception_of_the_tick_ends_the_guest(boot: Boot, tmp_path: Path) -> None:
    class StoppedError(Exception):
        pass

    def tick() -> None:
        assert guests(tmp_path / "run")
        raise StoppedError

    with pytest.raises(StoppedError):
        boot("while true; do :; done", tick=tick)
    assert guests(tmp_path / "run") == []


def test_a_guest_ends_with_an_interrupt_that_comes_while_it_is_started(
    boot: Boot, tmp_path: Path, interrupted_start: Callable[[str], list[int]]
) -> None:
    started = interrupted_start("setarch")
    with Raised(), pytest.raises(Interrupted):
        boot("while true; do :; done")
    assert len(started) == 1
    assert guests(tmp_path / "run") == []


def test_a_child_that_outlives_its_guest_is_ended_with_it() -> None:
    # So does one by which a kernel tries its host in its first milliseconds: it is stopped, and nobody lets it go on.
    process = subprocess.Popen(["sh", "-c", "sleep 100 & echo $!; wait"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    guest._end(process)
    process.stdout.close()
    assert process.returncode == -signal.SIGKILL
    assert not is_running(child)


def test_a_guest_ends_with_a_process_that_is_killed(uml_kernel: Kernel, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    program = (
        "import sys, pathlib; from dumbbell.uml import guest, store; guest.boot(store.find(), pathlib.Path(sys.argv[1]),"
        " init='touch begun; (while true; do :; done) & while true; do :; done', memory_mb=64)"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(folder)])
    for _ in range(600):
        if (folder / "begun").exists():
            break
        time.sleep(0.05)
    assert len(guests(folder)) >= 2
    process.send_signal(signal.SIGKILL)
    process.wait()
    for _ in range(100):
        if not guests(folder):
            return
        time.sleep(0.05)
    left = guests(folder)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    pytest.fail(f"{len(left)} processes of the guest are left")


def test_a_module_is_compiled_for_the_kernel_and_loaded_with_a_parameter(
    boot: Boot, uml_kernel: Kernel, tmp_path: Path
) -> None:
    source = tmp_path / "module"
    source.mkdir()
    (source / "Makefile").write_text("obj-m := answer.o\n")
    (source / "answer.c").write_text(
        "#include <linux/module.h>\n#include <net/tcp.h>\n"
        'static int value;\nmodule_param(value, int, 0644);\nMODULE_LICENSE("GPL");\n'
        'static struct tcp_congestion_ops ops = { .name = "answer", .owner = THIS_MODULE,\n'
        "\t.ssthresh = tcp_reno_ssthresh, .cong_avoid = tcp_reno_cong_avoid, .undo_cwnd = tcp_reno_undo_cwnd };\n"
        "static int __init begin(void) { return tcp_register_congestion_control(&ops); }\n"
        "static void __exit end(void) { tcp_unregister_congestion_control(&ops); }\n"
        "module_init(begin);\nmodule_exit(end);\n"
    )
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    subprocess.run(["make", "-s", "-C", str(uml_kernel.tree), "ARCH=um", f"M={source}", "modules"], check=True, env=env)
    folder = boot(
        f"set -e\n{guest.INSMOD} {source}/answer.ko value=42\n"
        "cat /proc/sys/net/ipv4/tcp_available_congestion_control /sys/module/answer/parameters/value > there\n"
    )
    there, value = (folder / "there").read_text().splitlines()
    assert "answer" in there.split()
    assert value == "42"


@pytest.mark.parametrize("name", ["bbr", "cubic", "dctcp", "htcp", "reno", "vegas"])
def test_controllers_that_scenarios_name_are_in_the_kernel(boot: Boot, name: str) -> None:
    folder = boot("cat /proc/sys/net/ipv4/tcp_available_congestion_control > there")
    assert name in (folder / "there").read_text().split()


@pytest.mark.parametrize(
    "qdisc",
    ["bfifo limit 100000", "pfifo limit 100", "codel", "fq_codel", "fq", "pie", "fq_pie", "sfq", "cake bandwidth 40mbit",
     "tbf rate 40mbit burst 3028 limit 100000", "netem delay 10ms 1ms loss 1%",
     "red limit 100000 avpkt 1000 min 10000 max 30000 burst 20 bandwidth 40mbit ecn"],
)  # fmt: skip
def test_queue_disciplines_are_in_the_kernel(boot: Boot, qdisc: str) -> None:
    boot(f"set -e\nip link add left type veth peer name right\ntc qdisc add dev left root {qdisc}\n")
