"""Scenes as parts of pages for a browser."""

import base64
import functools
import hashlib
import html
from pathlib import Path

SCENE = "difmbs-scene"
"""The class of elements that hold a scene."""
_START = """
for (const place of document.querySelectorAll(".difmbs-scene")) {
  difmbsView(place, place.querySelector("script").textContent);
}
"""


@functools.cache
def viewer_script() -> str:
    """What shows all scenes of a page."""
    return Path(__file__).with_name("viewer.js").read_text(encoding="utf-8") + _START


@functools.cache
def viewer_style() -> str:
    return Path(__file__).with_name("viewer.css").read_text(encoding="utf-8")


@functools.cache
def script_hash() -> str:
    """What a page's Content-Security-Policy says to allow this script and no other."""
    digest = hashlib.sha256(viewer_script().encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def scene_element(packed: str) -> str:
    return f'<div class="{SCENE}"><script type="application/octet-stream">{packed}</script></div>'


def whole_page(packed: str, title: str) -> str:
    """A page that fills the window; it asks for nothing from outside, and forbids it."""
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {script_hash()}"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{html.escape(title)}</title>"
        f"<style>html, body {{ margin: 0; height: 100%; }} .difmbs-scene {{ height: 100%; box-sizing: border-box; }}\n"
        f"{viewer_style()}</style></head>\n"
        f"<body>{scene_element(packed)}<script>{viewer_script()}</script></body></html>\n"
    )
