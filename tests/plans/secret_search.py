"""A secret that is planted everywhere, and the search for it in whatever was left behind."""

from __future__ import annotations

import base64
import contextlib
import pickle
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kadmin_nb.errors import KadminError

CORE = "xK9canary7QzZ3vR8"
SECRET = f"p/\"{CORE}'&=<ü>, \\; {CORE}"
"""It is written differently by JSON, URLs, HTML and Python; the letters in it by none of them."""


def _forms() -> Iterable[bytes]:
    raw = CORE.encode()
    yield from (raw, raw.hex().encode(), raw.hex().upper().encode(), CORE.encode("utf-16-le"), CORE[::-1].encode())
    for shift in range(3):  # base64 of a text that it stands in, wherever it begins
        whole = base64.b64encode(bytes(shift) + raw)
        yield whole[4 if shift else 0 : len(whole) - len(whole) % 4 - 4]


FORMS = tuple(_forms())


def sings(*kept: object) -> list[bytes]:
    """What of the secret is in these texts, bytes, and files of these folders."""
    return [form for form in FORMS for content in _contents(kept) if form in content]


def _contents(kept: Iterable[object]) -> Iterable[bytes]:
    for one in kept:
        if isinstance(one, Path):
            yield from (f"{f}".encode() + f.read_bytes() for f in [one, *one.rglob("*")] if f.is_file())
        else:
            yield one if isinstance(one, bytes) else str(one).encode("utf-8", "surrogatepass")


def shown(*objects: Any) -> str:
    """All that a notebook, a log, a debugger, an export or a pickle would keep of these objects."""
    return "\n".join(text for one in objects for text in _of(one))


def _of(one: Any) -> Iterable[str]:
    yield from (str(one), repr(one), f"{one}", repr(getattr(one, "__dict__", None)))
    for name in ("_repr_html_", "to_markdown", "document", "to_json"):
        if hasattr(type(one), name):
            try:
                yield from (str(text := getattr(one, name)()), repr(text))
            except KadminError as refused:  # a stage whose plan is refused has no lines of Kafka's own tool
                yield from (str(refused), refused.hint or "")
    if hasattr(one, "to_pandas"):
        frame = one.to_pandas()
        yield from (frame.to_csv(), frame.to_json(), frame.to_html(escape=False), repr(one.to_arrow().to_pylist()))
    with contextlib.suppress(Exception):
        yield pickle.dumps(one).decode("latin-1")
    if isinstance(one, BaseException):
        yield from traceback.format_exception(one)
        yield from (one._render_traceback_() if isinstance(one, KadminError) else ())


def variables(error: BaseException) -> str:
    """What a crash reporter keeps that dumps the variables of the frames, ours and the libraries'."""
    frames = traceback.TracebackException.from_exception(error, capture_locals=True)
    chain = [frames]
    while before := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(before)
    return "\n".join(f"{frame.locals}" for one in chain for frame in one.stack if "/tests/" not in frame.filename)
