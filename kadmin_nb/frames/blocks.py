"""Blocks: the pieces that a value shows, before they are text or HTML; how columns look; and the page they are for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, TypeAlias

from ..hints import Syntax, terminal

if TYPE_CHECKING:
    import pyarrow as pa

    from ..model.changes import Edit

ROWS = 60
"""Rows of a table that a notebook or a window shows."""


class Text(str):
    """A text that shows itself plainly.

    `str()` and files have it as it is. Where names hold characters that a terminal would obey, what is shown
    differs from it: `shown`.
    """

    shown: str

    def __new__(cls, text: str, shown: str | None = None) -> Self:
        text_shown = super().__new__(cls, text)
        text_shown.shown = text if shown is None else shown
        return text_shown

    def __repr__(self) -> str:
        return self.shown


@dataclass(frozen=True, slots=True)
class Page:
    """A bound on what is shown; None is not a bound.

    `rows` are those of a table, `width` is the width of a line, `longest` the length of a cell. `rest` says where all
    of it is, `lazy_rest` the same of a frame that was not read whole. `syntax` spells what could be typed next; where
    it is None, the value knows who looks. `has_errors_apart` is a page beside which errors are shown, as a terminal's;
    `has_colour` one whose text may be in colours of a terminal, which never carry a meaning alone; `is_ascii` one that
    has words in place of signs.
    """

    rows: int | None = None
    width: int | None = None
    longest: int | None = None
    rest: str = ""
    lazy_rest: str = ""
    syntax: Syntax | None = None
    has_errors_apart: bool = False
    has_colour: bool = False
    is_ascii: bool = False


WHOLE = Page(syntax=terminal, has_errors_apart=True)
"""A file, or a pipe: every row, every cell."""

NOTEBOOK = Page(
    ROWS,
    longest=80,
    rest=".to_pandas() has all of it",
    lazy_rest=".to_spark() has all of it, len() counts the rows",
)
"""A notebook's output, or a Python prompt."""


def window(width: int, rest: str, rows: int = ROWS, *, colour: bool = False, ascii_only: bool = False) -> Page:
    """A terminal of that width."""
    return replace(WHOLE, rows=rows, width=width, rest=rest, lazy_rest=rest, has_colour=colour, is_ascii=ascii_only)


TEXT, NUMBER, NAME, KEY, BADGE, PROSE, BRANCH = "text", "number", "name", "key", "badge", "prose", "branch"
SIGN, BELOW, STANDING, RUNG, BAR, VALUE = "sign", "below", "standing", "rung", "use", "value"
"""The looks of columns. Numbers stand to the right; a name may stand in a title instead; a badge is a word of few;
prose is sentences and lines to type; a branch begins with its indent in a tree. A sign stands for the word of the
column, and what is below goes under its row, as the line that fixes it. A standing is a limit behind a sign: it
applies, or a more specific one does. A rung is the number of a level, before the name of its entity. A bar is a share
of a limit. A value may be a limit, and may be a config's, which can be long.

They are the one rule of widths too, of text, HTML and the widgets' grids."""

IDENTIFYING = (NAME, KEY, BRANCH)
"""The looks of columns that say which row it is: of a long name the middle is left out."""


class Title(str):
    """The lines that a value begins with. The first is its finding; columns that would repeat one are left out."""

    __slots__ = ()


class Aside(str):
    """Lines in the background: where a value is from, and who made it."""

    __slots__ = ()


@dataclass(frozen=True)
class Head:
    """The first rows of a frame whose rows are not counted: one more than a page shows, if it has more."""

    table: pa.Table


@dataclass(frozen=True)
class Listing:
    """Lines to type, which are never broken; where one makes an `edit`, a button may do so, too."""

    lines: Sequence[str]
    edit: Edit | None = None


@dataclass(frozen=True)
class Folded:
    """Blocks behind a line that says what they come to. A page with a bound, which cannot unfold, shows that alone, or
    rather `how` to see them."""

    title: str
    blocks: Sequence[Block]
    how: str = ""


