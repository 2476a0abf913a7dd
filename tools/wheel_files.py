"""What maturin leaves out of a wheel, put into it as it is built: a description whose links hold (`readme_links.py`),
and the man page and the completions of shells, which pip installs below share/, where `man` and the shells look.

These are printed by the program in the wheel itself, so nothing of them is kept. A wheel for another machine cannot
run here; it gets none, and this says so.
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

import readme_links

#: What prints each file, and where pip puts it below the environment.
FILES = {
    "share/man/man1/dumbbell.1": ("man",),
    "share/bash-completion/completions/dumbbell": ("completion", "bash"),
    "share/zsh/site-functions/_dumbbell": ("completion", "zsh"),
    "share/fish/vendor_completions.d/dumbbell.fish": ("completion", "fish"),
}


def add(wheel: Path) -> None:
    """Put the description and the files into the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        entries = {info: archive.read(info) for info in archive.infolist()}
    named = {info.filename.rpartition(".dist-info/")[2]: info for info in entries if ".dist-info/" in info.filename}
    record, metadata = named["RECORD"], named["METADATA"]
    before, entries[metadata] = entries[metadata], readme_links.described(entries[metadata])
    top = record.filename.partition(".dist-info/")[0]
    made = {f"{top}.data/data/{name}": content for name, content in _printed(wheel).items()}
    listed = entries[record].replace(_line(metadata.filename, before), _line(metadata.filename, entries[metadata]))
    entries[record] = b"".join([*(_line(name, content) for name, content in made.items()), listed])
    fresh = wheel.with_name(f"{wheel.name}.new")
    with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, content in entries.items():
            archive.writestr(info, content)
        for name, content in made.items():
            like_record = zipfile.ZipInfo(name, record.date_time)
            like_record.compress_type = zipfile.ZIP_DEFLATED
            like_record.external_attr = 0o644 << 16
            archive.writestr(like_record, content)
    fresh.replace(wheel)


def _line(name: str, content: bytes) -> bytes:
    """A line of RECORD."""
    return f"{name},sha256={_digest(content)},{len(content)}\n".encode()


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
