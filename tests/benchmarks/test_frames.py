"""The benchmark of frames opens its page, and measures frames and times."""

from __future__ import annotations

import re

import pytest

frames = pytest.importorskip("benchmarks.frames", reason="part of the checkout only")

# One worker has the browser.
pytestmark = pytest.mark.xdist_group("browser")


def test_frames_of_a_small_page_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(frames, "SIZES", {"a small page": (300, 2, (10, 15))})
    monkeypatch.setattr(frames, "SECONDS", 0.2)
    monkeypatch.setattr(frames, "WARM", 0.1)
    frames.main()
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("a small page: ")
    assert len(re.findall(r"(pan|glide) [\d.]+ frames a second", line)) == 2
