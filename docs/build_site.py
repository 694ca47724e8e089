"""`make docs`: the site in out/site, out of docs/ and the notebooks, without a network.

Beside each page stands its Markdown; `llms.txt` lists all of them for machines. A link to a file of the repository that
is no page leads to a copy of it. It fails where a link or an anchor leads nowhere. A page whose outputs `make
docs-check` has not run as they are now is built as it was committed, and says so at its end.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import nbformat
from nbconvert import MarkdownExporter

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out"
PAGES, SITE, EXECUTED = OUT / "pages", OUT / "site", OUT / "notebooks"
PROJECT = ("ARCHITECTURE.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LINK = re.compile(r"(\]\()([^)#\s:]+)(#[^)\s]*)?(\))")
"""A link or picture of Markdown to a file."""
BARE = "> The notebook without its outputs: `make docs-check` runs it.\n\n"
AS_COMMITTED = (
    "\n*The outputs on this page are as they were committed: `make docs-check` did not run them for this site.*\n"
)
SHOWN_HERE = re.compile(r"\n\*With its outputs it is on the site: .*\*\n")
"""The sentence of a notebook that says where its outputs are."""
RUN = re.compile(r"^```(?:console|sql)\n.*?^```$", re.MULTILINE | re.DOTALL)
"""A block of a page that `make docs-check` runs."""
CHECKED = OUT / "checked.json"
"""What `make docs-check` ran last: a digest of the blocks of each page, and of each notebook."""


def place_of(source: Path) -> Path:
    """Where a file of the repository stands in the site's sources."""
    name = source.relative_to(ROOT)
    if name.parts[0] == "docs":
        return Path(*name.parts[1:])
    if str(name) in PROJECT:
        return Path("project") / name
    return name.with_suffix(".md") if source in NOTEBOOKS else Path("files") / name


@cache
def sources() -> tuple[Path, ...]:
    """The files of the repository that are pages."""
    return (
        *(ROOT / name for name in PROJECT),
        *sorted((ROOT / "docs").rglob("*.md")),
        *NOTEBOOKS,
    )


def digest_of(source: Path) -> str:
    """A digest of what a page shows and `make docs-check` runs; empty where that is nothing."""
    text = source.read_text()
    shown = text if source in NOTEBOOKS else "".join(RUN.findall(text))
    return hashlib.sha256(shown.encode()).hexdigest() if shown else ""


def digests() -> dict[str, str]:
    """Those of all pages that show something."""
    found = {str(source.relative_to(ROOT)): digest_of(source) for source in sources()}
    return {name: digest for name, digest in found.items() if digest}


def checked() -> dict[str, str]:
    """The digests of what `make docs-check` ran last."""
    return dict(json.loads(CHECKED.read_text())) if CHECKED.exists() else {}


FORM = "<!-- the form -->"
"""The place in a page of the form that resolves a client's limits."""


def text_of(source: Path, *, is_checked: bool) -> str:
    """A page as Markdown; a notebook as it was run last."""
    if source.suffix == ".md":
        text = source.read_text().replace(FORM, _form(source))
        return text if is_checked else text + AS_COMMITTED
    has_run = _has_run(source)
    document = nbformat.read(EXECUTED / source.name if has_run else source, as_version=4)
    text, resources = MarkdownExporter().from_notebook_node(document)
    text = SHOWN_HERE.sub("", text, count=1)
    for name, picture in resources.get("outputs", {}).items():
        (PAGES / "notebooks").mkdir(parents=True, exist_ok=True)
        (PAGES / "notebooks" / name).write_bytes(picture)
    return text if has_run else text.replace("\n\n", f"\n\n{BARE}", 1)


def _form(page: Path) -> str:
    """The form, with the way from the page to its script."""
    form = ROOT / "docs" / "explanation" / "resolver.html"
    return form.read_text().replace('src="', f'src="{os.path.relpath(form.parent, page.parent)}/').rstrip()


def _has_run(notebook: Path) -> bool:
    """True if a notebook was run as it is now."""
    done = EXECUTED / f"{notebook.name}.digest"
    return (EXECUTED / notebook.name).exists() and done.exists() and done.read_text() == digest_of(notebook)


