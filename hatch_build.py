"""Run by hatch when a wheel or an sdist is built: the commit and, into a wheel, demo and man page go into it.

What a package index shows of README.md has links that lead there from anywhere, once ``address`` in pyproject.toml says
where the repository is; ``python hatch_build.py`` says whether it does.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PLACE = "ncu_assist/commit.txt"
MANUAL = "share/man/man1/ncu-assist.1"  # below the environment that a wheel is installed into
DEMO = ("kernels/softmax", "reports/softmax")  # for ``ncu-assist demo``, below ncu_assist/demo/
FORMS = ("kernel.toml", "reference.py", "v0_*")  # of every kernel, for ``ncu-assist new --like``
NO_PART = (".html", ".pyc")  # pages are made again at will
RELATIVE = re.compile(r"(!?)(\[[^\]]*\]\()(?!https?:|#)([^)\s]+)(?=\))")  # a link or, with !, a picture
NOT_SET = (
    "note: pyproject.toml does not say where the repository is: links and pictures of README.md will lead nowhere on a "
    "package index. Set address below [tool.hatch.metadata.hooks.custom] before a release.\n"
)


def absolute(text: str, address: str) -> str:
    """Return Markdown whose relative links lead to the repository at ``address``; as it is where that is empty.

    GitHub, Gitea and GitLab know both forms of address: a page to read, and the file itself, as a picture has to be.
    """
    if not address:
        return text
    at = address.rstrip("/")
    return RELATIVE.sub(lambda one: f"{one[1]}{one[2]}{at}/{'raw' if one[1] else 'blob'}/HEAD/{one[3]}", text)


class ReadmeHook(MetadataHookInterface):
    """Gives README.md and the addresses of the project to the package, of the one ``address`` in pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in what ``dynamic`` leaves open."""
        address = str(self.config.get("address", ""))
        text = absolute((Path(self.root) / "README.md").read_text(encoding="utf-8"), address)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        pages = {"Source": "", "Issues": "/issues", "Changelog": "/blob/HEAD/CHANGELOG.md"}
        metadata["urls"] = {name: address.rstrip("/") + page for name, page in pages.items()} if address else {}


class PackageHook(BuildHookInterface[Any]):
    """Adds the demo, and a file with the commit where there is git; nothing to an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the file to hatch. A wheel that is built of an sdist takes the one in that."""
        root = Path(self.root)
        if self.target_name == "wheel" and version != "editable":
            forms = [one for form in FORMS for one in root.glob(f"kernels/*/{form}")]
            for path in {*forms, *(one for folder in DEMO for one in (root / folder).rglob("*"))}:
                if path.is_file() and path.suffix not in NO_PART:
                    build_data["force_include"][str(path)] = f"ncu_assist/demo/{path.relative_to(root).as_posix()}"
            page = Path(tempfile.mkdtemp(prefix="ncu-assist-")) / "ncu-assist.1"
            page.write_text(_man_page(root), encoding="utf-8")
            build_data.setdefault("shared_data", {})[str(page)] = MANUAL
        if version == "editable" or (root / PLACE).exists() or not (root / ".git").exists():
            return
        asked = ["git", "rev-parse", "--short=12", "HEAD"]
        try:
            commit = subprocess.run(asked, cwd=root, capture_output=True, check=True, text=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return
        file = Path(tempfile.mkdtemp(prefix="ncu-assist-")) / "commit.txt"
        file.write_text(commit, encoding="ascii")
        build_data["force_include"][str(file)] = PLACE


def _man_page(root: Path) -> str:
    """Return the man page of the package that is built, and of no other."""
    places = [str(root), str(root / "docs")]
    sys.path[:0] = places
    try:
        from man_page import man_page

        return str(man_page())
    finally:
        for place in places:
            sys.path.remove(place)


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    found = project["tool"]["hatch"]["metadata"]["hooks"]["custom"]["address"]
    sys.stdout.write(f"links of README.md lead to {found}\n" if found else NOT_SET)
