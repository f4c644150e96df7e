"""The live page in a real, headless Chromium; `make browser` installs one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from bison_ocl.serve.app import Server
from bison_ocl.serve.service import Service
from tests.chromium import launched
from tests.serve.serving import in_thread, labelled, saved

TOKEN = "a token of some length"
PATIENCE = 60_000
"""milliseconds: a busy machine is no fault"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launched()


@pytest.fixture
def service(tmp_path: Path) -> Service:
    saved(tmp_path / "herd.safetensors")
    return Service(tmp_path / "herd.safetensors")


def opened(
    browser: Browser, address: str, said: list[str], width: int = 1440, theme: str = "light"
) -> Page:
    """The page, and what it complains about or asks of others."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if theme == "dark" else "light",
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda one: said.extend([one.url] * (not one.url.startswith(address))))
    page.goto(address)
    return page


def test_the_page_follows_the_learner(browser: Browser, service: Service) -> None:
    said: list[str] = []
    with in_thread(Server(service)) as address:
        page = opened(browser, address, said)
        expect(page.locator("#title")).to_have_text("herd.safetensors")
        expect(page.locator("#nothing")).to_be_visible()
        expect(page.locator("#figure")).to_be_hidden()
        for call in range(5):
            service.observe(*labelled(12, seed=call))
        tested = page.locator("#numbers div", has_text="images tested").locator("dd")
        expect(tested).to_have_text("60", timeout=PATIENCE)
        metrics = service.learner.metrics
        share = f"{100 * (metrics.accuracy or 0):.1f} %"
        expect(page.locator("#numbers dd").first).to_have_text(share)
        expect(page.locator("#chart")).to_have_attribute(
            "aria-label", f"Accuracy {share} over all images, {share} over the last 1,000"
        )
        points = page.locator("#chart polyline.all").get_attribute("points") or ""
        assert len(points.split()) == 5
        assert points.split()[-1] == f"800.0,{240 * (1 - (metrics.accuracy or 0)):.1f}"
        expect(page.locator("#classes tr")).to_have_count(len(service.learner.learned_labels))
        expect(page.locator("#fill")).to_have_text("The memory holds 20 of 20 images.")
        stored = page.locator("#classes td:last-child").all_inner_texts()
        assert sum(map(int, stored)) == 20
        expect(page.locator("#state")).to_contain_text("live, saved")
    expect(page.locator("#state")).to_contain_text("no answer", timeout=PATIENCE)
    assert [line for line in said if "ERR_CONNECTION_REFUSED" not in line] == []


def test_labels_are_text_to_the_page(browser: Browser, service: Service) -> None:
    said: list[str] = []
    hostile = "<img src=x onerror=console.log(1)>" * 5
    service.observe(labelled(12, seed=1)[0], [hostile, *["bison"] * 11])
    with in_thread(Server(service)) as address:
        page = opened(browser, address, said, width=390)
        expect(page.locator("#classes tr").last).to_contain_text(hostile)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert said == []


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_fits_its_window(
    browser: Browser, service: Service, width: int, theme: str
) -> None:
    said: list[str] = []
    service.observe(*labelled(30, seed=1))
    with in_thread(Server(service)) as address:
        page = opened(browser, address, said, width, theme)
        expect(page.locator("#figure")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(21, 23, 27)" if theme == "dark" else "rgb(252, 251, 249)")
    assert said == []


def test_the_page_asks_for_the_token(browser: Browser, service: Service) -> None:
    said: list[str] = []
    with in_thread(Server(service, TOKEN)) as address:
        page = opened(browser, address, said)
        expect(page.locator("#about")).to_have_text("This server asks for a token.")
        expect(page.locator("#shown")).to_be_hidden()
        page.fill("#token", "another token of some length")
        page.press("#token", "Enter")
        expect(page.locator("#wrong")).to_be_visible()
        page.fill("#token", TOKEN)
        page.press("#token", "Enter")
        expect(page.locator("#title")).to_have_text("herd.safetensors")
        expect(page.locator("#asking")).to_be_hidden()
        page.reload()
        expect(page.locator("#shown")).to_be_visible()
    assert [line for line in said if "401" not in line] == []
