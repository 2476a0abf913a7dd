"""Our controllers as kernel modules: what is refused, what is kept, and a flow through each in a guest."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from dumbbell.controllers import known
from dumbbell.errors import EngineError, ScenarioError
from dumbbell.uml import guest, modules, store
from dumbbell.uml.modules import Wanted

GUEST = Path(__file__).with_name("guest_modules.py")
EXAMPLES = Path(__file__).parent.parent / "scenarios" / "examples"
NAMES = list(known())


def built_kernel() -> store.Kernel | None:
    """A kernel for virtual time, as the user has it."""
    kernels = store.all_kernels()
    return kernels[-1] if kernels else None


KERNEL = built_kernel()
NEEDS_KERNEL = pytest.mark.skipif(KERNEL is None, reason="no kernel for virtual time: `dumbbell uml build`")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What looks like the headers of a kernel, up to the first call of make, which fails."""
    (tmp_path / "tree/include/config").mkdir(parents=True)
    (tmp_path / "tree/include/config/kernel.release").write_text("6.12.1-mine\n")
    (tmp_path / "tree/include/config/auto.conf").write_text("CONFIG_MODULES=y\n")
    (tmp_path / "tree/Makefile").write_text(
        "modules:\n\t@echo 'mine.c:3:7: error: no such thing [-Werror=x]' >&2; false\n"
    )
    return tmp_path / "tree"


def test_the_running_kernels_headers_are_taken_or_what_to_install_is_said(cli: Cli, tmp_path: Path) -> None:
    done = cli("kernel", "module", "reno", "--out", str(tmp_path / "out"))
    if done.returncode:
        assert done.returncode == 1
        assert "install linux-headers-" in done.stderr
        assert done.stdout == ""
    else:
        assert (tmp_path / "out/d_reno.ko").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["bbr9"], 'got "bbr9", wanted a C file (.c) or one of: bbr, '),
        (["bbr2", "--as", "a-b"], 'bbr2: got the name "a-b" for the kernel, wanted 1 to 15 letters, digits and _'),
        (["bbr2", "--as", "sixteen_letters_"], "wanted 1 to 15 letters"),
        (["bbr2", "reno", "--as", "mine"], "--as: got 2 controllers, wanted one"),
        (["nowhere.c"], "nowhere.c"),
        ([str(EXAMPLES / "tcp_steady.c"), "--as", "a-b"], 'tcp_steady: got the name "a-b" for the kernel'),
    ],
)
def test_what_cannot_be_a_module_is_refused(cli: Cli, tree: Path, arguments: list[str], text: str) -> None:
    done = cli("kernel", "module", *arguments, "--build", str(tree))
    assert done.returncode == 2
    assert text in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_that_is_no_kernel_tree_and_one_too_old_are_refused(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="got no configured kernel tree"):
        modules.build([Wanted("reno")], tmp_path, tmp_path / "cache")
    (tree / "include/config/kernel.release").write_text("5.10.0-9-amd64\n")
    with pytest.raises(EngineError, match=r"got Linux 5\.10\.0-9-amd64, wanted 6\.1 or newer"):
        modules.build([Wanted("reno")], tree, tmp_path / "cache")


