"""Widgets in a real browser: first rows, scrolling, jumps, edits, pasting, and the size of what travels.

Times are those that somebody sits before the screen, taken in the page itself; bounds are milliseconds, or bytes.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.timing import Row, not_measured, row

ROWS = 100_000
MANY = 1_000_000

FIRST_ROWS, SCROLL, JUMP, VERDICT, PASTE, REMARKS = 600, 50, 250, 100, 500, 500
"""Milliseconds that each may take."""

TOPICS = 50
"""Topics of the config editor, each with all its keys."""

LARGER = 1.5
"""Times of these that a million rows may take."""

MESSAGE, SOURCE = 100_000, 60_000
"""Bytes of the largest message, and of all JavaScript of the wheel."""


def run(full: bool = False) -> list[Row]:
    """All figures in one browser; without one, that of the JavaScript, and why the others are missing."""
    from playwright.sync_api import sync_playwright

    from tests.browser.lab import Lab
    from tests.browser.presence import ABSENT, chromium

    if chromium() is None:
        return [not_measured("widgets in a browser", ABSENT), _source()]
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        browser, lab = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"]), Lab(Path(home))
        try:
            small, large = (_figures(browser, lab, rows) for rows in (ROWS, MANY))
            configs = _config_figures(browser, lab)
        finally:
            browser.close()
            lab.close()
    rows = [*_bounded(small, "100,000 rows", 1.0), *_bounded(large, "1,000,000 rows", LARGER)]
    return [*rows, *_bounded(configs, f"configs of {TOPICS} topics", 1.0), _source()]


Figures = dict[str, float]


def _figures(browser: Any, lab: Any, rows: int) -> Figures:
    """The figures of a table of so many rows."""
    from tests.browser.frames import MANY as FRAMES

    page, notebook, sizes = _opened(browser, lab, [FRAMES, f"table = numbered({rows})", "editor(table)"])
    figures = {"first rows": statistics.median(_first_rows(page, notebook) for _ in range(5))}
    sizes.clear()
    figures["scroll"] = _percentile(page.evaluate(_SCROLL, 100))
    figures["jump"] = _percentile(page.evaluate(_JUMP, 50))
    figures["edit"] = statistics.median(_edit(page, "7MB/s") for _ in range(9))
    figures["remarks"] = statistics.median(_edit(page, f"{n + 8}MB/s", f": {n + 8} MB/s") for n in range(5))
    figures["paste"] = statistics.median(_paste(page, n) for n in range(3))
    figures["message"] = max(sizes)
    _close(page, lab)
    return figures


def _config_figures(browser: Any, lab: Any) -> Figures:
    """The figures of a config editor over some topics with all their keys."""
    page, notebook, sizes = _opened(browser, lab, [_CONFIGS, f"frame = configs({TOPICS})", "editor_of(frame)"])
    figures = {"first rows": statistics.median(_first_rows(page, notebook) for _ in range(5))}
    sizes.clear()
    figures["edit"] = statistics.median(_edit(page, "7d") for _ in range(9))
    figures["remarks"] = statistics.median(_edit(page, f"{n + 8}d", f"({n + 8} d)") for n in range(5))
    figures["message"] = max(sizes)
    _close(page, lab)
    return figures


_CONFIGS = """
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans.stage import Stage
from kadmin_nb.widgets.config_sheet import ConfigTable
from kadmin_nb.widgets.editor import ConfigEditor
from tests.widgets.configs_of_double import kafka_with

def configs(topics):
    names = [f"topic=t{n:03}" for n in range(topics)]
    kafka = kafka_with({(name, "retention.ms"): "86400000" for name in names})
    return ConfigTable.read(kafka, [Resource.parse(name) for name in names])

def editor_of(table):
    return ConfigEditor(lambda: table, Stage(None))
