"""What `dumbbell kernel status --json` makes of what the kernel tells of a socket."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dumbbell import _native, cli

SOCKET = {
    "netns": "", "local": "10.0.0.1:5201", "remote": "10.0.0.2:40000", "instance": "1", "is_listening": False,
    "tcp_state": "Open", "uid": 0, "cwnd": 10, "ssthresh": None, "in_flight": 0, "mss": 1448, "srtt_us": 30_000,
    "tcp_min_rtt_us": 30_000, "pacing_rate_bps": None, "delivered": 1, "lost": 0, "retrans": 0,
}  # fmt: skip
ESTIMATES = {"state": "STARTUP", "min_rtt_us": 30_000, "inflight_lo": None, "inflight_hi": None}


@pytest.fixture
def estimates(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """The estimates in the JSON of a socket, from those that its controller told."""

    def read(**told: int | None) -> dict[str, Any]:
        one = {"name": "bbr2", "kernel_name": "bbr2", "is_kept": True, "params": [], "default_of": []}
        found = json.dumps([{**one, "sockets": [{**SOCKET, "estimates": {**ESTIMATES, **told}}]}])
        monkeypatch.setattr(_native, "kernel_status", lambda _: found)
        assert cli.main(["kernel", "status", "--json"]) == 0
        said: dict[str, Any] = json.loads(capsys.readouterr().out)["sockets"][0]["estimates"]
        return said

    return read


def test_a_receiver_has_no_rate_and_no_gains(estimates: Any) -> None:
    unset = {"bw_bps": None, "pacing_gain": None, "cwnd_gain": None}
    assert estimates(bw_bps=8, pacing_gain=0, cwnd_gain=0) == {**ESTIMATES, **unset}


@pytest.mark.parametrize("gain", [192, None])
def test_what_a_sender_estimates_is_told_as_it_is(estimates: Any, gain: int | None) -> None:
    told = {"bw_bps": 20_000_000, "pacing_gain": gain, "cwnd_gain": gain}
    assert estimates(**told) == {**ESTIMATES, **told}
