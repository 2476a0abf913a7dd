"""`dumbbell uml build`: what it refuses, the source it finds, its edits and settings; on small sources, without a kernel."""

from __future__ import annotations

import fcntl
import io
import os
import signal
import subprocess
import tarfile
import tomllib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from dumbbell.errors import EngineError, ScenarioError
from dumbbell.interrupts import Interrupted, Raised
from dumbbell.uml import build, source, store


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; the folder of its kernels."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return store.place()


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution with two series, whose packages hold one file; the folder of its programs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "apt-cache").write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        "  pkgnames*) printf 'linux-source-6.12\\nlinux-source\\nlinux-source-6.1\\nlinux-source-6.1-rt\\n' ;;\n"
        "  *6.12) printf 'Package: linux-source-6.12\\nVersion: 6.12.9-1\\nSize: 7\\nSHA256: %s\\n' "
        "$(printf content | sha256sum | cut -d' ' -f1) ;;\n"
        "esac\n"
    )
    (programs / "apt-get").write_text("#!/bin/sh\nprintf content > linux-source-6.12_6.12.9-1_all.deb\n")
    for path in programs.iterdir():
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return programs


def tree(folder: Path, *, release: str = "6.12.9") -> Path:
    """A source with what the edits look for."""
    version, level, sub = release.split(".")
    files = {
        "Makefile": f"VERSION = {version}\nPATCHLEVEL = {level}\nSUBLEVEL = {sub}\nEXTRAVERSION =\nNAME = Fixture\n",
    }
    for edit in source.edits(1000):
        files[edit.file] = f"{files.get(edit.file, '')}before\n{edit.find}after\n"
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


# --- what is refused ------------------------------------------------------------------------------


def test_missing_programs_are_named_together_with_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "missing", lambda names: [name for name in names if name in ("bison", "tc", "dpkg-deb")])
    with pytest.raises(EngineError) as raised:
        build.build(build.Plan())
    assert str(raised.value) == (
        "missing here: bison, tc, dpkg-deb (Debian and Ubuntu: apt install bison iproute2 dpkg libc6-dev)"
    )


def test_a_source_that_is_given_needs_no_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "missing", lambda names: [name for name in names if name == "apt-get"])
    with pytest.raises(ScenarioError, match="no such file"):
        build.build(build.Plan(source=tmp_path / "none.deb"))


@pytest.mark.parametrize("hz", [23, 10_001])
def test_a_tick_that_linux_cannot_have_is_refused(hz: int) -> None:
    with pytest.raises(ScenarioError, match=f"--hz: got {hz}, wanted 24 to 10000 ticks per second"):
        build.build(build.Plan(hz=hz))


def test_another_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Machine:
        machine = "aarch64"

    monkeypatch.setattr(build.os, "uname", Machine)  # type: ignore[attr-defined]
    with pytest.raises(EngineError, match="needs an x86-64 machine, this is aarch64"):
        build.build(build.Plan())


def test_an_unknown_series_says_what_the_distribution_carries(apt: Path) -> None:
    with pytest.raises(ScenarioError) as raised:
        source.package("6.13")
    assert str(raised.value) == '--kernel: got "6.13", wanted a series that this distribution carries: 6.1, 6.12'


def test_without_lists_of_packages_the_error_says_how_to_get_them(apt: Path) -> None:
    (apt / "apt-cache").write_text("#!/bin/sh\n")
    with pytest.raises(EngineError, match=r"apt-get update.*--source FILE"):
        source.package("6.12")


def test_without_apt_the_error_names_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EngineError, match=r"no apt is here.*give --source FILE"):
        source.carried()


def test_too_little_room_is_said_before_anything_is_loaded(apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "missing", lambda _: [])
    monkeypatch.setattr(build, "SCRATCH_BYTES", 1 << 60)
    with pytest.raises(EngineError, match=r"GB are free, a build needs .* GB \(XDG_CACHE_HOME"):
        build.build(build.Plan())
    assert [path.name for path in store.place().iterdir()] == [".lock"]


# --- the package ----------------------------------------------------------------------------------


