"""Options, and the words of a line, that several verbs share; here they become PlanOptions and ApplyOptions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from typing import Any, TypeVar

import click

from ..errors import KadminError, UsageError
from ..frames import ENGINES, FORMS
from ..hints import nearest
from ..model.config_units import length_of_time
from ..model.grammar import Choice, format_word, without_sign
from ..model.quota_keys import find
from ..plans import VERIFY_TIMEOUT, WAIT_LEASE
from ..plans.apply_options import ApplyOptions
from ..plans.change_words import choices, read_words
from ..secrets import mentions_secret
from .answer_formats import in_print_format
from .click_glue import FRAME, CommaSeparated, Objects, Offers, SharedOption
from .completions import profiles
from .session import PlanOptions, Session, usage_frame


class Finite(click.FloatRange):
    """A number within bounds, neither `nan` nor `inf`: a range lets `nan` pass, as any comparison with it is false."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class Length(click.ParamType):  # type: ignore[type-arg]  # generic only in newer clicks
    """A length of time such as `60s` or `5m`, in seconds; a number alone is of seconds."""

    name = "length"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip()
        length = length_of_time(f"{text}s" if text[-1:].isdigit() else text)
        if length is None:
            self.fail(f"{value} is not a duration: 60s, 5m", param, ctx)
        return length.total_seconds()


def read_selectors(
    words: Iterable[str],
    types: Sequence[str],
    type_of: Callable[[str], str | None] = lambda name: None,
) -> dict[str, Any]:
    """The entities of a reading verb, each type as the argument of that name, `client_id`, with all that are asked for.

    `type_of` reads the names of further types: `entity:team`.
    """
    chosen: dict[str, tuple[Choice, ...]] = {}
    words = list(words)
    bare = next((word for word in words if "=" not in word and find(word) is None), None)
    if bare and not any(map(mentions_secret, words)):
        raise without_sign(bare, format_word(types[0], bare))
    for word in read_words(words):
        kind = word.name.replace("-", "_") if word.name in types else type_of(word.name)
        if kind is None:
            near = nearest(word.name, list(types))
            raise UsageError(
                f"{word.name} is not one of {', '.join(types)}", hint=f"Did you mean {near}=…?" if near else None
            )
        chosen[kind] = (*choices(chosen.get(kind, ())), *choices(word.value))
    return chosen


def refuse_together(typed: Mapping[str, object]) -> None:
    """Refuse options of which one line may have one, each with whether it was typed."""
    names = [name for name, is_typed in typed.items() if is_typed]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names)} cannot be combined", hint="Use one, then the other.")


Command = Callable[..., Any]
T = TypeVar("T")

_MORE_WORDS = "kadmin.words"

GROUP = "@"
"""Before the name of a group of clusters."""


def keys_of(text: tuple[str, ...]) -> list[str] | None:
    """The keys of `--keys a,b --keys c`; None without the option.

    Raises
    ------
    UsageError
        `--keys` without any key, as of an empty shell variable.
    """
    if text and not any(text):
        raise UsageError("--keys names no key")
    return [key for part in text for key in part.split(",") if key] or None


def reading(command: Command) -> Command:
    """The options of every verb that returns a frame: `--cluster`, `--as`, `--out`, `--json` and more."""
    for option in (_json, _out, _form):
        command = option(command)
    return connecting(command)


def connecting(command: Command) -> Command:
    """`--cluster`, `--property`, `--timeout` alone: for a verb whose answer is not a frame."""
    return with_session(cluster(_property(_timeout(command))))


def with_session(command: Command) -> Command:
    """Give the command the session, at the cluster that the options name; the entry point handles the answer.

    A group of options that mean something together is a decorator between: it takes them, and gives the command what
    is made of them.
    """

    @functools.wraps(command)
    @click.pass_context
    def run(ctx: click.Context, /, **params: Any) -> Any:
        if out := ctx.meta.get("out"):
            ctx.obj.refuse_out(out)
        target = ctx.meta.get("cluster")
        if "words" in params:
            params["words"] += ctx.meta.get(_MORE_WORDS, ())

        def at(target: Any) -> tuple[str, Any]:
            with ctx.obj.at(target, _properties(ctx)) as session:
                return session.cluster.id, command(session, **params)

        if isinstance(target, str) and target.startswith(GROUP):
            return of_each(ctx, target.removeprefix(GROUP), at)
        with ctx.obj.at(target, _properties(ctx)) as session:
            value = command(session, **params)
        is_printed = "print" in ctx.meta and ctx.invoked_subcommand is None
        return in_print_format(value) if is_printed else value

    return run


def _properties(ctx: click.Context) -> dict[str, str]:
    """The Java client properties that were typed, `--timeout` as one of them."""
    typed = dict(map(pair, ctx.meta.get("property", ())))
    seconds = ctx.meta.get("timeout")
    return typed if seconds is None else {**typed, "default.api.timeout.ms": str(round(seconds * 1000))}