@dataclass(frozen=True)
class Gauge:
    """What is used of a limit: a bar, and the words that say it. Without `percent` it has no bar."""

    head: str
    percent: float | None
    words: str
    is_bad: bool = False


Block: TypeAlias = "str | pa.Table | Head | Listing | Folded | Gauge"
"""A piece of what a value shows. A `str` is sentences that are safe to print, which a window wraps."""


# --- bars ---

NEAR_PERCENT = 80.0
"""Percent of a limit from which on its use is near it."""

_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(percent: float, width: int) -> str:
    """A bar of so many percent, in characters, to an eighth of one."""
    whole, part = divmod(round(min(max(percent, 0.0), 100.0) / 100 * width * 8), 8)
    drawn = "█" * whole + (_EIGHTHS[part] if part else "")
    return drawn + "░" * (width - len(drawn))


def percent_in(text: str) -> float | None:
    """The percent that a text ends with."""
    number = text.removesuffix(" %").rpartition(" ")[2].replace(",", "")
    return float(number) if text.endswith(" %") else None


def word_of_use(percent: float) -> str:
    """The word whose tone a bar of so many percent has."""
    return "throttled" if percent >= 100.0 else "look" if percent >= NEAR_PERCENT else ""


# --- colours and signs: colours never carry a meaning alone ---

APPLIES, OVERRIDDEN, NOT_SET = "*", "⊘", "."
"""What stands before a limit that applies, and before one that a more specific one overrides; and for none."""

TONES = {
    **dict.fromkeys(("ok", "kept", "verified", "restored", "set", "append", "added", "higher", "▲", "*"), "good"),
    **dict.fromkeys(("look", "unknown", "unverified", "warning", "moved", "left", "unread", "shadowed"), "fair"),
    **dict.fromkeys(("not known", "changed", "lower", "▼"), "fair"),
    **dict.fromkeys(("broken", "conflict", "danger", "failed", "leftover", "refuse", "refused", "throttled"), "bad"),
    **dict.fromkeys(("delete", "remove", "reset", "subtract", "removed", "!", "✗"), "bad"),
    **dict.fromkeys(("absent", "skipped", "unchanged", "overridden", "⊘"), "dim"),
}
"""The tones of words and signs: good and bad news, what needs a look, and what stands back."""

SIGNS = {
    **{"ok": "✓", "verified": "✓", "failed": "✗", "throttled": "✗", "warning": "!", "danger": "!", "unknown": "?"},
    **{"absent": "-", "skipped": "-", "set": "+", "added": "+", "changed": "~", "remove": "-", "removed": "-"},
}
"""The signs of words, which a column of signs shows in their place."""

ASCII = str.maketrans("✓✗▲▼⊘→█░▏▎▍▌▋▊▉…×", "*x^vx>#.    ###.x")
"""What stands for a sign where a terminal has no Unicode; the signs of a column of its own are words there."""

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"
"""The colours of a terminal, as its escapes number them."""

_INKS = {"good": GREEN, "bad": RED, "fair": YELLOW, "dim": DIM}


def tone(text: str) -> str:
    """The tone of a word, or of the sign that a text begins or ends with."""
    return TONES.get(text) or TONES.get(text[:1]) or TONES.get(text[-1:], "")


def signed(word: str, *, ascii_only: bool = False) -> str:
    """The sign of a word; without Unicode *ok* and *FAIL*."""
    sign = SIGNS.get(word, word)
    return {"✓": "ok", "✗": "FAIL"}.get(sign, sign) if ascii_only else sign


def ink(word: str) -> str:
    """The colour of a text's tone; empty without one."""
    return _INKS.get(tone(word), "")


def inked(text: str, colour: str) -> str:
    """The text in that colour; blanks around it have none."""
    words = text.strip(" ")
    return text.replace(words, f"\x1b[{colour}m{words}\x1b[0m", 1) if colour and words else text
