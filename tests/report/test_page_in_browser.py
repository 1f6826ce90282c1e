"""The page as a person has it: in a real browser, by mouse, at any width, in the dark, on paper and read aloud."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.records import HOSTILE, every_part, failed, hostile, passed, several

from auditor.flow.record import Record, as_record
from auditor.report.formats import FORMATS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_SERIOUS = ("serious", "critical")
_PAGES = ("passed", "failed", "several", "hostile", "every_part")
_PARTS_OF_SEVERAL = [pytest.param(name, True, marks=pytest.mark.nightly) for name in ("passed", "failed", "hostile")]
Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every page once."""
    folder = tmp_path_factory.mktemp("pages")
    drawn = {
        "passed": _drawn([passed()]),
        "failed": _drawn([failed()]),
        "several": _drawn(several()),
        "hostile": _drawn([hostile()]),
        "every_part": every_part(),
    }
    for name, text in drawn.items():
        (folder / f"{name}.html").write_text(text)
    return folder


def _drawn(records: list[Record]) -> str:
    return FORMATS["html"].draw(records, 0.95, len(records) == 1).decode()


class Window:
    """One of the browser's, for one page after another, and all that they say on the console or ask for."""

    def __init__(self, browser: Browser, **options: Any) -> None:
        self.noises: list[str] = []
        self.context = browser.new_context(**options)
        self.page = page = self.context.new_page()
        page.on("console", lambda said: self.noises.append(f"console: {said.text}"))
        page.on("pageerror", lambda error: self.noises.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.noises.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda asked: self.noises.append(f"request: {asked.url}"))

    def show(self, url: str, width: int) -> Page:
        self.page.set_viewport_size({"width": width, "height": 800})
        self.page.emulate_media(media="null", color_scheme="null")
        self.page.goto(url)
        assert self.noises.pop(0) == f"request: {url}"
        return self.page


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Window]:
    """That of all pages that need nothing else: a window costs more than a page."""
    window = Window(browser)
    yield window
    window.context.close()


@pytest.fixture
def opened(browser: Browser, window: Window, folder: Path) -> Iterator[Open]:
    """A page, loaded anew; whatever it says on the console or asks for ends the test."""
    windows = [window]

    def opened(name: str, width: int = 1000, **options: Any) -> Page:
        if options:
            windows.append(Window(browser, **options))
        return windows[-1].show((folder / f"{name}.html").as_uri(), width)

    yield opened
    noises = [noise for one in windows for noise in one.noises]
    window.noises.clear()
    for one in windows[1:]:
        one.context.close()
    assert noises == []


