"""SCRAM users, and the credentials that are wanted for them (KIP-554)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from ..errors import UsageError
from ..secrets import FORMS, is_reference
from .configurable import Configurable
from .grammar import format_word, parse_word, split

MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
FEWEST_ITERATIONS, MOST_ITERATIONS = 4096, 16384
"""The bounds of Kafka, for both mechanisms."""


@dataclass(frozen=True, slots=True)
class ScramUser(Configurable):
    """A user who logs in with SCRAM; its keys are mechanisms. Prints as a word that parses back: `user=alice`."""

    kind: ClassVar[str] = "scram"
    scope: ClassVar[str] = "SCRAM"
    describe_operation: ClassVar[str] = "DESCRIBE"
    alter_operation: ClassVar[str] = "ALTER"
    name: str

    @classmethod
    def of(cls, name: object) -> ScramUser:
        """The user of this name.

        Raises
        ------
        UsageError
            No text, an empty one, or a value that names several: there are no credentials of `<default>`.
        """
        if not isinstance(name, str) or not name:
            raise UsageError(
                f"user={name} has no credentials of its own", hint="A credential belongs to one user: user=alice."
            )
        return cls(name)

    @classmethod
    def parse(cls, text: str) -> ScramUser:
        words = [parse_word(word) for word in split(text)]
        if [word.name for word in words] != ["user"]:
            raise UsageError(f"{text} does not name one user")
        return cls.of(words[0].value)

    @property
    def names(self) -> tuple[str]:
        return (self.name,)

    def reference(self, value: str) -> str | None:
        password, _ = _password_and_iterations(value)
        return password if is_reference(password) else None

    def __str__(self) -> str:
        return format_word("user", self.name)


@dataclass(frozen=True, slots=True)
class Credential:
    """The reference of a password, and iterations. The text is Kafka's own: `[iterations=4096,password=env:NAME]`."""

    password: str
    iterations: int = FEWEST_ITERATIONS

    @classmethod
    def parse(cls, text: str, iterations: str | int | None = None) -> Credential:
        """The credential of `env:NAME` or of Kafka's text, in either order; nothing of the text is ever repeated.

        Parameters
        ----------
        iterations
            Those of a text that does not say.

        Raises
        ------
        UsageError
            A password that is not given by reference, iterations that Kafka refuses.
        """
        password, number = _password_and_iterations(text)
        return cls.of(password, number or iterations or FEWEST_ITERATIONS)

    @classmethod
    def of(cls, password: str, iterations: int | str) -> Credential:
        """The credential of a reference and a number.

        Raises
        ------
        UsageError
            As `parse`.
        """
        if not is_reference(password):
            raise UsageError(
                "a password is given only by reference", code="SECRET_AS_TEXT", hint=f"Write {FORMS}. Nothing was sent."
            )
        if not str(iterations).isdecimal() or not FEWEST_ITERATIONS <= int(iterations) <= MOST_ITERATIONS:
            raise UsageError(f"iterations are a number from {FEWEST_ITERATIONS} to {MOST_ITERATIONS}")
        return cls(password, int(iterations))

    def __str__(self) -> str:
        return f"[iterations={self.iterations},password={self.password}]"


_IN_BRACKETS = re.compile(
    r"\[(?:iterations=(?P<first>[^,]*),)?password=(?P<password>.+?)(?:,iterations=(?P<last>[^,]*))?\]", re.DOTALL
)


def _password_and_iterations(text: str) -> tuple[str, str | None]:
    """The password and the iterations of Kafka's text, in either order; of another text, all of it."""
    match = _IN_BRACKETS.fullmatch(text)
    return (match["password"], match["first"] or match["last"]) if match else (text, None)


def mechanism_of(name: str) -> str:
    """The mechanism of that name.

    Raises
    ------
    UsageError
        Kafka has no such mechanism; the name is not repeated, as a slip may have put a password there.
    """
    if name not in MECHANISMS:
        raise UsageError("that is not a SCRAM mechanism", hint=f"One of {', '.join(MECHANISMS)}.")
    return name