def test_a_package_is_known_by_its_checksum(apt: Path) -> None:
    wanted = source.package("6.12")
    assert (wanted.name, wanted.version, wanted.size) == ("linux-source-6.12", "6.12.9-1", 7)
    assert source.kept(wanted) is None
    command, folder = source.command_for(wanted)
    subprocess.run(command, cwd=folder, check=True)
    path = source.kept(wanted)
    assert path == folder / "linux-source-6.12_6.12.9-1_all.deb"
    path.write_text("damaged")
    assert source.kept(wanted) is None


def test_a_package_with_another_checksum_ends_the_build(apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "missing", lambda _: [])
    (apt / "apt-get").write_text("#!/bin/sh\nprintf other > linux-source-6.12_6.12.9-1_all.deb\n")
    with pytest.raises(
        EngineError, match=r"linux-source-6\.12 6\.12\.9-1: the file that apt loaded has another checksum"
    ):
        build.build(build.Plan())


def test_a_package_that_cannot_be_loaded_says_what_apt_says(apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "missing", lambda _: [])
    (apt / "apt-get").write_text("#!/bin/sh\necho E: no such host >&2\nexit 100\n")
    told: list[str] = []
    with pytest.raises(EngineError, match=r"(?s)loading the package failed; from .*build\.log:.*E: no such host"):
        build.build(build.Plan(), build.Shown(told.append))
    assert told == ["programs of the guest", "loading linux-source-6.12 6.12.9-1, 0 MB"]
    assert sorted(path.name for path in store.place().iterdir()) == [".lock", "build.log", "packages", "programs"]


def test_older_versions_of_a_package_are_removed(tmp_path: Path) -> None:
    for name in ("linux-source-6.12_6.12.8-1_all.deb", "linux-source-6.12_6.12.9-1_all.deb", "linux-source-6.1_1.deb"):
        (tmp_path / name).write_text("")
    source.discard_others(tmp_path / "linux-source-6.12_6.12.9-1_all.deb")
    assert sorted(path.name for path in tmp_path.glob("*.deb")) == [
        "linux-source-6.12_6.12.9-1_all.deb",
        "linux-source-6.1_1.deb",
    ]


# --- the source -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("net/ipv4/tcp_input.c", True),
        ("drivers/net/veth.c", True),
        ("drivers/net/ethernet/intel/e1000/e1000_main.c", False),
        ("drivers/net/ethernet/intel/Kconfig", True),
        ("arch/x86/um/user-offsets.c", True),
        ("arch/arm64/Kconfig.debug", True),
        ("arch/arm64/kernel/head.S", False),
        ("Documentation/Kconfig", True),
        ("Documentation/networking/ip-sysctl.rst", False),
    ],
)
def test_only_what_a_kernel_needs_is_unpacked(path: str, *, wanted: bool) -> None:
    assert source.is_needed(PurePosixPath(path)) is wanted


@pytest.mark.parametrize("kind", ["xz", "gz", "bz2"])
def test_an_archive_is_unpacked_without_its_top_folder(tmp_path: Path, kind: str) -> None:
    tree(tmp_path / "linux-6.12.9")
    (tmp_path / "linux-6.12.9" / "Documentation").mkdir()
    (tmp_path / "linux-6.12.9" / "Documentation" / "big.rst").write_text("")
    (tmp_path / "linux-6.12.9" / "link").symlink_to("Makefile")
    (tmp_path / "linux-6.12.9" / "Makefile").chmod(0o755)
    archive = tmp_path / f"linux-6.12.9.tar.{kind}"
    with tarfile.open(archive, f"w:{kind}") as tar:  # type: ignore[call-overload]
        tar.add(tmp_path / "linux-6.12.9", "linux-6.12.9")
    source.unpack(archive, tmp_path / "made")
    assert source.release_of(tmp_path / "made") == "6.12.9"
    assert (tmp_path / "made" / "link").readlink() == Path("Makefile")
    assert (tmp_path / "made" / "Makefile").stat().st_mode & 0o777 == 0o755
    assert not (tmp_path / "made" / "Documentation").exists()


