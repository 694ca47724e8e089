"""A stand-in for the `dbutils` of a Databricks notebook: what a runbook uses of it, and no more."""

from __future__ import annotations


class Widgets:
    """The part of `dbutils.widgets` that a notebook uses: every value is text."""

    def __init__(self, passed: dict[str, str]) -> None:
        self.passed, self.made = passed, dict[str, str]()

    def text(self, name: str, defaultValue: str, label: str | None = None) -> None:
        self.made.setdefault(name, defaultValue)

    def get(self, name: str) -> str:
        return self.getAll()[name]

    def getAll(self) -> dict[str, str]:
        return {**self.made, **self.passed}


class Exit(BaseException):
    """What `dbutils.notebook.exit` does to the notebook."""


class Dbutils:
    def __init__(self, **passed: str) -> None:
        self.widgets = Widgets(passed)
        self.notebook = self

    def exit(self, text: str) -> None:
        raise Exit(text)
