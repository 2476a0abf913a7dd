"""Loading controllers into the running kernel: names, own files, refusals, pins, processes that end. Needs root."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bpf import (
    AVAILABLE,
    NEEDS,
    PINS,
    nothing_left,  # noqa: F401 - the fixture of every test here
    wait_until,
)
from conftest import ROOT, Cli
from dumbbell import kernel

pytestmark = NEEDS


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_in_the_foreground_it_ends_with_its_process(cli: Cli, how: signal.Signals) -> None:
    command = [sys.executable, "-m", "dumbbell", "kernel", "load", "vegas", "--foreground"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "d_vegas\n"
    assert kernel.loaded() == {"vegas": ("d_vegas", False)}
    refused = cli("kernel", "unload", "vegas")
    assert refused.returncode == 1
    assert refused.stderr == "dumbbell: vegas: is held by another process (load --foreground): end that\n"
    process.send_signal(how)
    process.communicate(timeout=20)
    assert process.returncode == (0 if how != signal.SIGKILL else -signal.SIGKILL)
    wait_until(lambda: "d_vegas" not in AVAILABLE.read_text(), "the kernel has let go of it")
    # What a killed process leaves are pins, which the next load sweeps away.
    kernel.load("reno").unload()


def test_an_own_file_is_compiled_and_loaded(cli: Cli) -> None:
    file = ROOT / "scenarios" / "examples" / "gentle.c"
    assert cli("kernel", "load", file, "--param", "beta=900").stdout == "gentle\n"
    try:
        assert kernel.status("gentle")[0].params["beta"].value == 900
        assert re.search(r"^gentle +gentle +yes +a file of your own$", cli("kernel", "list").stdout, re.MULTILINE)
    finally:
        assert cli("kernel", "unload", "gentle").stdout == "gentle is unloaded\n"


@pytest.mark.parametrize(
    ("file", "program", "reason"),
    [
        ("oversteps.c", "oversteps_cong_avoid", "no write support to tcp_sock at off"),
        ("unchecked.c", "unchecked_cong_avoid", "R0 invalid mem access 'map_value_or_null'"),
    ],
)
def test_the_verifiers_refusal_is_shown(cli: Cli, file: str, program: str, reason: str) -> None:
    done = cli("kernel", "load", ROOT / "tests" / "refused" / file)
    assert (done.returncode, done.stdout) == (1, "")
    first, *log = done.stderr.splitlines()
    assert first == f"dumbbell: {file.removesuffix('.c')}: the kernel's verifier refuses program `{program}`:"
    assert 1 < len(log) <= 8
    assert reason in log[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["load", "cubci"],
            'unknown controller cubci, wanted one of: bbr, .*, vegas, a C file \\(.c\\) or a policy \\(.safetensors\\); did you mean "cubic"\\?',
        ),
        (["load", "b" * 70], f"unknown controller {'b' * 57}\\.\\.\\., wanted one of: .*, vegas, a C file \\(.c\\) .*"),
        (["load", "bbr22"], 'unknown controller bbr22, .*; did you mean "bbr2"\\?'),
        (
            ["load", "cubic", "--param", "bata=1"],
            'cubic: unknown parameter bata, wanted one of .*; did you mean "beta"\\?',
        ),
        (["load", "cubic", "--param", "beta=1"], "cubic: beta: got 1, wanted a whole number from 256 to 1000"),
        (
            ["load", "bbr2", "--param", "colour=1"],
            "bbr2: unknown parameter colour, wanted one of \\d+ \\(`dumbbell cca show bbr2` lists them\\)",
        ),
        (
            ["load", "bbr2", "--as", "a-name"],
            "bbr2: got the name a-name for the kernel, wanted 1 to 15 letters, digits and _ \\(--as NAME\\)",
        ),
        (
            ["load", "bbr2", "--as", "longer_than_that"],
            "bbr2: got the name longer_than_that for the kernel, wanted 1 to 15 .*",
        ),
        (
            ["load", "bbr2", "--as", "cubic"],
            (
                "bbr2: the kernel has a controller cubic that was not loaded by this program; load this one under"
                " another name \\(--as NAME\\)"
            ),
        ),
        (["load", "cubic", "--param", "beta"], "got beta, wanted a parameter and its value, as in beta=76"),
        (["load", "none.c"], "none.c: No such file or directory .*"),
        (["set", "cubic", "beta=700"], "cubic: is not loaded; none is"),
        (["unload", "cubic"], "cubic: is not loaded; none is"),
        (["status", "cubic"], "cubic: is not loaded; none is"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(cli: Cli, arguments: list[str], message: str) -> None:
    done = cli("kernel", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(f"dumbbell: {message}\n", done.stderr), done.stderr


def test_a_source_that_does_not_compile_names_file_and_line(cli: Cli, tmp_path: Path) -> None:
    broken = tmp_path / "broken.c"
    broken.write_text(
        (ROOT / "scenarios" / "examples" / "gentle.c").read_text()
        + "\nstatic inline u32 wrong(void) { return missing(); }\n"
    )
    done = cli("kernel", "load", broken)
    assert done.returncode == 2
    assert re.search(r"broken\.c:\d+:\d+: error: ", done.stderr), done.stderr
    module = cli("kernel", "load", ROOT / "scenarios" / "examples" / "tcp_steady.c")
    assert module.returncode == 2
    assert 'does not include "cca.h"' in module.stderr


def test_without_the_rights_it_says_so(tmp_path: Path) -> None:
    drop = [
        "setpriv",
        "--bounding-set=-all",
        "--inh-caps=-all",
        sys.executable,
        "-m",
        "dumbbell",
        "kernel",
        "load",
        "reno",
    ]
    done = subprocess.run(drop, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert (
        done.stderr
        == "dumbbell: loading and reading controllers needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN), which this process"
        " is not\n"
    )


def test_loads_at_once_take_turns() -> None:
    """Two of one name: one gets it, the other gets an error; neither damages the other's pins."""
    results: list[object] = []

    def load() -> None:
        try:
            results.append(kernel.load("htcp"))
        except kernel.KernelError as error:
            results.append(error)

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held = [result for result in results if isinstance(result, kernel.Loaded)]
    refused = [str(result) for result in results if isinstance(result, kernel.KernelError)]
    assert len(held) == 1
    taken = (
        "htcp: the name d_htcp is taken by a controller that is loaded already; `dumbbell kernel unload d_htcp` first,"
        " or load this one under another name"
    )
    assert refused == [f"{taken} (--as NAME)"] * 3
    held[0].unload()