@pytest.mark.parametrize("name", _PAGES)
def test_at_any_width_and_in_the_dark_it_fits_and_says_nothing_to_the_console(opened: Open, name: str) -> None:
    page = opened(name, 380)
    for width in (380, 800, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    light = _ground(page)
    page.emulate_media(color_scheme="dark")
    assert sum(light) > 3 * 240 > 3 * 60 > sum(_ground(page))


def _ground(page: Page) -> list[int]:
    colour = page.evaluate("getComputedStyle(document.querySelector('main')).backgroundColor")
    return [int(part) for part in colour.strip("rgb()").split(",")]


@pytest.mark.parametrize(
    ("name", "colours"), [("several", True), ("hostile", False), ("every_part", True), *_PARTS_OF_SEVERAL]
)
def test_nothing_keeps_a_screen_reader_or_weak_eyes_from_it(opened: Open, name: str, colours: bool) -> None:
    """All rules in the light; in the dark other colours may be too faint, and nothing else differs. What a subject says
    has no say in colours: those of its page are the ones of a failure among several."""
    from axe_playwright_python.sync_playwright import Axe

    page, contrast = opened(name, 700), "color-contrast"
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    told: dict[str, Any] = {"resultTypes": ["violations"]}
    found = Axe().run(page, options={**told, "rules": {contrast: {"enabled": colours}}}).response["violations"]
    if colours:
        page.emulate_media(color_scheme="dark")
        found += page.evaluate("(told) => axe.run(told)", {**told, "runOnly": [contrast]})["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in _SERIOUS] == []


def test_headings_tables_and_pictures_have_names(opened: Open) -> None:
    page = opened("several")
    assert page.locator("h1").count() == 1
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map((one) => +one.tagName[1])")
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert page.evaluate("[...document.querySelectorAll('thead th')].every((one) => one.scope === 'col')")
    pictures = page.evaluate("[...document.querySelectorAll('svg[role=img]')].map((one) => one.ariaLabel)")
    assert pictures
    assert all(pictures)
    assert any("audits over time" in words for words in pictures)


def test_a_table_is_sorted_by_a_click_on_its_head(opened: Open) -> None:
    page = opened("every_part")
    table = page.locator("table").first
    numbers = lambda: table.locator("tbody tr td:nth-child(2)").all_inner_texts()  # noqa: E731
    assert numbers() == ["10", "9", "1,000", "0.5"]
    table.get_by_role("button", name="pairs").click()
    assert numbers() == ["0.5", "9", "10", "1,000"]
    assert table.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    table.get_by_role("button", name="pairs").click()
    assert numbers() == ["1,000", "10", "9", "0.5"]
    table.get_by_role("button", name="name").click()
    assert table.locator("tbody th").all_inner_texts() == ["a", "b", "c", "d"]


def test_what_surprises_is_open_and_all_else_folded(opened: Open) -> None:
    page = opened("several")
    are_open = lambda: page.evaluate("[...document.querySelectorAll('.subject')].map((one) => one.open)")  # noqa: E731
    assert are_open() == [False, True, False]
    page.get_by_role("button", name="open all").click()
    assert are_open() == [True] * 3
    page.get_by_role("button", name="fold all").click()
    page.locator("table.overview a").last.click()
    page.locator(".subject[open]").wait_for(state="attached")  # a changed address is heard of a moment later
    assert are_open() == [False, False, True]
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert are_open() == [False, False, True]


def test_a_command_is_copied_as_it_is_typed(opened: Open) -> None:
    page = opened("failed")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".command .copy").first.click()
    page.get_by_text("copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == failed().examples[0].replay
    page.context.clear_permissions()


def test_the_record_is_within_the_page(opened: Open, tmp_path: Path) -> None:
    page = opened("failed")
    with page.expect_download() as waiting:
        page.locator("a.download").click()
    file = tmp_path / "record.json"
    waiting.value.save_as(file)
    assert waiting.value.suggested_filename == "record.json"
    assert as_record(json.loads(file.read_bytes())) == as_record(failed().to_dict())


def test_without_a_script_all_of_it_is_there_and_no_button_that_does_nothing(opened: Open) -> None:
    page = opened("failed", java_script_enabled=False)
    text = page.locator("main").inner_text().replace("\u00a0", " ")
    record = failed()
    assert all(words in text for words in (record.subject, record.reason, record.examples[0].replay))
    assert page.locator("button").count() == 0
    assert page.locator("mark").count() >= 2


def test_it_prints(opened: Open) -> None:
    page = opened("failed")
    assert page.pdf().startswith(b"%PDF")
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator("button").first.is_visible()
    assert _ground(page) == [255, 255, 255]
    ink = page.evaluate("getComputedStyle(document.querySelector('.lead')).color")
    assert ink == "rgb(29, 31, 34)"


def test_a_chart_has_letters_that_can_be_read_on_a_phone(opened: Open) -> None:
    page = opened("every_part", 380)
    assert not page.locator(".chart .wide").is_visible()
    drawn, letters = page.evaluate(
        "(() => { const svg = document.querySelector('.narrow svg');"
        " return [svg.getBoundingClientRect().width / svg.viewBox.baseVal.width, 12]; })()"
    )
    assert drawn * letters >= 11
    page.set_viewport_size({"width": 1000, "height": 800})
    assert page.locator(".chart .wide").is_visible()
    assert not page.locator(".chart .narrow").is_visible()


def test_whatever_a_subject_says_is_shown_and_nothing_of_it_is_obeyed(opened: Open) -> None:
    """Names, outputs, parameters, messages: no element of theirs, no attribute, no dialog, no hidden character."""
    page = opened("hostile")
    ours = "script, style, meta, title, head, html, body, main, header, footer, section, h1, h2, p, b, span, code, pre"
    ours += ", div, dl, dt, dd, ul, li, mark, table, caption, thead, tbody, tr, th, td, button, a, wbr, figure"
    ours += ", figcaption, svg.strip, svg.strip *, details, summary"
    assert page.evaluate(f"document.querySelectorAll('*:not({ours})').length") == 0
    assert page.locator("script").count() == 1
    assert page.evaluate("window.pwned") is None
    names = "[...document.querySelectorAll('*')].flatMap((one) => one.getAttributeNames())"
    assert not [name for name in page.evaluate(names) if name.startswith("on")]
    links = page.evaluate("[...document.querySelectorAll('a')].map((one) => one.getAttribute('href'))")
    assert all(link.startswith("data:application/") for link in links)
    text = page.locator("body").inner_text()
    for words in HOSTILE:
        assert words.replace("\u202e", "\\u202e").replace("\x1b", "\\x1b") in text, words
    assert not set("\u202e\x1b\u200b\u2066") & set(page.content())


def test_a_tampered_page_runs_no_other_script(window: Window, folder: Path, tmp_path: Path) -> None:
    """Even where markup got in, the page's own policy keeps it from running and from asking for anything."""
    evil = "<script>window.pwned = 1</script><img src='http://127.0.0.1:9/x' onerror='window.pwned = 2'></main>"
    file = tmp_path / "evil.html"
    file.write_text((folder / "passed.html").read_text().replace("</main>", evil))
    page = window.page
    asked: list[str] = []
    heard = lambda one: asked.append(one.url)  # noqa: E731
    page.on("requestfinished", heard)
    page.goto(file.as_uri())
    assert page.evaluate("window.pwned") is None
    assert asked == [file.as_uri()]
    page.remove_listener("requestfinished", heard)
    window.noises.clear()  # of the policy that kept it
