"""Without a browser its tests are skipped, and fail where one is required."""

from __future__ import annotations

import pytest

import browser


@pytest.fixture
def no_browser(monkeypatch, tmp_path):
    """Hide every browser, and let a download fail."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    monkeypatch.setattr(browser, "_download", lambda: "no network")


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize(
    ("setting", "outcome"), [("", pytest.skip.Exception), ("required", pytest.fail.Exception)]
)
def test_without_a_browser_its_tests_are_skipped_or_fail(monkeypatch, no_browser, setting, outcome):
    monkeypatch.setenv("PATCHFOLD_BROWSER", setting)
    with pytest.raises(outcome, match="none can be downloaded: no network"), browser.chromium():
        pass
