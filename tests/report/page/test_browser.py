"""The page in a real, headless Chromium: what a reader sees and can do."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page

from bison_ocl.report.page import write
from bison_ocl.report.study.experiments import experiments
from bison_ocl.report.study.study import Study, load
from tests.chromium import launched
from tests.report.records import records
from tests.report.studies import prepared, study

ROOT = Path(__file__).parents[3]
WARNINGS = ["the records come from 2 commits: 01234567 (40), 89abcdef (3)"]
ITEMS = ("demo", "confusion", "buffer-batch", "ablation", "sensitivity")
VIEWS = ("summary", "compare", "curves", "interplay", "confusion", "log", "loss", "time", "runs")
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from launched()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with several items."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    write(study(*ITEMS, warnings=WARNINGS), path)
    return path


FOLLOWED = """hash => {
  history.replaceState(null, "", `#${hash}`);
  dispatchEvent(new HashChangeEvent("hashchange"));
  document.activeElement?.blur();
  scrollTo(0, 0);
}"""
"""as if the reader had followed a link within the page"""


class Windows:
    """Opened pages, and all that they complained about or asked for."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.said: list[str] = []
        self.asked: list[str] = []
        self.kept: dict[tuple[Path, int, str], Page] = {}

    def new(self, path: Path, width: int, theme: str, **state: str) -> Page:
        """A page in a window of its own."""
        context = self.browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if theme == "dark" else "light",
        )
        context.set_default_timeout(120_000)  # milliseconds: a busy machine is no fault
        page = context.new_page()
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(f"{path.as_uri()}#{urlencode(state)}")
        return page

    def show(self, path: Path, width: int, theme: str, **state: str) -> Page:
        """A page that may have been open before: a link's hash says all that it shows."""
        key = path, width, theme
        if key not in self.kept:
            self.kept[key] = self.new(path, width, theme)
        self.kept[key].evaluate(FOLLOWED, urlencode(state))
        return self.kept[key]


@pytest.fixture(scope="module")
def windows(browser: Browser) -> Windows:
    return Windows(browser)


@pytest.fixture
def show(windows: Windows, report: Path) -> Iterator[Open]:
    """Shows a page; at the end, nothing was complained about and nothing asked of a network."""
    fresh: list[Page] = []

    def shown(
        path: Path = report,
        width: int = 1280,
        theme: str = "light",
        new: bool = False,
        **state: str,
    ) -> Page:
        if not new:
            return windows.show(path, width, theme, **state)
        fresh.append(windows.new(path, width, theme, **state))
        return fresh[-1]

    windows.said.clear()
    windows.asked.clear()
    yield shown
    for page in fresh:
        page.context.close()
    asked = windows.asked
    assert windows.said == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert all(url.partition("#")[0].endswith(".html") for url in asked if url[:5] == "file:")


def visible(within: Page | Locator, selector: str) -> Locator:
    """The parts that are shown: all views of all items are on the page, most of them hidden."""
    return within.locator(selector).locator("visible=true")


def names(page: Page) -> list[str]:
    """The rows of the table that is shown."""
    return visible(page, "#panel tbody th").all_inner_texts()


def column(page: Page, place: int) -> list[float | str]:
    """A column of it, as numbers where it holds numbers."""
    texts = visible(page, "#panel tbody tr").locator(f":nth-child({place + 1})")
    found = texts.and_(page.locator("th, td")).all_inner_texts()
    try:
        return [float(text.replace("−", "-").replace(",", "")) for text in found]
    except ValueError:
        return list(found)


def picture(part: Locator) -> Image.Image:
    """A screenshot of a part of the page."""
    with Image.open(io.BytesIO(part.screenshot())) as image:
        return image.convert("RGB")


def colours(image: Image.Image) -> int:
    """How many colours a picture has."""
    found = image.getcolors(maxcolors=1 << 24)
    assert found
    return len(found)


def cut(whole: Image.Image, around: Locator, part: Locator) -> Image.Image:
    """From a picture of something, that of a part of it."""
    outer, inner = around.bounding_box(), part.bounding_box()
    assert outer
    assert inner
    left, top = inner["x"] - outer["x"], inner["y"] - outer["y"]
    return whole.crop((int(left), int(top), int(left + inner["width"]), int(top + inner["height"])))


def overflow(page: Page) -> int:
    width: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return width


# --- what is shown ---


