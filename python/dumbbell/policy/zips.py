"""Zip files of others, read within bounds: how many members there are, and how many bytes come out of each."""

from __future__ import annotations

import io
import zipfile
import zlib

from dumbbell.errors import show

#: Members at most (one of torch has one for each tensor), and how each is listed at the end of the file.
_MEMBERS_MAX, _LISTED = 2_000, b"PK\x01\x02"
#: Methods of compression whose output is bounded as it is made.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class Zip:
    """The members of a zip file by name; raises ValueError for what is none."""

    def __init__(self, data: bytes) -> None:
        if data.count(_LISTED) > _MEMBERS_MAX:
            raise ValueError(f"a zip file of more than {_MEMBERS_MAX} members")
        try:
            self._file = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, RuntimeError, OverflowError):
            raise ValueError("no zip file that can be read") from None
        self._members = {member.filename: member for member in self._file.infolist()}

    @property
    def names(self) -> list[str]:
        """Names of the members, in their order."""
        return list(self._members)

    def read(self, name: str, most: int) -> bytes:
        """The content of a member of at most that many bytes; raises ValueError."""
        member = self._members.get(name)
        if member is None:
            raise ValueError(f"no {show(name)} in it")
        if member.file_size > most:
            raise ValueError(f"{show(name)} has {member.file_size} bytes, wanted at most {most}")
        if member.compress_type not in _METHODS or member.flag_bits & 1:
            raise ValueError(f"{show(name)} is encrypted, or packed in another way than deflate")
        try:
            with self._file.open(member) as opened:
                return opened.read(most)
        except (zipfile.BadZipFile, RuntimeError, zlib.error, EOFError):
            raise ValueError(f"{show(name)} is damaged") from None
