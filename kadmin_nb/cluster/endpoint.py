"""The HTTP endpoint that Prometheus scrapes: `/metrics`, and a page that leads there."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ..errors import Invalid, UsageError
from .exposition import encoded
from .metrics import BOUND, Exporter

LISTEN = "127.0.0.1:9649"
MARGIN = 0.5
"""Seconds before Prometheus gives up in which an answer should arrive."""

_PAGE = b'<!doctype html><title>kadmin_nb</title><a href="/metrics">metrics</a>\n'


class Endpoint(ThreadingHTTPServer):
    """Serves the metrics of an exporter until it is closed.

    Parameters
    ----------
    listen
        `HOST:PORT`, an IPv6 address in brackets; port 0 is any that is free.

    Raises
    ------
    UsageError
        It is not such an address.
    Invalid
        Something else listens there, or we may not.
    """

    daemon_threads = True

    def __init__(self, exporter: Exporter, listen: str = LISTEN) -> None:
        self.exporter = exporter
        host, port = _address(listen)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), _Handler)
        except OSError as exc:
            raise Invalid(f"cannot listen on {listen}: {exc.strerror or exc}", hint="Name another port.") from None

    def server_bind(self) -> None:
        """Bind, without asking the network for our own name."""
        socket.socket.bind(self.socket, self.server_address)  # HTTPServer would look its host up
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    @property
    def url(self) -> str:
        """Where the metrics are."""
        host = f"[{self.server_name}]" if ":" in self.server_name else self.server_name
        return f"http://{host}:{self.server_port}/metrics"

    @property
    def is_open(self) -> bool:
        """True if others than this machine can reach it."""
        return not ipaddress.ip_address(self.server_name).is_loopback

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is its own affair."""


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint
    timeout = 10
    server_version, sys_version = "kadmin_nb", ""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._scrape()
        elif path == "/":
            self._answer(200, _PAGE, "text/html; charset=utf-8")
        else:
            self._answer(404, b"the metrics are at /metrics\n", "text/plain; charset=utf-8")

    def _scrape(self) -> None:
        """Answer with the metrics; where they cannot be made, with 500 and the reason."""
        try:
            answer = encoded(self.server.exporter.scrape(self._bound()), self.headers.get("Accept", ""))
        except Exception as exc:
            self.server.exporter.say(f"no metrics: {exc!r}")
            self._answer(500, f"{exc!r}\n".encode(), "text/plain; charset=utf-8")
        else:
            self._answer(200, *answer)

    def do_HEAD(self) -> None:
        self.do_GET()

    def _bound(self) -> float:
        """Seconds that Prometheus waits, less what the answer needs."""
        with suppress(ValueError):
            seconds = float(self.headers.get("X-Prometheus-Scrape-Timeout-Seconds", ""))
            if MARGIN < seconds < BOUND + MARGIN:
                return max(MARGIN, seconds - MARGIN)
        return BOUND

    def _answer(self, status: int, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: Prometheus asks four times a minute."""


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    name = host.removeprefix("[").removesuffix("]")
    try:
        ipaddress.ip_address("127.0.0.1" if name == "localhost" else name)
        number = int(port)
        if not 0 <= number <= 65535:
            raise ValueError
    except ValueError:
        raise UsageError(f"{listen} is not an address to listen on", hint="For example 127.0.0.1:9649.") from None
    return ("127.0.0.1" if name == "localhost" else name), number
