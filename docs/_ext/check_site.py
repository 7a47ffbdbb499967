"""Check a built site: links lead somewhere, nothing is fetched, the search finds its pages.

``python docs/_ext/check_site.py docs/_build/html``. Addresses outside are not followed: a build
needs no network.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from snowballstemmer import stemmer

import patchfold

# Where a page loads something from: the browser fetches these without a click.
LOADING = {("script", "src"), ("img", "src"), ("iframe", "src"), ("link", "href")}
# Pages that are written elsewhere and only shown here.
FOREIGN = ("explorer/", "_static/")

# What users look for, and the page that must be among the answers.
SEARCHES = {
    "choose k": "guide/does-k-matter",
    "new data": "guide/new-data",
    "out of memory": "guide/memory",
    "save model": "guide/saving",
    "islands": "guide/islands",
}


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


def unfound(site: Path) -> list[str]:
    """Return the searches whose page is not among the pages that have all their words."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    stem = stemmer("english").stemWord
    missing = []
    for search, page in SEARCHES.items():
        answers = set(range(len(index["docnames"])))
        for word in search.split():
            with_word: set[int] = set()
            for terms in (index["terms"], index["titleterms"]):
                docs = terms.get(stem(word), [])
                with_word |= set(docs if isinstance(docs, list) else [docs])
            # A word that no page has is one that the search leaves out, such as "of".
            answers &= with_word or answers
        if index["docnames"].index(page) not in answers:
            missing.append(f"the search for {search!r} does not find {page}")
    return missing


def misnamed(site: Path) -> list[str]:
    """Return the addresses in llms.txt that lead nowhere."""
    text = (site / "llms.txt").read_text(encoding="utf-8")
    named = re.findall(r"\]\(([^)]+)\)", text)
    return [f"llms.txt names {page}, not there" for page in named if not (site / page).is_file()]


def undocumented(site: Path) -> list[str]:
    """Return the public names that no page of the API explains."""
    anchors: set[str] = set()
    for path in (site / "api").glob("*.html"):
        anchors |= Page(path.read_text(encoding="utf-8")).anchors
    wanted = []
    for name in patchfold.__all__:
        value = getattr(patchfold, name)
        if inspect.ismodule(value):
            wanted.append(f"module-patchfold.{name}")
            names = set(getattr(value, "__all__", ())) - set(patchfold.__all__)
            wanted += [f"patchfold.{name}.{key}" for key in names]
        else:
            wanted.append(f"patchfold.{name}")
    return [f"{name} has no page" for name in sorted(set(wanted) - anchors)]


def main() -> None:
    """Check the site that is named, and say what is wrong."""
    site = Path(sys.argv[1]).resolve()
    found, checked = problems(site)
    found += unfound(site) + misnamed(site) + undocumented(site)
    for line in dict.fromkeys(found):
        print(line, file=sys.stderr)
    if found or not checked:
        sys.exit(f"{len(found)} problems; {checked} links were checked")
    print(f"{checked} internal links are right; the site is {site / 'index.html'}")


if __name__ == "__main__":
    main()
