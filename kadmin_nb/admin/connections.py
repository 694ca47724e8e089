"""kafka-python's connections, made ours: they read with our parser, log in by tokens and tickets, and wait for nobody.

The only file that touches the library's inner modules (`kafka.net`); `tests/admin/test_seam.py` says what breaks if
they move.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import kafka.errors
from kafka.future import Future
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.net.selector import NetworkSelector

from . import kerberos
from .parser import AnswerParser

if TYPE_CHECKING:
    from ..model.token_sources import TokenLogin

__all__ = ["Connection", "Manager", "NetworkSelector", "Tokens"]

Node = TypeVar("Node")

HEAD_START = 0.25
"""Seconds that a broker has for its connection before the next one is tried beside it (as RFC 8305 does)."""


class Tokens(AbstractTokenProvider):  # type: ignore[misc]
    """The library's access to a token that was fetched before."""

    def __init__(self, login: TokenLogin) -> None:
        from .bearer_tokens import tokens_of  # it loads http.client, which most connections have no use for

        self.cache = tokens_of(login)

    def token(self) -> str:
        return self.cache.token().text.reveal()

    def extensions(self) -> dict[str, str]:
        return dict(self.cache.login.extensions)


class Connection(KafkaConnection):  # type: ignore[misc]
    """The library's connection with our parser."""

    async def _sasl_authenticate(self, timeout_at: float | None = None) -> None:
        """Log in, at first and whenever the session ends; a token is fetched beside the other connections."""
        if tokens := self.config["sasl_oauth_token_provider"]:
            within = None if timeout_at is None else timeout_at - time.monotonic()
            await _beside(self.net, lambda: tokens.cache.token(within))
        try:
            await super()._sasl_authenticate(timeout_at)
        except Exception as error:
            is_kerberos = self.config["sasl_mechanism"] == kerberos.GSSAPI
            raise (kerberos.login_failure(error) if is_kerberos else None) or error from None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.parser = AnswerParser(
            client_id=self.config["client_id"], receive_message_max_bytes=self.config["receive_message_max_bytes"]
        )


def _beside(net: NetworkSelector, task: Callable[[], object]) -> Future:
    """The future of a task that waits for somebody else, on a thread of its own: `net` goes on meanwhile."""
    future = Future()

    def run() -> None:
        try:
            finish, result = future.success, task()
        except Exception as error:
            finish, result = future.failure, error
        with suppress(RuntimeError):  # closed meanwhile
            net.call_soon_with_future(finish, result)

    threading.Thread(target=run, daemon=True).start()
    return future


class Manager(KafkaConnectionManager):  # type: ignore[misc]
    """The library's manager with our connections, made side by side: one broker that is frozen holds up nobody."""

    def get_connection(self, *args: Any, **options: Any) -> Any:
        """A connection of ours; the library names its own class where nobody can tell it another."""
        connection = super().get_connection(*args, **options)
        connection.__class__ = Connection
        return connection

    async def first_of(self, nodes: Sequence[Node], attempt: Callable[[Node], Awaitable[Any]], within: float) -> Any:
        """The first result of `attempt`, or the last one's error; the next begins when one fails or takes its time."""
        first, failures = Future(), []

        def succeed(result: Any) -> None:
            if not first.is_done:
                first.success(result)

        def fail(exc: BaseException) -> None:
            failures.append(exc)
            if len(failures) == len(nodes):
                first.failure(exc)

        for node in nodes:
            begun = self.call_soon(attempt, node)
            begun.add_callback(succeed)
            begun.add_errback(fail)
            with suppress(Exception):
                await self.wait_for(begun, HEAD_START * 1000)
            if first.is_done:
                break
        return await self.wait_for(first, within * 1000)

    async def _do_bootstrap(self, deadline: float) -> bool:
        """Learn the brokers from the first address that answers; each is tried once."""
        addresses = [broker.node_id for broker in self.cluster.bootstrap_brokers()]
        random.shuffle(addresses)
        within = deadline - time.monotonic()
        try:
            metadata = await self.first_of(addresses, lambda one: self._metadata_of(one, within), within)
            self.cluster.update_metadata(metadata)
        finally:
            for address in addresses:
                self._close_contact(address)
        self.cluster.start_refresh_loop()
        return True

    async def _metadata_of(self, address: str, within: float) -> Any:
        options = {"pop_on_close": False, "refresh_metadata_on_err": False, "reset_backoff_on_connect": False}
        connection = self.get_connection(address, timeout_ms=within * 1000, **options)
        await connection.init_future
        metadata = await connection.send_request(self.cluster.metadata_request())
        if not metadata.brokers:
            raise kafka.errors.KafkaConnectionError(f"{address} knows no brokers")
        return metadata

    def _close_contact(self, address: str) -> None:
        connection = self._conns.pop(address, None)
        if connection is not None:
            connection.close()
