"""The built site in a browser: what a reader clicks works, on a desk and on a phone, in the light and in the dark.

Headless Chromium, driven by selenium; skipped where the machine has no Chromium with its driver.
"""

import shutil
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "headless",
    "no-sandbox",
    "disable-gpu",
    "disable-quic",
    "no-first-run",
    "disable-background-networking",
    "disable-component-update",
    "disable-sync",
)
DESK = (1280, 900)
PHONE = (390, 844)
#: Longest wait for what a click leads to, in seconds; it ends as soon as that is there.
PATIENCE = 30
#: Blocks of code on the first screen that are cut off, and lines of code under a copy button, where two spaces may hang.
HIDDEN_CODE = """
const hidden = []
for (const code of document.querySelectorAll('article pre > code')) {
  const button = code.parentElement.parentElement.querySelector('button')?.getBoundingClientRect()
  const words = document.createRange()
  words.selectNodeContents(code)
  if (code.getBoundingClientRect().top < innerHeight && code.scrollWidth > code.clientWidth + 1) hidden.push('cut: ' + code.innerText)
  if (button && [...words.getClientRects()].some(box => box.right > button.left + 18 && box.left < button.right
      && box.top < button.bottom && box.bottom > button.top)) hidden.push('covered: ' + code.innerText)
}
return hidden
"""
#: What users type, and the page that the search must name first.
SEARCHES = {
    "GPU": "guides/gpu-and-models/",
    "batch": "tutorials/batches-and-streams/",
    "Qwen": "tutorials/your-own-model/",
    "ollama": "faq/",
    "temperature": "options/",
    "retry": "options/",
    "enum": "tutorials/choices-and-regex/",
    "nullable": "tutorials/first-model/",
    "max tokens": "options/",
    "streaming": "tutorials/batches-and-streams/",
    "logprobs": "guides/serving/",
    "vllm": "guides/vllm/",
    "CSV": "cookbook/csv/",
    "custom tokenizer": "tutorials/your-own-model/",
    "quantized": "guides/gpu-and-models/",
    "LoRA": "guides/gpu-and-models/",
    "date format": "tutorials/constraints-and-formats/",
    "recursion": "tutorials/nested-and-recursive/",
    "openai compatible": "guides/serving/",
    "yaml": "guides/formats/",
    "async": "tutorials/batches-and-streams/",
    "regex": "tutorials/choices-and-regex/",
    "cuda": "guides/gpu-and-models/",
    "multi gpu": "guides/gpu-and-models/",
    "invoice": "cookbook/invoices/",
    "langchain": "guides/clients/",
    "install": "installation/",
    "pip": "installation/",
    "slow": "guides/performance/",
    "out of memory": "guides/gpu-and-models/",
    "few-shot": "guides/prompts/",
    "stop words": "options/",
    "windows": "troubleshooting/",
    "max_tokens": "options/",
    "docker": "troubleshooting/",
    "optional field": "tutorials/first-model/",
    "offline": "installation/",
    "function calling": "tutorials/function-calling/",
    "dataclass": "tutorials/nested-and-recursive/",
    "pydantic validator": "tutorials/constraints-and-formats/",
}


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files and writes no log."""

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def served(site: Path) -> Iterator[str]:
    """The address of the site on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(site))) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """A browser with a profile of its own."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("Chromium or chromedriver is not installed")
    options = ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"user-data-dir={tmp_path_factory.mktemp('profile')}", "window-size={},{}".format(*DESK)):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = Chrome(options=options, service=ChromeService(driver))
    yield browser
    browser.quit()


@pytest.fixture
def browser(chrome: Chrome) -> Iterator[Chrome]:
    """The browser as a desk has it, with nothing remembered, and with nothing on its console afterwards."""
    resize(chrome, DESK)
    chrome.get_log("browser")
    yield chrome
    assert [entry["message"] for entry in chrome.get_log("browser") if entry["level"] != "INFO"] == []
    chrome.execute_script("localStorage.clear()")


def resize(browser: Chrome, size: tuple[int, int]) -> None:
    """Make the page as large as a screen."""
    width, height = size
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def wait(browser: Chrome, script: str) -> Any:
    """Return what a script says as soon as that is something."""
    return WebDriverWait(browser, PATIENCE).until(lambda it: it.execute_script(f"return {script}"))


def pages(site: Path) -> list[str]:
    """The address of every page below that of the site."""
    folders = [path.parent.relative_to(site).as_posix() for path in sorted(site.rglob("index.html"))]
    return ["" if folder == "." else f"{folder}/" for folder in folders]


def switch(browser: Chrome) -> None:
    """Turn the page from light to dark, or back."""
    browser.execute_script("document.querySelector('form[data-md-component=palette] label:not([hidden])').click()")


def contrast(one: str, other: str) -> float:
    """Contrast of two colours (WCAG 2.1)."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of `rgb(...)` (WCAG 2.1)."""
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("part", range(10))
def test_pages_are_whole_on_a_desk_and_on_a_phone(browser: Chrome, served: str, site: Path, part: int) -> None:
    """No page loads anything from elsewhere, complains on the console, is wider than a phone, or hides code."""
    assert len(pages(site)) > 10
    for page in pages(site)[part::10]:
        resize(browser, DESK)
        browser.get(served + page)
        loaded = browser.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")
        assert [address for address in loaded if not address.startswith((served, "data:", "blob:"))] == [], page
        for size in (DESK, PHONE):
            resize(browser, size)
            assert browser.execute_script("return document.documentElement.scrollWidth") <= size[0], page
            assert browser.execute_script(HIDDEN_CODE) == [], f"{page} at {size}"


