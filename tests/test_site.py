"""The documentation builds into a site without a warning, and the site loads nothing from anywhere else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

for needed in ("mkdocs", "material", "mkdocstrings"):
    pytest.importorskip(needed, reason='needs mkdocs: pip install "gditd[docs]"')

ROOT = Path(__file__).parents[1]
LOADING = ("src", "srcset", "data", "poster", "action", "background")
IN_STYLES = re.compile(r"""(?:url\(\s*|@import\s+)["']?((?:https?:)?//[^"')\s]+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


class Loads(HTMLParser):
    """Collects the addresses that a page loads from, as opposed to those that it links to."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.styles: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_style = tag == "style"
        for name, value in attrs:
            if value and (name in LOADING or (tag == "link" and name == "href")):
                self.addresses.append(value)
            if value and name == "style":
                self.styles.append(value)

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.styles.append(data)

    def elsewhere(self) -> list[str]:
        """The addresses on other hosts."""
        found = [address for value in self.addresses for address in value.replace(",", " ").split()]
        other = [address for address in found if address.startswith(("http:", "https:", "//"))]
        return other + [address for style in self.styles for address in IN_STYLES.findall(style)]


def loads_elsewhere(html: str) -> list[str]:
    page = Loads()
    page.feed(html)
    return page.elsewhere()


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 25
    found = {str(page.relative_to(site)): loads_elsewhere(page.read_text(encoding="utf-8")) for page in pages}
    assert {page: addresses for page, addresses in found.items() if addresses} == {}


def test_styles_load_nothing_from_other_hosts(site: Path) -> None:
    for style in site.rglob("*.css"):
        assert IN_STYLES.findall(style.read_text(encoding="utf-8")) == [], style


def test_what_belongs_to_the_making_stays_out_of_the_site(site: Path) -> None:
    assert list(site.rglob("*.py")) == []
    assert list(site.rglob("__pycache__")) == []


def test_pictures_are_part_of_their_page(site: Path) -> None:
    page = (site / "how-it-works.html").read_text(encoding="utf-8")
    assert page.count('<svg role="img" aria-label="') == 3
    assert "pipeline.svg" not in page


def test_the_reference_is_made_from_the_code(site: Path) -> None:
    commands = (site / "commands.html").read_text(encoding="utf-8")
    assert 'id="gditd-fit"' in commands
    assert "<!-- commands -->" not in commands
    classifier = (site / "api" / "classifier.html").read_text(encoding="utf-8")
    assert 'id="gditd.GDITDClassifier.verdict"' in classifier
    assert "the share of each known class's own new rows" in classifier
    assert ":class:`" not in classifier


def test_loading_from_elsewhere_is_found() -> None:
    assert loads_elsewhere('<a href="https://a.example">A</a><img src="b.png"><link rel="x" href="c.css">') == []
    assert loads_elsewhere('<script src="https://a.example/b.js"></script>') == ["https://a.example/b.js"]
    assert loads_elsewhere('<link rel="preconnect" href="//a.example">') == ["//a.example"]
    assert loads_elsewhere('<p style="background:url(https://a.example/c.png)">') == ["https://a.example/c.png"]
    assert loads_elsewhere('<style>@import "//a.example/d.css";</style>') == ["//a.example/d.css"]
    assert loads_elsewhere('<img srcset="a.png 1x, https://a.example/b.png 2x">') == ["https://a.example/b.png"]


# --- in a browser ---


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing about it."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_in_a_browser(address: str, browser: Any) -> None:
    """Nothing is asked of another host, nothing is complained about, nothing is wider than a telephone."""
    asked: list[str] = []
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    for name in ("index", "how-it-works", "commands", "api/classifier", "examples/fraud-disputes", "faq"):
        page.goto(f"{address}/{name}.html")
        page.wait_for_load_state("networkidle")
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 390, f"{name} is {width} pixels wide"
    page.goto(f"{address}/index.html")
    page.locator("label.md-header__button[for=__search]").click()
    page.keyboard.type("smallest_alpha", delay=20)
    page.locator(".md-search-result__link").first.wait_for()
    context.close()
    assert complaints == []
    assert {urlsplit(url).netloc for url in asked} == {urlsplit(address).netloc}
