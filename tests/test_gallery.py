"""Every scenario of the gallery runs: its first and its last case, cut to what shows every flow."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ROOT
from dumbbell import Scenario, from_file, plan
from dumbbell.api import run

GALLERY = sorted((ROOT / "scenarios").glob("*.toml"))

#: Simulated time after the last start, s: 5 million packets at 10 Gbit/s would take too long.
SHOWN_S = {"fabric-10g": 0.3}


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_a_gallery_scenario_runs(path: Path, tmp_path: Path) -> None:
    cases = plan.cases(from_file(path).scenario)
    for i, case in enumerate(dict.fromkeys([0, len(cases) - 1])):
        scenario = cases[case].scenario
        starts = [flow.start + (flow.count - 1) * flow.spacing for flow in scenario.flow]
        duration = max(starts) / 1e9 + SHOWN_S.get(path.stem, 1)
        cut = from_file(
            path, overrides=(f'duration="{duration}s"', "repetitions=1", *_kept(scenario, duration))
        ).scenario
        found = run(plan.cases(cut)[case].scenario, tmp_path / str(i), jobs=1)
        for result in found:
            assert len(result.summary["flows"]) == len(result.plan["flows"])
            assert result.summary["packets_delivered"] > 0
            assert all(flow["goodput_mbps"] > 0 for flow in result.summary["flows"] if flow["packets_sent"] > 100)


def _kept(scenario: Scenario, duration: float) -> list[str]:
    """Overrides that move the measured part, the end of flows, and arrivals into the shortened run."""
    made = ['measure.from="0s"'] if scenario.measure is not None else []
    for i, flow in enumerate(scenario.flow):
        if flow.stop is not None and flow.stop / 1e9 > duration:
            made.append(f'flow[{i}].stop="{duration}s"')
        if flow.arrivals is not None:
            made.append(f'flow[{i}].arrivals.until="{duration}s"')
    return made