@pytest.mark.sampled(10)
@pytest.mark.parametrize("part", range(10))
def test_pages_are_legible_in_the_dark(browser: Chrome, served: str, site: Path, part: int) -> None:
    """Where a reader has turned the site dark, every page is dark, and its text and code stand out."""
    browser.get(served)
    wait(browser, "document.body.dataset.mdColorScheme === 'default'")
    switch(browser)
    wait(browser, "document.body.dataset.mdColorScheme === 'slate'")
    for page in pages(site)[part::10]:
        browser.get(served + page)
        wait(browser, "document.body.dataset.mdColorScheme === 'slate'")
        for place in ("article h1", "article p", "article pre code"):
            script = (
                f"return [...document.querySelectorAll('{place}')].slice(0, 1).map(it => getComputedStyle(it).color)"
            )
            ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
            assert all(contrast(ground, colour) > 4.5 for colour in browser.execute_script(script)), (page, place)


def test_navigation(browser: Chrome, served: str) -> None:
    """A tab leads to its part, and the links on the left to their pages."""
    browser.get(served)
    browser.find_element(By.CSS_SELECTOR, ".md-tabs").find_element(By.LINK_TEXT, "Concepts").click()
    wait(browser, "document.querySelector('.md-tabs__item--active')?.textContent.trim() === 'Concepts'")
    browser.find_element(By.CSS_SELECTOR, ".md-sidebar--primary").find_element(By.LINK_TEXT, "Automata").click()
    assert wait(browser, "document.querySelector('h1')?.textContent").startswith("Automata")
    assert browser.current_url == f"{served}concepts/automata/"


def test_navigation_on_a_phone(browser: Chrome, served: str) -> None:
    """There the links are in a drawer, which the button opens."""
    resize(browser, PHONE)
    browser.get(served)
    browser.find_element(By.CSS_SELECTOR, "label.md-header__button[for=__drawer]").click()
    drawer = "document.querySelector('.md-sidebar--primary').getBoundingClientRect()"
    assert wait(browser, f"{drawer}.left >= 0 && {drawer}.width > 100")


def found_first(browser: Chrome, field: WebElement, query: str) -> str:
    """The address of the page that the search names first, below that of the site."""
    line = "document.querySelector('.md-search-result__meta').textContent"
    for words in ("", query):
        browser.execute_script(f"{line} = 'asked'")
        browser.execute_script("arguments[0].value = arguments[1]", field, words)
        browser.execute_script("arguments[0].dispatchEvent(new Event('keyup', {bubbles: true}))", field)
        wait(browser, f"{line} !== 'asked'")
    if "No matching" in wait(browser, line):
        return "nothing"
    first = wait(browser, "document.querySelector('.md-search-result__item a')?.pathname")
    return str(first).lstrip("/")


def test_search(browser: Chrome, served: str, site: Path) -> None:
    """Of forty questions of users, at most two do not find their page first."""
    assert len(SEARCHES) == 40
    browser.get(served)
    field = browser.find_element(By.CSS_SELECTOR, "input.md-search__input")
    browser.execute_script("arguments[0].focus()", field)
    wait(browser, "document.querySelector('.md-search__input').placeholder === 'Search'")
    asked = {query: page for query, page in SEARCHES.items() if (site / page).is_dir()}
    first = {query: found_first(browser, field, query) for query in asked}
    wrong = [f"{query}: {first[query]}, not {page}" for query, page in asked.items() if first[query] != page]
    assert len(wrong) <= 2, wrong


def test_code_is_copied(browser: Chrome, served: str) -> None:
    """The button at a block of code says that it was copied."""
    browser.get(f"{served}quickstart/")
    wait(browser, "document.querySelector('.highlight button')")
    browser.execute_script("document.querySelector('.highlight button[data-md-type=copy], .md-clipboard').click()")
    assert wait(browser, "document.querySelector('.md-dialog--active')?.textContent.trim()") == "Copied to clipboard"


@pytest.mark.parametrize(("page", "picture"), [("concepts/automata/", "svg.schemagen"), ("benchmarks/", "svg.plot")])
def test_dark_mode(browser: Chrome, served: str, page: str, picture: str) -> None:
    """The switch turns the page dark, pictures stay legible, and the next page is dark, too."""
    browser.get(served + page)
    schemes = []
    for _ in range(2):
        scheme = wait(browser, "document.body.dataset.mdColorScheme")
        schemes.append(scheme)
        ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        letters = f"getComputedStyle(document.querySelector('{picture} text')).fill"
        light, dark = sorted((luminance(ground), luminance(browser.execute_script(f"return {letters}"))), reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 4.5, scheme
        browser.execute_script("document.querySelector('form[data-md-component=palette] label:not([hidden])').click()")
        wait(browser, f"document.body.dataset.mdColorScheme !== '{scheme}'")
        browser.get(served + page)
    assert sorted(schemes) == ["default", "slate"]