def test_it_opens_with_the_warnings_and_the_first_item(show: Open) -> None:
    page = show(new=True)
    assert page.locator("#warnings li").all_inner_texts() == WARNINGS
    assert names(page) == ["FINE-TUNE", "ER", "BISON"]
    assert page.locator("#views label:has(:checked)").inner_text() == "Summary"


def test_the_numbers_are_those_of_the_records(show: Open) -> None:
    page = show()
    values = [100 * r.metrics.AA for r in records("demo", 2) if r.method == "bison"]
    shown = (
        visible(page, "#panel tbody tr").filter(has_text="BISON").locator("td").nth(0).inner_text()
    )
    assert shown.startswith(f"{sum(values) / 2:.1f} ± {abs(values[0] - values[1]) / 2**0.5:.1f}")


def test_the_paper_stands_beside_ours(show: Open) -> None:
    page = show(item="ablation")
    line = (
        visible(page, "#panel tbody tr")
        .filter(has_text="w/o PAL")
        .first.locator("td")
        .all_inner_texts()
    )
    ours, paper, difference = (text.split()[0] for text in line[:3])
    assert paper == "22.5"
    assert float(difference.replace("−", "-")) == pytest.approx(float(ours) - 22.5, abs=0.11)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_view_has_something_on_it(theme: str, show: Open) -> None:
    page = show(theme=theme)
    tabs, panel = page.locator("#views label").all(), page.locator("#panel")
    assert len(tabs) == len(VIEWS)
    for tab in tabs:
        tab.click()
        assert visible(panel, "h2").count() == 1
        whole = picture(panel)
        assert colours(whole) > 60
        for chart in visible(panel, ".chart").all():
            assert chart.locator("svg.main-svg").count() > 0
            assert colours(cut(whole, panel, chart)) > 60


def test_every_confusion_matrix_is_there_without_scrolling_and_in_print(show: Open) -> None:
    page = show(item="confusion", view="confusion")
    maps = visible(page, "#panel table.map")
    assert maps.count() == 3
    assert visible(page, "#panel h3").first.inner_text().startswith("ER + NCM")
    cells = maps.first.locator("tbody tr").first.locator("td").all_inner_texts()
    assert all(text.isdigit() for text in cells)
    assert maps.first.locator(".largest-error").count() == 10
    page.emulate_media(media="print")
    assert maps.last.is_visible()
    assert not page.locator("#controls").is_visible()
    page.emulate_media(media="screen")


def test_the_scale_of_accuracy_has_one_direction_in_both_themes(show: Open) -> None:
    scales = [
        show(theme=theme, view="interplay").evaluate(
            "[...document.querySelectorAll('.chart')].find(e => e._fullLayout)"
            "._fullLayout.coloraxis.reversescale"
        )
        for theme in ("light", "dark")
    ]
    assert scales[0] == scales[1]


def test_hovering_tells_the_number(show: Open) -> None:
    page = show(view="compare")
    page.locator(".barlayer .point path").last.hover(force=True)  # Plotly lays a sheet over it
    told = page.locator(".hoverlayer .hovertext").first
    told.wait_for()
    assert "BISON" in told.text_content()
    assert "2 runs" in told.text_content()


def test_two_settings_make_a_grid_and_one_a_line(show: Open) -> None:
    page = show(item="sensitivity", view="compare", choice="AA ↑ over beta and lambda")
    assert visible(page, "#panel table.map").count() == 1
    assert visible(page, "#panel .map .best").count() == 1
    page = show(item="buffer-batch", view="compare", choice="AA ↑ over buffer_batch")
    assert page.locator(".scatterlayer .lines path").count() == 1
    assert show(item="ablation", view="compare").locator(".barlayer .point").count() >= 6


def test_every_ticked_method_is_compared(show: Open, tmp_path: Path) -> None:
    digits = load(ROOT / "results" / "digits")
    methods = {entry.method for entry in digits.items["digits"]}
    write(digits, tmp_path / "digits.html")
    page = show(tmp_path / "digits.html", view="compare")
    ticked = visible(page, "#methods input:checked").count()
    assert ticked == len(methods)
    found = experiments("digits", digits.items["digits"])
    assert page.locator(".barlayer .point").count() == len(found) > len(methods)  # GDumb has two
    page.select_option("#choice", "AA ↑ over lr")
    assert visible(page, ".scatterlayer .lines path").count() == 1
    page.check("#view-loss", force=True)
    assert "No loss was recorded for" in visible(page, "figcaption").inner_text()
    assert "GDumb" not in page.locator(".legendtext").all_text_contents()  # zeros are no loss