def write_pages(stale: Sequence[str]) -> list[Path]:
    """All pages below PAGES, their links rewritten; their places. Those that are `stale` say so."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs" / "assets", PAGES / "assets")
    places = []
    for source in sources():
        place = place_of(source)
        (PAGES / place).parent.mkdir(parents=True, exist_ok=True)
        text = text_of(source, is_checked=str(source.relative_to(ROOT)) not in stale)
        text = LINK.sub(lambda match, source=source: _relinked(match, source), text)
        (PAGES / place).write_text(text)
        places.append(place)
    return places


def _relinked(match: re.Match[str], source: Path) -> str:
    target = (source.parent / match[2]).resolve()
    if not target.exists() or not target.is_relative_to(ROOT):
        return match[0]
    place = place_of(target)
    if target.is_dir():
        shutil.copytree(target, PAGES / place, dirs_exist_ok=True)
        place = next(path.relative_to(PAGES) for path in sorted((PAGES / place).rglob("*")) if path.is_file())
    elif target not in sources():
        (PAGES / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(target, PAGES / place)
    way = os.path.relpath(PAGES / place, (PAGES / place_of(source)).parent)
    return f"{match[1]}{way}{match[3] or ''}{match[4]}"


def write_for_machines(places: list[Path]) -> None:
    """The Markdown beside each page of the site, and `llms.txt`."""
    lines = ["# kadmin_nb", "", "> Kafka quotas and configs in notebooks, terminals and on Spark.", ""]
    for place in places:
        text = (PAGES / place).read_text()
        folder = SITE / place.with_suffix("") if place.stem != "index" else SITE / place.parent
        (folder / "index.md").write_text(text)
        title = next((line.lstrip("# ") for line in text.splitlines() if line.startswith("# ")), place.stem)
        first = next((line for line in text.splitlines() if line[:1].isalpha()), "")
        lines.append(f"- [{title}]({(folder / 'index.md').relative_to(SITE)}): {first}")
    (SITE / "llms.txt").write_text("\n".join(lines) + "\n")


ASKED = re.compile(r"^\*Asked as: (.*?)\*$", re.MULTILINE | re.DOTALL)
"""The questions that a page answers, as people write them."""


def teach_search(places: list[Path]) -> None:
    """The search finds a page by the questions that it answers, and nothing of the project's own pages."""
    index = json.loads((SITE / "search.json").read_text())
    items = [item for item in index["items"] if not item["location"].startswith("project/")]
    for place in places:
        asked = ASKED.search((PAGES / place).read_text())
        page = next((item for item in items if item["location"] == f"{place.with_suffix('')}/"), None)
        for question in re.findall(r"[^?]+\?", asked[1]) if asked and page else ():
            items.append({**page, "title": " ".join(question.split())})
    (SITE / "search.json").write_text(json.dumps({**index, "items": items}))


def run_notebooks() -> int:
    """Run each notebook that was changed since it ran; note what was checked. The exit code."""
    EXECUTED.mkdir(parents=True, exist_ok=True)
    jupyter = str(Path(sys.executable).with_name("jupyter-nbconvert"))
    failed = []
    for source in NOTEBOOKS:
        if _has_run(source):
            continue
        command = [jupyter, "--to", "notebook", "--execute", "--output", str(EXECUTED / source.name), str(source)]
        print(f"== {source.name}", flush=True)
        if subprocess.run(command, cwd=ROOT, timeout=LONGEST_RUN).returncode:
            failed.append(source.name)
        else:
            (EXECUTED / f"{source.name}.digest").write_text(digest_of(source))
    if failed:
        print(f"failed: {', '.join(failed)}")
        return 1
    CHECKED.write_text(json.dumps(digests(), indent=1) + "\n")
    print(f"all notebooks have run, in {EXECUTED.relative_to(ROOT)}/")
    return 0


LONGEST_RUN = 900
"""Seconds that a notebook may take."""


def build() -> int:
    """Build the site; the exit code."""
    known = checked()
    stale = [name for name, digest in digests().items() if known.get(name) != digest]
    places = write_pages(stale)
    shutil.rmtree(SITE, ignore_errors=True)
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "-f", str(ROOT / "mkdocs.yml")]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_COLOR": "1"})
    if done.returncode == 0:
        write_for_machines(places)
        teach_search(places)
        print(f"{len(places)} pages are in {SITE.relative_to(ROOT)}/; open index.html")
        if stale:
            print(
                f"{len(stale)} of them are built as they were committed, and say so; make docs-check runs their lines"
            )
    return done.returncode


if __name__ == "__main__":
    sys.exit(run_notebooks() if sys.argv[1:] == ["--run-notebooks"] else build())