def test_an_archive_that_leaves_its_folder_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "linux-6.12.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.addfile(tarfile.TarInfo("linux/../../outside"), io.BytesIO())
    with pytest.raises(ScenarioError, match="outside of it"):
        source.unpack(archive, tmp_path / "home" / "made")
    assert not (tmp_path / "outside").exists()


def _member(name: str, kind: bytes = tarfile.REGTYPE, to: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, to
    return made


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ([_member("linux/init", tarfile.SYMTYPE, "{outside}"), _member("linux/init/x.c")], "absolute path"),
        (
            [_member("linux/init", tarfile.SYMTYPE, "../../outside"), _member("linux/init/x.c")],
            "outside the destination",
        ),
        ([_member("linux/init", tarfile.SYMTYPE, "../../../../../../etc")], "outside the destination"),
        (
            [_member("linux/init", tarfile.SYMTYPE, "kernel"), _member("linux/init/x.c")],
            "init is a link, wanted a folder",
        ),
        ([_member("linux/a.c"), _member("linux/a.c")], "File exists"),
        ([_member("linux/a", tarfile.SYMTYPE, "b"), _member("linux/a")], "File exists"),
        ([_member("linux/a.c", tarfile.LNKTYPE, "linux/b.c")], "is a hard link"),
        ([_member("linux/a.c", tarfile.LNKTYPE, "/etc/passwd")], "is a hard link"),
        ([_member("linux/a", tarfile.CHRTYPE)], "is a special file"),
        ([_member("linux/a", tarfile.BLKTYPE)], "is a special file"),
        ([_member("linux/a", tarfile.FIFOTYPE)], "is a special file"),
        ([_member("/etc/x")], "outside of it"),
    ],
)
def test_an_archive_that_would_write_elsewhere_is_refused(
    tmp_path: Path, members: list[tarfile.TarInfo], why: str
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "home" / "made" / "kernel").mkdir(parents=True)
    with tarfile.open(tmp_path / "linux.tar", "w") as tar:
        for member in members:
            tar.addfile(member.replace(linkname=member.linkname.format(outside=tmp_path / "outside"), deep=False))
    with pytest.raises(ScenarioError, match=rf"--source: .* in the archive.*{why}"):
        source.unpack(tmp_path / "linux.tar", tmp_path / "home" / "made")
    assert not list((tmp_path / "outside").iterdir())
    assert not list((tmp_path / "home" / "made" / "kernel").iterdir())


def test_a_folder_with_a_link_out_of_it_is_refused(tmp_path: Path) -> None:
    given = tree(tmp_path / "linux")
    (given / "net").rename(tmp_path / "net") if (given / "net").exists() else (tmp_path / "net").mkdir()
    (given / "net").symlink_to(tmp_path / "net")
    with pytest.raises(ScenarioError, match="net is a link out of the source"):
        source.unpack(given, tmp_path / "made")


@pytest.mark.parametrize(("name", "text"), [("x.deb", b"nothing"), ("x.tar.xz", b"\xfd7zXZ\0damaged"), ("x", b"text")])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, name: str, text: bytes) -> None:
    (tmp_path / name).write_bytes(text)
    with pytest.raises(ScenarioError, match=rf"--source: .*{name}: no package and no archive that can be read"):
        source.unpack(tmp_path / name, tmp_path / "made")


def test_a_folder_is_copied_and_its_checksum_covers_names_and_texts(tmp_path: Path) -> None:
    given = tree(tmp_path / "linux")
    source.unpack(given, tmp_path / "made")
    first = source.folder_sha256(tmp_path / "made")
    assert first == source.folder_sha256(given)
    (given / "Makefile").rename(given / "makefile")
    assert source.folder_sha256(given) != first


def test_what_is_no_source_of_linux_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="it is no source of Linux"):
        source.release_of(tmp_path)


@pytest.mark.parametrize(
    ("series", "fits"),
    [("6.12", True), ("6.12.9", True), ("6.12-mine", True), ("6.1", False), ("6.12.9.1", False), ("mine", False)],
)
def test_a_series_is_the_beginning_of_the_release(series: str, *, fits: bool) -> None:
    assert store.is_series_of(series, "6.12.9") is fits


# --- edits and settings ---------------------------------------------------------------------------