def taken(kind: type[T], params: dict[str, Any], **more: Any) -> T:
    """The options of this kind, made of those parameters that are named as its fields; they leave the others."""
    names = [field.name for field in fields(kind) if field.name in params]  # type: ignore[arg-type]
    return kind(**{name: params.pop(name) for name in names}, **more)


def taken_of_plan(params: dict[str, Any]) -> PlanOptions:
    """The options of a plan and of applying it, whose reason is the plan's."""
    reason = params.pop("reason")
    return taken(PlanOptions, params, reason=reason, apply_options=taken(ApplyOptions, params))


def pair(text: str, option: str = "--property", form: str = "key=value") -> tuple[str, str]:
    """`key=value` as the two. The right side is never repeated: it may be a secret."""
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise click.BadParameter(f"{key} is not {form}", param_hint=option)
    return key, value


def types(*names: str) -> Callable[[Command], Command]:
    """`--default TYPE` and `--any TYPE`, for shells that eat the `<` of `<default>`; the command sees words."""

    def add_words(ctx: click.Context, option: click.Parameter, kinds: tuple[str, ...]) -> None:
        ctx.meta[_MORE_WORDS] = (*ctx.meta.get(_MORE_WORDS, ()), *(f"{kind}=<{option.name}>" for kind in kinds))

    def decorate(command: Command) -> Command:
        how: dict[str, Any] = {
            "multiple": True,
            "type": click.Choice(names),
            "expose_value": False,
            "callback": add_words,
        }
        for name in ("any", "default"):
            command = click.option(f"--{name}", help=f"The same as TYPE=<{name}>.", **how)(command)
        return command

    return decorate


def keys(offers: Offers) -> Callable[[Command], Command]:
    """`--keys`, with what completion offers for it."""
    kind = CommaSeparated(offers)
    return click.option("--keys", "-k", multiple=True, metavar="KEY[,KEY]", type=kind, help="Only these keys.")


def engine(help_text: str) -> Callable[[Command], Command]:
    """`--engine`: in this process, or on Spark."""
    return click.option("--engine", type=click.Choice(ENGINES), help=help_text)


TARGET = Objects(lambda before: profiles())
"""The value of `--cluster`; completion offers the profiles."""


def _remembered(*names: str, **more: Any) -> Callable[[Command], Command]:
    """An option that the entry point reads, and no command. One before a sub-command holds for it too."""

    def remember(ctx: click.Context, option: click.Parameter, value: object) -> None:
        if value is not None and not (isinstance(value, str | bool | tuple) and not value):
            ctx.meta[str(option.name)] = value

    return click.option(*names, expose_value=False, callback=remember, **more)


_shared = functools.partial(_remembered, cls=SharedOption)

cluster = _shared(
    "--cluster", "-c", metavar="TARGET", type=TARGET, help="A .properties file, a profile, @GROUP, or host:port."
)
_property = _shared("--property", multiple=True, metavar="KEY=VALUE", help="A Java client property, in addition.")
_timeout = _shared(
    "--timeout",
    metavar="SECONDS",
    type=Finite(min=0.001, max=24 * 3600),
    help="The time limit of a call, changes included.",
)
_form = _shared("--as", "form", type=click.Choice(FORMS), help="The frame type of the answer.")
_out = _shared(
    "--out", metavar="NAME", help="Write the answer to this variable, or file (.parquet, .csv, .json, .jsonl)."
)
_json = _shared("--json", is_flag=True, help="Print the rows as JSON, as in --out FILE.json.")
printing = _remembered(
    "--print",
    type=click.Choice(["markdown"]),
    help="Print it as a block for a pull request.",
)
"""`--print`: for every verb that returns a stage or a plan."""
assume_default = click.option(
    "--assume-default", is_flag=True, help="Answer by Kafka's rules even if a custom callback decides."
)
"""`--assume-default`: for every verb that resolves."""

_impact = click.option(
    "--impact",
    metavar="NAME",
    type=FRAME,
    help="Show which of these clients it affects, PAIRS or USAGE; USAGE is replayed too.",
)


def impact(command: Command) -> Command:
    """`--impact`: for every verb that shows a plan. The command takes `impact`."""

    @functools.wraps(command)
    def run(session: Session, impact: Any, **params: Any) -> Any:
        is_applied = "plan_options" in params and params["plan_options"].apply
        refuse_together({"--impact": impact is not None, "--apply": is_applied})
        return command(session, impact=usage_frame(session, impact), **params)

    return _impact(run)


def detailed(when: str) -> Callable[[Command], Command]:
    """`--detailed-exitcode`: for every verb that changes or compares."""
    return _remembered("--detailed-exitcode", "detailed", is_flag=True, help=f"Exit 3 when {when}.")


READS = {
    "quota": ("describe", "resolve", "tree", "near", "top", "usage", "audit"),
    "config": ("describe", "audit"),
    "scram": ("describe",),
    "client-configs": ("clients",),
}
"""The verbs that take a group, by their groups of verbs."""

_CHANGES = ("apply", "save", "stage")
"""Options by which such a verb changes something."""