def test_a_long_legend_leaves_room_for_the_curves(show: Open, tmp_path: Path) -> None:
    write(load(ROOT / "results" / "digits"), tmp_path / "digits.html")
    page = show(tmp_path / "digits.html", width=390, view="curves")
    area = visible(page, ".nsewdrag").bounding_box()
    assert area is not None
    assert area["height"] > 220


def test_the_buttons_of_a_chart_cover_no_legend(show: Open, tmp_path: Path) -> None:
    write(load(ROOT / "results" / "digits"), tmp_path / "digits.html")
    chart = visible(show(tmp_path / "digits.html", view="curves"), ".js-plotly-plot")
    buttons, legend = (chart.locator(name).bounding_box() for name in (".modebar", ".legend"))
    assert buttons is not None
    assert legend is not None
    assert legend["y"] + legend["height"] < buttons["y"]


def test_no_button_of_a_chart_uploads_it(show: Open, tmp_path: Path) -> None:
    write(load(ROOT / "results" / "demo"), tmp_path / "demo.html")
    page = show(tmp_path / "demo.html", view="curves")
    buttons = visible(page, ".js-plotly-plot").locator(".modebar-btn")
    titles = buttons.evaluate_all("all => all.map(one => one.dataset.title)")
    assert titles == ["Download plot as a PNG", "Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes"]


def test_the_buttons_of_a_chart_have_the_colours_of_the_page(show: Open, tmp_path: Path) -> None:
    write(load(ROOT / "results" / "demo"), tmp_path / "demo.html")
    page = show(tmp_path / "demo.html", view="curves")
    colour = "one => getComputedStyle(one).backgroundColor"
    shown = visible(page, ".js-plotly-plot").locator(".modebar-group").first
    assert shown.evaluate(colour) == page.locator("#theme").evaluate(colour)


def test_real_records_make_a_page(show: Open, tmp_path: Path) -> None:
    write(load(ROOT / "results" / "demo"), tmp_path / "demo.html")
    page = show(tmp_path / "demo.html")
    assert names(page) == ["FINE-TUNE", "ER", "BISON"]


# --- choosing ---


def test_choosing_an_item_changes_what_is_shown(show: Open) -> None:
    page = show()
    page.select_option("#item", "confusion")
    assert names(page) == ["ER", "ER + NCM", "SS-IL", "SS-IL + NCM", "BISON"]
    page.check("#view-confusion", force=True)
    assert visible(page, "#panel h3").count() == 3


LONG = [f"n{n:05}_american_black_bear" if n % 2 else f"Eurasian otter, {n}" for n in range(10)]


@pytest.mark.parametrize("width", [1200, 390])
def test_long_names_of_classes_are_legible(show: Open, tmp_path: Path, width: int) -> None:
    found = [replace(r, data="folder:/herd", class_names=LONG) for r in records("demo", 2)]
    write(Study({"demo": prepared(found)}, []), tmp_path / "herd.html")
    page = show(tmp_path / "herd.html", width=width, view="confusion")
    first = visible(page, "#panel table.map").first
    assert first.locator("thead th").all_inner_texts() == LONG
    assert first.locator("tbody th").all_inner_texts() == LONG
    sides = "all => all.map(e => [e.clientWidth, e.clientHeight])"
    assert all(high < 70 for _, high in first.locator("tbody th").evaluate_all(sides))
    assert all(wide < 70 for wide, _ in first.locator("thead th").evaluate_all(sides))


def test_choosing_a_dataset_changes_what_is_shown(show: Open) -> None:
    page = show(item="sensitivity")
    before = names(page)
    page.select_option("#data", label="Split Mini-ImageNet")
    assert names(page) != before
    assert page.locator("#memory").input_value() == "M = 1k"


def test_choosing_a_memory_changes_what_is_shown(show: Open, tmp_path: Path) -> None:
    found = records("demo", 2)
    small = [replace(r, memory=20) for r in found if r.memory]
    write(Study({"demo": prepared([*found, *small])}, []), tmp_path / "two.html")
    page = show(tmp_path / "two.html")
    assert page.locator("#memory option").all_inner_texts() == ["M = 20", "M = 100", "all"]
    assert names(page) == ["FINE-TUNE", "ER", "BISON"]
    page.select_option("#memory", "all")
    assert names(page) == ["FINE-TUNE", "ER", "BISON"] * 2
    captions = visible(page, "#panel caption").all_inner_texts()
    assert captions == ["Split Digits, M = 20, n = 2", "Split Digits, M = 100, n = 2"]


