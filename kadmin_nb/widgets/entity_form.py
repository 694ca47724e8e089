"""The form that names a quota entity: a user, a client-id or both, or an ip; each a name or the default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import UsageError
from ..hints import did_you_mean
from ..model.entity import TYPES, Entity
from ..model.grammar import DEFAULT
from .controls import button, choice, folded, row, text

ABSENT, NAME, DEFAULT_NAME = "–", "name", "<default>"
CHOICES = [(ABSENT, ABSENT), (NAME, NAME), (DEFAULT_NAME, DEFAULT_NAME)]


def entity_of_form(chosen: Mapping[str, tuple[str, str]]) -> Entity:
    """The entity of a choice and a text for each type: a text alone is a name, `<default>` in it too.

    Raises
    ------
    UsageError
        Nothing is chosen, a name is empty, or ip with another.
    """
    parts: dict[str, Any] = {}
    for kind, (choice, text) in chosen.items():
        if choice == DEFAULT_NAME:
            parts[kind] = DEFAULT
        elif choice == NAME or text:
            parts[kind] = text
    return Entity.of(parts)


class EntityForm:
    """Boxes for the parts of an entity, and one for all of it in words; `add` gets the entity."""

    def __init__(self, add: Callable[[Callable[[], Entity]], None]) -> None:
        self._choices = {kind: choice(CHOICES, label=kind) for kind in TYPES}
        self._texts = {kind: text(f"{kind} name", width="11em") for kind in TYPES}
        self._words = text("or in words: user=alice client-id=<default>", width="24em")
        self._add = add
        parts = [row(self._choices[kind], self._texts[kind]) for kind in TYPES]
        button = button("Add", self._submit, hint="a row for this entity")
        self.widget = folded("Add an entity", row(*parts, self._words, button))

    def _submit(self) -> None:
        self._add(self.entity)

    def entity(self) -> Entity:
        """The entity of the words, where there are some, else of the boxes."""
        words = self._words.value.strip()
        if words:
            return _of_known_types(Entity.parse(words))
        return entity_of_form({kind: (self._choices[kind].value, self._texts[kind].value) for kind in TYPES})

    def clear(self) -> None:
        """Empty all boxes."""
        for control in (self._words, *self._texts.values()):
            control.value = ""
        for control in self._choices.values():
            control.value = ABSENT


def _of_known_types(entity: Entity) -> Entity:
    strange = next((kind for kind, _ in entity.parts if kind not in TYPES), None)
    if strange is not None:
        raise UsageError(f"{strange} is not a type of entity", hint=did_you_mean(strange, TYPES, _ONE_OF))
    return entity


_ONE_OF = f"One of {', '.join(f'{kind}=…' for kind in TYPES)}."
