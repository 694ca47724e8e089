"""Who may ask the endpoint, and how long it waits for somebody who does not."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from wsgiref.simple_server import WSGIServer

import pytest

from kadmin_nb.cluster import exporter
from kadmin_nb.cluster.exporter import families, serve
from tests.metrics.full import Fixed


@pytest.fixture
def serving() -> Iterator[Callable[..., WSGIServer]]:
    """Servers of one metric."""
    with ExitStack() as stack:

        def served(*how: object) -> WSGIServer:
            server = stack.enter_context(serve(Fixed(families({"up": [([], 0)]})), "127.0.0.1:0", *how))
            stack.callback(server.shutdown)
            return server

        yield served


def connected(server: WSGIServer) -> socket.socket:
    return socket.create_connection(server.server_address[:2], timeout=30)


def ask(server: WSGIServer, host: str | None, path: str = "/metrics") -> tuple[int, str]:
    """The status and the body of an answer."""
    header = "" if host is None else f"Host: {host}\r\n"
    with connected(server) as connection, connection.makefile("rb") as answer:
        connection.sendall(f"GET {path} HTTP/1.1\r\n{header}\r\n".encode())
        head, _, body = answer.read().decode().partition("\r\n\r\n")
    return int(head.split()[1]), body


REBOUND = [
    "evil.example",
    "evil.example:9649",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "[",
    "",
    "a b",
    "::1",
]


@pytest.mark.parametrize("host", REBOUND)
def test_a_page_whose_name_leads_here_reads_nothing(serving, host) -> None:
    """A page that a colleague opened read our limits, and the names of all users: its name led to 127.0.0.1."""
    server = serving()
    for path in ("/metrics", "/", "/other"):
        status, body = ask(server, host, path)
        assert (status, "kadmin_nb" in body) == (421, False)


@pytest.mark.parametrize(
    "host", ["127.0.0.1:9649", "10.1.2.3", "[::1]:9649", "localhost", "LOCALHOST:80", "Kadmin", None]
)
def test_an_address_and_our_own_names_are_answered(serving, host) -> None:
    """Prometheus asks by the address of the pod, or by the name of the service."""
    status, body = ask(serving(["kadmin"]), host)
    assert (status, "kadmin_nb_up 0.0" in body) == (200, True)


def test_the_name_of_this_machine_is_ours(serving) -> None:
    """Prometheus has the name of the machine in its list."""
    assert ask(serving(), f"{socket.gethostname()}:9649")[0] == 200


def test_who_is_silent_is_hung_up_on(serving, monkeypatch) -> None:
    """A scanner opened connections and sent nothing: a thread and a descriptor each, for hours."""
    monkeypatch.setattr(exporter, "PATIENCE", 0.5)
    server = serving()
    with connected(server) as silent, connected(server) as half:
        half.sendall(b"GET /metrics HTTP/1.1\r\nX-Long: ")
        assert silent.recv(1) == b""
        assert half.recv(1) == b""
    assert ask(server, "localhost")[0] == 200


def test_an_address_of_the_sixth_version(serving) -> None:
    """[::1]:9649 was not an address."""
    with serve(Fixed([]), "[::1]:0") as server:
        assert server.socket.getsockname()[0] == "::1"
        server.shutdown()
