"""Recordings of a path: files of many tools, as values over time of rate, RTT, one-way delay and share of losses.

`forms.py` declares each form once; `detect.py` says which one a file has; `reader.py` reads it. The readers are
`table.py` with `headings.py` and `times.py`, `numbers.py` (files without a heading), `logs.py` and `documents.py`.
"""