def test_one_source_may_be_loaded_under_several_names_with_parameters_of_their_own(cli: Cli) -> None:
    try:
        assert cli("kernel", "load", "bbr2").stdout == "bbr2\n"
        done = cli("kernel", "load", "bbr2", "--as", "bbr2_lossy", "--param", "loss_thresh=20")
        assert (done.returncode, done.stdout, done.stderr) == (0, "bbr2_lossy\n", "")
        taken = cli("kernel", "load", "cubic", "--as", "bbr2_lossy")
        assert taken.returncode == 2
        assert "the name bbr2_lossy is taken by a controller that is loaded already" in taken.stderr
        assert {"bbr2", "bbr2_lossy"} <= set(AVAILABLE.read_text().split())
        assert [kernel.status(name)[0].params["loss_thresh"].value for name in ("bbr2_lossy", "bbr2")] == [20, 5]
        cli("kernel", "set", "bbr2", "loss_thresh=6")
        assert [kernel.status(name)[0].params["loss_thresh"].value for name in ("bbr2_lossy", "bbr2")] == [20, 6]
        listed = [json.loads(line) for line in cli("kernel", "list", "--json").stdout.splitlines()]
        of_bbr2 = [(one["kernel_name"], one["is_loaded"], one["is_kept"]) for one in listed if one["name"] == "bbr2"]
        assert of_bbr2 == [("bbr2", True, True), ("bbr2_lossy", True, True)]
        assert {one["name"]: one["kernel_name"] for one in listed if not one["is_loaded"]}["bbr-hsr"] == "bbr_hsr"
        assert cli("kernel", "unload", "bbr2_lossy").stdout == "bbr2_lossy is unloaded\n"
        assert "bbr2" in AVAILABLE.read_text().split()
    finally:
        for name in ("bbr2", "bbr2_lossy"):
            cli("kernel", "unload", name)


def test_where_linux_has_a_controller_of_that_name_ours_says_under_which_it_is(cli: Cli) -> None:
    done = cli("kernel", "load", "cubic")
    cli("kernel", "unload", "cubic")
    assert (done.returncode, done.stdout) == (0, "d_cubic\n")
    assert done.stderr == "dumbbell: as d_cubic, because the kernel has, or may have, a cubic of its own (--as NAME)\n"


def test_an_own_file_registers_under_its_own_name(cli: Cli, tmp_path: Path) -> None:
    """The new name replaces the one in the source, so that a changed copy of a controller can be loaded as well."""
    (tmp_path / "gentler.c").write_text((ROOT / "scenarios" / "examples" / "gentle.c").read_text())
    try:
        assert cli("kernel", "load", ROOT / "scenarios" / "examples" / "gentle.c").stdout == "gentle\n"
        assert cli("kernel", "load", tmp_path / "gentler.c").stdout == "gentler\n"
        assert set(kernel.loaded()) == {"gentle", "gentler"}
    finally:
        for name in ("gentle", "gentler"):
            cli("kernel", "unload", name)


