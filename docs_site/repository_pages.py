"""Pages of the repository that lie outside docs/, and links between pages as the site has them."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = {
    "index.md": ROOT / "README.md",
    "architecture.md": ROOT / "ARCHITECTURE.md",
    "contributing.md": ROOT / "CONTRIBUTING.md",
    "changelog.md": ROOT / "CHANGELOG.md",
    "deploy.md": ROOT / "deploy" / "README.md",
}
_HOMES = {path: page for page, path in OUTSIDE.items()}

_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")


def link_within_site(markdown: str, page: str, source: Path, pages: frozenset[str]) -> str:
    """The text with links to files of the repository made links to their pages; a file that the site does
    not have is named without a link.
    """

    def relinked(match: re.Match[str]) -> str:
        mark, text, target, anchor = match.groups()
        if not target or "://" in target or target.startswith("mailto:"):
            return match.group()
        linked = _page_of((source.parent / target).resolve())
        if linked not in pages:
            return str(text)
        return f"{mark}[{text}]({posixpath.relpath(linked, posixpath.dirname(page) or '.')}{anchor or ''})"

    parts = _FENCED.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(relinked, part) for part in parts)


def _page_of(path: Path) -> str:
    """What the site calls a file of the repository; one outside docs/ that is no page has no name."""
    if path in _HOMES:
        return _HOMES[path]
    docs = ROOT / "docs"
    return path.relative_to(docs).as_posix() if path.is_relative_to(docs) else ""
