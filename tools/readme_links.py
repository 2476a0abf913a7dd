"""The description of the package on an index: README.md, whose links and pictures are those of a checkout, with the
repository's address before each, in the metadata of a wheel and of a source distribution.
"""

from __future__ import annotations

import copy
import gzip
import io
import re
import tarfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: A link or picture with a place in the checkout.
_LINK = re.compile(r"(?P<picture>!?)(?P<text>\[[^\]]*\])\((?P<place>(?![a-z]+:|#)[^)\s]+)\)")


def absolute(text: str) -> str:
    """The text with links that hold anywhere.

    >>> absolute("[how](docs/a.md#b) ![x](docs/x.png) [y](https://example.org)")[:64]
    '[how](https://github.com/dumbbell-lab/dumbbell/blob/main/docs/a.'
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    at = project["urls"]["Repository"]

    def there(link: re.Match[str]) -> str:
        return f"{link['picture']}{link['text']}({at}/{'raw' if link['picture'] else 'blob'}/main/{link['place']})"

    return _LINK.sub(there, text)


def described(metadata: bytes) -> bytes:
    """METADATA or PKG-INFO, whose body is the description."""
    head, blank, body = metadata.decode().partition("\n\n")
    return f"{head}{blank}{absolute(body)}".encode()


def describe(sdist: Path) -> None:
    """Put the description into a source distribution; README.md itself stays as it is."""
    fresh = sdist.with_name(f"{sdist.name}.new")
    # Without the time, so that two builds are equal.
    with (
        tarfile.open(sdist) as archive,
        gzip.GzipFile(fresh, "wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as made,
    ):
        for member in archive:
            content = archive.extractfile(member)
            if content is not None and member.name.count("/") == 1 and member.name.endswith("/PKG-INFO"):
                text = described(content.read())
                changed = copy.copy(member)
                changed.size = len(text)
                made.addfile(changed, io.BytesIO(text))
            else:
                made.addfile(member, content)
    fresh.replace(sdist)
