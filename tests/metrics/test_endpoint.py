"""Who may ask the endpoint, and how long it waits for somebody who does not."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from threading import Event, Thread

import pytest

from kadmin_nb.cluster import endpoint as endpoints
from kadmin_nb.cluster.endpoint import Endpoint
from kadmin_nb.cluster.exposition import Facts, families
from tests.waiting import eventually


class Idle:
    """An exporter of no cluster."""

    def scrape(self, within: float) -> list:
        return families(Facts())

    def say(self, line: str) -> None:
        raise AssertionError(line)


@pytest.fixture
def serve() -> Iterator[Callable[..., Endpoint]]:
    with ExitStack() as stack:

        def serving(*how: object) -> Endpoint:
            endpoint = stack.enter_context(Endpoint(Idle(), "127.0.0.1:0", *how))
            Thread(target=endpoint.serve_forever, args=(0.02,), daemon=True).start()
            stack.callback(endpoint.shutdown)
            return endpoint

        yield serving


def connected(endpoint: Endpoint) -> socket.socket:
    return socket.create_connection(endpoint.server_address[:2], timeout=30)


def ask(endpoint: Endpoint, host: str | None, path: str = "/metrics") -> tuple[int, str]:
    """The status and the body of an answer."""
    header = "" if host is None else f"Host: {host}\r\n"
    with connected(endpoint) as connection, connection.makefile("rb") as answer:
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
def test_a_page_whose_name_leads_here_reads_nothing(serve, host) -> None:
    """A page that a colleague opened read our limits, and the names of all users: its name led to 127.0.0.1."""
    endpoint = serve()
    for path in ("/metrics", "/", "/other"):
        status, body = ask(endpoint, host, path)
        assert (status, "kadmin_nb" in body) == (421, False)


@pytest.mark.parametrize(
    "host", ["127.0.0.1:9649", "10.1.2.3", "[::1]:9649", "localhost", "LOCALHOST:80", "Kadmin", None]
)
def test_an_address_and_our_own_names_are_answered(serve, host) -> None:
    """Prometheus asks by the address of the pod, or by the name of the service."""
    status, body = ask(serve(["kadmin"]), host)
    assert (status, "kadmin_nb_up 0.0" in body) == (200, True)


def test_the_name_of_this_machine_is_ours(serve) -> None:
    """Prometheus has the name of the machine in its list."""
    assert ask(serve(), f"{socket.gethostname()}:9649")[0] == 200


def test_many_who_wait_keep_nobody_out(serve) -> None:
    """A scanner opened connections and sent nothing: a thread and a descriptor each, without a bound."""
    endpoint = serve()
    with ExitStack() as stack:
        waiting = [stack.enter_context(connected(endpoint)) for _ in range(3 * endpoints.MOST_CONNECTIONS)]
        assert waiting[0].recv(1) == b""  # the oldest makes room
        eventually(lambda: len(endpoint._asking) <= endpoints.MOST_CONNECTIONS, True)
        assert ask(endpoint, "localhost")[0] == 200


def test_where_all_wait_for_an_answer_one_more_is_turned_away(serve, monkeypatch) -> None:
    """A hundred who asked at once held a hundred threads."""
    monkeypatch.setattr(endpoints, "MOST_CONNECTIONS", 2)
    endpoint, go_on = serve(), Event()
    monkeypatch.setattr(endpoint.exporter, "scrape", lambda within: families(Facts()) if go_on.wait(30) else [])
    answers = list[tuple[int, str]]()
    threads = [Thread(target=lambda: answers.append(ask(endpoint, "localhost"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    eventually(lambda: len(endpoint._answered), 2)
    with connected(endpoint) as turned_away:
        assert turned_away.recv(1) == b""
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert [status for status, _ in answers] == [200, 200]


def test_who_does_not_ask_in_time_is_hung_up_on(serve, monkeypatch) -> None:
    """One byte a second kept a connection for hours."""
    monkeypatch.setattr(endpoints, "TO_ASK", 0.5)
    endpoint = serve()
    with connected(endpoint) as silent, connected(endpoint) as slow:
        slow.sendall(b"GET /metrics HTTP/1.1\r\nX-Long: ")
        assert silent.recv(1) == b""
        assert slow.recv(1) == b""
        eventually(lambda: (len(endpoint._asking), len(endpoint._answered)), (0, 0))
    assert ask(endpoint, "localhost")[0] == 200
