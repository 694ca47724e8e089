"""A token server on loopback, with TLS, and the tokens that it gives: claims that nobody signed."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs


def jws(subject: str = "admin", lifetime: float = 3600.0, **claims: object) -> str:
    """A token as Kafka's unsecured validator takes it; one with a lifetime below 0 has expired."""
    now = time.time()
    parts = ({"alg": "none"}, {"sub": subject, "iat": now - 1, "exp": now + lifetime, **claims})
    return ".".join([*(base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts), ""])


class TokenServer(ThreadingHTTPServer):
    """`answer()` gives the status and the body, or None: silence until the end. `requests` are what it was asked."""

    daemon_threads = True

    def __init__(self, answer: Callable[[], tuple[int, object] | None]) -> None:
        self.answer, self.requests, self.ended = answer, [], threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/token"

    def speak_tls(self, certificate: str) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = f"https://localhost:{self.server_address[1]}/token"

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is what the tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: TokenServer

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        login = base64.b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
        self.server.requests.append((login, {name: values[0] for name, values in form.items()}))
        answered = self.server.answer()
        if answered is None:
            self.server.ended.wait()
            return
        status, body = answered
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def token_server(
    answer: Callable[[], tuple[int, object] | None] | tuple[int, object] | None, certificate: str | None = None
) -> Iterator[TokenServer]:
    """A server that gives these answers until the block ends; over TLS with a certificate."""
    server = TokenServer(answer if callable(answer) else lambda: answer)
    if certificate:
        server.speak_tls(certificate)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        server.server_close()
