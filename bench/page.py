"""How fast the live page is, in headless Chromium on this machine: `make bench-page`.

first picture   from opening the address to the charts of the first run, with its verdict
ten flows       from *Run* to the charts of the finished run: 10 flows, 120 s at 100 Mbit/s
frames          a second, while those flows stream at 10 simulated seconds a second; and what the page's thread takes of
                a processor for one, which another program's load hardly changes: 60 a second leave 16.7 ms
memory          of the page's process (proportional set size), and of its JavaScript, after 20 more runs

Medians of five where several are taken. A machine that does something else makes all worse: its load is printed.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TEN = {
    "name": "ten",
    "duration": "120s",
    "path": {"rate": "100Mbps", "rtt": "40ms", "buffer": "1bdp"},
    "flow": [{"cca": "cubic", "count": 5}, {"cca": "bbr", "count": 5, "start": "137ms"}],
}
TIMES, RUNS = 5, 20
#: Number of the step of the slider that is 10 s a second.
TEN_S = 6
COUNT = "+document.querySelector('.past summary').textContent.match(/\\d+/)[0]"
#: Seconds from a press of *Run* to the second frame with the finished run; frames that were drawn meanwhile.
RUN = f"""() => new Promise((done) => {{
    const before = {COUNT}, began = performance.now();
    document.querySelector('button.main').click();
    const look = () => {COUNT} > before && document.querySelector('.verdict p')
        ? requestAnimationFrame(() => requestAnimationFrame(() => done((performance.now() - began) / 1000)))
        : setTimeout(look, 5);
    look();
}})"""
FRAMES = """(seconds) => new Promise((done) => {
    const began = performance.now();
    let frames = 0;
    const tick = (now) => {
        frames++;
        if (now - began < 1000 * seconds) requestAnimationFrame(tick);
        else done((1000 * frames) / (now - began));
    };
    requestAnimationFrame(tick);
})"""


def fragment(tables: dict[str, Any]) -> str:
    """What an address holds a scenario in."""
    return "#scenario=" + base64.urlsafe_b64encode(json.dumps({"tables": tables}).encode()).decode().rstrip("=")


def opened(browser: Any, url: str) -> tuple[Any, float]:
    """A page, and the seconds until its first picture."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    began = time.monotonic()
    page.goto(url)
    page.wait_for_selector(".verdict p")
    return page, time.monotonic() - began


class Metrics:
    """What the browser counts of a page; times are those of the page's thread on a processor."""

    def __init__(self, page: Any) -> None:
        self.session = page.context.new_cdp_session(page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def read(self, name: str) -> float:
        """One of them, now."""
        found = self.session.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in found if one["name"] == name))


def memory(page: Any) -> tuple[float, float]:
    """MB of the process that draws the page, and of its JavaScript after a collection."""
    metrics = Metrics(page)
    metrics.session.send("HeapProfiler.collectGarbage")
    heap = metrics.read("JSHeapUsedSize")
    sizes = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"--type=renderer" in (folder / "cmdline").read_bytes():
                rollup = (folder / "smaps_rollup").read_text()
                sizes.append(int(rollup.split("Pss:")[1].split()[0]) / 1000)
        except OSError:
            continue
    return max(sizes), heap / 1e6


def measured(browser: Any, url: str) -> None:
    """Print what there is to say."""
    first = []
    for _ in range(TIMES):
        page, seconds = opened(browser, url)
        first.append(seconds)
        page.close()
    print(f"first picture   {statistics.median(first):.2f} s")
    page, _ = opened(browser, url + fragment(TEN))
    page.wait_for_timeout(1000)
    print(f"ten flows       {statistics.median(page.evaluate(RUN) for _ in range(TIMES)):.2f} s")
    page.get_by_label("Speed").evaluate(f"one => {{ one.value = {TEN_S}; one.dispatchEvent(new Event('input')); }}")
    page.evaluate("document.querySelector('button.main').click()")
    page.wait_for_timeout(1500)
    metrics = Metrics(page)
    before = metrics.read("TaskDuration")
    frames = page.evaluate(FRAMES, 6)
    each_ms = 1000 * (metrics.read("TaskDuration") - before) / (6 * frames)
    print(f"frames          {frames:.0f} a second; {each_ms:.1f} ms each")
    for _ in range(RUNS):
        page.evaluate(RUN)
    whole, heap = memory(page)
    print(f"memory          {whole:.0f} MB, of which JavaScript {heap:.0f} MB")


def main() -> int:
    """Start a server and a browser, and measure."""
    from playwright.sync_api import sync_playwright

    found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if found is None:
        print("there is no chromium-headless-shell: tools/system-packages.sh chromium", file=sys.stderr)
        return 1
    print(f"load            {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "dumbbell", "serve", "--out", out]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            with sync_playwright() as driver:
                browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
                measured(browser, url)
                browser.close()
            server.terminate()
    print(f"load            {os.getloadavg()[0]:.1f} at the end")
    return 0


if __name__ == "__main__":
    sys.exit(main())
