"""click's corners, kept in one place: help as a value, words of other tools, errors as ours."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ..errors import UsageError
from ..hints import nearest
from ..model.entity import TYPES
from ..model.expansion import Variables, as_text, expanded_value, expanded_words
from ..model.grammar import Value, format_word
from ..model.resources import WORDS
from ..secrets import SHOWN, mentions_secret

OTHER_TOOLS: dict[str, tuple[str, ...]] = {
    "alter": ("set", "remove", "reset"),
    "add": ("set",),
    "list": ("describe",),
    "topics": ("config describe",),
    "unset": ("remove", "reset"),
    "delete": ("remove", "reset"),
    "entity-type": ("TYPE=NAME, as in user=alice or topic=orders",),
    "bootstrap-server": ("--cluster HOST:PORT",),
    "command-config": ("--cluster client.properties",),
}
"""Words of other tools, without dashes, and what they are here: commands, or words to type."""

_LIKENESS = 0.75
"""The likeness of a word to the command that is meant by it; names of Kafka's tools begin alike."""


def suggestion(ctx: click.Context, typed: str) -> str | None:
    """The hint for a word that is unknown where `ctx` is: what another tool's word is here, or where the word is."""
    name = typed.removeprefix("--")
    takes_words = any(isinstance(param.type, GrammarWords) for param in ctx.command.params)  # a drop-in has its tool's
    if name in (*TYPES, *WORDS) and (takes_words or isinstance(ctx.command, click.Group)):
        return f"Did you mean {name}=…?"
    known = OTHER_TOOLS.get(name.removeprefix("kafka-"))
    meant = known or (name,)
    group = ctx if isinstance(ctx.command, click.Group) else ctx.parent or ctx
    for at in (group, ctx.find_root()):
        all_paths = list(_paths(at, at.command))
        if paths := [path for verb in meant for path in all_paths if path.endswith(f" {verb}")]:
            return f"Did you mean {' or '.join(paths)}?"
    return f"Did you mean {known[0]}?" if known and typed.startswith("--") else None


def _paths(ctx: click.Context, command: click.Command, path: str = "") -> Iterator[str]:
    """The words that lead to each command below one, its own first."""
    path = path or ctx.command_path
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(ctx):
        if (verb := command.get_command(ctx, name)) and not verb.hidden:
            yield f"{path} {name}"
            yield from _paths(ctx, verb, f"{path} {name}")


class HelpAsked(Exception):
    """Somebody asked for help; the text is the answer."""


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


class SharedOption(click.Option):
    """An option that most commands have: `help options` describes it once, and no command's own help lists it."""

    def get_help_record(self, ctx: click.Context) -> None:
        """None: a command's help does not list it."""

    def described(self, ctx: click.Context) -> tuple[str, str]:
        """Its name and its help."""
        return super().get_help_record(ctx) or (str(self.name), "")


class Verb(click.Command):
    """A command, with its help as a value, its examples, and the words of a notebook's variables."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Where the shared options are described, below the help of a command that has some."""
        shared = {str(param.name) for param in self.params if isinstance(param, SharedOption)}
        if shared:
            some = "--cluster, --json, --out and others" if "json" in shared else "--cluster and others"
            typed = "%kadmin" if str(ctx.find_root().info_name).startswith("%") else "kadmin-nb"
            formatter.write_paragraph()
            formatter.write(f"{some}: {typed} help options\n")
        super().format_epilog(ctx, formatter)

    def make_parser(self, ctx: click.Context) -> Any:
        """The parser; in a notebook one that expands variables."""
        variables, parser = getattr(ctx.obj, "variables", None), super().make_parser(ctx)
        return parser if variables is None else _Expanding(parser, self.get_params(ctx), variables)

    def get_help(self, ctx: click.Context) -> str:
        """The help, with `{here}` in its examples as what was typed to get here."""
        return super().get_help(ctx).replace("{here}", ctx.command_path)

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """`--help` whose text comes back as a value instead of being printed."""

        def show(ctx: click.Context, option: click.Parameter, is_asked: bool) -> None:
            if is_asked and not ctx.resilient_parsing:
                raise HelpAsked(ctx.get_help())

        return click.Option(
            ["--help", "-h"], is_flag=True, expose_value=False, is_eager=True, callback=show, help="Show this text."
        )


class Verbs(Verb, click.Group):
    """A group that says what an unknown word is called here."""

    command_class = Verb

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None:
            if ctx.resilient_parsing:
                return name, click.Command(name, add_help_option=False), args[1:]
            raise UsageError(
                f"unknown command '{name.partition('=')[0]}' for '{ctx.command_path}'",
                hint=suggestion(ctx, name) or self._nearest(ctx, name),
            )
        return super().resolve_command(ctx, args)

    def _nearest(self, ctx: click.Context, name: str) -> str:
        words = [word for word in self.list_commands(ctx) if not getattr(self.get_command(ctx, word), "hidden", True)]
        near = nearest(name, words, likeness=_LIKENESS)
        return f"Did you mean {near}?" if near else f"One of {', '.join(words)}."


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


def as_ours(exc: click.ClickException, words: Sequence[str]) -> UsageError:
    """click's complaint about these words as our one line, with the nearest word."""
    if isinstance(exc, click.NoSuchOption):
        near = f"Did you mean {' or '.join(exc.possibilities)}?" if exc.possibilities else None
        return UsageError(exc.message.rstrip("."), hint=(exc.ctx and suggestion(exc.ctx, exc.option_name)) or near)
    message = exc.format_message()
    if any(map(mentions_secret, words)):  # then no value is repeated
        values = [word for word in words if word and not word.startswith("-")]
        message = reduce(lambda text, word: text.replace(word, SHOWN), sorted(values, key=len, reverse=True), message)
    return UsageError(message.rstrip("."))


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
    """Words of the grammar, taken as they are; completion offers names left of the `=`, and values right of it.

    A value that cannot be shown is not offered.
    """

    name = "words"

    def __init__(self, offers: Offers) -> None:
        self.offers = offers

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before = [str(word) for word in ctx.params.get("words") or ()]
        name, sign, _ = incomplete.partition("=")
        completing = ctx.find_object(Completing)
        offers: Iterable[str] = () if sign else self.offers(before)
        if sign and completing is not None:
            values = completing.values(name, ctx.meta.get("cluster"), before)
            offers = (completing.write(name, value) for value in values)
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
    """The words of a line, as the argument `words`; help shows `shown` in their place."""
    return click.argument("words", nargs=-1, type=GrammarWords(offers), metavar=shown)