def test_a_default_of_an_earlier_load_becomes_that_of_the_next(cli: Cli) -> None:
    """Linux keeps the program that was chosen: new sockets would get the one that was unloaded."""
    inside = ("ip", "netns", "exec", "dumbbell-again")
    subprocess.run(["ip", "netns", "add", "dumbbell-again"], check=True)
    try:
        cli("kernel", "load", "bbr2")
        subprocess.run([*inside, "sysctl", "-qw", "net.ipv4.tcp_congestion_control=bbr2"], check=True)
        assert "still the default" in cli("kernel", "unload", "bbr2").stdout
        again = cli("kernel", "load", "bbr2", "--param", "beta=99")
        assert again.stderr == (
            "dumbbell: set again as the default (net.ipv4.tcp_congestion_control) of dumbbell-again, where an earlier"
            " bbr2 was left\n"
        )
        # A socket that listens has its controller: it is of the new load, as one that asks for it by name is.
        listen = "import socket,time; s=socket.socket(); {0}; s.bind(('127.0.0.1',0)); s.listen(); print(flush=True); time.sleep(60)"
        by_name = "s.setsockopt(6, 13, b'bbr2')"
        with (
            subprocess.Popen([*inside, sys.executable, "-c", listen.format("0")], stdout=subprocess.PIPE) as default,
            subprocess.Popen([sys.executable, "-c", listen.format(by_name)], stdout=subprocess.PIPE) as named,
        ):
            for process in (default, named):
                assert process.stdout is not None
                process.stdout.readline()
            sockets = kernel.status("bbr2")[0].sockets
            for process in (default, named):
                process.kill()
        assert len({one.netns for one in sockets}) == 2, sockets
        assert len({one.instance for one in sockets}) == 1, sockets
    finally:
        cli("kernel", "unload", "bbr2")
        subprocess.run(["ip", "netns", "delete", "dumbbell-again"], check=True)


def test_inside_a_named_namespace_it_is_not_said_that_nothing_is_loaded(cli: Cli) -> None:
    subprocess.run(["ip", "netns", "add", "dumbbell-inside"], check=True)
    try:
        with kernel.load("bbr2"):
            for action in (["status"], ["set", "bbr2", "beta=99"], ["unload", "bbr2"]):
                command = [sys.executable, "-m", "dumbbell", "kernel", *action]
                done = subprocess.run(
                    ["ip", "netns", "exec", "dumbbell-inside", *command], capture_output=True, text=True, check=False
                )
                assert done.returncode == 1, action
                assert "inside `ip netns exec dumbbell-inside`: run this outside of it" in done.stderr, done.stderr
    finally:
        subprocess.run(["ip", "netns", "delete", "dumbbell-inside"], check=True)


def test_an_object_that_libbpf_refuses_comes_with_its_reason(cli: Cli, tmp_path: Path) -> None:
    """A hook that no member of the ops refers to."""
    text = (ROOT / "scenarios" / "examples" / "gentle.c").read_text()
    (tmp_path / "unused.c").write_text(
        text.replace(
            "CCA_INFO_OP(gentle_info)",
            "CCA_OP(u32, gentle_unused, struct sock *sk)\n{\n\treturn 1;\n}\n\nCCA_INFO_OP(gentle_info)",
        )
    )
    done = cli("kernel", "load", tmp_path / "unused.c")
    assert done.returncode == 1
    assert "gentle_unused" in done.stderr, done.stderr


def test_pins_of_a_killed_process_are_listed_and_swept(cli: Cli) -> None:
    command = [sys.executable, "-m", "dumbbell", "kernel", "load", "vegas", "--foreground"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    wait_until(lambda: "d_vegas" not in AVAILABLE.read_text(), "the kernel has let go of it")
    assert (
        cli("kernel", "list").stderr
        == "dumbbell: left by processes that were killed, until the next load: d_vegas (in /sys/fs/bpf/dumbbell)\n"
    )
    kernel.load("bbr2").unload()
    assert cli("kernel", "list").stderr == ""


@pytest.mark.parametrize(
    ("owner", "mode", "got"), [(65534, 0o700, "got one of user 65534"), (0, 0o777, "got mode 0777")]
)
def test_pins_are_not_put_where_somebody_else_may_write(cli: Cli, owner: int, mode: int, got: str) -> None:
    """Where bpffs is mounted for all to write (1777), anybody may make the folder first."""
    PINS.mkdir()
    try:
        PINS.chmod(mode)
        os.chown(PINS, owner, owner)
        for arguments in (["load", "bbr2"], ["status"], ["unload", "bbr2"]):
            done = cli("kernel", *arguments)
            assert done.returncode == 1
            assert f"{PINS}: {got}, wanted a folder of root's that nobody else may write (0700)" in done.stderr
    finally:
        PINS.rmdir()
