"""From a snapshot to a file: in one order, for people to read, and read back as exactly the same."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from importlib.resources import files

from ..errors import KadminError, kind_of, printable
from ..model.changes import Target
from ..model.resources import THROTTLE_KEYS
from ..secrets import SHOWN
from ..version import TOOL
from . import declaration
from .declaration import SECTIONS, kept_in_words, section_of, unread_among
from .reader import FORMAT
from .snapshots import Snapshot, error_of, refuse_other_than_snapshot

Sections = Mapping[str, Mapping[str, Mapping[str, str]]]
"""Each by the words of whom or what, then by key."""


def export(snapshot: Snapshot) -> str:
    """A snapshot as a declarative file: all quotas, and the configs that an alter has set.

    Defaults, what a broker has from its own file, and `left_out` are not in it. A secret is `[secure]`, which changes
    nothing. Its `kinds` are those that the snapshot has read: not a part that is `unread`. Where single resources could
    not be read the file is marked as incomplete, and prunes nothing.

    Raises
    ------
    UsageError
        It is not a snapshot.
    """
    refuse_other_than_snapshot(snapshot)
    kinds = declaration.read_by(snapshot.scopes)
    complete = unread_among(snapshot, kinds) is None
    taken_at = snapshot.taken_at.isoformat().replace("+00:00", "Z")
    head = {"cluster_id": snapshot.cluster_id, "taken_at": taken_at, "tool": TOOL}
    sections = _sections(snapshot, kinds)
    return _yaml(head, kinds, complete, sections, left_out(snapshot))


def left_out(snapshot: Snapshot) -> str | None:
    """The throttles that `export` leaves out, as Kafka's tools set them for a while, in one line; None without any."""
    if not (temporary := _set_for_a_while(snapshot)):
        return None
    return f"{len(temporary):,} left out, as Kafka's tools set them for a while ({kept_in_words(temporary)})"


def _set_for_a_while(snapshot: Snapshot) -> dict[Target, str]:
    """The throttles that are not wished for, with the reason."""
    if snapshot.throttling == {}:
        return {}
    configs = SECTIONS[declaration.CONFIGS]
    texts = configs.own_texts(snapshot.frames[configs.name].to_arrow())
    throttles: list[Target] = [(configs.resources.parse(words), key) for words, key in texts if key in THROTTLE_KEYS]
    return {target: why for target in throttles if (why := snapshot.set_for_a_while(target)) is not None}


def schema() -> str:
    """The JSON Schema (draft 2020-12) of what `load` reads, as text, for editors and other checks."""
    return files(__package__).joinpath("schema.json").read_text(encoding="utf-8")


def unread_of(snapshot: Snapshot) -> KadminError | None:
    """The error that names the parts, and the first resource, that could not be read, and so are not in the file; None
    without any.
    """
    if parts := error_of([part for part in snapshot.unread if part.scope in declaration.KINDS.values()]):
        return parts
    failed = unread_among(snapshot, declaration.KINDS)
    return kind_of(failed[0])(failed[1], code=failed[0]) if failed else None


def _sections(snapshot: Snapshot, kinds: Collection[str]) -> Sections:
    temporary = {(str(resource), key) for resource, key in _set_for_a_while(snapshot)}
    sections: dict[str, dict[str, dict[str, str]]] = {}
    for section in dict.fromkeys(map(section_of, kinds)):
        kind, entries = SECTIONS[section], sections.setdefault(section, {})
        for (words, key), text in sorted(kind.own_texts(snapshot.frames[kind.name].to_arrow()).items()):
            if (words, key) not in temporary:
                entries.setdefault(words, {})[key] = SHOWN if text is None else text
    return sections


def _yaml(
    head: Mapping[str, str], chosen: Collection[str], complete: bool, sections: Sections, left_out: str | None
) -> str:
    """YAML that reads the same by the rules of 1.1 and of 1.2; what is left out is a comment at its top."""
    above = [*_ABOVE, *([f"# {printable(left_out)}"] if left_out else [])]
    lines = [*above, f"kadmin: {FORMAT}", *(f"{name}: {_scalar(text)}" for name, text in head.items())]
    lines += [f"kinds: [{', '.join(chosen)}]", *([] if complete else ["complete: false"])]
    for name, section in sections.items():
        lines += ["", f"{name}:{'' if section else ' {}'}"]
        for words, keys in section.items():
            lines += _entry(words, keys)
    return "\n".join(lines)


_ABOVE = (
    "# Quotas and configs of a Kafka cluster. What this file does not mention stays as it is.",
    "# kadmin-nb plan from FILE shows what this file would change; nothing is changed without --apply.",
)


def _entry(words: str, keys: Mapping[str, str]) -> Iterator[str]:
    yield _yaml_key(words, "  ")
    for key, value in keys.items():
        yield f"{_yaml_key(key, '    ')} {_scalar(value)}"


def _yaml_key(text: str, indent: str) -> str:
    """A key with its colon, no number and no word of YAML's: 0 and false are one key in Python. A long one needs YAML's
    other form."""
    written = quoted(text) if text in ("true", "false") or _NUMBER.fullmatch(text) else _scalar(text)
    return f"{indent}{written}:" if len(written) < LONGEST_KEY else f"{indent}? {written}\n{indent}:"


LONGEST_KEY = 1000
"""A key that stands before its colon may have 1024 characters."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-][0-9]+)?")
_UNQUOTED = re.compile(
    r"[A-Za-z][\w.,=<>/+-]*(?: [a-z-]+=[\w.,=<>/+-]+)*"  # a word, or the words of an entity
    r"|0|-?[1-9][0-9]{0,17}|(?:0|[1-9][0-9]{0,5})\.[0-9]{0,3}[1-9]",  # a number that every reader writes back so
    re.ASCII,
)
_YAML_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "null", "true", "false"})
"""Texts that YAML 1.1 or 1.2 takes for another type."""


def _scalar(text: str) -> str:
    """A text without quotes where every reader takes it for the same text, or number; else in double quotes."""
    if _UNQUOTED.fullmatch(text) and (text.lower() not in _YAML_WORDS or text in ("true", "false")):
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """A text in the double quotes of YAML, with characters that no terminal obeys and no reader folds."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
