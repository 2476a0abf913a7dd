"""The source distribution and the wheel, each installed into a fresh environment far from the checkout and used there.

`make package` builds both into dist/ and runs this; it needs no network beyond what pip has.
"""

from __future__ import annotations

import email
import fcntl
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ROOT

DIST = Path(os.environ.get("DUMBBELL_DIST", ROOT / "dist"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not list(DIST.glob("dumbbell-*.whl")), reason="nothing is packed: `make package` does, and runs this"
    ),
]

LICENSE = "(MIT OR Apache-2.0) AND (GPL-2.0-only OR BSD-3-Clause)"
LICENSE_FILES = {"LICENSE-APACHE", "LICENSE-MIT", "LICENSES/BSD-3-Clause.txt", "LICENSES/GPL-2.0.txt", "cca/LICENSE"}
#: The oldest glibc that a wheel may need; Debian 12, Ubuntu 22.04 and RHEL 9 have it.
GLIBC = (2, 34)

#: What Cargo calls the files that it makes of our own crates, without "lib" before and the hash after.
OUR_CRATES = {"_native", "native", *(path.name for path in (ROOT / "crates").iterdir())}

Run = Callable[..., subprocess.CompletedProcess[str]]


def only(pattern: str) -> Path:
    """The one file of dist/ that matches."""
    found = list(DIST.glob(pattern))
    assert len(found) == 1, f"wanted one {pattern} in {DIST}, got {found}"
    return found[0]


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel, or what the source distribution builds, and pinned
    dependencies.
    """
    place = tmp_path_factory.mktemp(request.param)
    venv.create(place / "venv")
    python = str(place / "venv" / "bin" / "python")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "--quiet",
        "--disable-pip-version-check",
        "install",
        "--no-compile",
    ]
    lock = ["--require-hashes", "--only-binary", ":all:"]
    _checked([*pip, *lock, "-r", str(ROOT / "requirements.lock")], cwd=place)
    if request.param == "wheel":
        _checked([*pip, "--no-index", "--no-deps", str(only("dumbbell-*.whl"))], cwd=place)
    else:
        _checked([*pip, *lock, "-r", str(ROOT / "requirements-build.lock")], cwd=place)
        target = _target()
        path = f"{place / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        env = {
            **os.environ,
            "CARGO_TARGET_DIR": str(target),
            "CARGO_INCREMENTAL": "0",
            "MATURIN_PEP517_ARGS": "--profile dev",
            "PATH": path,
        }
        _checked([*pip, "--no-deps", "--no-build-isolation", str(only("dumbbell-*.tar.gz"))], cwd=place, env=env)
    return place / "venv" / "bin"


def _target() -> Path:
    """A target folder for Cargo with the registry's crates as the tests in Rust compiled them (optimising the engine
    once more would take minutes), and none of our own, which are compiled from what was packed. It is not the checkout's
    folder: other programs compile there meanwhile. Its files are links, made while Cargo's lock keeps the others out.
    """
    compiled = ROOT / "target" / "debug"
    target = ROOT / "target" / "packed" / "debug"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    if not compiled.is_dir():
        return target.parent
    with (compiled / ".cargo-lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in ("deps", "build", ".fingerprint"):
            if (compiled / name).is_dir():
                shutil.copytree(
                    compiled / name,
                    target / name,
                    copy_function=os.link,
                    ignore=lambda _, names: filter(_ours, names),
                )
    return target.parent


def _ours(name: str) -> bool:
    """Whether a file or folder of Cargo's is of one of our own crates."""
    crate, dash, _ = name.removeprefix("lib").rpartition("-")
    return bool(dash) and (crate.startswith("dumbbell") or crate in OUR_CRATES)


