"""Facts from the text of a Linux congestion-control module, without compiling it: name, parameters, licence, headers.
Used for modules that compile only with a kernel's own headers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from .controllers import Controller, Param

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_OPS = re.compile(r"struct\s+tcp_congestion_ops\s+(\w+)\b[^;{]*=\s*\{(.*?)\}\s*;", re.DOTALL)
_NAME = re.compile(r"\.name\s*=\s*(\"[^\"]*\"|\w+)")
_REGISTERED = re.compile(r"tcp_register_congestion_control\(\s*&\s*(\w+)")
_PARAM = re.compile(r"\bmodule_param(_named)?(?:_unsafe)?\s*\(\s*(\w+)\s*,\s*(?:([^,()]+?)\s*,\s*)?(\w+)\s*,[^,()]*\)")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)

#: The types of module_param() with their ranges.
_RANGES = {
    "byte": (0, 2**8 - 1),
    "short": (-(2**15), 2**15 - 1),
    "ushort": (0, 2**16 - 1),
    "int": (-(2**31), 2**31 - 1),
    "uint": (0, 2**32 - 1),
    "hexint": (0, 2**32 - 1),
    "long": (-(2**63), 2**63 - 1),
    "ulong": (0, 2**63 - 1),
    "ullong": (0, 2**63 - 1),
    "bool": (0, 1),
    "invbool": (0, 1),
}


def registered_name(text: str, stem: str) -> str | None:
    """The name of the struct tcp_congestion_ops that a source registers; None where it does not tell. `stem` is the
    file's, which KBUILD_MODNAME stands for.
    """
    plain = _COMMENT.sub(" ", text)
    names = {ops[1]: _NAME.search(ops[2]) for ops in _OPS.finditer(plain)}
    by_struct = {struct: match[1] for struct, match in names.items() if match}
    which = [by_struct[struct] for struct in _REGISTERED.findall(plain) if struct in by_struct] or list(
        by_struct.values()
    )
    name = which[0] if which else ""
    for _ in range(8):  # a macro may stand for another
        if name.startswith('"') or not name:
            break
        defined = re.search(rf'^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+(".*?"|\w+)', plain, re.MULTILINE)
        name = f'"{stem}"' if name == "KBUILD_MODNAME" else defined[1] if defined else ""
    return name.strip('"') or None


def described(text: str, name: str) -> Controller:
    """Controller that a module's text describes."""
    doc = _head(text)
    summary = doc.split("\n\n")[0].replace("\n", " ").rstrip(".")
    licence = re.search(r"\bMODULE_LICENSE\s*\(\s*\"([^\"]*)\"", text)
    return Controller(name, summary, doc, licence[1] if licence else "", {p.name: p for p in _params(text)}, [], 0)


def headers_beside(file: Path, text: str) -> list[Path]:
    """The headers in the file's folder that it includes."""
    beside = [file.parent / name for name in _INCLUDE.findall(text)]
    return [path for path in dict.fromkeys(beside) if path.is_file()]


def _params(text: str) -> Iterator[Param]:
    """The parameters that are one number each, in their order."""
    for is_named, name, named, kind in _PARAM.findall(_COMMENT.sub(" ", text)):
        variable = (named if is_named else name).strip()
        if kind not in _RANGES:
            continue
        given = re.search(rf"\b{re.escape(variable)}\b[^=;,()]*=\s*(-?(?:0x[0-9a-fA-F]+|\d+)|true|false)\b", text)
        word = given[1] if given else "0"
        default = int(word == "true") if word in ("true", "false") else int(word, 16 if "x" in word else 10)
        about = re.search(rf"\bMODULE_PARM_DESC\s*\(\s*{name}\s*,\s*\"([^\"]*)\"", text)
        yield Param(name, default, *_RANGES[kind], kind, about[1] if about else "")


def _head(text: str) -> str:
    """The first block comment that is no licence, without its frame of stars."""
    for comment in re.findall(r"/\*(.*?)\*/", text, re.DOTALL):
        lines = [line.strip().lstrip("*").removeprefix(" ").rstrip() for line in comment.splitlines()]
        body = "\n".join(lines).strip("\n")
        if not body.lstrip().startswith("SPDX-License-Identifier"):
            return body
    return ""
