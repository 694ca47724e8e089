"""`make bench`: what it needs, and what it does where a figure cannot be had."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import __main__ as bench
from benchmarks import timing, widgets

MEASURED = timing.row("a figure", 1.0, 2.0, 0.5, 1.0)


def _run(monkeypatch: pytest.MonkeyPatch, place: Path, **benches: object) -> tuple[int | None, list[timing.Row]]:
    """The exit code, None where it was interrupted, and what stands in the file."""
    modules = {f"benchmarks.{name}": SimpleNamespace(run=run) for name, run in benches.items()}
    monkeypatch.setattr(bench.importlib, "import_module", modules.__getitem__)
    monkeypatch.setattr(bench, "BENCHES", tuple(benches))
    monkeypatch.chdir(place)
    try:
        code = bench.main([])
    except KeyboardInterrupt:
        code = None
    return code, json.loads((place / "out" / "bench.json").read_text())["figures"]


def _raises(error: BaseException) -> object:
    def run(_full: bool) -> list[timing.Row]:
        raise error

    return run


def test_a_bench_that_fails_is_a_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys) -> None:
    """After eight minutes one bench failed, and nothing of the others was printed or written."""
    code, rows = _run(monkeypatch, tmp_path, broken=_raises(OSError("no disk")), good=lambda _full: [MEASURED])
    assert code == 1
    assert rows == [timing.not_measured("broken", "OSError: no disk"), MEASURED]
    shown = capsys.readouterr()
    assert "OSError: no disk" in shown.out
    assert "a figure" in shown.out
    assert "in _raises" in shown.err or "raise error" in shown.err


def test_ctrl_c_keeps_what_was_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys) -> None:
    """I stopped it after a quarter of an hour."""
    slow = _raises(KeyboardInterrupt())
    assert _run(monkeypatch, tmp_path, good=lambda _full: [MEASURED], slow=slow) == (None, [MEASURED])
    assert "a figure" in capsys.readouterr().out


def test_without_a_browser_a_row_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make bench` ended without a word of its figures where there was no Chromium."""
    monkeypatch.setattr("tests.browser.presence.chromium", lambda: None)
    missing, source = widgets.run()
    assert (missing["ok"], "no Chromium here" in str(missing["note"])) == (False, True)
    assert source["figure"] == "all JavaScript, bytes / 60,000"


@pytest.mark.parametrize("target", ["bench", "bench-full", "test"])
def test_what_needs_a_browser_fetches_one(target: str) -> None:
    """`make bench` on a fresh machine found no browser, which `make test` would have fetched."""
    makefile = Path(bench.__file__).parents[1] / "Makefile"
    (line,) = (line for line in makefile.read_text().splitlines() if line.startswith(f"{target}:"))
    assert "browser" in line.partition("##")[0].split()
