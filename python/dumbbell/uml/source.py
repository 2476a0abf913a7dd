"""The kernel's source: which series the distribution carries, its package, unpacking, editing and configuring it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from dumbbell.errors import EngineError, ScenarioError, wrong
from dumbbell.files import created, make_folder

from . import store

#: Data of this package: what is set and what is edited.
DATA = Path(__file__).with_name("kernel")
CONFIG, EDITS = DATA / "kernel.config", DATA / "edits.toml"

#: Parts of the source whose code no kernel for this machine compiles; of them only what configures the others is
#: unpacked, so that a third of the files is written.
_UNUSED = {
    "arch": "alpha arc arm arm64 csky hexagon ia64 loongarch m68k microblaze mips nios2 openrisc parisc powerpc riscv"
    " s390 sh sparc xtensa",
    "drivers": "accel accessibility ata bluetooth clk comedi crypto cxl edac fpga gpio gpu greybus hid hwmon hwtracing"
    " i2c i3c iio infiniband interconnect iommu isdn leds md media memstick misc mmc mtd nfc nvme pci phy pinctrl"
    " platform remoteproc scsi soc soundwire spi staging target thunderbolt ufs usb video watchdog",
    "drivers/net": "can dsa ethernet phy wireless wwan",
    "fs": "afs bcachefs btrfs ceph cifs ext4 f2fs gfs2 jfs2 nfs nfsd nilfs2 ntfs ntfs3 ocfs2 reiserfs smb ubifs udf"
    " xfs",
    "tools": "perf testing",
    "": "Documentation samples sound",
}
_UNUSED_FOLDERS = frozenset(PurePosixPath(above, name) for above, names in _UNUSED.items() for name in names.split())
_MAKES = ("Kconfig", "Makefile", "Kbuild")
_PACKAGE = re.compile(r"linux-source-(\d+(?:\.\d+)+)")
_ARCHIVE = re.compile(r"(?:.*/)?linux-[^/]*\.tar\.(?:xz|bz2|gz)")


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package of the distribution's with the source of a series."""

    name: str
    version: str
    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A change of one place in the source."""

    name: str
    why: str
    file: str
    find: str
    put: str
    unless: Sequence[str] = ()
    """Texts of which the file has one in a series that does not need the edit."""


def carried() -> list[str]:
    """The series that the distribution has a source package of, oldest first."""
    listed = _apt("apt-cache", "pkgnames", "linux-source-")
    series = {match[1] for line in listed.splitlines() if (match := _PACKAGE.fullmatch(line.strip()))}
    return sorted(series, key=store.version)


def package(series: str) -> Package:
    """The package of this series, in its newest version. Raises ScenarioError that says which series there are."""
    there = carried()
    if series not in there:
        if not there:
            raise EngineError(
                "apt knows no package linux-source-...: run `apt-get update` (root), or give --source FILE"
            )
        raise wrong("--kernel", series, f"a series that this distribution carries: {', '.join(there)}")
    told: dict[str, str] = {}
    for line in _apt("apt-cache", "show", "--no-all-versions", f"linux-source-{series}").splitlines():
        name, colon, value = line.partition(": ")
        if colon:
            told.setdefault(name, value.strip())
    return Package(name=told["Package"], version=told["Version"], size=int(told.get("Size", 0)), sha256=told["SHA256"])


def packages() -> list[Path]:
    """The files of all packages that were loaded."""
    return sorted(folder().glob("linux-source-*_*.deb"))


def kept(wanted: Package) -> Path | None:
    """The file of this package, where it was loaded before and is whole."""
    for path in folder().glob(f"{wanted.name}_*.deb"):
        if sha256(path) == wanted.sha256:
            return path
    return None


def command_for(wanted: Package) -> tuple[list[str], Path]:
    """Command that loads a package, and the folder to run it in."""
    folder().mkdir(parents=True, exist_ok=True)
    as_root = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
    return ["apt-get", "-q", *as_root, "download", f"{wanted.name}={wanted.version}"], folder()


def discard_others(path: Path) -> None:
    """Remove older versions of a package."""
    for other in path.parent.glob(f"{path.name.partition('_')[0]}_*.deb"):
        if other != path:
            other.unlink()


def sha256(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unpack(path: Path, into: Path) -> None:
    """The source in a package, an archive or a folder, without what is not needed. `into` must not exist yet.

    Raises ScenarioError for a file that is neither package nor archive, or is damaged.
    """
    try:
        if path.is_dir():
            shutil.copytree(path, into, symlinks=True, ignore=shutil.ignore_patterns(".git", "*.o", "*.cmd"))
            _refuse_ways_out(into)
        elif path.suffix == ".deb":
            inner = into.with_name(f"{into.name}.tar")
            _take_archive(path, inner)
            _unpack_archive(inner, into)
            inner.unlink()
        else:
            _unpack_archive(path, into)
    except (tarfile.TarError, EOFError) as error:
        raise ScenarioError("--source", f"{path}: no package and no archive that can be read ({error})") from None


def _refuse_ways_out(tree: Path) -> None:
    """Raise ScenarioError for a link out of a source: what is edited and compiled in it would be written elsewhere."""
    top = tree.resolve()
    for folder, names, files in os.walk(tree):
        for path in (Path(folder, name) for name in (*names, *files)):
            if path.is_symlink() and not path.resolve().is_relative_to(top):
                raise ScenarioError("--source", f"{path.relative_to(tree)} is a link out of the source")


def folder_sha256(folder: Path) -> str:
    """SHA-256 of all files of a folder, with their names."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            total.update(f"{path.relative_to(folder)}\0{sha256(path)}\n".encode())
    return total.hexdigest()


