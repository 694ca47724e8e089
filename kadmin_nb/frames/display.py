"""Display: a value that shows itself in blocks of text and tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

from .pages import NOTEBOOK, Page

if TYPE_CHECKING:
    from ..hints import Door
    from .render import Block


class Display(ABC):
    """A value with a text and an HTML form. The terminal takes the blocks, and knows how wide it is."""

    __slots__ = ()

    @abstractmethod
    def blocks(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The texts and tables that it shows, in their order."""

    def at(self, door: Door) -> Self:
        """The same for whoever looks at that door; most values look the same everywhere."""
        return self

    def __repr__(self) -> str:
        from .render import text_of_blocks

        return text_of_blocks(*self.blocks(NOTEBOOK))

    def _repr_html_(self) -> str:
        from .render import document

        return document(*self.blocks(NOTEBOOK))