def of_each(ctx: click.Context, name: str, ask: Callable[[str], tuple[str, Any]]) -> Any:
    """The answers of all clusters of a group, as one; of a cluster that cannot be asked a row with its reason.

    Parameters
    ----------
    ask
        Gives the id of a cluster, by its profile, and the verb's answer there.

    Raises
    ------
    UsageError
        A verb, or options, that change something.
    """
    from ..frames.answer import GroupAnswer
    from ..profiles import group

    of_verbs = str(ctx.parent.command.name) if ctx.parent else ""
    changing = [f"--{option}" for option in _CHANGES if ctx.params.get(option)]
    if ctx.command.name not in READS.get(of_verbs, ()) or changing:
        what = " ".join([of_verbs, str(ctx.command.name), *changing])
        raise UsageError(f"{what} takes no group", hint="A change of many clusters is runbook run NAME --each GROUP.")
    answers: dict[str, tuple[str, Any] | KadminError] = {}
    for member in group(name):
        try:
            answers[member] = ask(member)
        except KadminError as error:
            answers[member] = error
    return GroupAnswer(answers)


def negated(ctx: click.Context, option: click.Parameter, is_typed: bool) -> bool:
    return not is_typed


reason = click.option("--reason", help="The reason, stored in the plan.")
again = click.option(
    "--again",
    is_flag=True,
    help="Send a broker's key and trust stores even if they are set already: the broker reloads the files.",
)
every = click.option(
    "--every",
    is_flag=True,
    help="Take a pattern that matches more than 100 names, or internal topics, and <any>.",
)
allow_unknown = click.option("--allow-unknown", multiple=True, metavar="KEY", help="Allow a key that is not known.")
_allow = click.option(
    "--allow", multiple=True, metavar="'KEY ROW'", help="Allow a dangerous change: 'acks user=alice'."
)
_wait_lease = click.option(
    "--wait-lease",
    type=Finite(min=0, max=24 * 3600),
    metavar="SECONDS",
    help=f"How long to wait for another editor's lease; default: {WAIT_LEASE:.0f}.",
)


def planning(command: Command) -> Command:
    """`--reason`, `--save`, `--force`, `--allow-unknown`, `--print`: for a verb that plans.

    The command takes `plan_options`.
    """

    @reason
    @click.option("--save", metavar="FILE", help="Write the plan to a file.")
    @click.option("--force", is_flag=True, help="Let --save overwrite another plan.")
    @allow_unknown
    @wraps(command)
    def run(session: Session, /, **params: Any) -> Any:
        plan_options = taken_of_plan(params)
        is_printed = "print" in click.get_current_context().meta
        refuse_together({"--print": is_printed, "--apply": plan_options.apply})
        if plan_options.apply_options.allow and not plan_options.apply:
            raise UsageError("--allow needs --apply", hint="A plan only shows its dangers; --apply accepts them.")
        if plan_options.apply_options.wait_lease is not None and not plan_options.apply:
            raise UsageError("--wait-lease needs --apply", hint="Only what is applied needs the lease.")
        return command(session, plan_options=plan_options, **params)

    return reading(printing(run))


def changing(command: Command) -> Command:
    """`--apply`, `--allow`, `--wait-lease`, `--detailed-exitcode`, and what `planning` has: for a verb that changes."""
    apply = click.option("--apply", is_flag=True, help="Apply the plan.")
    return planning(detailed("there is something to change")(apply(_allow(_wait_lease(command)))))


def applying(command: Command) -> Command:
    """`--allow`, `--gradual`, `--usage`, `--no-lock`, …: for a verb that applies a plan.

    The command takes `apply_options`.
    """

    @click.option("--no-lock", "lock", is_flag=True, callback=negated, help="Do not take the cluster's lease.")
    @click.option("--steal-lock", "steal", is_flag=True, help="Take the lease from its holder.")
    @_wait_lease
    @click.option(
        "--gradual",
        type=Finite(min=1, max=10**6),
        metavar="SECONDS",
        help="Lower quotas in steps, so that no client is throttled for longer than this.",
    )
    @click.option(
        "--usage",
        metavar="NAME",
        type=FRAME,
        help="USAGE, a variable or file: limits that would delay a client for minutes need --allow.",
    )
    @click.option(
        "--wait",
        "verify_timeout",
        type=Finite(min=0, max=24 * 3600),
        default=VERIFY_TIMEOUT,
        show_default=True,
        metavar="SECONDS",
        help="Wait for brokers that are behind, until none has shown a further row for this long.",
    )
    @click.option(
        "--require-approval", is_flag=True, help="Refuse a plan that no other person has approved (plan approve)."
    )
    @_allow
    @click.option("--reason", help="The reason for what is allowed, where the plan has none; its journal keeps it.")
    @wraps(command)
    def run(session: Session, /, usage: Any, **params: Any) -> Any:
        apply_options = taken(ApplyOptions, params, usage=usage_frame(session, usage))
        return command(session, apply_options=apply_options, **params)

    return reading(run)
