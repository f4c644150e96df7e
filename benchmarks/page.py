"""Size of the report page of the main tables, and the time until Chromium shows it.

    python -m benchmarks.page

1,290 synthetic runs, by the browser's own clock: until the summary is painted, until the page is
loaded, and until Plotly, which waits for an idle moment, is ready too. Medians over fresh windows.
Writes benchmarks/page.json.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment
from bison_ocl.report.page import write
from tests.report.studies import whole_main_table

RESULT = Path(__file__).with_name("page.json")
WINDOWS = 7


TIMES = """() => [
  performance.getEntriesByName("first-contentful-paint")[0].startTime,
  performance.getEntriesByType("navigation")[0].loadEventEnd,
  performance.now(),
].map(time => time / 1000)"""


def opened(browser: Browser, page_file: Path) -> dict[str, float]:
    """Seconds from the request on."""
    page = browser.new_context().new_page()
    page.goto(page_file.as_uri())
    page.wait_for_function("() => window.Plotly", polling=10)
    times = dict(zip(("painted_s", "loaded_s", "plotly_s"), page.evaluate(TIMES), strict=True))
    assert page.locator("#panel tbody tr").count() > 10
    page.context.close()
    return times


def main() -> None:
    study = whole_main_table()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "report.html"
        start = time.perf_counter()
        write(study, path)
        written = time.perf_counter() - start
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        times = [opened(browser, path) for _ in range(WINDOWS)]
        found = {
            "runs": 1290,
            "MB": path.stat().st_size / 1e6,
            "write_s": written,
            **{name: statistics.median(one[name] for one in times) for name in times[0]},
            "slowest_loaded_s": max(one["loaded_s"] for one in times),
            "load_average": os.getloadavg()[0],
            "browser": f"Chromium {browser.version}",
            "environment": vars(environment("cpu")),
            "commit": commit(),
        }
        browser.close()
    print(json.dumps(found, indent=1))
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