def release_of(tree: Path) -> str:
    """Version of a source: 6.12.117. Raises ScenarioError for a folder or archive that is none."""
    try:
        text = (tree / "Makefile").read_text(encoding="utf-8")
    except OSError:
        text = ""
    parts = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", text, re.MULTILINE))
    if len(parts) != 3 or not (tree / "arch" / "um").is_dir():
        raise ScenarioError("--source", "it is no source of Linux, wanted a package, an archive or a folder of one")
    return f"{parts['VERSION']}.{parts['PATCHLEVEL']}.{parts['SUBLEVEL']}"


def edits(hz: int) -> list[Edit]:
    """Of `edits.toml`, with this tick."""
    listed = [Edit(**edit) for edit in tomllib.loads(EDITS.read_text(encoding="utf-8"))["edit"]]
    return [Edit(**{**vars(edit), "put": edit.put.replace("{hz}", str(hz)).removeprefix("\n")}) for edit in listed]


def apply(edit: Edit, tree: Path) -> bool:
    """Make one edit; whether it was needed. Raises EngineError where its place is not found once."""
    path = tree / edit.file
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise EngineError(f"edit {edit.name} ({edit.why}): {edit.file}: {error.strerror}") from None
    if any(known in text for known in edit.unless):
        return False
    if (count := text.count(edit.find)) != 1:
        raise EngineError(
            f"edit {edit.name} ({edit.why}): {edit.file} has the text {edit.find.strip()!r} {count} times, wanted once:"
            " this series differs from those that are known"
        )
    path.write_text(text.replace(edit.find, edit.put), encoding="utf-8")
    return True


def settings() -> dict[str, bool]:
    """Of `kernel.config`, and whether a series may lack them."""
    lines = [line for line in CONFIG.read_text(encoding="utf-8").splitlines() if line.startswith("CONFIG_")]
    return {line.partition("#")[0].strip(): line.endswith("# optional") for line in lines}


def lacking(tree: Path) -> list[str]:
    """Settings that this series lacks and may. Raises EngineError for others that the configuration did not take."""
    configured = set((tree / ".config").read_text(encoding="utf-8").splitlines())
    missing = {setting: may_lack for setting, may_lack in settings().items() if setting not in configured}
    if needed := [setting for setting, may_lack in missing.items() if not may_lack]:
        raise EngineError(f"the configuration of this series did not take {', '.join(needed)}")
    return list(missing)


