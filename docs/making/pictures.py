"""Pictures that follow the page's colours: a hook of mkdocs that puts our SVG drawings into the page itself.

A drawing in an `<img>` sees the colours of the browser, not those that the reader chose on the page. Elsewhere, where
nothing puts it in, it is an image like any other.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PICTURE = re.compile(r'<p><img alt="(?P<alt>[^"]*)" src="(?:\.\./)*pictures/(?P<name>[\w-]+)\.svg" ?/?></p>')


def on_page_content(html: str, *, config: Any, **_: Any) -> str:
    """Replace images of our drawings by the drawings; mkdocs calls this for every page."""
    folder = Path(config["docs_dir"]) / "pictures"
    return PICTURE.sub(lambda found: figure(folder / f"{found['name']}.svg", found["alt"]), html)


def figure(path: Path, alt: str) -> str:
    """The drawing with what it shows in words."""
    drawing = path.read_text(encoding="utf-8").replace("<svg ", f'<svg role="img" aria-label="{alt}" ', 1)
    return f'<figure class="picture">{drawing}</figure>'
