"""Check a built site: every internal link and anchor leads somewhere, and nothing is fetched.

``python docs/_ext/check_links.py docs/_build/html``. Addresses outside are only counted: a build
needs no network.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Where a page loads something from: the browser fetches these without a click.
LOADING = {("script", "src"), ("img", "src"), ("iframe", "src"), ("link", "href")}
# Pages that are written elsewhere and only shown here.
FOREIGN = ("explorer/", "_static/")


class Page(HTMLParser):
    """The anchors of a page, and what it links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, bool]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note anchors and links."""
        given = dict(attrs)
        self.anchors |= {str(given[key]) for key in ("id", "name") if given.get(key)}
        for key in ("href", "src"):
            address = given.get(key)
            if address is not None and given.get("rel") != "canonical":
                self.links.append((address, (tag, key) in LOADING))


def problems(site: Path) -> tuple[list[str], int]:
    """Return what is wrong with a site, and how many links were checked."""
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
        if not path.relative_to(site).as_posix().startswith(FOREIGN)
    }
    found, checked = [], 0
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        for address, loads in page.links:
            parts = urlsplit(address)
            if parts.scheme in {"http", "https"} or parts.netloc:
                if loads:
                    found.append(f"{name} loads {address}")
                continue
            if parts.scheme:
                continue
            checked += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                found.append(f"{name} links to {address}, which is not there")
            elif parts.fragment and target in pages:
                anchor = unquote(parts.fragment)
                if anchor not in pages[target].anchors:
                    found.append(f"{name} links to {address}, which has no such anchor")
    return found, checked


def main() -> None:
    """Check the site that is named, and say what is wrong."""
    site = Path(sys.argv[1]).resolve()
    found, checked = problems(site)
    for line in dict.fromkeys(found):
        print(line, file=sys.stderr)
    if found or not checked:
        sys.exit(f"{len(found)} broken links among {checked}")
    print(f"{checked} internal links are right; the site is {site / 'index.html'}")


if __name__ == "__main__":
    main()