def recipe(hz: int) -> str:
    """SHA-256 of what is added to a source."""
    return hashlib.sha256(b"\0".join([CONFIG.read_bytes(), EDITS.read_bytes(), str(hz).encode()])).hexdigest()


def folder() -> Path:
    """Folder of the packages."""
    return store.place() / "packages"


def _apt(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    except OSError:
        raise EngineError(
            "no apt is here, which loads the kernel's source: give --source FILE (linux-source-*.deb, linux-*.tar.xz)"
        ) from None
    if done.returncode:
        raise EngineError(f"{' '.join(command)}: {done.stderr.strip()[-300:]}")
    return done.stdout


def _take_archive(package_file: Path, into: Path) -> None:
    """The archive of the source that is in a package."""
    with (
        _reading("dpkg-deb", "--fsys-tarfile", str(package_file)) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        for member in tar:
            if member.isfile() and _ARCHIVE.fullmatch(member.name) and (inner := tar.extractfile(member)):
                with into.open("wb") as archive:
                    shutil.copyfileobj(inner, archive, 1 << 20)
                return
    raise ScenarioError("--source", f"{package_file.name} has no archive of Linux in it")


def _unpack_archive(path: Path, into: Path) -> None:
    with path.open("rb") as file:
        is_xz = file.read(6) == b"\xfd7zXZ\0"
    if not is_xz:
        with tarfile.open(path, "r|*") as tar:
            _extract(tar, into)
        return
    with _reading("xz", "-T0", "-dc", str(path)) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        _extract(tar, into)


def _extract(tar: tarfile.TarFile, into: Path) -> None:
    """Extract what is needed of an archive, without its top folder. Raises ScenarioError for what would be written
    through a link, a link that leads out of it, and what is neither file, folder nor symbolic link.
    """
    into.mkdir(parents=True, exist_ok=True)
    folders = {into}
    for member in _needed(tar):
        path = into.joinpath(*PurePosixPath(member.name).parts[1:])
        try:
            if member.islnk():
                raise ScenarioError("--source", f"{member.name} in the archive is a hard link, wanted files")
            tarfile.data_filter(member.replace(name=str(path.relative_to(into)), deep=False), str(into))
            if member.isdir():  # made with what is in it
                continue
            for above in reversed([path.parent, *path.parent.parents]):
                if above.is_relative_to(into) and above not in folders:
                    make_folder(above)
                    folders.add(above)
            if member.issym():
                path.symlink_to(member.linkname)
            elif inner := tar.extractfile(member):
                with os.fdopen(created(path), "wb") as file:
                    shutil.copyfileobj(inner, file, 1 << 20)
                path.chmod(0o755 if member.mode & 0o100 else 0o644)
                os.utime(path, (member.mtime, member.mtime))
        except tarfile.FilterError as error:
            raise ScenarioError("--source", f"{member.name} in the archive: {error}") from None
        except OSError as error:
            raise ScenarioError("--source", f"{member.name} in the archive: {error.strerror}") from None


def _needed(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    for member in tar:
        path = PurePosixPath(member.name)
        if ".." in path.parts or path.is_absolute():
            raise ScenarioError("--source", f"{member.name} in the archive is outside of it")
        if is_needed(PurePosixPath(*path.parts[1:])):
            yield member


def is_needed(path: PurePosixPath) -> bool:
    """True if this file of the source is unpacked.

    >>> is_needed(PurePosixPath("drivers/gpu/drm/drm_file.c")), is_needed(PurePosixPath("drivers/gpu/drm/Kconfig"))
    (False, True)
    """
    return path.name.startswith(_MAKES) or not any(above in _UNUSED_FOLDERS for above in path.parents)


@contextmanager
def _reading(*command: str) -> Iterator[IO[bytes]]:
    """The output of a program, which ends with this."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.kill()
