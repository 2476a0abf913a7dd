"""Recordings that are brought to the live page stand for rate, RTT and loss; they are kept in the folder of results only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell.serve.recordings import FILE_MAX, FILES_MAX
from live_page import Live, browser, desktop, live, server
from serving import SCENARIO, Server, serving

__all__ = ["browser", "desktop", "live", "server"]

TABLE = "time_s,rate_mbps,rtt_ms,loss_percent\n0,20,40,0\n1,5,80,0.5\n2,20,40,0\n"
#: Drops a file on the page, as a person does.
DROP = """([name, text]) => {
    const carried = new DataTransfer();
    carried.items.add(new File([text], name));
    document.dispatchEvent(new DragEvent('drop', { dataTransfer: carried, cancelable: true }));
}"""


def kept(server: Server, name: str, text: str) -> Any:
    return server.json("/api/record", {"name": name, "text": text})


def test_a_recording_says_what_it_holds_and_runs(server: Server) -> None:
    made = kept(server, "path.csv", TABLE)
    assert (made["path"], made["form"], made["length_s"]) == ("recordings/path.csv", "csv", 3.0)
    assert [one["quantity"] for one in made["columns"]] == ["rate", "rtt", "loss"]
    recorded = {"trace": made["path"], "repeat": True}
    job = server.run({**SCENARIO, "path": {**SCENARIO["path"], "rate": recorded, "rtt": recorded}})[0]["begin"]["job"]  # type: ignore[dict-item]
    assert dumbbell.load(server.out / job)[0].plan.bottleneck.is_constant is False
    assert made in server.json("/api/recordings")["recordings"]


@pytest.mark.parametrize(
    ("text", "form", "quantities"),
    [
        ("1\n3\n9\n", "mahimahi", ["rate"]),
        ("\ufeff# made by x\r\n1\r\n3\r\n\r\n9", "mahimahi", ["rate"]),
        ("40\n20\n30\n", "leoreplayer", ["delay"]),
    ],
)
def test_lines_of_one_number_are_a_trace_or_delays(server: Server, text: str, form: str, quantities: list[str]) -> None:
    made = kept(server, f"{form}.txt", text)
    assert (made["form"], [one["quantity"] for one in made["columns"]]) == (form, quantities)


def test_what_tools_write_is_taken_as_the_command_takes_it(server: Server) -> None:
    texts = {
        "ping": "[100.5] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=63 time=60.6 ms\n",
        "mm-link": "# base timestamp: 0\n12 # 1504\n13 + 1504\n250 # 1504\n",
        "csv": "Timestamp;DL_bitrate;UL_bitrate\r\n2019.12.14_10.16.30;10000;1\r\n2019.12.14_10.16.31;-;1\r\n",
    }
    assert [kept(server, f"{form}.log", text)["form"] for form, text in texts.items()] == list(texts)


def test_a_file_that_is_there_never_changes(server: Server) -> None:
    assert kept(server, "same.csv", TABLE)["path"] == "recordings/same.csv"
    assert kept(server, "same.csv", TABLE)["path"] == "recordings/same.csv"
    assert kept(server, "same.csv", TABLE + "3,9,9,0\n")["path"] == "recordings/same-2.csv"
    assert (server.out / "recordings" / "same.csv").read_text() == TABLE


@pytest.mark.parametrize("name", ["../x.csv", "/etc/x", "a/b", ".hidden", "", "x\0", "é.csv", "a" * 81, None, 1])
def test_no_name_leads_out_of_the_folder(server: Server, name: object) -> None:
    before = sorted(server.out.parent.rglob("*"))
    status, _, body = server.ask("/api/record", {"name": name, "text": TABLE})
    assert (status, b"wanted the name of a file" in body) == (422, True)
    assert sorted(server.out.parent.rglob("*")) == before


@pytest.mark.parametrize(
    "text",
    ["", "  \n", "what is this\n", "time_s,rate\n0,1\n", "0 4\n1 8\n", "1\n2\n300\n3", "x" * (FILE_MAX + 1), None],
)
def test_what_is_no_recording_is_refused_and_not_kept(server: Server, text: object) -> None:
    assert server.ask("/api/record", {"name": "wrong.csv", "text": text})[0] == 422
    assert not (server.out / "recordings" / "wrong.csv").exists()


def test_the_text_of_a_recording_is_given_back(server: Server) -> None:
    made = kept(server, "back.csv", TABLE)
    assert server.json(f"/api/recording?path={made['path']}") == {"text": TABLE}


@pytest.mark.parametrize(
    "path",
    ["", "back.csv", "recordings/", "recordings/../x", "/etc/passwd", "recordings//etc/passwd", "recordings/none"],
)
def test_what_is_no_recording_is_not_given(server: Server, path: str) -> None:
    (server.out / "x").write_text("a secret")
    status, _, body = server.ask(f"/api/recording?path={path}")
    assert (status, b"wanted the path of a recording" in body) == (422, True)


def test_there_is_a_limit_of_files_and_a_link_is_not_followed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with serving(out) as server:
        (out / "recordings").mkdir()
        for i in range(FILES_MAX):
            (out / "recordings" / f"{i}.csv").write_text(TABLE)
        assert b"50 recordings" in server.ask("/api/record", {"name": "more.csv", "text": TABLE})[2]
        (out / "recordings").rename(tmp_path / "elsewhere")
        (out / "recordings").symlink_to(tmp_path / "elsewhere")
        for status, _, body in (
            server.ask("/api/record", {"name": "more.csv", "text": TABLE}),
            server.ask("/api/recording?path=recordings/1.csv"),
        ):
            assert (status, b"is a link" in body) == (422, True)


def test_a_recording_that_is_dropped_becomes_rate_rtt_and_loss(live: Live) -> None:
    page = live.page
    page.evaluate(DROP, ["my way.csv", TABLE])
    entry = page.locator(".recordings li", has_text="my-way.csv")
    for field, key in [("rate", "path.rate"), ("RTT", "path.rtt"), ("loss", "path.loss")]:
        entry.get_by_role("button", name=f"As the {field}").press("Enter")
        page.wait_for_function(f"() => document.querySelector('[data-key=\"{key}\"]').value.includes('way.csv')")
    page.wait_for_function("() => !document.querySelector('button.main').disabled")
    live.run()
    page.wait_for_function("() => document.querySelector('.verdict').innerText.includes('Mbit/s')")
    assert page.evaluate("document.documentElement.scrollWidth") == page.viewport_size["width"]
    assert live.said == []
    given = json.loads(live.field("path.rate").input_value())
    assert given == {"trace": "recordings/my-way.csv", "repeat": True}


def test_a_file_that_is_no_recording_is_said(desktop: Live) -> None:
    page = desktop.page
    page.evaluate(DROP, ["x.csv", "nothing of this\n"])
    page.wait_for_function("() => document.querySelector('.said').textContent.includes('wanted')")
    page.evaluate(DROP, ["large.csv", "1\n" * (FILE_MAX // 2 + 1)])
    page.wait_for_function("() => document.querySelector('.said').textContent.includes('1048576')")


def test_a_link_carries_its_recordings_to_another_server(
    browser: Any, desktop: Live, server: Server, tmp_path: Path
) -> None:
    page = desktop.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate(DROP, ["road.csv", TABLE])
    entry = page.locator(".recordings li", has_text="road.csv")
    for name in ("rate", "loss"):
        entry.get_by_role("button", name=f"As the {name}").press("Enter")
    page.wait_for_function(
        "() => document.querySelector('pre code').textContent.includes('cp results/recordings/road')"
    )
    page.get_by_role("button", name="Copy a link").click()
    page.wait_for_function("() => document.querySelector('.said').textContent.includes('copied, with road.csv')")
    link = page.evaluate("navigator.clipboard.readText()")
    with serving(tmp_path / "out") as other:
        kept(other, "road.csv", TABLE + "3,9,9,0\n")  # another file of this name
        got = Live(browser, other, "desktop", "light", link[link.index("#") :])
        given = {key: json.loads(got.field(f"path.{key}").input_value()) for key in ("rate", "loss")}
        assert given == {key: {"trace": "recordings/road-2.csv", "repeat": True} for key in ("rate", "loss")}
        assert (other.out / "recordings" / "road-2.csv").read_text() == TABLE
        assert got.said == []
        got.page.close()


@pytest.mark.parametrize("cut", ["scenario", "recordings"])
def test_a_link_that_is_not_whole_is_said(desktop: Live, cut: str) -> None:
    page = desktop.page
    link = page.evaluate("location.hash")
    page.get_by_text("Scenario file, command, import").click()
    text = link[:40] if cut == "scenario" else f"{link}&recordings=AAAA"
    page.get_by_label("Scenario as TOML, or a link").fill(text)
    page.get_by_role("button", name="Use this text").click()
    page.wait_for_function(
        f"() => document.querySelector('.said').textContent.match(/{cut}.* of this link cannot be read/)"
    )