def test_the_compilers_first_error_in_a_file_of_ones_own_is_the_message(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text('#include "cca.h"\n')
    with pytest.raises(ScenarioError, match=r"^mine\.c:3:7: error: no such thing$"):
        modules.build([Wanted(str(tmp_path / "mine.c"))], tree, tmp_path / "cache")
    with pytest.raises(EngineError, match="modules cannot be compiled: "):
        modules.build([Wanted("reno")], tree, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_a_module_is_compiled_again_only_when_something_has_changed(tree: Path, tmp_path: Path) -> None:
    make = "modules:\n\tfor one in $(M)/*.c; do cp $$one $${one%.c}.ko; done; echo x >> $(CURDIR)/../made\n"
    (tree / "Makefile").write_text(make)
    mine = tmp_path / "mine.c"
    mine.write_text('#include "cca.h"\n#include "mine.h"\n')
    (tmp_path / "mine.h").write_text("int a;\n")
    cache = tmp_path / "cache"

    def build() -> tuple[Path, int]:
        [made] = modules.build([Wanted(str(mine), "mine_1")], tree, cache)
        assert made.kernel_name == "mine_1"
        assert made.file.name == "mine_1.ko"
        assert '#define CCA_KERNEL_NAME "mine_1"' in made.file.read_text()
        return made.file, len((tmp_path / "made").read_text().splitlines())

    first, _ = build()
    assert build() == (first, 1)
    (tmp_path / "mine.h").write_text("int b;\n")
    second, calls = build()
    assert (second != first, calls) == (True, 2)
    (tree / "include/config/auto.conf").write_text("CONFIG_MODULES=y\nCONFIG_X=y\n")
    assert build()[1] == 3


def test_a_linux_module_keeps_its_name_or_registers_another(tree: Path, tmp_path: Path) -> None:
    (tree / "Makefile").write_text("modules:\n\tfor one in $(M)/*.c; do cp $$one $${one%.c}.ko; done\n")
    steady = str(EXAMPLES / "tcp_steady.c")
    own, same, other = modules.build([Wanted(steady), Wanted(steady, "steady"), Wanted(steady, "mine")], tree, tmp_path)
    assert own == same
    assert (own.kernel_name, own.file.name, own.file.read_text()) == (
        "steady",
        "tcp_steady.ko",
        f'#include "{steady}"\n',
    )
    assert (other.kernel_name, other.file.name) == ("mine", "mine.ko")
    assert 'strscpy(ops->name, "mine", ' in other.file.read_text()


def test_two_files_of_one_name_are_refused(tree: Path, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.c").write_text(f'#include "cca.h"\n/* {folder} */\n')
    wanted = [Wanted(str(tmp_path / folder / "mine.c")) for folder in ("a", "b")]
    with pytest.raises(ScenarioError, match=r"would both become mine\.ko"):
        modules.build(wanted, tree, tmp_path / "cache")


#: Sender s, router r and receiver d: 20 Mbit/s, 20 ms and a buffer of 1.2 BDP, so that every controller meets loss or
#: its own idea of a full pipe.
NETWORK = """set -e
ip netns add s; ip netns add r; ip netns add d
ip -n s link add s0 type veth peer name r0 netns r
ip -n r link add r1 type veth peer name d0 netns d
ip -n s addr add 10.0.0.2/24 dev s0; ip -n r addr add 10.0.0.1/24 dev r0
ip -n r addr add 10.0.1.1/24 dev r1; ip -n d addr add 10.0.1.2/24 dev d0
ip -n s link set s0 up; ip -n r link set r0 up; ip -n r link set r1 up; ip -n d link set d0 up
ip -n s route add default via 10.0.0.1; ip -n d route add default via 10.0.1.1
ip netns exec r sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
tc -n s qdisc add dev s0 root fq
tc -n r qdisc add dev r0 root netem delay 20ms limit 100000
tc -n r qdisc add dev r1 root tbf rate 20mbit burst 3028 limit 60000
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What each module reported in one guest, by the name in the kernel; one under another name and with a value."""
    assert KERNEL is not None
    folder = tmp_path_factory.mktemp("guest")
    wanted = [*map(Wanted, NAMES), Wanted(str(EXAMPLES / "gentle.c")), Wanted("bbr2", "bbr2_lossy")]
    made = modules.build(wanted, KERNEL.tree, KERNEL.modules, arch="um")
    files = [f"{one.file},loss_thresh=20" if one.kernel_name == "bbr2_lossy" else str(one.file) for one in made]
    script = f"{NETWORK}{sys.executable} -I {GUEST} {' '.join(files)} > told.json\ndmesg > dmesg.txt\n"
    guest.boot(KERNEL, folder, init=script, memory_mb=512)
    log = (folder / "dmesg.txt").read_text()
    assert "WARNING" not in log
    assert "BUG" not in log
    return {one["name"]: one for one in map(json.loads, (folder / "told.json").read_text().splitlines())}


@NEEDS_KERNEL
@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, "gentle", "bbr2_lossy"])
def test_every_module_loads_carries_a_flow_reports_it_and_unloads(told: dict[str, dict[str, Any]], name: str) -> None:
    from dumbbell import _native

    one = told[_native.kernel_name(name)]
    assert one["got"] == 6_000_000
    assert one["before"] == []
    assert one["is_gone"]
    assert len(one["samples"]) > 20
    assert {sample["local"] for sample in one["samples"]} == {one["local"]}
    states = {sample["state"] for sample in one["samples"]}
    described = known().get("bbr2" if name == "bbr2_lossy" else name)
    assert states <= set(described.states if described else ["SLOW_START", "AVOIDANCE"])
    assert len(states) > 1 or name in ("dctcp", "prague")  # without ECN they are Reno


@NEEDS_KERNEL
@pytest.mark.slow
def test_parameters_are_those_of_insmod_and_otherwise_the_defaults(told: dict[str, dict[str, Any]]) -> None:
    defaults = {name: str(param.default) for name, param in known()["bbr2"].params.items()}
    assert told["bbr2"]["params"] == defaults
    assert told["bbr2_lossy"]["params"] == {**defaults, "loss_thresh": "20"}


@NEEDS_KERNEL
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if "bbr" in name or "tsunami" in name])
def test_ss_gets_the_estimates_of_bbr_and_its_variants(told: dict[str, dict[str, Any]], name: str) -> None:
    from dumbbell import _native

    one = told[_native.kernel_name(name)]
    last, info = one["samples"][-1], one["bbr"]
    assert int(last["bw"]) == pytest.approx(20e6 / 8 * 1448 / 1514, rel=0.3)
    assert 20_000 <= int(last["min_rtt"]) < 60_000
    assert info["bw_hi"] == 0
    assert info["bw_lo"] == pytest.approx(int(last["bw"]), rel=0.3)
    assert info["min_rtt"] == int(last["min_rtt"])
    assert info["pacing_gain"] > 0
