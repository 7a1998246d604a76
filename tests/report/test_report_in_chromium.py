"""The page as a browser shows it: by day, by night, on a phone, on a desk."""

import shutil
from itertools import combinations

import pytest
from html_reader import HOSTILE, Weighted, make_table
from sklearn.linear_model import LogisticRegression

from stablepred import stability_report
from stablepred.data import SyntheticWorld

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the path")

# Of everything drawn: boxes of charts, how large their letters are, and text out of the window.
MEASURE = """() => {
    const charts = [...document.querySelectorAll("svg.chart")];
    const box = (node) => {
        const {left, right, top, bottom, width, height} = node.getBoundingClientRect();
        return {left, right, top, bottom, width, height};
    };
    const texts = charts.flatMap((chart) => [...chart.querySelectorAll("text")]);
    return {
        charts: charts.map(box),
        byChart: charts.map((chart) => [...chart.querySelectorAll("text")].map(
            (text) => ({...box(text), content: text.textContent}))),
        letters: texts.map((text) => text.getScreenCTM().a
            * parseFloat(getComputedStyle(text).fontSize)),
        texts: texts.map((text) => ({...box(text), content: text.textContent})),
        width: document.documentElement.scrollWidth,
        page: getComputedStyle(document.body).backgroundColor,
        ink: getComputedStyle(document.querySelector("svg.chart text")).fill,
    };
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages of all kinds: with everything, with little, with hostile names."""
    folder = tmp_path_factory.mktemp("pages")
    world = SyntheticWorld("s_indep_v", n_features=10)
    train = world.sample(500, bias_rate=0.75, random_state=0)
    tests = [world.sample(300, bias_rate=r, random_state=1) for r in (0.1, 0.5, 0.9)]
    plain = LogisticRegression().fit(train.X, train.y)
    stability_report(
        Weighted(train),
        tests,
        train=train,
        stable_features=world.stable_features,
        baselines={"plain": plain},
        n_bootstrap=5,
    ).to_html(folder / "full.html")
    stability_report(plain, tests[:2], n_bootstrap=5).to_html(folder / "bare.html")
    names = [*HOSTILE, "w" * 60, "last"]
    own = make_table("here", 200, names, 0)
    others = [make_table(name, 100, names, k) for k, name in enumerate(names)]
    stability_report(Weighted(own), others, train=own, n_bootstrap=5).to_html(
        folder / "hostile.html"
    )
    return folder


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def look(pages, browser):
    """Open a page and measure it."""

    def measured(name, width, scheme="light", media="screen"):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page = context.new_page()
        said, asked = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        address = (pages / f"{name}.html").as_uri()
        page.emulate_media(media=media)
        page.goto(address)
        found = page.evaluate(MEASURE)
        context.close()
        return found | {"said": said, "asked": [url for url in asked if url != address]}

    return measured


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("name", ["full", "bare", "hostile"])
def test_everything_can_be_seen_and_nothing_is_asked_of_the_network(look, name, width, scheme):
    found = look(name, width, scheme)
    assert found["said"] == []
    assert [url for url in found["asked"] if not url.startswith("data:")] == []
    assert found["width"] <= width
    assert found["charts"]
    for box in [*found["charts"], *found["texts"]]:
        assert box["width"] > 0, box
        assert box["height"] > 0, box
        assert box["left"] >= 0, box
        assert box["right"] <= width, box
    assert min(found["letters"]) >= 9.5


def test_night_changes_the_page_and_the_letters_of_its_charts(look):
    day, night = (look("full", 1280, scheme) for scheme in ("light", "dark"))
    assert day["page"] != night["page"]
    assert day["ink"] != night["ink"]


@pytest.mark.parametrize("width", [375, 1280])
def test_no_two_names_or_numbers_of_a_chart_overlap(look, width):
    for name in ("full", "hostile"):
        for texts in look(name, width)["byChart"]:
            for one, other in combinations(texts, 2):
                apart = (
                    min(one["right"], other["right"]) - max(one["left"], other["left"]) < 1
                    or min(one["bottom"], other["bottom"]) - max(one["top"], other["top"]) < 3
                )
                assert apart, (one, other)


def test_paper_is_white_even_by_night(look):
    paper, day = look("full", 700, "dark", "print"), look("full", 700)
    assert paper["page"] == day["page"]
    assert paper["width"] <= 700
