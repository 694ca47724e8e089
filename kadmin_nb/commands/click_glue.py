"""click's corners, kept in one place: help as a value, near misses, errors as ours."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from itertools import islice, pairwise, zip_longest
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ..errors import Hinted, KadminError, UsageError
from ..hints import did_you_mean, nearest
from ..model.expansion import Variables, as_text, expanded_value, expanded_words
from ..model.grammar import Special, Value, format_word, quote
from ..model.java_text import CONFIG_TYPES, QUOTA_TYPES
from ..secrets import SHOWN, mentions_secret

_CHANGE, _AWAY, _READ = ("set", "remove"), ("remove",), ("describe",)
MEANT: dict[str, tuple[str, ...]] = {
    "alter": _CHANGE,
    "--alter": _CHANGE,
    **dict.fromkeys(("add", "put", "create", "update", "upsert", "--add", "--add-config"), ("set",)),
    **dict.fromkeys(("unset", "delete", "rm", "clear", "--delete", "--delete-config"), _AWAY),
    **dict.fromkeys(("list", "ls", "show", "get", "--describe", "--list"), _READ),
    **dict.fromkeys(("effective", "explain"), ("resolve",)),
    **dict.fromkeys(("diff", "compare"), ("drift",)),
    **dict.fromkeys(("consumption", "used", "metrics", "utilisation", "utilization"), ("usage",)),
    **dict.fromkeys(("snapshot", "take", "save", "write"), ("record",)),
    **dict.fromkeys(("at", "asof", "as_of", "read", "time-travel"), ("as-of",)),
    **dict.fromkeys(("blame", "whodunit"), ("who",)),
    **dict.fromkeys(("log", "since", "between"), ("changes",)),
}
"""Words that a Kafka person types, and the verbs that they mean."""

SAME = {
    "compare": "diff",
    "difference": "diff",
    "dump": "export",
    **dict.fromkeys(("import", "load", "restore"), "plan from"),
}
"""Words for what has another name here, wherever that stands."""

WHOM = {**dict.fromkeys(("--user", "--users"), "user"), **dict.fromkeys(("--client-id", "--clients"), "client-id"),
        **{f"--{word}": word for word in ("ip", "topic", "broker", "group", "client-metrics")},
        **dict.fromkeys(("--entity-type", "--entity-name", "--entity-default"))}  # fmt: skip
"""Options that say whom or what, and the word that says it here, after whichever verb; None where a second says it."""

EXAMPLES: dict[str, dict[str, str]] = {
    "quota": {
        "set": "set producer_byte_rate=5MB/s user=alice client-id=<default>",
        "remove": "remove producer_byte_rate user=alice",
        "describe": "describe user=alice client-id=<default>",
        "resolve": "resolve user=alice client-id=app",
        "usage": "usage logs/kafka-request.log --broker 1 --tz UTC --utilisation",
    },
    "config": {
        "set": "set retention.ms=86400000 topic=orders",
        "remove": "reset retention.ms topic=orders",
        "reset": "reset retention.ms topic=orders",
        "describe": "describe topic=orders",
    },
    "history": {
        "record": "record lake/kafka",
        "describe": "snapshots lake/kafka",
        "as-of": "as-of lake/kafka 2h ago",
        "changes": "changes lake/kafka monday",
        "drift": "drift lake/kafka",
        "who": "who lake/kafka 3f9a27",
    },
}
"""The right line, for each of those verbs."""

OPTIONS = {
    "--bootstrap-server": "--cluster host:port",
    "--bootstrap-controller": "--cluster host:port",
    "--zookeeper": "--cluster host:port",
    "--command-config": "--cluster client.properties",
    "--format": "--json, or --out FILE",
    "--output": "--json, or --out FILE",
    "--dry-run": "nothing: a change is only planned, unless --apply is given",
    "--version": "kadmin-nb version",
}


_NO_TRAY, _NO_WIDGETS = "the terminal has no tray", "the terminal has no widgets"
_OF_THE_TRAY: dict[str, tuple[str, str | None]] = {
    "plan": (_NO_TRAY, "kadmin-nb plan -f FILE plans many lines."),
    "apply": (_NO_TRAY, "kadmin-nb plan apply FILE applies a saved plan."),
    "discard": (f"{_NO_TRAY}: there is nothing to discard", None),
}
_EDIT = {"edit": (_NO_WIDGETS, "In a notebook: %kquota edit, %kconfig edit.")}
ONLY_IN_A_NOTEBOOK: Mapping[str, Mapping[str, tuple[str, str | None]]] = {
    "quota": _OF_THE_TRAY | _EDIT,
    "config": _OF_THE_TRAY | _EDIT,
    "scram": _OF_THE_TRAY,
    "plan": {"review": (_NO_WIDGETS, "In a notebook: %kplan review. In the terminal, plan show prints a plan.")},
}
"""The verbs that a terminal does not have: why, and what to type instead."""


def only_in_a_notebook(group: str, verb: str) -> UsageError:
    """The terminal's answer to such a verb."""
    message, hint = ONLY_IN_A_NOTEBOOK[group][verb]
    return UsageError(message, hint=hint)


