"""One HTTP request, bounded in time and in bytes, that follows no redirect."""

from __future__ import annotations

import queue
import ssl
import threading
import urllib.request
from email.message import Message
from typing import IO, Any


class TooLong(Exception):
    """The answer has more bytes than it may have."""


def answer_to(
    request: urllib.request.Request, seconds: float, most_bytes: int, context: ssl.SSLContext | None = None
) -> bytes:
    """All of the answer, in time: a thread waits for it, as a server may send a byte now and then for ever.

    Raises
    ------
    TimeoutError, TooLong
        It takes longer than `seconds`, or has more than `most_bytes`.
    urllib.error.HTTPError, OSError, http.client.HTTPException
        The server refuses, or sends elsewhere; it cannot be reached; it speaks something else.
    """
    results: queue.SimpleQueue[bytes | BaseException] = queue.SimpleQueue()
    opener = urllib.request.build_opener(_NoRedirect, urllib.request.HTTPSHandler(context=context))

    def fetch() -> None:
        try:
            with opener.open(request, timeout=max(0.1, seconds)) as response:
                results.put(_all_of(response, most_bytes))
        except BaseException as error:
            results.put(error)

    threading.Thread(target=fetch, daemon=True).start()
    try:
        answer = results.get(timeout=max(0.0, seconds))
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(answer, bytes):
        return answer
    raise answer


def _all_of(response: IO[bytes], most_bytes: int) -> bytes:
    answer = response.read(most_bytes + 1)
    if len(answer) > most_bytes:
        raise TooLong
    return answer


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the credentials to whomever it names."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Message, newurl: str) -> None:
        return None
