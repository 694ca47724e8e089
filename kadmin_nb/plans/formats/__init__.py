"""Four print formats of a stage or a plan: the cell, the Python, the kafka-configs.sh lines that do it, a table."""

from __future__ import annotations

from abc import ABC, abstractmethod

from . import cell, kafka_configs, markdown, python
from .subject import Subject
from .text import PlanText

__all__ = ["PrintFormats", "Subject"]


class PrintFormats(ABC):
    """The printable forms of a stage and a plan. Each is a text that shows itself as it is."""

    __slots__ = ()

    @abstractmethod
    def _subject(self) -> Subject:
        """The content of the forms."""

    def to_cell(self) -> PlanText:
        """The lines below `%%kquota`, `%%kconfig` or `%%kadmin`, and of the file that `plan -f` reads."""
        return cell.as_cell(self._subject())

    def to_python(self) -> PlanText:
        """Python that stages the same on `stage`."""
        return python.as_python(self._subject())

    def to_kafka_configs(self, bootstrap: str | None = None, command_config: str | None = None) -> PlanText:
        """Lines of Kafka's own tool, in the safe order; a comment where one line cannot say it.

        Parameters
        ----------
        bootstrap
            The address, `host:port`; None leaves it to the shell's `$BOOTSTRAP`.
        command_config
            The file with the client's properties, where one is needed.
        """
        return kafka_configs.as_kafka_configs(self._subject(), bootstrap, command_config)

    def to_markdown(self) -> PlanText:
        """A table for a pull request. No name in it can end a row, make a link, or become HTML."""
        return markdown.as_markdown(self._subject())