"""


def _opened(browser: Any, lab: Any, cells: list[str]) -> tuple[Any, Any, list[int]]:
    """A page whose notebook has run these three cells, and the sizes of the messages that it gets."""
    from tests.browser.lab import Notebook

    lab.write("bench.ipynb", cells)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    sizes: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: sizes.append(len(frame))))
    notebook = Notebook(page, f"{lab.url}/lab/tree/bench.ipynb?reset")
    for number, _ in enumerate(cells):
        notebook.run(number)
    page.locator(".kadmin-grid [role=rowheader]").first.wait_for()
    return page, notebook, sizes


def _close(page: Any, lab: Any) -> None:
    page.close()
    lab.shut_kernels()


def _first_rows(page: Any, notebook: Any) -> float:
    """From running the cell to rows in the page."""
    notebook.cell(2).locator(".jp-InputArea-editor").first.click()
    page.evaluate(_WATCH_ROWS)
    page.keyboard.press("Control+Enter")
    return float(page.evaluate("() => window.kadminFirstRows"))


def _edit(page: Any, text: str, remark: str = "") -> float:
    """From Enter to the painted verdict, or to this remark below the table."""
    page.locator("[aria-rowindex='3'] .kg-cell[aria-readonly='false']").first.click()
    page.keyboard.type(text)
    page.evaluate(_WATCH_VERDICT, remark)
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowUp")  # the lines below the table are about the cell in focus
    spent = float(page.evaluate("() => window.kadminVerdict"))
    page.keyboard.press("Control+z")
    page.locator(".kg-staged").first.wait_for(state="detached")
    return spent


def _paste(page: Any, number: int) -> float:
    """From a paste of 1,000 cells to their painted verdicts."""
    page.locator("[aria-rowindex='2'] .kg-cell[aria-readonly='false']").first.click()
    text = "\n".join(f"{n + 2}MB/s" for n in range(1000))
    page.evaluate(_WATCH_VERDICT, "")
    page.evaluate(_PASTE, text)
    spent = float(page.evaluate("() => window.kadminVerdict"))
    page.keyboard.press("Control+z")
    page.locator(".kg-staged").first.wait_for(state="detached")
    return spent


def _percentile(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def _bounded(figures: Figures, rows: str, times: float) -> list[Row]:
    """The figures of an editor beside their bounds, of a large one beside so many times as much."""
    bounds: list[tuple[str, str, float]] = [
        ("run the cell to first rows, ms", "first rows", FIRST_ROWS * times),
        ("scroll step to painted rows, p95, ms", "scroll", SCROLL * times),
        ("random jump to painted rows, p95, ms", "jump", JUMP * times),
        ("edit to its verdict, ms", "edit", VERDICT * times),
        ("edit to the lines below the table, ms", "remarks", REMARKS * times),
        ("paste of 1,000 cells to verdicts, ms", "paste", PASTE * times),
        ("largest message, bytes", "message", MESSAGE),
    ]
    return [
        row(f"{rows}: {label} / {most:,.0f}", figures[name], most, figures[name] / most, 1.0)
        for label, name, most in bounds
        if name in figures
    ]


def _source() -> Row:
    import kadmin_nb

    files = Path(kadmin_nb.__file__).parent.rglob("*.js")
    size = sum(file.stat().st_size for file in files)
    return row("all JavaScript, bytes / 60,000", size, SOURCE, size / SOURCE, 1.0)


_PAINTED = """
const painted = () => {
  const rows = [...document.querySelectorAll('.kadmin-grid [role=row]:not(.kg-head) [role=rowheader]')];
  const box = document.querySelector('.kg-scroll').getBoundingClientRect();
  const inside = rows.filter((row) => {
    const place = row.getBoundingClientRect();
    return place.bottom > box.top + 28 && place.top < box.bottom;
  });
  return inside.length > 5 && inside.every((row) => row.textContent !== '…');
};
const settled = async (begun) => {
  while (true) {
    await new Promise(requestAnimationFrame);
    if (painted()) return performance.now() - begun;
  }
};
"""

_SCROLL = f"""async (steps) => {{ {_PAINTED}
  const scroller = document.querySelector('.kg-scroll'), times = [];
  for (let step = 0; step < steps; step++) {{
    const begun = performance.now();
    scroller.dispatchEvent(new WheelEvent('wheel', {{ deltaY: 72, bubbles: true, cancelable: true }}));
    if (scroller.scrollHeight < 7.9e6) scroller.scrollTop += 72;
    times.push(await settled(begun));
  }}
  return times;
}}"""

_JUMP = f"""async (jumps) => {{ {_PAINTED}
  const scroller = document.querySelector('.kg-scroll'), times = [];
  let seed = 7;
  for (let jump = 0; jump < jumps; jump++) {{
    seed = (seed * 16807) % 2147483647;
    const begun = performance.now();
    scroller.scrollTop = (seed / 2147483647) * (scroller.scrollHeight - scroller.clientHeight);
    await new Promise(requestAnimationFrame);
    times.push(await settled(begun));
  }}
  scroller.scrollTop = 0;
  await settled(0);
  return times;
}}"""

_WATCH_ROWS = f"""() => {{ {_PAINTED}
  const old = document.querySelector('.kadmin-grid');
  const gone = async () => {{ while (old && document.contains(old)) await new Promise(requestAnimationFrame); }};
  window.kadminFirstRows = new Promise((resolve) => {{
    document.addEventListener('keydown', () => {{
      const begun = performance.now();
      const look = async () => {{
        await gone();
        while (!document.querySelector('.kg-scroll')) await new Promise(requestAnimationFrame);
        resolve(await settled(begun));
      }};
      look();
    }}, {{ once: true, capture: true }});
  }});
}}"""

_WATCH_VERDICT = """(remark) => {
  const isThere = () => remark
    ? [...document.querySelectorAll('.kg-line')].some((part) => part.textContent.includes(remark))
    : document.querySelector('.kg-staged');
  const begin = () => {
    const begun = performance.now();
    window.kadminVerdict = new Promise((resolve) => {
      const look = () => {
        if (isThere()) resolve(performance.now() - begun);
        else requestAnimationFrame(look);
      };
      look();
    });
  };
  window.kadminBegin = begin;
  document.addEventListener('keydown', begin, { once: true, capture: true });
}"""

_PASTE = """(text) => {
  window.kadminBegin();
  const data = new DataTransfer();
  data.setData('text/plain', text);
  const paste = new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true });
  document.activeElement.dispatchEvent(paste);
}"""
