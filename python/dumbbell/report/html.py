"""The page as one file: template, styles, program and data in it, and a policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from dumbbell.errors import ResultError, wrong
from dumbbell.files import written_whole

#: What ends or hides a script element, or a line of JavaScript, in text between its tags.
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_SUFFIXES = (".html", ".htm")


def checked(output: str) -> Path:
    """The file to write; raises ScenarioError for a name that is none of a page's, or in a folder that is not there."""
    path = Path(output)
    if path.suffix not in _SUFFIXES or path.is_dir():
        raise wrong("--output", output, "a file whose name ends in .html")
    if not path.parent.is_dir():
        raise wrong("--output", output, f"a file in a folder that exists; there is no {path.parent}")
    return path


def embedded(data: Any) -> str:
    r"""JSON that is harmless inside a script element, whatever names it holds.

    >>> embedded({"name": "</script><b>"})
    '{"name":"\\u003c/script\\u003e\\u003cb\\u003e"}'
    """
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for letter, written in _ESCAPES.items():
        text = text.replace(letter, written)
    return text


def page(data: dict[str, Any]) -> str:
    """The whole file."""
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in data["verdict"])
    text, _ = shell(f"{data['title']} · Dumbbell", "page", data, without=said)
    return text


def shell(title: str, program_name: str, data: Any, *, without: str = "", connect: str = "") -> tuple[str, str]:
    """A page that runs one program on data, and its policy; `without` is shown where there is no JavaScript, `connect`
    adds to the policy what only a server's header may say.
    """
    program, styles = _bundled(f"{program_name}.js"), _bundled(f"{program_name}.css")
    policy = policy_of(program_name)
    meta = "" if connect else f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    text = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{meta}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{styles}</style>\n</head>\n<body>\n"
        '<main id="page"><noscript><p>This page draws its figures with JavaScript; the verdict without it:</p>'
        f'{without}</noscript></main>\n<script type="application/json" id="data">{embedded(data)}</script>\n'
        f"<script>{program}</script>\n</body>\n</html>\n"
    )
    return text, f"{policy}; {connect}" if connect else policy


def policy_of(program_name: str) -> str:
    """Content security policy that allows this program and no other."""
    digest = base64.b64encode(hashlib.sha256(_bundled(f"{program_name}.js").encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:;"
        " base-uri 'none'; form-action 'none'"
    )


def _bundled(name: str) -> str:
    """A file that `make web` has made."""
    return (resources.files("dumbbell") / "page" / name).read_text(encoding="utf-8")


def write(text: str, path: Path) -> None:
    """Write the file whole or not at all."""
    try:
        with written_whole(path) as beside:
            beside.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ResultError(f"{path}: cannot be written ({error.strerror or error})") from None
