"""The forms of recordings, each declared once: its name, what it is, how it is recognised, and what reads it.

Lists in errors, the choices of `format`, the table of docs/recordings.md and what `dumbbell trace info` says come from
here. Of a form NAME its module has `is_NAME`, which says why a file has this form, or nothing, and `read_NAME`.
"""

from __future__ import annotations

from typing import NamedTuple


class Form(NamedTuple):
    """One form."""

    name: str
    module: str
    """What has its two functions."""
    said: str
    """What a file of it is, with its number of rows, for a person."""
    recognised: str
    """What shows that a file has it, for the documentation."""

    @property
    def identifier(self) -> str:
        """The name as Python writes it."""
        return self.name.replace("-", "_")


_NEVER = "never: nothing tells its numbers from others"
_ASCENDING = "whole numbers, one a line, never falling"
_SIX = "six numbers a line, the last the time since the line before"
_DELAYS = "whole numbers, one a line, rising and falling, where a delay is wanted"

#: In the order in which a file is looked at.
FORMS = (
    Form("iperf3", "documents", "iperf3's JSON, {rows} intervals", "JSON with `intervals`"),
    Form("flent", "documents", "flent's data, {rows} times", "JSON with `x_values` and `results`"),
    Form("irtt", "documents", "IRTT's JSON, {rows} round trips", "JSON with `round_trips`"),
    Form("mm-link", "logs", "log of mm-link, {rows} delivery opportunities", "lines such as `12 # 1504`"),
    Form("ping", "logs", "output of ping, {rows} answers", "lines with `bytes from`, `icmp_seq` and `time`"),
    Form("mahimahi", "numbers", "Mahimahi trace, {rows} delivery opportunities", _ASCENDING),
    Form("cellreplay", "numbers", "CellReplay's base delays, {rows} rows", "whole numbers, lines of different lengths"),
    Form("hsdpa", "numbers", "log of bytes received, {rows} rows", _SIX),
    Form("leoreplayer", "numbers", "LeoReplayer's delays, {rows} of 10 ms", _DELAYS),
    Form("pensieve", "numbers", "seconds and Mbit/s, {rows} rows", _NEVER),
    Form("oboe", "numbers", "milliseconds and kbit/s, {rows} rows", _NEVER),
    Form("csv", "table", "table, {rows} rows", "a row of names of columns, then rows with as many cells"),
)  # fmt: skip

#: The same by name.
BY_NAME = {form.name: form for form in FORMS}

#: Their names, the table first.
NAMES = ("csv", *(form.name for form in FORMS if form.name != "csv"))
