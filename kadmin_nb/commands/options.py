"""Options that several verbs share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import click

from ..errors import UsageError
from ..frames import FORMS
from . import policy_option
from .click_glue import Listed, Offers, Words
from .completions import dangerous, profiles
from .print_formats import FACES, faced
from .session import Session, Wanted

Command = Callable[..., Any]


def keys_of(text: tuple[str, ...]) -> list[str] | None:
    """The keys of `--keys a,b --keys c`; None when none is named."""
    return [key for part in text for key in part.split(",") if key] or None


def reading(command: Command) -> Command:
    """`--cluster`, `--property`, `--as`, `--out`, `--raw`, `--json`: for every verb that returns a frame."""
    for option in (_json, _raw, _out, _form, _property, _cluster):
        command = option(command)
    return _with_session(command)


def connecting(command: Command) -> Command:
    """`--cluster`, `--property` alone: for a verb whose answer is no frame."""

    @functools.wraps(command)
    @click.pass_context
    def called(ctx: click.Context, /, cluster: str | None, property: tuple[str, ...], **given: Any) -> Any:
        with ctx.obj.at(cluster, dict(pair(p) for p in property)) as session:
            return command(session, **given)

    return _cluster(_property(called))


def changing(command: Command) -> Command:
    """`--reason`, `--save`, `--force`, `--apply`, `--allow`, `--allow-unknown`, `--print`, `--detailed-exitcode`: for
    every verb that changes."""
    return reading(planning(_detailed(_apply(allow(_with_wanted(printing(command)))))))


def planning(command: Command) -> Command:
    """`--reason`, `--save`, `--force`, `--expires-in`, `--allow-unknown`, `--policy`: for every verb that plans."""
    for option in (policy_option.policy, _allow, _lifetime, _force, _save, _reason_option):
        command = option(command)
    return command


def printing(command: Command) -> Command:
    """`--print`: for every verb that returns a stage or a plan."""

    @functools.wraps(command)
    def called(*given: Any, face: str | None, **more: Any) -> Any:
        if face and "wanted" in more and more["wanted"].apply:
            raise UsageError("--print is for looking, --apply for doing", hint="One after the other.")
        value = command(*given, **more)
        return faced(value, face) if face else value

    return _print(called)


def _with_session(command: Command) -> Command:
    """Give the command the session, at the cluster that the options name; the door handles the rest.

    Options before a sub-command hold for it too.
    """

    @functools.wraps(command)
    @click.pass_context
    def called(ctx: click.Context, /, cluster: str | None, property: tuple[str, ...], form: str | None,
               out: str | None, raw: bool, json: bool, **given: Any) -> Any:  # fmt: skip
        said = {"cluster": cluster, "property": property, "form": form, "out": out, "raw": raw, "json": json}
        ctx.meta.update({name: value for name, value in said.items() if value})
        if ctx.meta.get("out"):
            ctx.obj.refuse_out(ctx.meta["out"])
        if raw and not str(ctx.meta.get("out", "")).endswith(".csv"):
            raise UsageError("--raw is for --out FILE.csv")
        properties = dict(pair(p) for p in ctx.meta.get("property", ()))
        with ctx.obj.at(ctx.meta.get("cluster"), properties) as session:
            return command(session, **given)

    return called


def _with_wanted(command: Command) -> Command:
    @functools.wraps(command)
    def called(session: Session, /, reason: str | None, save: str | None, force: bool, apply: bool,
               allow: tuple[str, ...], allow_unknown: tuple[str, ...], expires_in: float | None,
               detailed_exitcode: bool, **given: Any) -> Any:  # fmt: skip
        click.get_current_context().meta["detailed"] = detailed_exitcode
        if allow and not apply:
            raise UsageError("--allow is said with --apply", hint="A plan shows what is dangerous; applying it allows.")
        wanted = Wanted(reason, save, force, apply, allow_unknown, hours(expires_in), allow)
        return command(session, wanted=wanted, **given)

    return called


def hours(number: float | None) -> timedelta | None:
    """So many hours, where they are said."""
    return None if number is None else timedelta(hours=number)


def pair(text: str, option: str = "--property", form: str = "key=value") -> tuple[str, str]:
    """`key=value` as the two. What stands right of the sign is never repeated: it may be a secret."""
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise click.BadParameter(f"{key} is not {form}", param_hint=option)
    return key, value


def types(*names: str) -> Callable[[Command], Command]:
    """`--default TYPE` and `--any TYPE`, for shells that eat the `<` of `<default>`; the command sees words."""

    def decorate(command: Command) -> Command:
        kind = click.Choice(names)
        any_ = click.option("--any", "anys", multiple=True, type=kind, help="The same as TYPE=<any>.")
        default = click.option("--default", "defaults", multiple=True, type=kind, help="The same as TYPE=<default>.")
        return default(any_(_with_all_words(command)))

    return decorate


def _with_all_words(command: Command) -> Command:
    @functools.wraps(command)
    def called(
        *given: Any, words: tuple[str, ...], defaults: tuple[str, ...], anys: tuple[str, ...] = (), **more: Any
    ) -> Any:
        spelled = [*(f"{kind}=<default>" for kind in defaults), *(f"{kind}=<any>" for kind in anys)]
        return command(*given, words=(*words, *spelled), **more)

    return called


def keys(offers: Offers) -> Callable[[Command], Command]:
    """`--keys`, with what completion offers for it."""
    kind = Listed(offers)
    return click.option("--keys", "-k", multiple=True, metavar="KEY[,KEY]", type=kind, help="Only these keys.")


TARGET = Words(lambda before: profiles())
"""What `--cluster` takes; completion offers the profiles."""
_cluster = click.option(
    "--cluster", "-c", metavar="TARGET", type=TARGET, help="A .properties file, a profile, or host:port."
)
_property = click.option("--property", multiple=True, metavar="KEY=VALUE", help="A Java client property on top.")
_form = click.option("--as", "form", type=click.Choice(FORMS), help="The frame type of the answer.")
_out = click.option("--out", metavar="NAME", help="Put the answer into this variable, or file (.parquet, .csv, .json).")
_raw = click.option("--raw", is_flag=True, help="CSV as it is: a name may start a formula in a spreadsheet.")
_json = click.option("--json", is_flag=True, help="The rows as JSON.")
_reason_option = click.option("--reason", help="Why; it is part of the plan.")
_save = click.option("--save", metavar="FILE", help="Write the plan to a file.")
_force = click.option("--force", is_flag=True, help="Let --save overwrite another plan.")
_lifetime = click.option(
    "--expires-in",
    type=click.FloatRange(min=0, min_open=True, max=24 * 366),
    metavar="HOURS",
    help="How long the plan may be applied; 7 days unless said.",
)
_apply = click.option("--apply", is_flag=True, help="Go on and apply the plan.")
_print = click.option(
    "--print",
    "face",
    type=click.Choice(FACES),
    help="As lines of a cell, Python, kafka-configs.sh, or a table for a PR.",
)
impact = click.option(
    "--impact", metavar="NAME", help="Whom it touches, among these clients: PAIRS, or USAGE, which is replayed too."
)
"""`--impact`: for every verb that shows a plan."""
allow = click.option(
    "--allow", multiple=True, metavar="KEY", type=Words(dangerous), help="Let dangerous changes of this key through."
)
"""`--allow`: for every verb that applies."""
_allow = click.option("--allow-unknown", multiple=True, metavar="KEY", help="Let a key through that nobody knows.")
_detailed = click.option("--detailed-exitcode", is_flag=True, help="Exit 3 when there is something to change.")
