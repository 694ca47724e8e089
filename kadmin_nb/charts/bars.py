"""A bar for each row of a pandas frame: the picture of a runbook."""

from __future__ import annotations

from typing import Any

from .labels import beside, short

MOST = 40
"""Bars of a picture."""


def bars(rows: Any, length: str, name: str, colour: str) -> Any:
    """A chart with a bar for each of the first 40 rows, in their order.

    Parameters
    ----------
    rows
        A pandas frame.
    length, name, colour
        The columns of the bars' lengths, names and colours.

    Raises
    ------
    Unsupported
        Altair is not installed.
    """
    from .drawing import WIDTH, alt, base, layered, legend, names

    drawn = zip(*(rows[column].head(MOST) for column in (length, name, colour)), strict=True)
    values = [{"length": float(long), "name": short(str(who), beside(WIDTH)), "colour": str(how)}
              for long, who, how in drawn]  # fmt: skip
    x, colours = alt.X("length:Q", title=length), alt.Color("colour:N", legend=legend(colour))
    return layered(f"{length} by {name}", (), base(values).mark_bar().encode(x=x, y=names("name"), color=colours))