def test_every_edit_says_why_and_is_made_at_one_place(tmp_path: Path) -> None:
    made = tree(tmp_path)
    for edit in source.edits(250):
        assert len(edit.why) > 20, edit.name
        assert source.apply(edit, made)
        text = (made / edit.file).read_text()
        assert f"before\n{edit.put}after\n" in text, edit.name
        assert f"before\n{edit.find}" not in text or edit.find in edit.put, edit.name
    assert "default 250\n" in (made / "arch" / "um" / "Kconfig").read_text()


def test_an_edit_whose_place_is_missing_or_there_twice_is_named(tmp_path: Path) -> None:
    made = tree(tmp_path)
    edit = source.edits(1000)[0]
    path = made / edit.file
    path.write_text(edit.find * 2)
    with pytest.raises(EngineError, match=r"edit tick \(.*\): arch/um/Kconfig has the text .* 2 times, wanted once"):
        source.apply(edit, made)
    path.write_text("")
    with pytest.raises(EngineError, match=r"edit tick .* 0 times"):
        source.apply(edit, made)
    path.unlink()
    with pytest.raises(EngineError, match=r"edit tick .*arch/um/Kconfig: No such file"):
        source.apply(edit, made)


def test_an_edit_that_a_series_does_not_need_is_left_out(tmp_path: Path) -> None:
    edit = source.Edit(name="one", why="", file="file", find="old", put="new", unless=["other", "better"])
    (tmp_path / "file").write_text("old, and better")
    assert not source.apply(edit, tmp_path)
    assert (tmp_path / "file").read_text() == "old, and better"


def test_settings_that_the_configuration_did_not_take_end_the_build(tmp_path: Path) -> None:
    taken = [setting for setting, may_lack in source.settings().items() if not may_lack]
    (tmp_path / ".config").write_text("\n".join(taken))
    assert source.lacking(tmp_path) == [setting for setting, may_lack in source.settings().items() if may_lack]
    (tmp_path / ".config").write_text("\n".join(one for one in taken if one != "CONFIG_VETH=y"))
    with pytest.raises(EngineError, match=r"did not take CONFIG_VETH=y$"):
        source.lacking(tmp_path)


def test_settings_are_written_once_each() -> None:
    lines = [line.partition(" ")[0] for line in source.CONFIG.read_text().splitlines() if line.startswith("CONFIG_")]
    assert len(lines) == len(set(lines)) == len(source.settings())
    assert all(line.count("=") == 1 for line in lines)


def test_the_recipe_changes_with_the_tick(tmp_path: Path) -> None:
    assert source.recipe(1000) == source.recipe(1000) != source.recipe(250)


def test_edits_have_the_keys_that_they_may_have() -> None:
    names = [one["name"] for one in tomllib.loads(source.EDITS.read_text())["edit"]]
    assert names == [
        "tick",
        "registers",
        "seed",
        "interrupts",
        "memory",
        "end",
        "death",
        "death-declared",
        "children",
        "grandchildren",
    ]


# --- builds that fail -----------------------------------------------------------------------------


def test_a_compiler_that_fails_leaves_its_log_and_nothing_else(tmp_path: Path) -> None:
    given = tree(tmp_path / "linux")
    (given / "Makefile").write_text((given / "Makefile").read_text() + "allnoconfig:\n\t@echo broken; exit 1\n")
    told: list[str] = []
    with pytest.raises(EngineError, match=r"(?s)configuring failed; from .*build\.log:.*broken"):
        build.build(build.Plan(source=given), build.Shown(told.append))
    assert told[-1] == "configuring"
    assert sorted(path.name for path in store.place().iterdir()) == [".lock", "build.log", "programs"]
    assert "default 100\n" in (given / "arch" / "um" / "Kconfig").read_text(), "the user's folder stays as it is"


def test_a_compiler_ends_with_an_interrupt_that_comes_while_it_is_started(
    tmp_path: Path, interrupted_start: Callable[[str], list[int]]
) -> None:
    given = tree(tmp_path / "linux")
    (given / "Makefile").write_text((given / "Makefile").read_text() + "allnoconfig:\n\tsleep 100\n")
    started = interrupted_start("make")
    with pytest.raises(Interrupted):
        build.build(build.Plan(source=given))
    (pid,) = started
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_name_that_is_not_of_the_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"--kernel: got 6\.1, wanted the series of the source, 6\.12\.9, as in 6"):
        build.build(build.Plan(series="6.1", source=tree(tmp_path / "linux")))


