"""`dumbbell kernel enable --default`: the default that was there comes back, by hand or by the timer. Needs root.

Each test has a network namespace of its own, whose default is not that of the machine.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bpf import (
    NEEDS,
    nothing_left,  # noqa: F401 - the fixture of every test here
    wait_until,
)
from dumbbell import kernel, kernel_default

pytestmark = NEEDS
SHOWS = (
    "import sys; from pathlib import Path; print(Path('/proc/sys/net/ipv4/tcp_congestion_control').read_text().strip())"
)


class Namespace:
    """A network namespace that lives as long as a process in it."""

    def __init__(self, folder: Path) -> None:
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "600"])
        self.folder = folder

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in it."""
        inside = ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net"]
        return subprocess.run([*inside, *command], capture_output=True, text=True, check=False, timeout=60)

    def kernel(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`dumbbell kernel` in it."""
        return self.run(sys.executable, "-m", "dumbbell", "kernel", *words)

    def default(self) -> str:
        """Its default controller."""
        return self.run(sys.executable, "-c", SHOWS).stdout.strip()


@pytest.fixture
def net(tmp_path: Path) -> Iterator[Namespace]:
    assert kernel_default.state() is None, "nothing is enabled on this machine"
    space = Namespace(tmp_path)
    wait_until(lambda: Path(f"/proc/{space.holder.pid}/comm").read_text() == "sleep\n", "the namespace is there")
    yield space
    space.kernel("disable")
    space.holder.kill()
    space.holder.wait()


def test_disable_brings_back_the_default_and_unloads(net: Namespace) -> None:
    before = net.default()
    enabled = net.kernel("enable", "bbr3", "--default")
    assert enabled.stdout.splitlines() == [
        f"bbr3 is the default of new sockets of this namespace; before: {before}",
        "in 120 s it is undone, unless you say: dumbbell kernel confirm",
    ]
    assert net.default() == "bbr3"
    assert (
        net.kernel("enable", "bbr2", "--default").stderr == "dumbbell: bbr3 is enabled: dumbbell kernel disable first\n"
    )
    assert net.kernel("confirm").stdout == (
        "bbr3 stays the default, until the next start; dumbbell kernel disable undoes it\n"
    )
    undone = net.kernel("disable")
    assert undone.stdout == f"{before} is the default of new sockets of this namespace; bbr3 is unloaded\n"
    assert (net.default(), kernel.loaded()) == (before, {})


def test_the_timer_undoes_what_is_not_confirmed(net: Namespace) -> None:
    before = net.default()
    assert net.kernel("enable", "bbr3", "--default", "--undo-after", "1").returncode == 0
    wait_until(lambda: net.default() == before, "the timer has undone it")
    wait_until(lambda: kernel_default.state() is None, "nothing is enabled")
    assert net.kernel("confirm").stderr.endswith("nothing is enabled: dumbbell kernel enable NAME --default\n")


def test_what_somebody_else_has_set_since_stays(net: Namespace) -> None:
    assert net.kernel("enable", "bbr3", "--default").returncode == 0
    set_to_reno = "from dumbbell import kernel_default; kernel_default.SYSCTL.write_text('reno')"
    assert net.run(sys.executable, "-c", set_to_reno).returncode == 0
    undone = net.kernel("disable")
    assert undone.stderr == "dumbbell: the default is reno, which somebody has set since: it stays\n"
    assert net.default() == "reno"


@pytest.mark.skipif(kernel_default.has_systemd(), reason="systemd runs this machine")
def test_without_systemd_nothing_persists_and_nothing_changes(net: Namespace) -> None:
    before = net.default()
    refused = net.kernel("enable", "bbr3", "--default", "--persist")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "wanted a machine that systemd starts" in refused.stderr
    assert (net.default(), kernel.loaded()) == (before, {})


def test_the_unit_starts_the_same_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(kernel_default, "UNIT", tmp_path / "dumbbell-default.service")
    monkeypatch.setattr(kernel_default, "_run", lambda command: asked.append(list(command)))
    enabled = kernel_default.Enabled("bbr3", "bbr3", "cubic", True, True, None, {"loss_thresh": "10"})
    kernel_default._write_unit(enabled)
    start = next(line for line in kernel_default.UNIT.read_text().splitlines() if line.startswith("ExecStart="))
    assert start.endswith(" -m dumbbell kernel enable bbr3 --default --undo-after 0 --param loss_thresh=10")
    assert asked[-1] == ["systemctl", "--quiet", "enable", "dumbbell-default.service"]
