"""Verdicts: what a report looked at, check by check."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..errors import KadminError, printable
from ..frames import schemas
from ..frames.display import Display
from ..frames.pages import NOTEBOOK, Page
from ..frames.tabular import Tabular

if TYPE_CHECKING:
    from ..frames.blocks import Block

OK, LOOK, NOT_LOOKED = "ok", "look", "not looked"


@dataclass(frozen=True, repr=False)
class Check(Display):
    """One check of a report, for its cell to show: the verdict, what that means, and the rows."""

    verdict: str
    says: str
    found: Any = ()

    def title(self) -> str:
        return f"{self.verdict}: {self.says}"

    def table(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The rows that somebody should look at."""
        if not len(self.found):
            return ()
        return self.found.blocks(page) if isinstance(self.found, Display) else map(printable, map(str, self.found))


class Verdicts(Tabular):
    """VERDICTS, as they come in."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []

    def look(self, check: str, found: Sized, *, look: str, ok: str) -> Check:
        """A check that should have found nothing; it shows its verdict and what it found.

        Parameters
        ----------
        check
            What was looked for.
        found
            The rows that somebody should look at.
        look
            What they mean.
        ok
            What it means that there are none.
        """
        verdict, says = (LOOK, look) if len(found) else (OK, ok)
        self._rows.append({"check": check, "verdict": verdict, "found": len(found), "says": says})
        return Check(verdict, says, found)

    def pass_over(self, check: str, why: object) -> Check:
        """A check that was not made, and why."""
        reason = printable(str(why))
        self._rows.append({"check": check, "verdict": NOT_LOOKED, "says": reason})
        return Check(NOT_LOOKED, reason)

    def raise_for_looks(self) -> None:
        """Nothing where all is well.

        Raises
        ------
        KadminError
            Somebody should look: which checks say so.
        """
        bad = [row["check"] for row in self._rows if row["verdict"] == LOOK]
        if bad:
            raise KadminError(f"{len(bad)} of {len(self._rows)} checks want a look: {', '.join(bad)}")

    def to_arrow(self) -> pa.Table:
        """VERDICTS."""
        return schemas.table(schemas.VERDICTS, self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def table(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self.to_arrow()]
