"""The crates for other projects: packed as for a registry, and each built from its package alone."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

from conftest import ROOT

#: What a program that uses our controllers in quinn gets, in the order of dependence.
CRATES = ("dumbbell-units", "dumbbell-cca", "dumbbell-quinn-cca")


def cargo_home_with_nothing_unpacked(folder: Path) -> Path:
    """Give a home of cargo with the packages that were downloaded, in which none is unpacked.

    Cargo unpacks the packages that it has just made beside those of other registries, and names them by the path of
    the checkout and their version. It does not look at them again: what a check of an older commit has left at the
    same path would be compiled instead.
    """
    ours = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    registry = folder / "registry"
    registry.mkdir(parents=True)
    for part in ("cache", "index"):
        (registry / part).symlink_to(ours / "registry" / part)
    for config in ours.glob("config*"):
        (folder / config.name).symlink_to(config)
    return folder


def test_the_controllers_for_quinn_build_from_their_packages_alone(tmp_path: Path) -> None:
    """Cargo builds each package where it has unpacked it, with the others from a registry that it makes of them."""
    packages = [word for crate in CRATES for word in ("-p", crate)]
    command = ["cargo", "package", "--offline", "--allow-dirty", *packages]
    environment = os.environ | {"CARGO_HOME": str(cargo_home_with_nothing_unpacked(tmp_path / "cargo"))}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    found = sorted((ROOT / "target" / "package").glob("dumbbell-cca-*.crate"))
    assert len(found) == 1, found
    with tarfile.open(found[0]) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    wanted = {f"c/{path.name}" for path in (ROOT / "cca").glob("*.c")}
    wanted |= {"c/LICENSE", "LICENSES/GPL-2.0.txt", "LICENSES/BSD-3-Clause.txt"}
    assert wanted <= names, wanted - names
