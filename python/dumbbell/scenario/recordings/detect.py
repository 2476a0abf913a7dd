"""Detect the form of a file by its content alone; say what a file without one is, and what to do."""

from __future__ import annotations

import bz2
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from dumbbell.files import DATA_MAX
from dumbbell.units import bytes_text

from . import forms, numbers
from .forms import Form
from .model import Choice, Look, RecordingError

#: First bytes of files that are no recordings, what they are, and what to do.
_FOREIGN: tuple[tuple[tuple[bytes, ...], str], ...] = (
    (
        (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d"),
        "a capture (pcap), which has packets and no values: write a table of it, as `tshark -T fields` does",
    ),
    (
        (b"\x0a\x0d\x0d\x0a",),
        "a capture (pcapng), which has packets and no values: write a table of it, as `tshark -T fields` does",
    ),
    ((b"PK\x03\x04", b"PK\x05\x06"), "a zip archive or a spreadsheet (xlsx, ods): unpack it, or save the sheet as CSV"),
    ((b"\xd0\xcf\x11\xe0",), "an old spreadsheet or document of Office: save the sheet as CSV"),
    ((b"\x28\xb5\x2f\xfd",), "packed by zstd: unpack it with `unzstd`"),
    ((b"\xfd7zXZ\x00",), "packed by xz: unpack it with `unxz`"),
    ((b"7z\xbc\xaf\x27\x1c",), "a 7z archive: unpack it"),
    ((b"\x04\x22\x4d\x18",), "packed by lz4: unpack it with `unlz4`"),
    ((b"Rar!",), "a rar archive: unpack it"),
    ((b"PAR1",), "a Parquet file: write it as CSV (`pandas.read_parquet(FILE).to_csv(...)`)"),
    ((b"ARROW1", b"FEA1"), "an Arrow or Feather file: write it as CSV (`pandas.read_feather(FILE).to_csv(...)`)"),
    ((b"\x89HDF", b"CDF\x01", b"CDF\x02"), "an HDF5 or NetCDF file: write it as CSV"),
    ((b"SQLite format 3",), "an SQLite database: export the table as CSV"),
    ((b"\x93NUMPY",), "an array of NumPy: write it as CSV with names of columns (`numpy.savetxt`)"),
    ((b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"), "a pickle of Python: write it as CSV"),
    ((b"MATLAB 5.0",), "a MAT file: write it as CSV"),
    ((b"%PDF",), "a PDF document"),
    ((b"\x89PNG", b"\xff\xd8\xff", b"GIF8"), "a picture"),
    ((b"\x7fELF",), "a program"),
    ((b"{\\rtf",), "a text in RTF: save it as plain text"),
    (
        (b"version https://git-lfs", b"/annex/objects"),
        "a pointer of Git LFS or git-annex: fetch the file (`git lfs pull`)",
    ),
)  # fmt: skip

_GZIP, _BZIP2 = b"\x1f\x8b", b"BZh"

#: Beginnings of texts that are no recordings.
_FOREIGN_TEXTS = (
    (("<!doctype html", "<html", "<head", "<body"), "a page in HTML, perhaps of an error: download the data itself"),
    (("<?xml", "<"), "XML, which is not read: write it as CSV"),
    (("connecting to host ", "server listening on "), "iperf3's text: run iperf3 with -J, whose JSON is read"),
    (("traceroute to ",), "the output of traceroute, which has no values over time"),
)  # fmt: skip


class Taken(NamedTuple):
    """Form that a file was taken for."""

    form: Form
    why: str
    """Empty where somebody asked for the form."""
    look: Look


def taken(path: Path, data: bytes, choice: Choice) -> Taken:
    """The form of a file; raises RecordingError where it has none or may have several."""
    content, is_packed = unpacked(data)
    look = Look(path, content, choice, is_packed=is_packed)
    _refuse_foreign(look)
    if choice.form is not None:
        form = forms.BY_NAME[choice.form]
        if form.module == "documents" and function(form, "is")(look) is None:
            raise RecordingError(f"it is no {form.recognised}, as {form.name} writes it")
        return Taken(form, "", look)
    for form in forms.FORMS:
        why = function(form, "is")(look)
        if why is not None:
            return Taken(form, why, look)
    raise RecordingError(_unknown(look))


def function(form: Form, what: str) -> Any:
    """The function of a form that recognises (`is`) or reads (`read`) it."""
    return getattr(import_module(f".{form.module}", __package__), f"{what}_{form.identifier}")


def unpacked(data: bytes) -> tuple[bytes, bool]:
    """Unpack what gzip or bzip2 packed, up to the size of a recording; also return whether it was packed."""
    if not data.startswith((_GZIP, _BZIP2)):
        return data, False
    kind = "gzip" if data.startswith(_GZIP) else "bzip2"
    parts, left, rest = [], DATA_MAX + 1, data
    try:
        while rest and left > 0:
            unpack: Any = zlib.decompressobj(wbits=31) if kind == "gzip" else bz2.BZ2Decompressor()
            part = unpack.decompress(rest, left)
            parts.append(part)
            left -= len(part)
            if left > 0 and not unpack.eof:
                raise EOFError
            rest = unpack.unused_data
            if not rest.startswith((_GZIP, _BZIP2)):
                break
    except (zlib.error, OSError, EOFError, ValueError):
        raise RecordingError(f"it is packed by {kind}, and cut or damaged: download it again") from None
    if left <= 0:
        raise RecordingError(f"it is packed by {kind}, and has more than {bytes_text(DATA_MAX)} unpacked")
    return b"".join(parts), True


def _refuse_foreign(look: Look) -> None:
    data = look.data
    what = next((what for signs, what in _FOREIGN if data.startswith(signs)), None)
    if what is None and data[257:262] == b"ustar":
        what = "a tar archive: unpack it"
    if what is None and b"\x00" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        what = "no text"
    if what is None:
        begin = look.text[:400].lstrip().casefold()
        what = next((what for signs, what in _FOREIGN_TEXTS if begin.startswith(signs)), None)
    if what is not None:
        raise RecordingError(f"it is {what}")


def _unknown(look: Look) -> str:
    """Why a file has no form."""
    if not look.text.strip():
        return "it is empty, wanted a heading such as time_s,rate_mbps,rtt_ms,loss_percent"
    if look.document is not None:
        return "it is JSON of another kind than that of iperf3, flent or IRTT: write it as a table"
    if look.text.lstrip()[:1] in ("{", "["):
        return "it looks like JSON and is none: is the file cut?"
    said = numbers.why_not(look)
    if said is not None:
        return said
    names = ", ".join(forms.NAMES)
    return f"it has the signs of no form; of {names} `format` says it (--format), or a heading such as time_s,rate_mbps"