def test_methods_are_switched_off_and_on(show: Open) -> None:
    page = show()
    page.get_by_role("checkbox", name="FINE-TUNE").uncheck()
    assert sorted(names(page)) == ["BISON", "ER"]  # another test may have sorted the table
    page.click("#no-methods")
    assert page.locator(".empty").is_visible()
    page.click("#all-methods")
    assert len(names(page)) == 3


def test_tables_sort_by_any_column(show: Open) -> None:
    page = show(view="runs")
    as_run = column(page, 0)
    headers = visible(page, "#panel thead button")
    assert headers.count() == visible(page, "#panel thead th").count() - 1  # the last opens a run
    for place, header in enumerate(headers.all()):
        header.click()
        down = column(page, place)
        assert visible(page, "th[aria-sort=descending]").count() == 1
        header.click()
        up = column(page, place)
        assert visible(page, "th[aria-sort=ascending]").count() == 1
        assert up == sorted(up)
        assert down == sorted(up, reverse=True)
        header.click()
        assert column(page, 0) == as_run


def test_a_run_opens_with_settings_and_provenance(show: Open) -> None:
    page = show(view="runs")
    page.get_by_role("button", name="Open BISON, Split Digits, M = 100, seed 1").click()
    said = page.locator("#run").inner_text()
    (record,) = [r for r in records("demo", 2) if (r.method, r.seed) == ("bison", 1)]
    order = " ".join(map(str, record.class_order))
    wanted = [record.commit, order, "NVIDIA H200", "2.13.0+cpu", "class-incremental", "lambda"]
    assert all(text in said for text in wanted)
    assert page.locator("#run tbody tr").count() == 5


# --- links ---


def test_a_view_can_be_linked(show: Open) -> None:
    page = show()
    page.select_option("#item", "sensitivity")
    page.select_option("#data", label="Split Mini-ImageNet")
    page.check("#view-compare", force=True)
    page.select_option("#choice", "AF_table ↓")
    link = page.evaluate("location.hash")
    other = show(new=True)
    other.evaluate("hash => { location.hash = hash }", link)
    other.locator("#choice").wait_for(state="visible")
    for chosen in ("#item", "#data", "#choice"):
        assert other.locator(chosen).input_value() == page.locator(chosen).input_value()


def test_a_link_to_a_run_opens_it(show: Open) -> None:
    page = show(new=True, view="runs", run="BISON, Split Digits, M = 100, seed 1")
    assert "seed 1" in page.locator("#run-title").inner_text()


@pytest.mark.parametrize(
    "state",
    [
        {"item": "none", "data": "x", "memory": "-1", "methods": "a,b", "view": "?", "run": "9.9"},
        {"sort": "nothing:up", "choice": "__proto__", "view": "constructor", "run": "."},
    ],
)
def test_a_link_to_nothing_shows_the_beginning(state: dict[str, str], show: Open) -> None:
    page = show(new=True, **state)
    assert page.locator("#item").input_value() == "demo"
    assert page.locator("#panel").inner_text()
    assert not page.locator("#run").is_visible()


# --- keyboard, themes, phones ---


def focused(page: Page) -> str:
    shown = "document.activeElement"
    found: str = page.evaluate(f"{shown}.id || {shown}.className || {shown}.textContent")
    return found


def test_the_keyboard_reaches_everything_in_order(show: Open) -> None:
    page = show(new=True)
    reached = []
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.append(focused(page))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none" or (
            reached[-1].startswith(("method-", "view-"))  # its label has the outline
        )
    assert reached[:8] == [
        *("skip", "theme", "item", "data", "memory", "method-0", "method-1", "method-2"),
    ]
    assert reached[8:] == [
        *("all-methods", "no-methods", "view-summary", "scroll", "method", "AA ↑"),
    ]


