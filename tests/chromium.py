"""A headless Chromium for tests of pages; `make browser` installs one.

Where there is none the tests are skipped, except in CI.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")


def launched() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and "BISON_OCL_NEEDS_CHROMIUM" in os.environ:
        pytest.fail("there is no Chromium: `make browser` installs it")
    if found is None:
        pytest.skip("there is no Chromium: `make browser` installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found)
        yield browser
        browser.close()
