"""A bar for each row of a pandas frame: the picture of a runbook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import printable

MOST = 40
"""Bars of a picture."""


@dataclass(frozen=True)
class Picture:
    """An SVG: names are texts in it, nothing in it runs, and nothing is loaded for it."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg


def bars(rows: Any, length: str, name: str, colour: str) -> Picture:
    """A picture with a bar for each of the first 40 rows, in their order.

    Parameters
    ----------
    rows
        A pandas frame.
    length, name, colour
        The columns of the bars' lengths, names and colours.

    Raises
    ------
    Unsupported
        Altair or vl-convert is not installed.
    """
    from .drawing import alt
    from .showing import converter

    drawn = zip(*(rows[column].head(MOST) for column in (length, name, colour)), strict=True)
    values = [{"length": float(long), "name": printable(str(who)), "colour": str(how)} for long, who, how in drawn]
    chart = (
        alt.Chart({"values": values}, width=600)
        .mark_bar()
        .encode(
            x=alt.X("length:Q", title=length),
            y=alt.Y("name:N", sort=None, title=None),
            color=alt.Color("colour:N", title=colour),
        )
    )
    return Picture(converter().vegalite_to_svg(chart.to_dict(), allowed_base_urls=[]))
