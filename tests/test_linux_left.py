"""Nothing is left of a run or a shell that is interrupted or killed, and what needs no root runs without. Needs root and
network namespaces.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from emulated import NEEDS, is_alive, programs, scenario

pytestmark = NEEDS


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_run_that_is(tmp_path: Path, cli: Any, untouched: None, ended_by: signal.Signals) -> None:
    file, out = scenario(tmp_path, "cut", seconds=60), tmp_path / "out"
    command = [sys.executable, "-m", "dumbbell", "run", str(file), "--on", "linux", "--out", str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        deadline = time.monotonic() + 20
        while len(started := programs(process.pid, "iperf3")) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(1.5)
        assert len(started) >= 2, "a server and a client"
        assert "path0" not in subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout
        namespaces = {Path(f"/proc/{pid}/ns/net").stat().st_ino for pid in started}
        process.send_signal(ended_by)
        process.wait(timeout=10)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}[ended_by]
    deadline = time.monotonic() + 5
    while any(map(is_alive, started)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_alive, started))
    listed = subprocess.run(["ps", "-eo", "netns="], capture_output=True, text=True, check=True).stdout.split()
    assert not namespaces & {int(inode) for inode in listed if inode.isdecimal()}
    assert not (out / "cut").exists(), "a folder is whole or not there"
    if ended_by != signal.SIGKILL:
        assert not out.exists(), "a folder that was made for nothing goes, too"
    else:
        file.write_text(file.read_text().replace('"60s"', '"1s"'))
        assert cli("run", file, "--on", "linux", "--out", out, "--resume").returncode == 0
        assert [path.name for path in out.iterdir()] == ["cut"], "what the killed one had begun is swept away"


#: A command behind a path with a child in the foreground and two in the background, one of them in a session of its
#: own.
FAMILY = "sleep 300 & setsid sleep 301 & (sleep 302; true); true"
#: The same for SIGINT, which a shell that waits for a child in the foreground leaves to that.
INTERRUPTED = "trap 'exit 130' INT; sleep 300 & setsid sleep 301 & sleep 302 & wait"


def sleepers() -> list[str]:
    """The commands of such a family that are alive."""
    listed = subprocess.run(["ps", "-eo", "args="], capture_output=True, text=True, check=True).stdout
    return sorted(line for line in listed.splitlines() if re.fullmatch(r"sleep 30\d", line))


@pytest.mark.parametrize(
    ("ended_by", "status"),
    [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGINT, 128 + signal.SIGINT)],
)
def test_nothing_is_left_of_a_shell_that_is(untouched: None, ended_by: signal.Signals, status: int) -> None:
    command = [
        sys.executable,
        "-m",
        "dumbbell",
        "shell",
        "--far",
        "sleep 303",
        "--",
        "sh",
        "-c",
        INTERRUPTED if ended_by == signal.SIGINT else FAMILY,
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        deadline = time.monotonic() + 20
        while len(sleepers()) < 4 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert sleepers() == ["sleep 300", "sleep 301", "sleep 302", "sleep 303"]
        process.send_signal(ended_by)
        try:
            process.wait(timeout=10)
        finally:
            process.kill()
    assert process.returncode == status
    deadline = time.monotonic() + 5
    while sleepers() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert sleepers() == []


def test_processes_behind_a_path_have_a_list_of_their_own(cli: Any) -> None:
    done = cli(
        "shell",
        "--",
        "sh",
        "-c",
        "sleep 300 & ps -eo comm= | grep -cx sleep; ls -d /proc/[0-9]* | wc -l; kill -KILL $!",
    )
    assert done.returncode == 0, done.stderr
    mine, all_of_them = map(int, done.stdout.split())
    assert mine == 1
    assert all_of_them < 10


#: Mounts that only this command sees: a place where anybody may write, and a TUN device that anybody may open, as
#: distributions have it. Then not root.
UNPRIVILEGED = """
mount -t tmpfs none /mnt && cd /mnt && chmod 777 . && mknod -m 666 tun c 10 200 && mount --bind tun /dev/net/tun && cp "$0" given.toml || exit 77
export HOME=$PWD PYTHONDONTWRITEBYTECODE=1
exec setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
"""


def unprivileged(file: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["unshare", "--mount", "sh", "-c", UNPRIVILEGED, str(file), sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_without_root_the_kernels_own_controllers_run_in_a_user_namespace(tmp_path: Path) -> None:
    file = scenario(tmp_path, "user", seconds=2)
    if unprivileged(file, "-c", "import dumbbell._native").returncode != 0:
        pytest.skip("an ordinary user cannot read this checkout, or this process may not mount")
    run = ["-m", "dumbbell", "run", "given.toml", "--on", "linux", "--json"]
    done = unprivileged(file, *run, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["flows"][0]["goodput_mbps"] > 10
    done = unprivileged(file, *run, "--out", "out", "--set", "flow[0].cca=bbr2")
    assert done.returncode == 2
    assert "root could load it" in done.stderr
    done = unprivileged(file, "-m", "dumbbell", "shell", "--delay", "5ms", "--", "sh", "-c", "exit 5")
    assert (done.returncode, done.stderr) == (5, "")