class Text(str):
    """A text that shows itself as it is, wherever it is shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class TextInPart(Text):
    """A text that lacks what could not be read: `error` says what that is, and where it is shown the line fails."""

    error: KadminError

    @classmethod
    def of(cls, text: str, error: KadminError | None) -> Text:
        """The text, whole where there is no error."""
        if error is None:
            return Text(text)
        made = cls(text)
        made.error = error.reworded(f"{error}; the rest is written")
        return made


class HelpAsked(Exception):
    """Somebody asked for help; the text is the answer."""


class EndedBadly(Exception):
    """A run ended with this error; the answer has what became of its rows, in the form that was asked for."""

    def __init__(self, answer: object, error: Hinted) -> None:
        super().__init__()
        self.answer, self.error = answer, error


class _Expanding:
    """The parser of a command whose words and option values may be variables of a notebook.

    It expands what click has parsed: no text of a variable becomes an option, a verb or a key.
    """

    def __init__(self, parser: Any, params: Iterable[click.Parameter], variables: Variables) -> None:
        self._parser, self._params, self._variables = parser, {param.name: param for param in params}, variables

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)

    def parse_args(self, args: list[str]) -> tuple[dict[str, Any], list[str], list[click.Parameter]]:
        """What click's own returns, each text that was typed expanded; not where help is asked for."""
        typed, rest, order = self._parser.parse_args(args=args)
        if typed.get("help") is True:
            return typed, rest, order
        return {name: self._expanded(self._params.get(name), value) for name, value in typed.items()}, rest, order

    def _expanded(self, param: click.Parameter | None, value: Any) -> Any:
        if param is None or (isinstance(param, click.Option) and param.is_flag):
            return value
        if isinstance(value, str):
            return self._one(param, value, expanded_value(value, self._variables))
        if not isinstance(value, list | tuple):
            return value  # a count, or nothing
        if isinstance(param.type, GrammarWords):
            return expanded_words(value, self._variables)
        return [meant for text in value for meant in self._several(param, text)]

    def _several(self, param: click.Parameter, text: str) -> list[object]:
        """What a text means where there may be several: a list of a notebook is all of its items."""
        value = expanded_value(text, self._variables)
        values = value if isinstance(value, list | tuple) else [value]
        if not values:
            raise UsageError(f"{text} is an empty list")
        return [self._one(param, text, one) for one in values]

    def _one(self, param: click.Parameter, text: str, value: object) -> object:
        if isinstance(param.type, Objects) and "{" in text:
            return param.type.given(value)
        return as_text(value, text)


class _HelpAtWidth(click.Command):
    def make_parser(self, ctx: click.Context) -> Any:
        """The parser; in a notebook one that expands variables."""
        variables, parser = getattr(ctx.obj, "variables", None), super().make_parser(ctx)
        return parser if variables is None else _Expanding(parser, self.get_params(ctx), variables)

    def get_help(self, ctx: click.Context) -> str:
        """The help, with `{here}` in its examples as what was typed to get here."""
        return super().get_help(ctx).replace("{here}", ctx.command_path)

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """`--help` whose text comes back as a value instead of being printed."""
        return click.Option(
            ["--help", "-h"], is_flag=True, expose_value=False, is_eager=True, callback=_help, help="Show this text."
        )


