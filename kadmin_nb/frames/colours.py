"""Good and bad news, as words of a badge; and their colours in a terminal, which never carry a meaning alone."""

from __future__ import annotations

TONES = {
    **dict.fromkeys(("ok", "kept", "verified", "restored"), "good"),
    **dict.fromkeys(
        ("broken", "conflict", "danger", "failed", "leftover", "refuse", "refused", "throttled"),
        "bad",
    ),
    **dict.fromkeys(
        ("look", "unknown", "unverified", "warn", "warning", "moved", "left", "unread", "shadowed", "not conclusive"),
        "fair",
    ),
    "not known": "fair",
}
"""The words of a badge that are good or bad news."""

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"
"""The colours of a terminal, as its escapes number them."""

_INKS = {"good": GREEN, "bad": RED, "fair": YELLOW}
_CHANGES = {"set": GREEN, "append": GREEN, "added": GREEN, "changed": YELLOW, **dict.fromkeys(
    ("delete", "remove", "reset", "subtract", "removed"), RED)}  # fmt: skip


def ink(word: str) -> str:
    """The colour of a badge: green sets and is good news, red removes and is bad news, yellow wants a look."""
    return _CHANGES.get(word) or _INKS.get(TONES.get(word, ""), "")


def inked(text: str, colour: str) -> str:
    """The text in that colour; blanks around it have none."""
    words = text.strip(" ")
    return text.replace(words, f"\x1b[{colour}m{words}\x1b[0m", 1) if colour and words else text