def test_what_a_killed_build_left_is_removed_by_the_next(tmp_path: Path) -> None:
    (store.place() / ".build-1" / "tree").mkdir(parents=True)
    with pytest.raises(ScenarioError):
        build.build(build.Plan(series="6.1", source=tree(tmp_path / "linux")))
    assert not (store.place() / ".build-1").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("step", ["programs", "unpacking", "5 edits", "configuring"])
def test_an_interrupt_at_any_step_leaves_no_scratch_folder(number: int, step: str, tmp_path: Path, cache: Path) -> None:
    def interrupt(text: str) -> None:
        if text.startswith(step) or (step == "5 edits" and " edits: " in text):
            signal.raise_signal(number)

    with pytest.raises(Interrupted) as raised:
        build.build(build.Plan(source=tree(tmp_path / "linux")), build.Shown(interrupt))
    assert raised.value.number == number
    assert not list(cache.glob(".build-*"))


def test_a_compiler_that_still_writes_does_not_keep_the_scratch_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, folder = tmp_path / "bin", tmp_path / ".build-1"
    programs.mkdir()
    (folder / "tree").mkdir(parents=True)
    (programs / "rm").write_text(  # what rm says where a file has come since it looked
        f'#!/bin/sh\necho x >> {tmp_path}/calls\n[ $(wc -l < {tmp_path}/calls) -ge 3 ] || exit 1\nexec /bin/rm "$@"\n'
    )
    (programs / "rm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    build._discard(folder)
    assert not folder.exists()


def test_an_interrupt_between_an_old_kernel_and_its_successor_leaves_one(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = cache / store.folder_name("6.12", 1000)
    old.mkdir(parents=True)
    (old / "kernel.json").write_text("{}")
    gone = build._gone

    def interrupted() -> Path:
        signal.raise_signal(signal.SIGTERM)
        return gone()

    monkeypatch.setattr(build, "_gone", interrupted)
    making = build._Build(build.Plan(series="6.12"), build.Shown())
    making.scratch.mkdir()
    (making.scratch / "linux").write_text("new")
    making.log.write_text("")
    kernel = store.Kernel(
        folder=making.scratch, series="6.12", hz=1000, release="6.12.9", package="", source_sha256="", recipe="",
        key="", compiler="", made="",
    )  # fmt: skip
    with pytest.raises(Interrupted), Raised():
        making._keep(kernel)
    assert (old / "linux").read_text() == "new"


def test_a_second_build_waits_for_the_first(tmp_path: Path) -> None:
    class HeldError(Exception):
        pass

    def stop(text: str) -> None:
        raise HeldError(text)

    store.place().mkdir(parents=True)
    with (store.place() / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(HeldError, match="another build is running: waiting for its end"):
            build.build(build.Plan(source=tree(tmp_path / "linux")), build.Shown(stop))


def test_what_is_no_kernel_of_this_program_stays_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    theirs = [store.place() / name for name in (".my-notes/x", "packages/mine.deb", "programs/mine", ".gone-mine/x")]
    ours = [store.place() / name for name in ("packages/linux-source-6.1_1_all.deb", "programs/init-0123456789abcdef")]
    for path in (*theirs, *ours, store.place() / ".gone-12-3" / "linux", store.place() / ".build-7" / "linux"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    build.remove_all()
    assert all(path.exists() for path in theirs)
    left = sorted(path.name for path in store.place().iterdir())
    assert left == [".gone-mine", ".lock", ".my-notes", "packages", "programs"]
    assert not any(path.exists() for path in ours)


def test_the_lock_of_builds_is_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "victim").write_text("precious")
    store.place().mkdir(parents=True)
    (store.place() / ".lock").symlink_to(tmp_path / "victim")
    with pytest.raises(EngineError, match=r"\.lock is a link"):
        build.remove_all()
    assert (tmp_path / "victim").read_text() == "precious"
