"""What the metadata says of addresses: who builds it knows where the project stands, and no file says so.

``BOOK_REPOSITORY`` and ``BOOK_ADDRESS`` say where its source and its pages stand, as for the book; what makes
a release sets both. An index shows README.md by itself, so its links become whole addresses at the tag of the
version; without a repository they become plain words, and no link is broken.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

LINK = re.compile(r"(?P<picture>!?)\[(?P<words>[^\]]*)\]\((?P<target>(?!https?:)[^)]+)\)")


def index_page(text: str, repository: str, version: str) -> str:
    """A page of Markdown whose links lead into the repository, at the tag of a version."""

    def link(match: re.Match[str]) -> str:
        words = match["words"].replace("\n", " ")
        if repository:
            kind = "raw" if match["picture"] else "blob"
            return f"{match['picture']}[{words}]({repository}/{kind}/v{version}/{match['target']})"
        return "" if match["picture"] else words

    return LINK.sub(link, text)


def addresses(repository: str, book: str) -> dict[str, str]:
    """Addresses that an index shows beside the page; none where nobody has said where they are."""
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
