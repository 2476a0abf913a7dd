"""The view of a plan: what a link could carry, held against a sum over every unit of time, and what of a plan is
refused.
"""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import dumbbell
from dumbbell import plan
from dumbbell.plan import view as plan_view
from dumbbell.scenario.file import from_text

SECOND = 10**9


def _link(**changes: Any) -> plan_view.LinkView:
    return plan_view.link_of({"rate_bps": 8_000_000, "burst_bytes": 0, "qdisc": {"kind": "fifo"}, **changes})


def _brute(steps: list[tuple[int, int]], repeat: int | None, start: int, end: int) -> int:
    """Rate at each unit of time, summed."""

    def rate(at: int) -> int:
        inside = at % repeat if repeat else at
        return [bps for since, bps in steps if since <= inside][-1]

    return sum(rate(at) for at in range(start, end))


def test_bits_between_two_times_are_the_sum_over_the_course() -> None:
    rng = random.Random(7)
    for _ in range(200):
        times = [0, *sorted(rng.sample(range(1, 40), rng.randint(0, 5)))]
        steps = [(at, rng.randrange(10**6) * 10**9) for at in times]
        repeat = rng.choice([None, times[-1] + rng.randint(1, 20)])
        start = rng.randrange(150)
        end = start + rng.randrange(150)
        link = _link(rate_bps=steps[0][1], steps=steps, repeat_ns=repeat)
        assert link.bits(start, end) == pytest.approx(_brute(steps, repeat, start, end) / 1e9, rel=1e-12), (
            steps,
            repeat,
            start,
            end,
        )


def test_a_course_of_nanoseconds_is_summed_at_once() -> None:
    link = _link(steps=[(0, 8_000_000), (1, 4_000_000)], repeat_ns=2)
    assert link.bits(0, 3600 * SECOND) == pytest.approx(3600 * 6_000_000)


def test_changes_of_a_repeated_course_end_with_the_run() -> None:
    link = _link(steps=[(0, 8_000_000), (SECOND, 0)], repeat_ns=2 * SECOND)
    assert link.changes(3 * SECOND) == ([0, 1, 2, 3], [8, 0, 8, 8])
    assert _link().changes(3 * SECOND) == ([0, 3], [8, 8])


def test_a_limit_keeps_its_measure() -> None:
    limits = [
        plan_view.qdisc_of({"kind": "x", **given}).limit for given in ({"limit_bytes": 9000}, {"limit_packets": 10}, {})
    ]
    assert limits == [("bytes", 9000), ("packets", 10), None]
    assert limits[1] is not None
    assert limits[1].wire_bytes == 15_140


def test_the_view_of_a_plan_has_what_the_planner_wrote() -> None:
    text = """
    duration = "5s"
    path = { rate = "20Mbps", rtt = "40ms", buffer = "100pkt" }
    link = [{ name = "narrow", rate = { steps = [["0s", "40Mbps"], ["2s", "45Mbps"]], repeat = true }, qdisc = "cake" }]
    flow = [{ cca = "cubic", via = ["bottleneck", "narrow"] }, { cca = "bbr", transport = "quic", start = "1s", size = "1MB" }]
    """
    seen = plan_view.view(plan.runs(from_text(text))[0].plan)
    assert seen.duration_s == 5
    assert [link.name for link in seen.links] == ["bottleneck", "narrow"]
    assert [link.is_constant for link in seen.links] == [True, False]
    assert [link.qdisc.limit for link in seen.links] == [("packets", 100), None]
    assert [flow.transport.kind for flow in seen.flows] == ["tcp", "quic"]
    assert [flow.is_finite for flow in seen.flows] == [False, True]
    assert seen.flows[1]["start_ns"] == seen.flows[1].start_ns == SECOND
    with pytest.raises(KeyError):
        seen["no such field"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rate_bps": "fast"}, r"Expected `int`, got `str` - at `\$.rate_bps`"),
        ({"rate_bps": -1}, r"Expected `int` >= 0"),
        ({"repeat_ns": 0}, r"Expected `int` >= 1"),
        ({"steps": [(5, 1)]}, "ascending, the first at 0"),
        ({"steps": [(0, 1), (9, 2)], "repeat_ns": 9}, "repeat_ns lies after the last step"),
        ({"qdisc": {}}, r"missing required field `kind` - at `\$.qdisc`"),
    ],
)
def test_a_plan_that_is_none_is_refused_with_its_place(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=said):
        _link(**changes)


def test_a_run_with_json_does_without_the_readers_libraries(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(
        'duration = "1s"\npath = { rate = "5Mbps", rtt = "20ms", buffer = "1bdp" }\nflow = [{ cca = "cubic" }]\n'
    )
    code = (
        "import sys; from dumbbell.cli import main; status = main(sys.argv[1:]);print([name for name in ('msgspec',"
        " 'pyarrow', 'numpy', 'rich') if name in sys.modules], file=sys.stderr); sys.exit(status)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, "run", str(tmp_path / "x.toml"), "--json", "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr.strip() == "[]"


def test_types_of_plans_and_manifests_are_looked_up_when_their_modules_are_imported(tmp_path: Path) -> None:
    # msgspec looks them up at the first decoding otherwise, and crashes where two threads do that at once.
    out = dumbbell.run(
        {"duration": "1s", "path": {"rate": "5Mbps", "rtt": "20ms", "buffer": "1bdp"}, "flow": [{"cca": "reno"}]},
        tmp_path / "out",
    )
    code = (
        "import json, sys; from pathlib import Path; from dumbbell.plan import view; from dumbbell.results import manifest\n"
        "called = []; folder = Path(sys.argv[1])\n"
        "sys.setprofile(lambda frame, *_: called.append(frame.f_code.co_filename))\n"
        "view.view(json.loads((folder / 'manifest.json').read_text())['plan']); manifest.read(folder)\n"
        "sys.setprofile(None); print([name for name in called if 'msgspec' in name])"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(out[0].folder)], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
