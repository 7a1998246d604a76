"""Pages that are made before the build: the files of the repository's root, and the results."""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Files of the root and the pages that they become.
FROM_ROOT = {
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}


def follow_links(text: str, depth: int = 0) -> str:
    """Links between files of the repository as links between pages, ``depth`` folders down."""
    up = "../" * depth
    for name, page in FROM_ROOT.items():
        text = re.sub(rf"\]\((?:\.\./)*{name}\)", f"]({up}{page})", text)
    text = re.sub(r"\]\((?:\.\./)*docs/", f"]({up}", text)
    return re.sub(r"\]\((?:\.\./)*results/", f"]({up}results/", text)


def write_pages(docs: Path) -> None:
    """Write the pages from the root, and copy the results with their pictures."""
    for name, page in FROM_ROOT.items():
        _write(docs / page, follow_links((ROOT / name).read_text()))
    for source in sorted((ROOT / "results").rglob("*")):
        page = docs / source.relative_to(ROOT)
        if source.suffix == ".md":
            # Tables of all single results are long, and shown when asked for.
            text = re.sub(
                r"(?m)^(## All .*)\n((?:(?!## ).*\n?)*)",
                r"\1\n\n:::{dropdown} Show the table\n\2:::\n\n",
                source.read_text(),
            )
            _write(page, follow_links(text, depth=2))
        elif source.suffix in (".png", ".json"):
            page.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, page)


def _write(page: Path, text: str) -> None:
    """Leave a page as it is where nothing changed, so that it is not built again."""
    page.parent.mkdir(parents=True, exist_ok=True)
    if not page.exists() or page.read_text() != text:
        page.write_text(text)
