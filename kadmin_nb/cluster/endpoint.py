"""The HTTP endpoint that Prometheus scrapes: `/metrics`, and a page that leads there."""

from __future__ import annotations

import ipaddress
import re
import socket
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from socketserver import ThreadingMixIn
from threading import Lock
from typing import Any
from urllib.parse import urlsplit
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from ..errors import Invalid, UsageError
from .exposition import app_of
from .metrics import BOUND, Exporter

LISTEN = "127.0.0.1:9649"
MARGIN = 0.5
"""Seconds before Prometheus gives up in which an answer should arrive."""

TO_ASK = 5.0
"""Seconds in which who connects has to ask, with all headers."""
MOST_CONNECTIONS = 32

_PAGE = '<!doctype html><title>kadmin_nb</title><a href="/metrics">metrics</a>\n'


class Endpoint(ThreadingMixIn, WSGIServer):
    """Serves the metrics of an exporter until it is closed.

    A page of somebody else whose name was made to lead here asks by that name: it is refused.

    Parameters
    ----------
    listen
        `HOST:PORT`, an IPv6 address in brackets; port 0 is any that is free.
    hosts
        Names by which it may be asked, besides addresses, localhost and the name of this machine.

    Raises
    ------
    UsageError
        It is not such an address.
    Invalid
        Something else listens there, or we may not.
    """

    daemon_threads = True
    request_queue_size = 128  # with Python's 5, Prometheus would wait for seconds behind others

    def __init__(self, exporter: Exporter, listen: str = LISTEN, hosts: Iterable[str] = ()) -> None:
        self.exporter = exporter
        self._hosts = {name.lower() for name in ("localhost", socket.gethostname(), *hosts)}
        self._lock = Lock()
        self._asking: dict[Any, float] = {}  # the connections that have yet to ask, since when; the oldest first
        self._answered = set[Any]()
        host, port = _address(listen)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), _Handler)
        except OSError as exc:
            raise Invalid(f"cannot listen on {listen}: {exc.strerror or exc}", hint="Name another port.") from None
        self.set_app(self._answer)

    def server_bind(self) -> None:
        """Bind, without asking the network for our own name."""
        socket.socket.bind(self.socket, self.server_address)  # HTTPServer would look its host up
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    @property
    def url(self) -> str:
        """Where the metrics are."""
        host = f"[{self.server_name}]" if ":" in self.server_name else self.server_name
        return f"http://{host}:{self.server_port}/metrics"

    @property
    def is_open(self) -> bool:
        """True if others than this machine can reach it."""
        return not ipaddress.ip_address(self.server_name).is_loopback

    # --- connections: few, and none that only waits ---

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer it in a thread; where there are too many, the one that has waited longest without asking ends."""
        with self._lock:
            self._asking[request] = time.monotonic()
            if len(self._asking) + len(self._answered) > MOST_CONNECTIONS:
                self._hang_up(next(iter(self._asking)))
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """End the connections that have not asked in time; `serve_forever` calls it twice a second."""
        with self._lock:
            for request in [one for one, since in self._asking.items() if time.monotonic() - since > TO_ASK]:
                self._hang_up(request)

    def has_asked(self, request: Any) -> None:
        """The connection has sent its headers, and waits for the answer."""
        with self._lock:
            if self._asking.pop(request, None) is not None:
                self._answered.add(request)

    def close_request(self, request: Any) -> None:
        """It has ended."""
        with self._lock:
            self._asking.pop(request, None)
            self._answered.discard(request)
        super().close_request(request)

    def _hang_up(self, request: Any) -> None:
        """Its thread, which reads, finds the end."""
        del self._asking[request]
        with suppress(OSError):
            request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is its own affair."""

    # --- answers ---

    def _answer(self, environ: dict[str, Any], start: Any) -> list[bytes]:
        def start_response(status: str, headers: list[tuple[str, str]]) -> Any:
            return start(status, [*headers, ("Server", "kadmin_nb")])  # not the versions of Python and its server

        if not self._is_ours(environ.get("HTTP_HOST", "localhost")):
            return _told(start_response, "421 Misdirected Request", "ask by an address, or by a name given as --host\n")
        if environ["PATH_INFO"] == "/":
            return _told(start_response, "200 OK", _PAGE, "text/html")
        if environ["PATH_INFO"] != "/metrics":
            return _told(start_response, "404 Not Found", "the metrics are at /metrics\n")
        try:
            app = app_of(self.exporter.scrape(_bound(environ)))
        except Exception as exc:
            self.exporter.say(f"no metrics: {exc!r}")
            return _told(start_response, "500 Internal Server Error", f"{exc!r}\n")
        return app({**environ, "QUERY_STRING": ""}, start_response)

    def _is_ours(self, host: str) -> bool:
        """Is it an address, which no page can make its own name, or one of our names?"""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in self._hosts or _is_address(name)


class _Handler(WSGIRequestHandler):
    server: Endpoint
    timeout = 10  # seconds of a read, and of a whole answer that is written

    def parse_request(self) -> bool:
        is_whole = super().parse_request()
        self.server.has_asked(self.connection)
        return is_whole

    def log_message(self, *_: object) -> None:
        """Nothing: Prometheus asks four times a minute."""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _bound(environ: Mapping[str, Any]) -> float:
    """Seconds that Prometheus waits, less what the answer needs."""
    with suppress(ValueError):
        seconds = float(environ.get("HTTP_X_PROMETHEUS_SCRAPE_TIMEOUT_SECONDS", ""))
        if MARGIN < seconds < BOUND + MARGIN:
            return max(MARGIN, seconds - MARGIN)
    return BOUND


def _told(start_response: Any, status: str, text: str, kind: str = "text/plain") -> list[bytes]:
    start_response(status, [("Content-Type", f"{kind}; charset=utf-8")])
    return [text.encode()]


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    name = host.removeprefix("[").removesuffix("]")
    name = "127.0.0.1" if name == "localhost" else name
    if not _is_address(name) or not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535:
        raise UsageError(f"{listen} is not an address to listen on", hint="For example 127.0.0.1:9649.")
    return name, int(port)
