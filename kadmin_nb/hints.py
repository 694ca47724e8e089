"""Hints: what would work, in the syntax of the place where somebody reads them.

The same refusal reaches a terminal, a magic and a Python program. A hint names an argument or a command
once, and the syntax of each place spells it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches


def nearest(word: str, candidates: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """The candidate that `word` probably meant: one that is at least so much like it, from 0 to 1, in any case.

    One that is more than twice as long has all its letters by chance, as `cluster` has those of `usr`.
    """
    spelled_small = {candidate.casefold(): candidate for candidate in candidates if len(candidate) <= 2 * len(word)}
    near = get_close_matches(word.casefold(), spelled_small, n=1, cutoff=likeness)
    return spelled_small[near[0]] if near else None


def did_you_mean(word: str, candidates: Iterable[str], otherwise: str = "") -> str:
    """`Did you mean set?`; another text where no candidate is near."""
    near = nearest(word, candidates)
    return f"Did you mean {near}?" if near else otherwise


@dataclass(frozen=True)
class Option:
    """An argument that would help: its name in Python, and its value.

    `flag` where the terminal calls it otherwise.
    """

    name: str
    value: object = True
    flag: str = ""


@dataclass(frozen=True)
class Verb:
    """A command that would help: its words after `kadmin-nb`, and the Python that does the same."""

    words: str
    python: str


def short_id(whole: str | None) -> str:
    """The beginning of an id, by which people and verbs know a plan, its changes or a run."""
    return (whole or "")[:8]


def plan_verb(name: str, plan_id: str) -> Verb:
    """A command on a plan that has a journal here: `plan apply 3f9a27c4`, `cluster.apply('3f9a27c4')`."""
    short = short_id(plan_id)
    return Verb(f"plan {name} {short}", f"cluster.{name}({short!r})")


Way = Option | Verb
Syntax = Callable[[Way], str | None]
"""Spells a way as it is typed there; None where there is no such way."""


@dataclass(frozen=True)
class Sentence:
    """A text with a `{}` for each way. It is left out in a syntax that lacks one of them."""

    text: str
    ways: tuple[Way, ...]

    def at(self, syntax: Syntax) -> str:
        """The sentence in that syntax; empty where it has no such way."""
        spelled = [syntax(way) for way in self.ways]
        return "" if None in spelled else self.text.format(*spelled)


class Hint:
    """Sentences, some of which depend on where they are read."""

    def __init__(self, *sentences: str | Sentence) -> None:
        self.sentences = sentences

    def at(self, syntax: Syntax) -> str:
        """The hint in that syntax."""
        said = (one if isinstance(one, str) else one.at(syntax) for one in self.sentences)
        return " ".join(filter(None, said))


class Spelled(str):
    """A hint in one syntax. An error that is raised with it spells it in its own again."""

    source: Hint


def spelled(hint: Hint, syntax: Syntax, safe: Callable[[str], str]) -> Spelled | None:
    """The hint in that syntax, made safe to print; None if nothing of it can be typed in that place."""
    if not (said := hint.at(syntax)):
        return None
    text = Spelled(safe(said))
    text.source = hint
    return text


def sentence(text: str, *ways: Way) -> Sentence:
    """A text with a `{}` for each of these ways."""
    return Sentence(text, ways)


def terminal(way: Way) -> str:
    """As the command line has it."""
    return f"kadmin-nb {way.words}" if isinstance(way, Verb) else _flags(way)


def magic(way: Way) -> str:
    """As a magic has it."""
    if isinstance(way, Option):
        return _flags(way, braces_doubled)
    return f"%k{way.words}" if way.words.split()[0] in ("config", "plan", "quota") else f"%kadmin {way.words}"


def python(way: Way) -> str:
    """As a call has it."""
    return way.python if isinstance(way, Verb) else f"{way.name}={way.value!r}"


def braces_doubled(text: str) -> str:
    """The text in a line of a notebook, which would evaluate single braces."""
    return text.replace("{", "{{").replace("}", "}}")


def _flags(option: Option, literal: Callable[[str], str] = str) -> str:
    flag = option.flag or f"--{option.name.replace('_', '-')}"
    if option.value is True:
        return flag
    if isinstance(option.value, dict):
        values: list[object] = [f"{name}={value}" for name, value in option.value.items()]
    else:
        values = list(option.value) if isinstance(option.value, list | tuple) else [option.value]
    return " ".join(f"{flag} {shlex.quote(literal(str(value)))}" for value in values)
