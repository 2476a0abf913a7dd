"""What sentences of ``[[expect]]`` read beside figures: samples, moments, gaps, shares of time, what the path gives, and
what follows from several tables.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dumbbell
from dumbbell import ScenarioError
from dumbbell.judge.parse import sentence, value
from dumbbell.judge.values import DERIVED, GIVEN

ROOT = Path(__file__).resolve().parent.parent
#: Two flows on 20 Mbit/s with 40 ms and 4 BDP (66.1 segments), whose link is gone from 4 s to 5 s.
SCENARIO = """
name = "values"
duration = "10s"

[path]
rate = { steps = [["0s", "20Mbps"], ["4s", "0bps"], ["5s", "20Mbps"]] }
rtt = "40ms"
buffer = "4bdp"
policer = { rate = "60Mbps", burst = "30kB" }
up = { rate = "1Mbps", buffer = "100pkt" }

[record]
limits = true
every = "20ms"

[[flow]]
name = "main"
cca = "cubic"

[[flow]]
name = "paced"
cca = "bbr"
workload = { kind = "paced", rate = "1Mbps", message = "1kB" }
start = "1s"
stop = "9s"
"""


def words(folder: Path, *sentences: str) -> list[str]:
    """The word for each sentence."""
    file = folder / "values.toml"
    file.write_text(SCENARIO + "".join(f"\n[[expect]]\nthat = {json.dumps(text)}\n" for text in sentences))
    return [line.word for line in dumbbell.verify(file, store=folder / "store")]


HOLDS = (
    "path rtt of main == 40ms",
    "path top_rate of main == 20Mbps",
    "path rate of main == 18Mbps",
    "path rate of main from 0s to 4s == 20Mbps",
    "path capacity of main from 0s to 4s within 1% of 19.13Mbps",
    "path bdp of main from 0s to 4s within 1% of 66.1",
    "path buffer of main == 4 x path bdp of main from 0s to 4s",
    "path policer_rate of main == 60Mbps",
    "path policer_burst of main == 30kB",
    "path up_rate of main == 1Mbps",
    "path rates of main == 1",
    "path outage of main == 1s",
    "path outage of main from 4.5s to 10s == 500ms",
    "path back of main == 5s",
    "path flows of main from 2s to 8s == 2",
    "path alike of main == 1",
    "derived life of paced within 1% of 8s",
    "derived connect of main == 40ms +- 1ms",
    "derived fair of main >= 150%",
    "derived fair of paced <= 20%",
    "derived missed of paced from 2s to 4s >= 1MB",
    "derived ack_load of main >= 20%",
    "derived spurious of paced == 0%",
    "derived loss_free of paced >= 30%",
    "derived cost of main from 4s to 6s <= 10%",
    "derived ack_queue of main from 2s to 4s <= 5ms",
    "derived burst of main >= 2",
    "derived idle of main from 1s to 4s <= 5%",
    "longest gap in delivered of main within 10% of 1s",
    "longest gap in delivered of main to 3s <= 100ms",
    "first event rto of main >= 4s",
    "first limit application of paced <= 1.2s",
    "first stay in SLOW_START of main <= 2s",
    "largest sample cwnd of main >= 200",
    "median sample cwnd of main >= 50",
    "mean sample srtt_us of main from 2s to 4s <= 250ms",
    "sample cwnd of main at SLOW_START ends >= 50",
    "sample srtt_us of main at 3s >= 1 x path rtt of main",
    "smallest sample rtt_us of main >= 0.99 x path rtt of main",
    'time "cwnd >= 0.5 x path bdp" of main >= 50%',
    'time "in_flight >= 0.9 x cwnd and backlog_packets >= 1" of main from 2s to 4s >= 80%',
    'time "cca_state == PROBE_BW|STARTUP|DRAIN" of paced from 2s to 4s >= 99%',
    'time "srtt_us >= 30ms" of main from 1s to 3s >= 99%',
    "count retrans_segs of main <= 1 x count segs_sent of main",
    "count rtos of main to 4s == 0",
    "limit application of paced >= 1 x limit recovery of paced",
    "goodput of main <= 1 x path capacity of main from 0s to 4s",
)  # fmt: skip


def test_values_are_judged_by_what_the_scenario_makes_true(tmp_path: Path) -> None:
    said = words(tmp_path, *HOLDS)
    assert [text for text, word in zip(HOLDS, said, strict=True) if word != "holds"] == []


def test_their_opposites_fail(tmp_path: Path) -> None:
    opposites = (
        "path rtt of main >= 41ms",
        "derived fair of paced >= 50%",
        "longest gap in delivered of main <= 500ms",
        "first event rto of main <= 4s",
        'time "cwnd >= 100 x path bdp" of main >= 1%',
        "mean sample srtt_us of main >= 1s",
    )
    assert words(tmp_path, *opposites) == ["fails"] * len(opposites)


def test_a_reduction_is_the_fall_of_the_window_after_an_event(tmp_path: Path) -> None:
    file = tmp_path / "cut.toml"
    file.write_text(
        'duration = "10s"\nrecord = { every = "10ms" }\n[path]\nrate = "20Mbps"\nrtt = "40ms"\nbuffer = "1bdp"\n'
        '[[flow]]\ncca = "reno"\n'
        '[[expect]]\nthat = "40% <= reduction after loss_detected <= 60%"\n'
        '[[expect]]\nthat = "reduction after ecn_mark <= 1%"\n',
    )
    assert [line.word for line in dumbbell.verify(file, store=tmp_path / "store")] == ["holds", "unjudged"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("path width >= 1", "what a scenario gives a path, one of: rate"),
        ("path rtt >= 40", "a time with its unit"),
        ("path rate >= 40ms", "a rate with its unit"),
        ("derived luck >= 1", "what is derived, one of: fair"),
        ("derived fair >= 1ms", "a share of the whole"),
        ("sample speed >= 1", "a column, one of: goodput_bytes"),
        ("longest gap in cwnd >= 1s", "a column that counts, one of:"),
        ("first figure >= 1s", '"state" behind'),
        ('time "cwnd" >= 5%', "a sign at the end"),
        ('time "cca_state >= DRAIN" >= 5%', "== or != behind cca_state"),
        ('time "cwnd >= 5ms" >= 5%', "a number in the unit of cwnd"),
        ("time >= 5%", "a column of the samples"),
        ("reduction after luck >= 5%", "an event, one of: start"),
        ("path rtt >= 2 x path rate", "a value in the unit of"),
    ],
)
def test_what_says_nothing_clear_is_refused(text: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        sentence(text)


def test_a_counter_of_causes_is_not_known_of_a_part(tmp_path: Path) -> None:
    file = tmp_path / "aqm.toml"
    file.write_text(
        'duration = "10s"\n[path]\nrate = "100Mbps"\nrtt = "100ms"\nqdisc = { kind = "codel", limit = "200pkt" }\n'
        '[[flow]]\ncca = "cubic"\n[[expect]]\nthat = "count aqm_drops from 1s to 2s >= 1"\n',
    )
    with pytest.raises(ScenarioError, match="aqm_drops is known of the whole run"):
        list(dumbbell.verify(file, store=tmp_path / "store"))


def test_a_sentence_has_the_part_that_it_does_not_say() -> None:
    assert str(value("count rtos", of="a", part=(1.0, 2.0))) == "count rtos of a from 1s to 2s"
    assert str(value("count rtos from 3s to 4s", of="a", part=(1.0, 2.0))) == "count rtos of a from 3s to 4s"


def test_the_reference_has_every_value() -> None:
    text = (ROOT / "docs/test.md").read_text(encoding="utf-8")
    assert [name for name in GIVEN if f"`path {name}`" not in text] == []
    assert [name for name in DERIVED if f"`derived {name}`" not in text] == []
