"""Ctrl-C, SIGTERM and SIGHUP: answered at once, at any moment, with one line at most and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from conftest import SMALL
from dumbbell import interrupts

#: They hold the program to times in which it must answer.
pytestmark = pytest.mark.alone


@pytest.fixture(autouse=True, scope="module")
def signals() -> Iterator[None]:
    """Both signals as a terminal leaves them: under nohup, and in the background of a script, these tests and the
    programs that they start would ignore them.
    """
    terminal = {signal.SIGHUP: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, handler) for number, handler in terminal.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


#: As the program starts, with a mark on stdout when our own code begins: what a signal does to Python's own start is
#: Python's.
START = "from dumbbell.__main__ import program; print('.', flush=True); program()"
LONG = (
    SMALL.replace('"2s"', '"86400s"').replace('["0.5bdp", "2bdp"]', '["1bdp", "2bdp", "3bdp"]')
    + '\n[record]\nevery = "1s"\n'
)


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """A folder with a scenario that takes minutes."""
    (tmp_path / "long.toml").write_text(LONG)
    return tmp_path


def started(folder: Path, *arguments: str, **more: Any) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    command = [sys.executable, "-c", START, "run", "long.toml", "--out", "out", *arguments]
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder / "tmp")},
        **more,
    )
    assert process.stdout is not None
    assert process.stdout.read(2) == b".\n"
    return process, process.stdout


def ended(process: subprocess.Popen[bytes], number: int) -> tuple[str, float]:
    """What it says on stderr, and how long it took to end, s."""
    began = time.monotonic()
    out, err = process.communicate(timeout=20)
    took = time.monotonic() - began
    assert out == b""
    assert process.returncode in (-number, 128 + number), (process.returncode, err)
    return err.decode(), took


def left(folder: Path) -> list[str]:
    return [
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.name not in ("long.toml", "mine.c", "tmp")
    ]


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_early_signal_is_answered_at_once_and_leaves_nothing(long: Path, number: int, jobs: str) -> None:
    for delay_ms in range(0, 401, 25):
        process, _ = started(long, "--jobs", jobs)
        time.sleep(delay_ms / 1000)
        process.send_signal(number)
        err, took = ended(process, number)
        summary = "dumbbell: interrupted; 0 of 3 runs are finished in out, --resume runs the rest\n"
        assert err in ("", "dumbbell: interrupted\n", summary), f"after {delay_ms} ms"
        assert left(long) == [], f"after {delay_ms} ms"
        assert took < 2.0  # 0.2 on a machine with nothing else to do


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_none_of_many_early_signals_does_harm(long: Path, jobs: str) -> None:
    for delay_us in range(0, 400_000, 4_211):
        process, _ = started(long, "--jobs", jobs)
        time.sleep(delay_us / 1e6)
        process.send_signal(signal.SIGINT)
        err, _ = ended(process, signal.SIGINT)
        assert "Traceback" not in err
        assert left(long) == [], f"after {delay_us} us"


def runs_in(folder: Path) -> None:
    """Wait until runs are under way."""
    until = time.monotonic() + 20
    while not list(folder.glob("out/.tmp-*/*.parquet")):
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_run_that_is_stopped_says_what_is_finished_and_has_the_signals_status(
    long: Path, number: int, status: int, jobs: str
) -> None:
    process, _ = started(long, "--jobs", jobs)
    runs_in(long)
    process.send_signal(number)
    err, _ = ended(process, number)
    assert process.returncode == status
    assert err == "dumbbell: interrupted; 0 of 3 runs are finished in out, --resume runs the rest\n"
    assert left(long) == []


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_impatient_user_does_no_harm(long: Path, jobs: str) -> None:
    for pause_ms in (0, 2, 5, 10, 20, 50):
        process, _ = started(long, "--jobs", jobs)
        runs_in(long)
        for _ in range(4):
            process.send_signal(signal.SIGINT)
            time.sleep(pause_ms / 1000)
        err, _ = ended(process, signal.SIGINT)
        assert "Traceback" not in err
        assert left(long) == []


def test_what_the_shell_had_ignored_stays_ignored(long: Path) -> None:
    # nohup, and a command that a script put into the background
    (long / "long.toml").write_text(LONG.replace('"86400s"', '"60s"'))
    process, _ = started(
        long,
        preexec_fn=lambda: (signal.signal(signal.SIGINT, signal.SIG_IGN), signal.signal(signal.SIGHUP, signal.SIG_IGN)),
    )
    for number in (signal.SIGINT, signal.SIGHUP):
        time.sleep(0.2)
        process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_folders_of_compiled_controllers_go_with_the_command(long: Path, number: int) -> None:
    (long / "mine.c").write_text(MODULE)
    (long / "tmp").mkdir()
    (long / "long.toml").write_text(LONG.replace('cca = "cubic"', 'cca = "mine"'))
    process, _ = started(long, "--cca", "mine.c")
    runs_in(long)
    assert list((long / "tmp").glob("dumbbell-*/cca-*"))
    process.send_signal(number)
    ended(process, number)
    assert left(long) == []


MODULE = """\
#include <linux/module.h>
#include <net/tcp.h>
static struct tcp_congestion_ops mine __read_mostly = {
	.ssthresh = tcp_reno_ssthresh, .cong_avoid = tcp_reno_cong_avoid, .undo_cwnd = tcp_reno_undo_cwnd, .owner = THIS_MODULE, .name = "mine",
};
static int __init mine_register(void) { return tcp_register_congestion_control(&mine); }
static void __exit mine_unregister(void) { tcp_unregister_congestion_control(&mine); }
module_init(mine_register);
module_exit(mine_unregister);
MODULE_LICENSE("GPL");
"""


def test_a_signal_waits_where_half_a_step_must_not_be_left() -> None:
    steps: list[str] = []

    def short_step() -> None:
        with interrupts.Held():
            signal.raise_signal(signal.SIGINT)
            steps.append("whole")

    with interrupts.Raised():
        with pytest.raises(interrupts.Interrupted) as caught:
            short_step()
        with interrupts.Held(), pytest.raises(interrupts.Interrupted):
            pytest.fail("raised too early") if steps == [] else short_end()
    assert steps == ["whole"]
    assert caught.value.status == 130
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def short_end() -> None:
    raise interrupts.Interrupted(signal.SIGTERM)


def test_python_gets_a_keyboard_interrupt_and_a_clean_folder(long: Path) -> None:
    code = (
        "import dumbbell\nprint('.', flush=True)\ntry: dumbbell.run('long.toml', 'out', 2)\nexcept KeyboardInterrupt:"
        " print('caught')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=long, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    runs_in(long)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, ".\ncaught\n", "")
    assert left(long) == []


def test_python_ends_by_sigterm_as_any_program_with_a_clean_folder(long: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "import dumbbell; dumbbell.run('long.toml', 'out', 2)"], cwd=long)
    runs_in(long)
    process.terminate()
    assert process.wait(timeout=20) == -signal.SIGTERM
    assert left(long) == []