def _checked(command: list[str], *, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Run:
    """Run an installed program in an empty folder, with nothing of the checkout in its way."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    kept["COLUMNS"] = "200"

    def start(program: str, *arguments: str | Path, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        command = [*before, str(installed / program), *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, env=kept, capture_output=True, text=True, timeout=300, check=False)

    return start


def test_it_says_its_version_and_the_commit_that_it_was_built_from(run: Run) -> None:
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    done = run("dumbbell", "--version")
    assert (done.returncode, done.stderr) == (0, "")
    versions = done.stdout.split()
    versions = dict(zip(versions[::2], versions[1::2], strict=True))
    assert (
        versions["dumbbell"]
        == versions["engine"]
        == only("dumbbell-*.tar.gz").name.removeprefix("dumbbell-").removesuffix(".tar.gz")
    )
    assert versions["commit"].rstrip("+") == head


def test_pip_finds_its_dependencies_and_nothing_is_missing(installed: Path, run: Run) -> None:
    _checked([sys.executable, "-m", "pip", "--python", str(installed / "python"), "check"], cwd=installed)
    wanted = run(
        "python", "-c", "import importlib.metadata as m; print(*m.requires('dumbbell'), sep='\\n')"
    ).stdout.splitlines()
    assert {line.split(">")[0] for line in wanted if "extra ==" not in line} >= {
        "matplotlib",
        "numpy",
        "pyarrow",
        "rich",
    }


def test_controllers_gallery_check_and_a_run_with_its_picture_work(run: Run, tmp_path: Path) -> None:
    assert "cubic" in run("dumbbell", "cca", "list").stdout
    assert "pair-cubic-bbr" in run("dumbbell", "gallery").stdout
    assert run("dumbbell", "new", "pair-cubic-bbr", "mine.toml").returncode == 0
    done = run(
        "dumbbell", "run", "mine.toml", "--set", "duration=2s", "--set", 'path.buffer=["1bdp","2bdp"]', "--out", "out"
    )
    assert done.returncode == 0, done.stderr
    shown = run("dumbbell", "show", "out")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert {"cubic", "bbr"} <= set(shown.stdout.lower().split()), shown.stdout
    drawn = run("dumbbell", "plot", "vary", "out", "-o", "vary.png")
    assert drawn.returncode == 0, drawn.stderr
    assert (tmp_path / "vary.png").read_bytes()[:4] == b"\x89PNG"
    manifest = json.loads(next((tmp_path / "out").glob("*/manifest.json")).read_text())
    assert len(manifest["git"].rstrip("+")) == 40


def test_scenarios_with_traces_run_from_the_gallery(run: Run) -> None:
    done = run(
        "dumbbell",
        "run",
        "gallery:yang-fig23",
        "--set",
        "duration=1s",
        "--set",
        'flow[0].cca="cubic"',
        "--json",
        "--out",
        "out",
    )
    assert done.returncode == 0, done.stderr
    assert all(json.loads(line)["flows"][0]["goodput_mbps"] > 0 for line in done.stdout.splitlines())


def test_a_controller_of_ones_own_compiles_against_the_installed_headers(run: Run) -> None:
    assert run("dumbbell", "new", "examples/own-module").returncode == 0
    done = run(
        "dumbbell", "run", "own-module.toml", "--cca", "tcp_steady.c", "--set", "duration=1s", "--json", "--out", "out"
    )
    assert done.returncode == 0, done.stderr


def test_modules_are_compiled_from_what_is_installed(run: Run, tmp_path: Path) -> None:
    # A kernel's tree as far as make looks at it: its rule finds the sources, and leaves what would be the module.
    (tmp_path / "tree/include/config").mkdir(parents=True)
    (tmp_path / "tree/include/config/kernel.release").write_text("6.12.1\n")
    (tmp_path / "tree/include/config/auto.conf").write_text("")
    rule = "modules:\n\tcp $(M)/cca/bbr2.c $(M)/bbr2.ko\n\tcd $(M)/cca && test -f hosts/kmod/host.h -a -f bbr2/core.h\n"
    (tmp_path / "tree/Makefile").write_text(rule)
    done = run("dumbbell", "kernel", "module", "bbr2", "--build", tmp_path / "tree", "--out", "modules")
    assert (done.stdout, done.returncode) == ("modules/bbr2.ko\n", 0), done.stderr
    assert (tmp_path / "modules/bbr2.ko").read_bytes() == (ROOT / "cca/bbr2.c").read_bytes()


def test_the_demo_draws_its_picture(run: Run, tmp_path: Path) -> None:
    # The command as it is, over less time: only the length of its runs is another.
    shorter = """
import sys
from dumbbell.cli import main
from dumbbell.suites.book import Book
jobs_of = Book._jobs_of
def short(book, name, case):
    return jobs_of(book, name, case._replace(scenario={**case.scenario, "duration": "1s"}))
Book._jobs_of = short
sys.exit(main(["demo", "--out", "demo", "--store", "store"]))
"""
    done = run("python", "-c", shorter)
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "demo" / "kfoury2020-fig11a.png").stat().st_size > 10_000


@pytest.mark.skipif(os.geteuid() != 0, reason="hiding a library takes a mount namespace of its own (root)")
def test_only_the_kernel_commands_need_libelf(run: Run, tmp_path: Path) -> None:
    found = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    files = [
        line.split("=>")[1].strip() for line in found.splitlines() if "libelf.so.1 " in line or "libz.so.1 " in line
    ]
    assert any("libelf" in file for file in files), "libelf is installed, or there is nothing to hide"
    (tmp_path / "nothing").touch()
    hide = "".join(f"mount --bind nothing '{Path(file).resolve()}' && " for file in files if "libelf" in file)
    hidden = ("unshare", "--mount", "--propagation", "private", "sh", "-c", f'{hide} exec "$0" "$@"')
    assert "cubic" in run("dumbbell", "cca", "list", before=hidden).stdout
    assert run("dumbbell", "check", "gallery:pair-cubic-bbr", before=hidden).returncode == 0
    done = run(
        "dumbbell", "run", "gallery:pair-cubic-bbr", "--set", "duration=1s", "--json", "--out", "out", before=hidden
    )
    assert done.returncode == 0, done.stderr
    assert run("dumbbell", "kernel", "list", before=hidden).returncode == 0
    load = run("dumbbell", "kernel", "load", "reno", before=hidden)
    assert (load.returncode, load.stdout) == (1, "")
    assert load.stderr.startswith("dumbbell: cannot load libelf.so.1"), load.stderr


def guests() -> set[str]:
    """What kernels for virtual time are made of, beside Python: settings, edits, programs of the guest."""
    top = ROOT / "python" / "dumbbell" / "uml"
    found = {
        path.relative_to(top).as_posix() for path in top.glob("*/*") if path.suffix in (".c", ".h", ".toml", ".config")
    }
    assert {"agent/init.c", "kernel/edits.toml", "kernel/kernel.config"} <= found
    return found


def assert_links_hold_anywhere(description: str) -> None:
    """An index shows the description without the checkout."""
    places = re.findall(r"\]\(([^)]+)\)", description)
    assert len(places) > 5
    assert all(place.startswith("https://") for place in places), places


def test_the_wheel_has_its_licences_the_gallery_and_a_tag_that_pip_takes_elsewhere() -> None:
    wheel = only("dumbbell-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (info,) = {name.split("/")[0] for name in names if ".dist-info/" in name}
        metadata = email.message_from_bytes(archive.read(f"{info}/METADATA"))
    assert metadata["License-Expression"] == LICENSE
    assert_links_hold_anywhere(metadata.get_payload())
    assert set(metadata.get_all("License-File", [])) == LICENSE_FILES
    assert {f"{info}/licenses/{name}" for name in LICENSE_FILES} <= set(names)
    gallery = {
        path.relative_to(ROOT / "scenarios").as_posix()
        for path in (ROOT / "scenarios").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {
        name.removeprefix("dumbbell/scenarios/") for name in names if name.startswith("dumbbell/scenarios/")
    } == gallery
    assert {"dumbbell/_build.py", "dumbbell/py.typed", "dumbbell/scenario/schema.json", "dumbbell/_native.pyi"} <= set(
        names
    )
    assert guests() <= {name.removeprefix("dumbbell/uml/") for name in names}
    assert not [name for name in names if name.startswith(("scenarios/", "tests/", "tools/", "docs/", "cca/"))]
    if sys.platform == "linux":
        tag = wheel.stem.rsplit("-", 1)[1]
        assert tag.startswith("manylinux_"), tag
        assert tuple(int(part) for part in tag.split("_")[1:3]) <= GLIBC, tag


def test_the_man_page_and_completions_are_installed_where_man_and_shells_look(installed: Path, run: Run) -> None:
    share = installed.parent / "share"
    version = run("dumbbell", "--version").stdout.split()[1]
    page = (share / "man/man1/dumbbell.1").read_text(encoding="utf-8")
    assert page.splitlines()[0] == f'.TH DUMBBELL 1 "" "dumbbell {version}" "User Commands"'
    assert page == run("dumbbell", "man").stdout
    for shell, name in (
        ("bash", "bash-completion/completions/dumbbell"),
        ("zsh", "zsh/site-functions/_dumbbell"),
        ("fish", "fish/vendor_completions.d/dumbbell.fish"),
    ):
        assert (share / name).read_text(encoding="utf-8") == run("dumbbell", "completion", shell).stdout


def test_the_source_distribution_has_what_a_build_and_a_reader_need() -> None:
    with tarfile.open(only("dumbbell-*.tar.gz")) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
        info = archive.extractfile(next(member for member in archive if member.name.endswith("/PKG-INFO")))
        assert_links_hold_anywhere(email.message_from_bytes(info.read()).get_payload())
    assert names >= {
        "README.md",
        "CHANGELOG.md",
        "Cargo.lock",
        "tools/build_backend.py",
        "docs/results.md",
        "python/dumbbell/_build.py",
        *LICENSE_FILES,
    }
    assert {f"cca/{path.name}" for path in (ROOT / "cca").glob("*.c")} <= names
    assert guests() <= {name.removeprefix("python/dumbbell/uml/") for name in names}
    assert {f"python/dumbbell/scenarios/{path.name}" for path in (ROOT / "scenarios").glob("*.toml")} <= names
    assert not [
        name
        for name in names
        if name.endswith((".so", ".o", ".pyc")) or name.startswith(("target/", "build/", "out/", ".git/"))
    ]


@pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None, reason="there is no MkDocs here: make build/stamps/site"
)
def test_the_site_is_built_from_the_source_distribution(tmp_path: Path) -> None:
    with tarfile.open(only("dumbbell-*.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    (top,) = tmp_path.iterdir()
    shutil.copy(next((ROOT / "python/dumbbell").glob("_native*.so")), top / "python/dumbbell")
    environment = {**os.environ, "PYTHONPATH": str(top / "python"), "NO_MKDOCS_2_WARNING": "1"}
    _checked([sys.executable, "-m", "mkdocs", "build", "--strict"], cwd=top, env=environment)
    assert (top / "build/site/notebooks/1-first-comparison.html").is_file()


def test_without_the_headers_of_libelf_the_build_leaves_the_kernel_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import build_backend  # the package's own, which pip imports the same way

    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("MATURIN_PEP517_ARGS", "--locked")
    with build_backend._features():
        assert os.environ["MATURIN_PEP517_ARGS"] == "--locked --no-default-features --features emulator"
    assert os.environ["MATURIN_PEP517_ARGS"] == "--locked"
    assert not build_backend._compiles("")
