"""AnswerFrame: the pandas DataFrame that a notebook's cell gives, which shows the answer that it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ..errors import printable_lines
from .blocks import NOTEBOOK, ROWS, Page

if TYPE_CHECKING:
    from .answer import Answer


class AnswerFrame(pd.DataFrame):  # type: ignore[misc]  # pandas has no types here
    """A DataFrame of an answer's rows. Its display is the answer's: title, first rows, reasons, warnings.

    Every operation gives a plain DataFrame, so that no title or warning stays with rows that it is not about. One that
    was changed in place shows itself as pandas does. `answer` has what a frame lacks: `failed`, `edits()`, `to_spark`.
    """

    answer: Answer
    _internal_names = [*pd.DataFrame._internal_names, "answer", "_as_made"]  # noqa: RUF012  # pandas reads it off the class
    _internal_names_set = frozenset(_internal_names)

    def __init__(self, answer: Answer) -> None:
        frame = answer.to_pandas()
        super().__init__(frame)
        self.attrs.update(frame.attrs)
        self.answer, self._as_made = answer, frame.copy()  # the texts are shared

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    def to_pandas(self) -> pd.DataFrame:
        """A plain DataFrame of the same rows."""
        return self.copy()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickled, it is a plain DataFrame: whoever reads it may not have kadmin_nb."""
        return pd.DataFrame.copy, (self.to_pandas(),)

    def __repr__(self) -> str:
        if self._is_unchanged():
            return self.answer.as_text(page())
        return printable_lines(super().__repr__())

    def _repr_html_(self) -> str | None:
        if self._is_unchanged():
            return self.answer.as_html(page())
        html = super()._repr_html_()
        return html if html is None else printable_lines(html)

    def _is_unchanged(self) -> bool:
        """True if the rows and columns still are the answer's."""
        return bool(self.equals(self._as_made))


def page() -> Page:
    """A notebook's page, with as many rows as pandas was told to show; 0 leaves that to the window."""
    rows = pd.get_option("display.max_rows")
    return Page(ROWS if rows == 0 else rows, longest=NOTEBOOK.longest, rest="the DataFrame has all of it")
