"""The playground in a browser (headless Chromium): it opens with a run, by nothing but its own files; what it tells of a run
is what the program tells; runs are cancelled, swept, changed by a handle, linked and saved.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from browsing import Opened, browser, serious, serving_files
from conftest import ROOT

__all__ = ["browser"]

BUILT = ROOT / "build/playground"
#: How long the page may take, ms: loading Python takes a busy processor a quarter of a minute.
LOOK_MS = 120_000

pytestmark = pytest.mark.skipif(not (BUILT / "index.html").is_file(), reason="no playground: make wasm")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server of static files that tells nothing but their kinds, below a folder of its own as on the site."""
    with serving_files(BUILT, "/playground") as served:
        yield served


class Playground(Opened):
    """The playground, open."""

    def __init__(self, browser: Any, address: str, fragment: str = "") -> None:
        super().__init__(browser, "desktop", "light")
        self.page.set_default_timeout(LOOK_MS)
        self.page.goto(f"{address}index.html{fragment}", wait_until="commit")
        self.page.get_by_text("Loading Python and the engine").wait_for()
        self.verdict()
        self.page.evaluate("document.querySelector('.fields-fold').open = true")

    def verdict(self) -> str:
        """The verdict, once there is one."""
        self.page.wait_for_selector(".verdict p")
        return str(self.page.locator(".verdict").inner_text())

    def fill(self, **values: str) -> None:
        """Fill fields: `path_rate` is `path.rate`."""
        for key, value in values.items():
            self.page.locator(f'[data-key="{key.replace("_", ".")}"]').fill(value)
        self.page.wait_for_function("() => !document.querySelector('button.main').disabled")

    def run(self) -> str:
        """Run, and the verdict of that run."""
        before = self.finished()
        self.page.get_by_role("button", name="Run", exact=True).click()
        self.page.wait_for_function(f"() => +{_FINISHED} > {before} && document.querySelector('progress').hidden")
        return self.verdict()

    def finished(self) -> int:
        """How many runs the page has."""
        return int(self.page.evaluate(_FINISHED))

    def tables(self) -> Any:
        """The scenario of the page."""
        return self.page.locator('textarea[aria-label="Scenario as TOML, or a link"]').input_value()

    def saved(self) -> zipfile.ZipFile:
        """The last run, as it is taken along."""
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name="as a zip file").last.click()
        return zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes()))


_FINISHED = "document.querySelector('.past summary').textContent.match(/\\d+/)[0]"


@pytest.fixture(scope="module")
def playground(browser: Any, address: str) -> Iterator[Playground]:
    """One page for all tests: loading it is most of what they take."""
    made = Playground(browser, address)
    yield made
    made.page.close()


def test_it_opens_with_a_run_and_asks_for_its_own_files_only(playground: Playground, address: str) -> None:
    page = playground.page
    assert page.locator(".charts canvas").count() == 6
    assert "Mbit/s" in playground.verdict()
    assert playground.said == []
    assert [url for url in playground.asked if not url.startswith((address, "data:", "blob:"))] == []
    assert page.get_by_text("Recordings").count() == 0
    assert serious(page) == []


def test_a_saved_run_is_the_one_that_the_program_makes(playground: Playground, tmp_path: Path) -> None:
    playground.fill(duration="7s", name="mine", path_rate="25Mbps", path_loss="0.1%")
    told = playground.run()
    scenario = tmp_path / "mine.toml"
    scenario.write_text(playground.tables(), encoding="utf-8")
    ours = dumbbell.run(scenario, out=tmp_path / "ours")[0]
    playground.saved().extractall(tmp_path)
    (folder,) = tmp_path.glob("mine-*/*/")
    theirs = dumbbell.load(folder)[0]
    assert f"got {ours.summary.flows[1].goodput_mbps:.2f} Mbit/s" in told
    for name, written in ours.manifest.files.items():
        assert theirs.manifest.files[name] == written, name
        assert (folder / name).read_bytes() == (ours.folder / name).read_bytes(), name
    made = [json.loads((at / "manifest.json").read_text()) for at in (folder, ours.folder)]
    for manifest in made:
        del manifest["plan"]["limits"]  # a tab has less memory
    for key in ("plan", "summary", "seed", "scenario", "warnings", "digests", "controllers"):
        assert made[0][key] == made[1][key], key


def test_what_is_wrong_is_said_beside_its_field(playground: Playground) -> None:
    field = playground.page.locator('[data-key="path.rate"]')
    field.fill("40")
    playground.page.wait_for_selector('[data-key="path.rate"][aria-invalid]')
    with pytest.raises(dumbbell.ScenarioError) as error:
        dumbbell.from_dict({"duration": "1s", "path": {"rate": 40, "rtt": "1ms"}, "flow": [{"cca": "cubic"}]})
    said = playground.page.locator(f"#{field.get_attribute('aria-describedby')}").inner_text()
    assert said.removeprefix("⚠ ").strip() == error.value.problem
    playground.fill(path_rate="40Mbps")


def test_a_long_run_is_cancelled_and_the_next_one_goes_on(playground: Playground) -> None:
    page = playground.page
    playground.fill(duration="400s", name="long", path_rate="800Mbps", path_loss="0%")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("() => document.querySelector('progress').value > 0")
    page.wait_for_function("() => parseFloat(document.querySelector('.clock').textContent) > 0.5")
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_function("() => document.querySelector('.said').textContent === 'cancelled'")
    playground.fill(duration="5s", name="after", path_rate="10Mbps")
    assert "10 Mbit/s" in playground.run()


def test_a_handle_runs_at_once(playground: Playground) -> None:
    page, before = playground.page, playground.finished()
    handle = page.get_by_label("Buffer, handle")
    handle.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    page.wait_for_function(f"() => +{_FINISHED} > {before}")


def test_a_sweep_has_its_figure(playground: Playground) -> None:
    playground.page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    text = (
        'name = "swept"\nduration = "3s"\n[path]\nrate = "20Mbps"\nrtt = "20ms"\nbuffer = ["0.5bdp", "2bdp"]\n'
        '[[flow]]\ncca = "cubic"\n[[flow]]\ncca = "bbr"\n'
    )
    playground.page.locator('textarea[aria-label="Scenario as TOML, or a link"]').fill(text)
    playground.page.get_by_role("button", name="Use this text").click()
    playground.page.wait_for_function("() => !document.querySelector('button.main').disabled")
    told = playground.run()
    assert "buffer 0.5 BDP: " in told
    assert playground.page.locator('section[aria-label="What varies"] svg').count() >= 3


def test_a_link_opens_its_scenario(playground: Playground, browser: Any, address: str) -> None:
    told = playground.run()
    fragment = playground.page.evaluate("location.hash")
    assert fragment.startswith("#scenario=")
    other = Playground(browser, address, fragment)
    assert other.tables() == playground.tables()
    assert other.verdict() == told
    other.page.close()
