"""A JupyterLab of the tests, and a notebook in it, driven through a real browser."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import TimeoutError

from kadmin_nb.local.local_kafka import _free_ports

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "out" / "pictures"


class Lab:
    """A Jupyter server on loopback, with its own settings, in a folder of its own."""

    def __init__(self, home: Path, command: Sequence[str] = ("jupyter", "lab")) -> None:
        self.home, (self.port,) = home, _free_ports(1)
        for plugin, name, settings in SETTINGS:
            place = home / "settings" / "@jupyterlab" / plugin
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{name}.jupyterlab-settings").write_text(json.dumps(settings))
        self._log = (home / "server.log").open("w")
        program, *words = command
        arguments = [
            "--no-browser",
            "--allow-root",
            "--ServerApp.token=",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={self.port}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={home}",
            "--ServerApp.disable_check_xsrf=True",
        ]
        binary = str(Path(sys.executable).with_name(program))
        self._process = subprocess.Popen(
            [binary, *words, *arguments], env=self._env(), stdout=self._log, stderr=self._log, cwd=home
        )
        self._wait()

    def _env(self) -> dict[str, str]:
        folders = {
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "IPYTHONDIR": "ipython",
        }
        path = os.pathsep.join([str(ROOT), str(ROOT / "magics"), os.environ.get("PYTHONPATH", "")])
        return {**os.environ, **{name: str(self.home / folder) for name, folder in folders.items()}, "PYTHONPATH": path}

    def _wait(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.url}/api", timeout=5):
                    return
            except OSError:
                if self._process.poll() is not None:
                    break
                time.sleep(0.2)
        raise RuntimeError(f"the Jupyter server did not start:\n{(self.home / 'server.log').read_text()[-2000:]}")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def set_theme(self, theme: str) -> None:
        """Light or Dark, for pages that are opened from now on."""
        place = self.home / "settings" / "@jupyterlab" / "apputils-extension" / "themes.jupyterlab-settings"
        place.write_text(json.dumps({"theme": f"JupyterLab {theme}"}))

    def write(self, name: str, cells: Sequence[str]) -> Path:
        """A notebook of code cells that have not run."""
        place = self.home / name
        place.write_text(json.dumps(document(cells)))
        return place

    def shut_kernels(self) -> None:
        """End every kernel: each has a whole Python in memory."""
        with urllib.request.urlopen(f"{self.url}/api/sessions", timeout=10) as answer:
            sessions = json.load(answer)
        for session in sessions:
            end = urllib.request.Request(f"{self.url}/api/sessions/{session['id']}", method="DELETE")
            with contextlib.suppress(OSError):
                urllib.request.urlopen(end, timeout=10).close()

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:  # it waits for kernels, which end by themselves when it is gone
            self._process.kill()
            self._process.wait()
        self._log.close()


SETTINGS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("apputils-extension", "notification", {"fetchNews": "false", "checkForUpdates": False}),
    ("apputils-extension", "themes", {"theme": "JupyterLab Light"}),
    ("notebook-extension", "tracker", {"windowingMode": "none"}),
    ("docmanager-extension", "plugin", {"autosave": False}),
    ("extensionmanager-extension", "plugin", {"enabled": False}),
)


def document(cells: Sequence[str]) -> dict[str, Any]:
    """A notebook's document."""
    code: dict[str, Any] = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {
        "cells": [{**code, "id": f"cell-{n}", "source": source} for n, source in enumerate(cells)],
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


@dataclass
class Complaints:
    """Errors of a page's console, and requests that leave this machine."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def listen(self, page: Any) -> None:
        page.on("console", lambda message: self._heard(message))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self._asked(request.url))

    def _heard(self, message: Any) -> None:
        if message.type == "error" and not any(known in message.text for known in OF_THE_HOST):
            of = message.location["url"] if message.text.startswith("Failed to load resource") else ""
            self.errors.append(f"{message.text} {of}".rstrip())

    def _asked(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in ("127.0.0.1", "localhost"):
            self.requests.append(url)


OF_THE_HOST = (
    "favicon",
    "/api/me",
    "Could not restore the debugger state",
    "the server responded with a status of 404",
    "Error during WebSocket handshake: Unexpected response code: 404",  # of a kernel that it has just replaced
)
"""Lines that JupyterLab writes into its console whatever a notebook holds."""


def wait_until_connected(page: Any) -> None:
    """Until the page is connected to a kernel that has nothing to do; before, JupyterLab asks for one."""
    name = urlsplit(page.url).path.rpartition("/")[2]
    page.wait_for_function(_CONNECTED, arg=name, timeout=90_000, polling=300)


class Notebook:
    """A notebook that is open in a page."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.complaints = page, Complaints()
        self.complaints.listen(page)
        page.goto(url)
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        wait_until_connected(page)

    def cell(self, number: int) -> Any:
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(number)

    def run(self, number: int) -> Any:
        """Run a cell, and wait until it is done; its output."""
        before = self.begin(number)
        self.page.wait_for_function(_DONE, arg=[number, before], timeout=90_000, polling=100)
        return self.cell(number).locator(".jp-OutputArea")

    def begin(self, number: int) -> str:
        """Run a cell, and wait until it has begun; its prompt before."""
        before = self._prompt(number)
        accept = self.page.locator(".jp-Dialog .jp-mod-accept")
        for _ in range(10):  # a kernel that has just started takes no cell, and JupyterLab drops the request
            if accept.count():  # a busy JupyterLab asks for the kernel that it is starting
                accept.first.click()
            self.cell(number).locator(".jp-InputArea-editor").first.click()
            self.page.keyboard.press("Control+Enter")
            with contextlib.suppress(TimeoutError):
                self.page.wait_for_function(_BEGUN, arg=[number, before], timeout=3_000, polling=100)
                break
        return before

    def _prompt(self, number: int) -> str:
        return str(self.cell(number).locator(".jp-InputPrompt").first.inner_text())

    def wait_for_text(self, text: str, timeout: float = 120_000) -> None:
        """Until this text is on the page; a failure tells what stands there instead."""
        try:
            self.page.get_by_text(text).wait_for(timeout=timeout)
        except TimeoutError:
            outputs = self.page.locator(".jp-OutputArea").all_inner_texts()
            raise AssertionError(f"{text!r} is not on the page, but:\n" + "\n".join(outputs)[-4000:]) from None

    def picture(self, name: str) -> None:
        """A screenshot, under `out/pictures`: to be looked at."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png")

    def text(self) -> str:
        """All outputs as a reader sees them."""
        return "\n".join(self.page.locator(".jp-OutputArea-output").all_inner_texts())

    def change_theme(self) -> str:
        """Light to dark, or back, as the menu does it; the new one's name."""
        theme = "Dark" if self.page.locator("body").get_attribute("data-jp-theme-light") == "true" else "Light"
        self.page.get_by_role("menuitem", name="Settings", exact=True).click()
        self.page.locator(".lm-Menu").get_by_text("Theme", exact=True).click()
        self.page.locator(".lm-Menu").get_by_text(f"JupyterLab {theme}", exact=True).click()
        is_light = str(theme == "Light").lower()
        self.page.locator(f"body[data-jp-theme-light='{is_light}']").wait_for(state="attached", timeout=60_000)
        self.page.locator("#jupyterlab-splash").wait_for(state="detached", timeout=60_000)
        return theme.lower()

    def output(self, number: int) -> str:
        """Run a cell and take its text."""
        return str(self.run(number).inner_text()).strip()


_CONNECTED = """async (name) => {
  const sessions = await (await fetch('/api/sessions')).json();
  return sessions.some(({ path, kernel }) =>
    path.endsWith(decodeURIComponent(name)) && kernel.connections > 0 && kernel.execution_state === 'idle');
}"""
_PROMPT = "document.querySelectorAll('.jp-Notebook .jp-CodeCell')[number].querySelector('.jp-InputPrompt').innerText"
_BEGUN = f"([number, before]) => {_PROMPT} !== before"
_DONE = f"([number, before]) => {_PROMPT} !== before && /\\[\\d+\\]/.test({_PROMPT})"
