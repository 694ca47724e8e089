"""What of an answer or a widget is cut, or beyond the right edge, as a browser lays it out."""

from __future__ import annotations

from typing import Any


def cut_names(area: Any) -> list[str]:
    """The cells of who and key in grids of AREA that are cut while another column has 24 pixels to spare."""
    return [str(text) for text in area.evaluate(_CUT)]


def beyond(area: Any, *, grids: bool) -> int:
    """The pixels of AREA and its page, or of its grids, too, that one has to scroll sideways to see; each table and
    each grid has a box of its own."""
    return int(area.evaluate(_BEYOND, grids))


_CUT = """area => {
  const NAMES = ["who", "of", "resource", "key", "entity", "name", "bucket"], SPARE = 24, SIDES = 14;
  const lengthOf = (cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getBoundingClientRect().width;
  };
  const cut = [];
  for (const table of area.querySelectorAll(".kg-grid")) {
    const all = [...table.querySelectorAll("tr, .kg-row")].map((row) => [...row.children]);
    const rows = all.filter((row) => row.some((cell) => cell.offsetParent));
    if (!rows.length) continue;
    const names = rows[0].map((cell) => NAMES.includes(cell.textContent.trim()));
    const spare = names.map((_, n) => Math.min(...rows.map((row) => row[n].clientWidth - SIDES - lengthOf(row[n]))));
    for (const row of rows.slice(1)) row.forEach((cell, n) => {
      const beside = row.some((other, at) => at !== n && other.offsetTop === cell.offsetTop && spare[at] >= SPARE);
      if (names[n] && cell.scrollWidth > cell.clientWidth && beside) cut.push(cell.textContent);
    });
  }
  return cut;
}"""
_BEYOND = """(area, grids) => {
  const parts = [area, document.documentElement, ...(grids ? area.querySelectorAll(".kg-scroll") : [])];
  return Math.max(...parts.map((part) => part.scrollWidth - part.clientWidth));
}"""
