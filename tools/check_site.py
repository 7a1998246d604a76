"""Open every page of the built site in Chromium, as a desk and a phone show it, without network.

    python tools/check_site.py [--pictures FOLDER]

Reports, for ``docs/_build/html``: links to pages or headings that are not there, pictures that do
not load, messages of the browser, requests to the network, pages wider than the window, and
searches that find nothing. The exit code is 1 if there is anything to report.
"""

import argparse
import re
import shutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

from playwright.sync_api import Browser, sync_playwright

SITE = Path(__file__).parent.parent / "docs" / "_build" / "html"
WIDTHS = (1280, 375)
SEARCHES = ("StableClassifier", "guard", "effective share", "parquet")
BAD = ("error", "warning")
ELSEWHERE = re.compile(r"(https?|mailto|data|javascript):")
LOOK = """() => ({
    overflow: document.documentElement.scrollWidth - window.innerWidth,
    headings: document.querySelectorAll("h1").length,
    broken: [...document.images].filter((i) => !i.naturalWidth).map((i) => i.src),
})"""


class Page(HTMLParser):
    """The links of a page, and what can be linked to in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str | None] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note links and anchors."""
        found = dict(attrs)
        self.anchors |= {found.get("id"), found.get("name")}
        self.links += [link for key in ("href", "src") if (link := found.get(key))]


def check_links(pages: dict[Path, Page]) -> Iterator[str]:
    """What links within the site lead nowhere."""
    for path, page in pages.items():
        for link in page.links:
            address, anchor = urldefrag(link)
            address = unquote(address.split("?")[0])
            target = (path.parent / address).resolve() if address else path
            if ELSEWHERE.match(link):
                continue
            if not target.exists():
                yield f"{path.relative_to(SITE)}: {link} is not there"
            elif anchor and target in pages and unquote(anchor) not in pages[target].anchors:
                yield f"{path.relative_to(SITE)}: {link} has no such heading"


def look(browser: Browser, paths: list[Path], width: int, pictures: Path | None) -> Iterator[str]:
    """What the browser shows or says that it should not."""
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True)
    page, said = context.new_page(), []
    page.on("console", lambda one: said.append(one.text) if one.type in BAD else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url))
    for path in paths:
        said.clear()
        page.goto(path.as_uri())
        name, seen = path.relative_to(SITE), page.evaluate(LOOK)
        if seen["overflow"] > 0:
            yield f"{name} is {seen['overflow']} pixels wider than {width}"
        if seen["headings"] != 1:
            yield f"{name} has {seen['headings']} titles"
        heard = [text for text in said if not text.startswith(("file:", "data:", "blob:"))]
        yield from (f"{name}: {text}" for text in [*seen["broken"], *heard])
        if pictures:
            file = "-".join(name.with_suffix(f".{width}.png").parts)
            page.screenshot(path=pictures / file, full_page=True)
    for query in SEARCHES:
        page.goto(f"{(SITE / 'search.html').as_uri()}?q={query}")
        try:
            page.wait_for_selector("#search-results li", timeout=10_000)
        except Exception:  # the message of the browser says no more
            yield f"a search for {query!r} finds nothing"
    context.close()


def main() -> int:
    """Print what is wrong; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=Path, help="folder for a picture of every page")
    pictures = parser.parse_args().pictures
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    chromium = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    paths = sorted(p for p in SITE.rglob("*.html") if p.relative_to(SITE).parts[0][0] != "_")
    pages = {path: Page(path) for path in paths}
    found = list(check_links(pages))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for width in WIDTHS:
            found += look(browser, paths, width, pictures)
        browser.close()
    links = sum(len(page.links) for page in pages.values())
    print(f"{len(paths)} pages, {links} links, {len(found)} findings", *found, sep="\n")
    return int(not paths or bool(found))


if __name__ == "__main__":
    sys.exit(main())
