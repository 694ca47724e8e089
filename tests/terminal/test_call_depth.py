"""How many functions of ours a change passes on its way from the typed line to the wire."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager

import kadmin_nb as kn
from kadmin_nb.commands import main

MOST = 20
OURS = str(Path(kn.__file__).parent)


def frames_of_ours(frame: FrameType | None) -> Iterator[str]:
    """The functions of ours that this frame was called from, the innermost first."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(OURS):
            yield frame.f_code.co_qualname
        frame = frame.f_back


class Way:
    """Watches the library: who hands work to its thread, and who sends the alter there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.to_the_thread: list[str] = []
        self.to_the_wire: list[str] = []
        call_soon, send_request = KafkaConnectionManager.call_soon, KafkaConnection.send_request

        def handed_over(manager, *args):
            self.to_the_thread = [*frames_of_ours(sys._getframe(1))]
            return call_soon(manager, *args)

        def sent(connection, request, **options):
            if type(request).__name__ == "AlterClientQuotasRequest" and not request.validate_only:
                self.to_the_wire = [*frames_of_ours(sys._getframe(1)), *self.to_the_thread]
            return send_request(connection, request, **options)

        monkeypatch.setattr(KafkaConnectionManager, "call_soon", handed_over)
        monkeypatch.setattr(KafkaConnection, "send_request", sent)


@pytest.mark.broker
def test_a_change_reaches_the_wire_in_few_steps(kafka, unique, monkeypatch, capsys):
    """I stepped through `quota set --apply` in the debugger, and most functions only called the next one."""
    way = Way(monkeypatch)
    line = ["kadmin-nb", "quota", "set", "producer_byte_rate=5MB/s", f"user={unique('user')}"]
    monkeypatch.setattr(sys, "argv", [*line, "--apply", "--cluster", kafka.bootstrap])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0, capsys.readouterr()
    assert way.to_the_wire[-1] == "main"
    assert len(way.to_the_wire) <= MOST, "\n".join(way.to_the_wire)
