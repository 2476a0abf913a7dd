"""What the tests share: the command line as a process, small scenarios, and the engine's stand-in for error paths."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import dumbbell
from closed_form import Runner
from dumbbell import controllers
from dumbbell.cli import main
from dumbbell.errors import EngineError
from dumbbell.uml import store
from dumbbell.uml.store import Kernel

ROOT = Path(__file__).resolve().parents[1]

#: Two flows, 2 s, two buffers: small enough to run everywhere, large enough for losses.
SMALL = """\
name = "small"
duration = "2s"

[path]
rate = "20Mbps"
rtt = "20ms"
buffer = ["0.5bdp", "2bdp"]

[[flow]]
cca = "cubic"

[[flow]]
cca = "bbr"
start = "137ms"
"""

#: A sweep with repetitions that differ, without its flows.
SWEEP_PATH = """
name = "sweep"
duration = "4s"
repetitions = 3
path = { rate = "10Mbps", rtt = "20ms", buffer = ["1bdp", "3bdp"] }
host = { start_jitter = "200ms" }
record = { every = "50ms" }
"""
#: The same with flows, for tables of figures and what changed between two.
SWEEP = SWEEP_PATH + 'flow = [{ cca = "cubic" }, { cca = "cubic", transport = "quic", name = "mine" }]\n'

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario file of two runs."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line in a process of its own, in an empty folder."""

    def run(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "dumbbell", *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False, **options
        )  # type: ignore[call-overload,no-any-return]

    return run


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of `SWEEP`."""
    out = tmp_path_factory.mktemp("show") / "sweep"
    dumbbell.run(dumbbell.from_text(SWEEP), out)
    return out


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What `dumbbell show` prints in a terminal that is `columns` wide."""

    def run(*arguments: object, columns: int = 80) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main(["show", *map(str, arguments)]) == 0
        return capsys.readouterr().out

    return run


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """Runs a scenario once a module; for closed forms."""
    kept: dict[str, dumbbell.Result] = {}

    def run(text: str) -> dumbbell.Result:
        if text not in kept:
            (kept[text],) = dumbbell.run(dumbbell.from_text(text), tmp_path_factory.mktemp("closed") / "run")
        return kept[text]

    return run


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The stand-in in the engine's place; only for what the real engine does not do on demand."""
    spec = importlib.util.spec_from_file_location("double", Path(__file__).with_name("double.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "dumbbell._native", module)
    monkeypatch.setattr(dumbbell, "_native", module, raising=False)
    controllers.known.cache_clear()
    yield module
    controllers.known.cache_clear()


@pytest.fixture(scope="session")
def uml_kernel() -> Kernel:
    """The kernel for virtual time that this machine has; without one the test says how to get it."""
    try:
        return store.find()
    except EngineError as error:
        pytest.skip(str(error))


@pytest.fixture
def interrupted_start(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[int]]:
    """Interrupts us each time that a program of this name has begun and nobody here knows it yet, as happens on a busy
    machine; the numbers of its processes.
    """
    started: list[int] = []

    def prepare(name: str) -> list[int]:
        class Interrupting(subprocess.Popen[bytes]):
            def __init__(self, command: list[str], **options: object) -> None:
                super().__init__(command, **options)  # type: ignore[call-overload]
                if command[0] == name:
                    started.append(self.pid)
                    signal.raise_signal(signal.SIGTERM)

        monkeypatch.setattr(subprocess, "Popen", Interrupting)
        return started

    return prepare


@pytest.fixture
def untouched() -> Iterator[None]:
    """Nothing of the emulator's is in the machine's own network, while it runs or afterwards, nor memory of its
    sockets; what others do meanwhile is theirs.
    """

    def ours() -> list[str]:
        commands = (["ip", "-o", "link"], ["ip", "-o", "address"], ["ip", "route", "show", "table", "all"])
        lines = [
            line
            for c in commands
            for line in subprocess.run(c, capture_output=True, text=True, check=True).stdout.splitlines()
        ]
        return [line for line in lines if any(word in line for word in ("path0", "10.1.0.", "10.2.0."))]

    def orphans() -> int:
        """Sockets without a process, in any namespace, which hold what was still under way."""
        words = Path("/proc/net/sockstat").read_text().split()
        return int(words[words.index("orphan") + 1])

    # Others' (of the tests between hosts, which have ended) may be there for minutes, and only become fewer.
    before, orphans_before = ours(), orphans()
    yield
    assert ours() == before
    for _ in range(100):
        if orphans() <= orphans_before:
            return
        time.sleep(0.1)
    pytest.fail(f"{orphans()} sockets without a process after ten seconds, {orphans_before} before the test")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests in a browser run on processor time that nobody else wants, and its frames come when there is some: what that
    spoils is tried again, and listed.
    """
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.flaky(reruns=2))
