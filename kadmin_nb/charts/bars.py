"""A bar for each row of a pandas frame: the picture of a runbook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import Unsupported, printable

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
    try:
        import altair
        import vl_convert
    except ImportError:
        raise Unsupported("altair is not installed", hint="pip install 'kadmin_nb[charts]'") from None

    drawn = zip(*(rows[column].head(MOST) for column in (length, name, colour)), strict=True)
    values = [{"length": float(long), "name": printable(str(who)), "colour": str(how)} for long, who, how in drawn]
    data: Any = {"values": values}
    chart = (
        altair.Chart(data, width=600)
        .mark_bar()
        .encode(
            x=altair.X("length:Q", title=length),
            y=altair.Y("name:N", sort=None, title=None),
            color=altair.Color("colour:N", title=colour),
        )
    )
    return Picture(vl_convert.vegalite_to_svg(chart.to_dict(), allowed_base_urls=[]))
