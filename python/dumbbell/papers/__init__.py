"""The papers: experiments of published evaluations, as they were set up, drawn and judged.

A paper is a module here (``kfoury2020.py``) with ``ENTRIES``, by the number of the figure or table, and a file in
`claims`. `table.py` says what an entry is, `judge.py` how a claim is held against runs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dumbbell.errors import wrong

if TYPE_CHECKING:
    from .claims import Text
    from .table import Entry

#: The papers, by the names that ids begin with.
PAPERS = {
    "kfoury2020": "Kfoury, Gomez, Crichigno and Bou-Harb: An emulation-based evaluation of TCP BBRv2 alpha (2020)",
    "yang2021": "Yang and others: BBRv2+, delay-based bandwidth probing (2021)",
    "borgli": "Borgli and Misund: Comparing BBR and CUBIC congestion controls",
    "gomez_fabric": "Gomez, Kfoury and Crichigno: Understanding the performance of TCP BBRv2 using FABRIC",
    "zhang2019": "Zhang: An evaluation of BBR and its variants (2019)",
}


def ids(paper: str) -> list[str]:
    """The figures and tables of a paper, in its order."""
    from .claims import of_paper

    return list(of_paper(paper))


def chosen(words: list[str]) -> list[str]:
    """The ids that these words name: ``all``, a paper, or an id. Raises ScenarioError for others."""
    every = {paper: ids(paper) for paper in PAPERS}
    known = {"all": [one for found in every.values() for one in found], **every}
    known.update({one: [one] for one in known["all"]})
    for word in words:
        if word not in known:
            raise wrong("ID", word, "all, a paper or a figure of it (`dumbbell papers` lists them)", list(known))
    return list(dict.fromkeys(one for word in words for one in known[word]))


def text_of(name: str) -> Text:
    """What a paper claims in a figure or table."""
    from .claims import of_paper

    return of_paper(name.partition("/")[0])[name]


def entry_of(name: str) -> Entry:
    """How a figure or table is run and drawn."""
    paper, _, item = name.partition("/")
    entry: Entry = import_module(f".{paper}", __package__).ENTRIES[item]
    return entry
