"""Without ``rich`` a terminal gets lines in place of a bar."""

from __future__ import annotations

import io

from bothworlds import _progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_without_rich_a_terminal_gets_lines(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(_progress, "find_spec", lambda name: None)
    monkeypatch.setattr(_progress, "LINE_SECONDS", 0.0)
    with _progress.Progress("playing", 4) as progress:
        progress.step("opening")
        progress.advance(1)
    assert terminal.getvalue().startswith("opening\n 25%  playing, ")