def test_the_keyboard_does_what_the_mouse_does(show: Open) -> None:
    page = show()
    page.focus("#method-0")
    page.keyboard.press("Space")
    assert sorted(names(page)) == ["BISON", "ER"]  # another test may have sorted the table
    assert focused(page) == "method-0"
    visible(page, "#panel thead button").first.focus()
    page.keyboard.press("Enter")
    assert sorted(names(page)) == ["BISON", "ER"]  # another test may have sorted the table
    page.keyboard.press("Enter")
    assert names(page) == ["BISON", "ER"]
    assert focused(page) == "method"
    page.focus("#view-summary")
    for key, view in (("ArrowRight", "compare"), ("ArrowLeft", "summary"), ("ArrowLeft", "runs")):
        page.keyboard.press(key)
        assert focused(page) == f"view-{view}"


def test_a_run_is_opened_and_closed_by_keyboard(show: Open) -> None:
    page = show(view="runs")
    opener = "Open ER, Split Digits, M = 100, seed 0"
    page.get_by_role("button", name=opener).focus()
    page.keyboard.press("Enter")
    assert page.locator("#run").is_visible()
    page.keyboard.press("Escape")
    page.wait_for_function("name => document.activeElement.ariaLabel === name", arg=opener)
    assert not page.locator("#run").is_visible()


@pytest.mark.parametrize("view", VIEWS)
def test_what_is_there_has_names(view: str, show: Open) -> None:
    page = show(item="confusion" if view == "confusion" else "demo", view=view)
    for table in page.locator("table").all():
        assert table.locator("caption").count() == 1
    assert page.locator("th:not([scope])").count() == 0
    for control in page.locator("button, select, input, .chart, [role=region]").all():
        labels = "[...(e.labels ?? [])].some(label => label.textContent)"
        assert control.evaluate(f"e => e.ariaLabel || e.textContent.trim() || {labels}")
    ids = page.locator("[id]").evaluate_all("all => all.map(e => e.id)")
    assert len(ids) == len(set(ids))


def brightness(page: Page) -> float:
    with Image.open(io.BytesIO(page.screenshot())) as image:
        return float(np.asarray(image.convert("L")).mean())


def test_the_system_chooses_the_theme_and_the_reader_changes_it(show: Open) -> None:
    light, dark = (show(new=True, view="curves", theme=theme) for theme in ("light", "dark"))
    assert brightness(light) > 200
    assert brightness(dark) < 60
    light.click("#theme")
    assert brightness(light) < 60
    assert light.locator("#theme").inner_text() == "Use light colours"
    light.reload()
    assert brightness(light) < 60


def test_charts_follow_the_theme(show: Open) -> None:
    page = show(new=True, view="curves")
    style = "getComputedStyle(document.querySelector('.xtick text')).fill"
    before = page.evaluate(style)
    page.click("#theme")
    assert page.evaluate(style) != before


def test_a_phone_shows_it_without_scrolling_sideways(show: Open) -> None:
    page = show(width=390)
    panel, controls = (
        page.locator("#panel").bounding_box(),
        page.locator("#controls").bounding_box(),
    )
    assert panel
    assert controls
    assert panel["y"] < controls["y"]  # the result comes first
    for tab in page.locator("#views label").all():
        tab.click()
        assert overflow(page) <= 0
        assert colours(picture(page.locator("body"))) > 60
    visible(page, "#panel tbody button").first.click()
    assert overflow(page) <= 0
    box = page.locator("#run").bounding_box()
    assert box
    assert box["width"] <= 390


# --- what records may hold ---


def test_text_of_a_record_stays_text(show: Open, tmp_path: Path) -> None:
    evil = "$x$ </script><script>window.stolen = 1</script><img src=x onerror='window.stolen = 1'>"
    found = [
        replace(
            record,
            data=f"folder:{evil}",
            stream=evil,
            commit=evil,
            settings={**record.settings, evil: evil if record.method == "er" else 1},
            environment=replace(record.environment, device=evil),
        )
        for record in records("demo", 2)
    ]
    other = [replace(r, method=evil, log=[{evil: 1.0}] * 5) for r in found if r.method == "er"]
    write(Study({evil: prepared([*found, *other])}, [evil]), tmp_path / "evil.html")
    page = show(tmp_path / "evil.html")
    assert page.locator("#warnings li").all_inner_texts() == [evil]
    for tab in page.locator("#views label").all():
        tab.click()
    visible(page, "#panel tbody button").last.click()
    assert evil in page.locator("#run").inner_text()
    assert page.evaluate("window.stolen") is None
    assert page.locator("img, iframe").count() == 0
