"""Metadata that depends on where a release is published: project addresses and links of README.md.

The environment variables ``BOOK_REPOSITORY`` and ``BOOK_ADDRESS`` contain the addresses of the repository and
of the documentation. The package index shows README.md alone, so its relative links are replaced by addresses
at the tag of the version; without a repository they are replaced by their text.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

LINK = re.compile(r"(?P<picture>!?)\[(?P<words>[^\]]*)\]\((?P<target>(?!https?:)[^)]+)\)")


def index_page(text: str, repository: str, version: str) -> str:
    """Return Markdown text whose relative links are addresses in the repository, at the tag of a version."""

    def link(match: re.Match[str]) -> str:
        words = match["words"].replace("\n", " ")
        if repository:
            kind = "raw" if match["picture"] else "blob"
            return f"{match['picture']}[{words}]({repository}/{kind}/v{version}/{match['target']})"
        return "" if match["picture"] else words

    return LINK.sub(link, text)


def addresses(repository: str, book: str) -> dict[str, str]:
    """Return the project addresses by label; empty without a repository and documentation address."""
    found = {"Documentation": book} if book else {}
    if repository:
        found |= {"Source": repository, "Issues": f"{repository}/issues"}
        found["Changes"] = f"{repository}/blob/main/CHANGELOG.md"
    return found


if __name__ == "__main__":
    from setuptools import setup

    root = Path(__file__).parent
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository, book = (os.environ.get(f"BOOK_{each}", "").rstrip("/") for each in ("REPOSITORY", "ADDRESS"))
    readme = (root / "README.md").read_text(encoding="utf-8")
    setup(
        long_description=index_page(readme, repository, project["version"]),
        long_description_content_type="text/markdown",
        project_urls=addresses(repository, book),
    )
