"""The playground as a static folder, build/playground: the page of `dumbbell serve`, its workers, the engine as
WebAssembly, Pyodide, and the Python package. `tools/wasm.sh` makes the engine and the workers, and then calls this.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from dumbbell.report import html

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "build/playground"
PACKAGE = ROOT / "python/dumbbell"
PYODIDE = ROOT / "web/pyodide/node_modules/pyodide"
#: What a browser loads of Pyodide.
LOADED = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "python_stdlib.zip")
#: The Python of Pyodide, for which packages are compiled.
PLATFORM = ("--platform", "pyemscripten_2026_0_wasm32", "--python-version", "314", "--abi", "cp314")
#: Parts of the package that the playground cannot reach.
LEFT_OUT = ("page/", "suites/", "uml/kernel/")
#: What the page may load, beside its own program.
POLICY = "worker-src 'self'; connect-src 'self'"


def main() -> None:
    """Write all but the engine and the workers."""
    OUT.mkdir(parents=True, exist_ok=True)
    policy = f"{html.policy_of('live')}; {POLICY}"
    text, _ = html.shell("Dumbbell playground", "live", {"worker": "planner.js"}, connect=POLICY)
    meta = f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">'
    (OUT / "index.html").write_text(text.replace('<meta charset="utf-8">', meta, 1), encoding="utf-8")
    (OUT / "pyodide").mkdir(exist_ok=True)
    for name in LOADED:
        shutil.copyfile(PYODIDE / name, OUT / "pyodide" / name)
    msgspec(OUT / "msgspec.whl")
    package(OUT / "dumbbell.zip")


def msgspec(to: Path) -> None:
    """The one package that planning needs."""
    folder = ROOT / "build/wheels"
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", *PLATFORM]
    lock = ROOT / "requirements-playground.lock"
    subprocess.run([*command, "--require-hashes", "-r", str(lock), "-d", str(folder)], check=True)
    (wheel,) = folder.glob("*.whl")
    wheel.replace(to)


def package(to: Path) -> None:
    """The sources of the package, always the same bytes for the same sources."""
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for file in files(PACKAGE):
            name = file.relative_to(PACKAGE).as_posix()
            is_source = "__pycache__" not in name and not name.endswith((".so", ".pyi"))
            if is_source and not name.startswith(LEFT_OUT):
                made.writestr(zipfile.ZipInfo(f"dumbbell/{name}"), file.read_bytes(), zipfile.ZIP_DEFLATED)


def files(folder: Path) -> list[Path]:
    """Every file below a folder; the gallery is a link in a checkout."""
    return sorted(Path(at) / name for at, _, names in os.walk(folder, followlinks=True) for name in names)


if __name__ == "__main__":
    main()
