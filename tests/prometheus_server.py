"""What pretends to be a Prometheus, on loopback."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Prometheus(ThreadingHTTPServer):
    """On loopback; `answers(path, query)` gives the status and the body, or what it does instead."""

    daemon_threads = True

    def __init__(self, answers: Callable[[dict[str, str]], tuple[int, object]]) -> None:
        self.answers, self.asked, self.headers = answers, [], []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Prometheus

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.server.asked.append((parts.path, query))
        self.server.headers.append(dict(self.headers))
        status, body = self.server.answers(query)
        if status == 302:
            self.send_response(302)
            self.send_header("Location", str(body))
            self.end_headers()
            return
        if isinstance(body, float):  # a byte now and then
            self.send_response(200)
            self.end_headers()
            for _ in range(1000):
                self.wfile.write(b" ")
                time.sleep(body)
        document = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(document)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def serving(answers: Callable[[dict[str, str]], tuple[int, object]] | tuple[int, object]) -> Iterator[Prometheus]:
    """A server that gives these answers until the block ends."""
    server = Prometheus(answers if callable(answers) else lambda _: answers)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def matrix(*series: tuple[dict[str, str], list]) -> dict[str, object]:
    """What a Prometheus answers to query_range."""
    result = [{"metric": labels, "values": values} for labels, values in series]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}
