"""What a scenario file expects of its runs: the ``[[expect]]`` tables, which `dumbbell test` judges.

    [[expect]]
    that = "share of newcomer >= 25%"
    at = { "path.buffer" = ["1bdp", "4bdp"] }
    why = "RFC 9743, 5.2"

They change no plan, and so no stored run. `dumbbell.judge.parse` reads their sentences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .declare import Sub, Table, key
from .kinds import LABEL, NAME
from .measure import Measure
from .plain_kinds import ANY_TABLE, TEXT, TEXTS, Choice, whole

if TYPE_CHECKING:
    from .keytypes import Fixed, MaybeSubTable

#: Most [[expect]] tables of a file.
EXPECT_MAX = 1_000


class Expect(Table):
    """One thing that the runs of the file have to show, which `dumbbell test` judges."""

    AT = "expect"

    that: Fixed[str] = key(
        TEXT, 'the sentence, such as `"share of newcomer >= 25%"` ([all forms](test.md#sentences))', varies=False
    )
    name: Fixed[str | None] = key(LABEL, "its name in tables; default: the sentence", default=None, varies=False)
    of: Fixed[str | None] = key(
        TEXT, "the flows of figures whose `of` the sentence does not say", default=None, varies=False
    )
    at: Fixed[dict[str, Any]] = key(
        ANY_TABLE,
        'which values of what varies it is about, `{ "path.buffer" = ["1bdp", "4bdp"] }`; default: all',
        default={},
        varies=False,
    )
    measure: MaybeSubTable[Measure] = key(
        Sub(Measure), "the part of the run that it is about; default: that of [measure]", default=None, varies=False
    )
    on: Fixed[tuple[str, ...]] = key(
        TEXTS, 'back ends on which it is judged, `["sim", "uml"]`; default: any', default=(), varies=False
    )
    repetitions: Fixed[int] = key(
        whole(1, 100_000), "repetitions that it needs at least, which are run", default=1, varies=False
    )
    baseline: Fixed[str | None] = key(
        NAME,
        "the baseline that `baseline` in the sentence is: of `dumbbell test --save-baseline NAME`",
        default=None,
        varies=False,
    )
    severity: Fixed[str] = key(
        Choice("fail", "warn"), "`warn`: where it fails it is printed, and not counted", default="fail", varies=False
    )
    why: Fixed[str | None] = key(
        TEXT, "where the demand comes from, which is printed where it fails", default=None, varies=False
    )
