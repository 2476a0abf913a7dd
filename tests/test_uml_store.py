"""Kernels for virtual time: where they are kept, which one is found, and the programs of the guest."""

from __future__ import annotations

from pathlib import Path

import pytest

from dumbbell.errors import EngineError
from dumbbell.uml import store


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; the folder of its kernels."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "dumbbell" / "uml"


def kept(series: str, hz: int = 1000, *, recipe: str = "b" * 64) -> store.Kernel:
    """A kernel in the cache, which cannot be started."""
    folder = store.place() / store.folder_name(series, hz)
    folder.mkdir(parents=True)
    kernel = store.Kernel(
        folder=folder,
        series=series,
        hz=hz,
        release=f"{series}.1",
        package=f"linux-source-{series} {series}.1-1",
        source_sha256="a" * 64,
        recipe=recipe,
        key="c" * 64,
        compiler="gcc 12.2.0",
        made="2026-01-01T00:00:00Z",
    )
    kernel.linux.write_text("")
    store.write(kernel)
    return kernel


def test_without_a_kernel_the_error_names_the_command_that_makes_one() -> None:
    assert store.all_kernels() == []
    with pytest.raises(EngineError, match=r"no Linux 6\.12 .* is built: `dumbbell uml build` makes it"):
        store.find()


def test_another_series_is_named_with_what_there_is() -> None:
    kept("6.12")
    with pytest.raises(EngineError, match=r"no Linux 6\.1 .* \(there is 6\.12\): `dumbbell uml build --kernel 6\.1`"):
        store.find("6.1")


def test_what_was_written_is_read_again() -> None:
    kernel = kept("6.12")
    assert store.find() == kernel
    assert store.find("6.12") == kernel
    assert kernel.name == "6.12-hz1000"


def test_series_are_ordered_as_versions_and_the_usual_one_is_found_first() -> None:
    for series in ("6.2", "6.12", "6.18"):
        kept(series)
    assert [kernel.series for kernel in store.all_kernels()] == ["6.2", "6.12", "6.18"]
    assert store.find().series == "6.12"


def test_without_the_usual_series_the_newest_is_found() -> None:
    for series in ("6.2", "6.10"):
        kept(series)
    assert store.find().series == "6.10"


def test_a_tick_is_found_where_it_is_built_and_otherwise_the_nearest_to_the_usual_one() -> None:
    for hz in (250, 100):
        kept("6.12", hz)
    assert store.find(hz=100).hz == 100
    assert store.find(hz=1000).hz == 250
    kept("6.12")
    assert store.find().hz == 1000


def test_what_is_half_made_damaged_or_of_others_is_no_kernel(cache: Path) -> None:
    kernel = kept("6.12")
    (cache / ".6.1-hz1000.123").mkdir()
    (cache / "6.1-hz1000").mkdir()
    (cache / "notes").mkdir()
    assert store.all_kernels() == [kernel]
    (kernel.folder / "kernel.json").write_text('{"series": "6.12"}')
    assert store.all_kernels() == []


def test_a_program_is_compiled_once_for_a_source(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    monkeypatch.setattr(store, "SOURCES", sources)
    (sources / "one.c").write_text("int main(void) { return 3; }\n")
    first = store.program("one")
    assert store.program("one") == first
    assert [path.name for path in (cache / "programs").iterdir()] == [first.name]
    (sources / "one.c").write_text("int main(void) { return 4; }\n")
    assert store.program("one") != first


def test_a_source_that_does_not_compile_leaves_nothing(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "SOURCES", tmp_path)
    (tmp_path / "one.c").write_text("int main(void) { return x; }\n")
    with pytest.raises(EngineError, match=r"(?s)one\.c: gcc failed: .*undeclared"):
        store.program("one")
    assert list((cache / "programs").iterdir()) == []


def test_the_default_place_is_in_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", "/somewhere")
    assert store.place() == Path("/somewhere/.cache/dumbbell/uml")
