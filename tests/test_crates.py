"""The crates for other projects: packed as for a registry, and each built from its package alone."""

from __future__ import annotations

import subprocess
import tarfile

from conftest import ROOT

#: What a program that uses our controllers in quinn gets, in the order of dependence.
CRATES = ("dumbbell-units", "dumbbell-cca", "dumbbell-quinn-cca")


def test_the_controllers_for_quinn_build_from_their_packages_alone() -> None:
    """Cargo builds each package where it has unpacked it, with the others from a registry that it makes of them."""
    packages = [word for crate in CRATES for word in ("-p", crate)]
    command = ["cargo", "package", "--offline", "--allow-dirty", *packages]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    found = sorted((ROOT / "target" / "package").glob("dumbbell-cca-*.crate"))
    assert len(found) == 1, found
    with tarfile.open(found[0]) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    wanted = {f"c/{path.name}" for path in (ROOT / "cca").glob("*.c")}
    wanted |= {"c/LICENSE", "LICENSES/GPL-2.0.txt", "LICENSES/BSD-3-Clause.txt"}
    assert wanted <= names, wanted - names
