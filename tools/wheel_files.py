"""The man page and the completions of shells, put into a wheel as it is built: pip installs them below share/, where
`man` and the shells look.

They are printed by the program in the wheel itself, so nothing of them is kept. A wheel for another machine cannot run
here; it gets none, and this says so.
"""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

#: What prints each file, and where pip puts it below the environment.
FILES = {
    "share/man/man1/dumbbell.1": ("man",),
    "share/bash-completion/completions/dumbbell": ("completion", "bash"),
    "share/zsh/site-functions/_dumbbell": ("completion", "zsh"),
    "share/fish/vendor_completions.d/dumbbell.fish": ("completion", "fish"),
}


def add(wheel: Path) -> None:
    """Put the files into the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        entries = [(info, archive.read(info)) for info in archive.infolist()]
    (record,) = [info.filename for info, _ in entries if info.filename.endswith(".dist-info/RECORD")]
    top = record.partition(".dist-info/")[0]
    made = _printed(wheel)
    lines = [
        f"{top}.data/data/{name},sha256={_digest(content)},{len(content)}\n".encode() for name, content in made.items()
    ]
    fresh = wheel.with_name(f"{wheel.name}.new")
    with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, content in entries:
            archive.writestr(info, content if info.filename != record else b"".join([*lines, content]))
        for name, content in made.items():
            like_record = zipfile.ZipInfo(f"{top}.data/data/{name}", entries[0][0].date_time)
            like_record.compress_type = zipfile.ZIP_DEFLATED
            like_record.external_attr = 0o644 << 16
            archive.writestr(like_record, content)
    fresh.replace(wheel)


def _printed(wheel: Path) -> dict[str, bytes]:
    """What the program in the wheel prints; nothing where it does not run here."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, *filter(None, sys.path)]), "COLUMNS": "80"}
        made = {}
        for name, words in FILES.items():
            done = subprocess.run(
                [sys.executable, "-P", "-m", "dumbbell", *words], env=environment, capture_output=True, check=False
            )
            if done.returncode != 0:
                last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
                print(
                    f"the wheel has no man page and no completions, since it does not run here: {last}", file=sys.stderr
                )
                return {}
            made[name] = done.stdout
    return made


def _digest(content: bytes) -> str:
    """As RECORD has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
