"""The page of the server in a browser: a schema and a prompt become tokens, masks and fields; what is refused is said."""

from __future__ import annotations

import json
import re
import shutil
import threading

import pytest

from schemagen.serve import create_app

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
wait = pytest.importorskip("selenium.webdriver.support.wait", reason="selenium is not installed")
uvicorn = pytest.importorskip("uvicorn", reason="the extra schemagen[serve] is not installed")


#: Longest wait for what a click leads to, in seconds; it ends as soon as that is there.
PATIENCE = 60


@pytest.fixture(scope="module")
def address(lm):
    """Return the address of a server in a thread of this process."""
    server = uvicorn.Server(uvicorn.Config(create_app(lm), host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Return a browser with a profile of its own."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("Chromium or chromedriver is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in ("headless", "no-sandbox", "disable-gpu", "disable-quic", "disable-background-networking",
                 f"user-data-dir={tmp_path_factory.mktemp('profile')}"):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield found
    found.quit()


def text_of(browser, name):
    """Return the text of an element by its id."""
    return browser.find_element("id", name).text


def rows_of(browser, name):
    """Return the cells of a table's body by its id."""
    script = "return [...document.querySelectorAll('#' + arguments[0] + ' tr')].map(r => [...r.cells].map(c => c.textContent))"
    return browser.execute_script(script, name)


def run(browser):
    """Press the button, and wait until it may be pressed again."""
    browser.find_element("id", "run").click()
    wait.WebDriverWait(browser, PATIENCE).until(lambda each: each.find_element("id", "run").is_enabled())


def test_an_example_runs(browser, address):
    """The first example gives its answer, a row for each token, and its fields in order."""
    browser.get(address)
    run(browser)
    assert not text_of(browser, "error")
    value = json.loads(browser.find_element("id", "answer").get_attribute("textContent"))
    assert rows_of(browser, "fields") == [[f"/{key}", json.dumps(each)] for key, each in value.items()]
    assert [*value] == ["name", "age", "city"]
    steps = rows_of(browser, "steps")
    told = re.fullmatch(r"\((\d+) tokens in [0-9.]+ s, (\d+) forced\)", text_of(browser, "summary"))
    assert len(steps) == int(told[1])
    assert sum("forced" in row[2] for row in steps) == int(told[2]) > 0
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def test_each_example_is_a_schema_that_can_be_answered(browser, address):
    """Every example of the list is answered."""
    browser.get(address)
    options = browser.find_elements("css selector", "#example option")
    assert len(options) >= 4
    for option in options:
        option.click()
        run(browser)
        assert not text_of(browser, "error"), option.text
        json.loads(browser.find_element("id", "answer").get_attribute("textContent"))


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("{", "no JSON"),
        ('{"type": "integer", "minimum": 3, "maximum": 2}', "no value can satisfy"),
        ('{"type": "int"}', "At: /type"),
        ('{"properties": {"a/b": {"minimum": "x"}}}', "At: /properties/a~1b/minimum"),
        ("[1]", "should be an object"),
    ],
)
def test_what_is_refused_is_said(browser, address, schema, said):
    """A schema that cannot be answered is explained on the page."""
    browser.get(address)
    browser.execute_script("document.getElementById('schema').value = arguments[0]", schema)
    run(browser)
    assert said in text_of(browser, "error")