def _help(ctx: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        raise HelpAsked(ctx.get_help())


class Verb(_HelpAtWidth):
    """A command."""


class Verbs(_HelpAtWidth, click.Group):
    """A group whose near misses name the right word."""

    command_class = Verb

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None:
            if ctx.resilient_parsing:
                return name, click.Command(name, add_help_option=False), args[1:]
            if name in ONLY_IN_A_NOTEBOOK.get(str(self.name), ()):
                raise only_in_a_notebook(str(self.name), name)
            raise UsageError(
                f"unknown command '{name.partition('=')[0]}' for '{ctx.command_path}'", hint=self._instead(ctx, name)
            )
        return super().resolve_command(ctx, args)

    def _instead(self, ctx: click.Context, name: str) -> str:
        commands = {word: self.get_command(ctx, word) for word in self.list_commands(ctx)}
        words = [word for word, command in commands.items() if command and not command.hidden]
        if (same := SAME.get(name)) and same.split()[0] in words:
            return f"Did you mean {ctx.command_path} {same}?"
        if lines := right_lines(ctx, name):
            return f"Did you mean {lines}?"
        deeper = [f"{ctx.command_path} {group} {name}" for group in words if name in _verbs_of(ctx, commands[group])]
        if deeper:
            return f"Did you mean {' or '.join(deeper)}?"
        if name.startswith("kafka-"):
            near = nearest(name, words, likeness=_SAME_TOOL)
            return f"Did you mean {near}?" if near else f"{name} is a tool of Kafka without an equivalent here."
        return did_you_mean(name, words, f"One of {', '.join(words)}.")


_SAME_TOOL = 0.85
"""The likeness of a name to the tool that is meant by it: all of Kafka's begin alike."""

Verbs.group_class = Verbs


Sections = Mapping[str, Mapping[str, tuple[str, str]]]
"""Verbs by the heading that they stand under in help: the module of each, and its line there."""


class LazyVerbs(Verbs):
    """A group that imports a verb when it is used; its help has them under headings, each line whole."""

    def __init__(self, *args: Any, sections: Sections, **more: Any) -> None:
        super().__init__(*args, **more)
        self.sections = sections
        self._modules = {name: module for verbs in sections.values() for name, (module, _) in verbs.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All verbs, none of them imported."""
        return sorted({*self.commands, *self._modules})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of that name, imported when it is first used."""
        if cmd_name in self._modules and cmd_name not in self.commands:
            module = import_module(f".{self._modules[cmd_name]}", __package__)
            self.add_command(getattr(module, cmd_name.replace("-", "_")), cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The lists of verbs, the same whether a verb was used before or not."""
        own = {name: command for name, command in self.commands.items() if name not in self._modules}
        lines = {title: [(name, line) for name, (_, line) in verbs.items()] for title, verbs in self.sections.items()}
        lines["Others"] = [(name, command.get_short_help_str(limit=60)) for name, command in sorted(own.items())]
        width = max(len(name) for rows in lines.values() for name, _ in rows)
        for title, rows in lines.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:{width}}", line) for name, line in rows])


def _verbs_of(ctx: click.Context, command: click.Command | None) -> Iterable[str]:
    return command.list_commands(ctx) if isinstance(command, click.Group) else ()


def right_lines(ctx: click.Context, word: str, typed: Sequence[str] = ()) -> str:
    """The lines to type instead of `word` where `ctx` is, of whom `typed` names; none when nobody means it here."""
    whom = [] if any(map(mentions_secret, typed)) else _typed_entity(typed)
    groups = _groups(ctx)
    if whom and len(groups) > 1:
        is_quota = whom[0].partition("=")[0] in QUOTA_TYPES.values()
        groups = [(group, path) for group, path in groups if group == ("quota" if is_quota else "config")]
    lines = [
        f"{path} {_about(EXAMPLES[group][verb], typed, whom)}"
        for group, path in groups
        for verb in _meant(ctx, group, word)
        if verb in EXAMPLES[group]
    ]
    return " or ".join(lines)


def _typed_entity(typed: Sequence[str]) -> list[str]:
    """The words for the options of `typed` that say whom, as in `--user bob`; none where one lacks its value."""
    types: list[str | None] = []
    names: list[Value] = []
    named: list[tuple[str | None, Value]] = []
    for option, value in _options(typed):
        if option == "--entity-type":
            types.append(_TYPE_WORDS.get(value))
        elif option in ("--entity-name", "--entity-default"):
            names.append(Special.DEFAULT if option == "--entity-default" else value)
        elif word := WHOM.get(option):
            named.append((word, value))
    pairs = [*named, *zip(types, names, strict=False)]
    return [format_word(word, name) for word, name in pairs if word and name]


_TYPE_WORDS = {**QUOTA_TYPES, **CONFIG_TYPES}


def _options(typed: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each option and its value, empty where none follows."""
    for word, after in zip_longest(typed, typed[1:], fillvalue=""):
        option, sign, value = word.partition("=")
        if option.startswith("--"):
            yield option, value if sign or after.startswith("-") else after


def _about(example: str, typed: Sequence[str], whom: Sequence[str]) -> str:
    """The example about them, with the keys that were typed behind its verb instead of its own."""
    if not whom:
        return example
    verb, *words = example.split()
    keys = [word for word in words if word.partition("=")[0] not in WHOM.values()]
    behind = list(typed[typed.index(verb) :]) if verb in typed else []
    own = [word for before, word in pairwise(behind) if not before.startswith("-") and not word.startswith("-")]
    return " ".join([verb, *(map(quote, own) if keys and own else keys), *whom])


def _meant(ctx: click.Context, group: str, word: str) -> Sequence[str]:
    if word in WHOM:
        return (ctx.command.name,) if ctx.command.name in EXAMPLES[group] else _READ
    return MEANT.get(word, ())


def _groups(ctx: click.Context) -> list[tuple[str, str]]:
    """`quota` or `config`, whichever `ctx` is in, with the words that lead there; at the root it is both."""
    here: click.Context | None = ctx
    while here is not None:
        if here.command.name in EXAMPLES:
            return [(here.command.name, here.command_path)]
        here = here.parent
    at_root = [(name, f"{ctx.command_path} {name}") for name in EXAMPLES]
    return at_root if ctx.parent is None and set(EXAMPLES) <= set(_verbs_of(ctx, ctx.command)) else []


def as_ours(exc: click.ClickException, words: Sequence[str]) -> UsageError:
    """click's complaint about these words as our one line, with the nearest word."""
    if isinstance(exc, click.NoSuchOption):
        return UsageError(exc.message.rstrip("."), hint=_option_instead(exc, words))
    return UsageError(_without_values(exc.format_message(), words).rstrip("."))


def _without_values(message: str, words: Sequence[str]) -> str:
    """The message without the words that may be a secret, where one of them names a secret."""
    if not any(map(mentions_secret, words)):
        return message
    values = [word for word in words if word and not word.startswith("-")]
    return reduce(lambda text, word: text.replace(word, SHOWN), sorted(values, key=len, reverse=True), message)


def _option_instead(exc: click.NoSuchOption, words: Sequence[str]) -> str | None:
    if exc.option_name in OPTIONS:
        return f"Here it is {OPTIONS[exc.option_name]}."
    if exc.ctx is not None and (lines := right_lines(exc.ctx, exc.option_name, words)):
        return f"Did you mean {lines}?"
    return f"Did you mean {' or '.join(exc.possibilities)}?" if exc.possibilities else None


Offers = Callable[[Sequence[str]], Iterable[str]]
"""The words that may follow those before it on the line."""

Values = Callable[[str, str | None, Sequence[str]], Iterable[Value]]
"""The values that may stand behind a word, `user` say, at a target, beside the words before it."""

MOST_OFFERED = 500
"""Candidates that are offered at most."""


@dataclass(frozen=True)
class Completing:
    """The object of click's context while a line is completed: where values come from, and how a word is written."""

    values: Values
    write: Callable[[str, Value], str] = format_word


class Words(click.ParamType):  # type: ignore[type-arg]  # generic only in newer clicks
    """Words of the grammar, taken as they are; completion offers names left of the `=`, and values right of it."""

    name = "words"

    def __init__(self, offers: Offers) -> None:
        self.offers = offers

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before = [str(word) for word in ctx.params.get("words") or ()]
        name, sign, _ = incomplete.partition("=")
        offers = _with_values(ctx, name, before) if sign else self.offers(before)
        return _candidates(offers, incomplete)


def _with_values(ctx: click.Context, name: str, before: Sequence[str]) -> Iterable[str]:
    """`name=value` for each value that is known; one that cannot be shown is not offered."""
    completing = ctx.find_object(Completing)
    if completing is None:
        return ()
    values = completing.values(name, ctx.meta.get("cluster"), before)
    return (completing.write(name, value) for value in values)


def _candidates(offers: Iterable[str], incomplete: str) -> list[CompletionItem]:
    fitting = (offer for offer in offers if offer.startswith(incomplete) and offer.isprintable())
    return [CompletionItem(offer) for offer in islice(fitting, MOST_OFFERED)]


class GrammarWords(Words):
    """Words such as user=alice."""


class Objects(Words):
    """A text, or in a notebook the object that a `{variable}` holds."""

    def __init__(self, offers: Offers = lambda before: ()) -> None:
        super().__init__(offers)

    def given(self, value: object) -> object:
        """What the value of a variable means."""
        return value


class FrameName(Objects):
    """The name of a frame: a variable, or a file."""

    name = "frame"

    def given(self, value: object) -> object:
        """The object; a text is the path of a file, and never evaluated."""
        return Path(value) if isinstance(value, str) else value


class FileName(Objects):
    """The name of a file, `-` where it is typed; the text of a variable is always a file."""

    name = "file"

    def given(self, value: object) -> object:
        """The path."""
        if not isinstance(value, str | os.PathLike):
            raise UsageError(f"a {type(value).__name__} is not the name of a file")
        return Path(value)


FRAME, FILE = FrameName(), FileName()


class CommaSeparated(Words):
    """Names with commas between; completion goes on after the last comma."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        done, comma, last_item = incomplete.rpartition(",")
        return [CompletionItem(f"{done}{comma}{item.value}") for item in super().shell_complete(ctx, param, last_item)]


def words(offers: Offers, shown: str) -> Callable[..., Any]:
    """The words of a line, as the argument `words`; `shown` stands for them in help."""
    return click.argument("words", nargs=-1, type=GrammarWords(offers), metavar=shown)
