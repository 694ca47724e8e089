"""Waiting for others, bounded: for any task, and for the answer to one HTTP request, which follows no redirect.

`parts_of` reads the address that somebody typed, before anybody is asked.
"""

from __future__ import annotations

import re
import ssl
import threading
import urllib.parse
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future
from email.message import Message
from typing import Any, TypeVar

Awaited = TypeVar("Awaited")


class TooLong(Exception):
    """The answer has more bytes than it may have."""


def begun(task: Callable[[], Awaited]) -> Future[Awaited]:
    """The future of a task that has begun, on a thread that does not keep Python from ending."""
    future: Future[Awaited] = Future()

    def run() -> None:
        try:
            future.set_result(task())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def result_of(task: Callable[[], Awaited], seconds: float) -> Awaited:
    """The result of a task, or its error.

    Raises
    ------
    TimeoutError
        It takes longer.
    """
    return begun(task).result(max(0.0, seconds))


_WRITTEN = re.compile(r"[!-~]+")


def parts_of(address: str) -> urllib.parse.SplitResult:
    """The parts of an address that can be asked: its port is a number, its host a name that DNS can have.

    Raises
    ------
    ValueError
        It is another text, such as `http://[::1`, or has letters that an address writes as `%…` or `xn--…`.
    """
    if not _WRITTEN.fullmatch(address):
        raise ValueError(f"{address!r} has a blank, or a letter beyond ASCII")
    parts = urllib.parse.urlsplit(address)
    _ = parts.port
    (parts.hostname or "").encode("idna")
    return parts


def answer_to(
    request: urllib.request.Request, seconds: float, most_bytes: int, context: ssl.SSLContext | None = None
) -> bytes:
    """All of the answer, in time: a server may send a byte now and then for ever.

    Raises
    ------
    TimeoutError, TooLong
        It takes longer than `seconds`, or has more than `most_bytes`.
    urllib.error.HTTPError, OSError, http.client.HTTPException
        The server refuses, or sends elsewhere; it cannot be reached; it speaks something else.
    """
    opener = urllib.request.build_opener(_NoRedirect, urllib.request.HTTPSHandler(context=context))

    def fetch() -> bytes:
        with opener.open(request, timeout=max(0.1, seconds)) as response:
            answer: bytes = response.read(most_bytes + 1)
        if len(answer) > most_bytes:
            raise TooLong
        return answer

    return result_of(fetch, seconds)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the credentials to whomever it names."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Message, newurl: str) -> None:
        return None
