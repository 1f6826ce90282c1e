"""Makes the pictures of docs/page.md: `python docs/make_pages.py`, from the root, with the extras `dev` and `learners`
and Debian's chromium. Each is the first screens of a page that one command line wrote."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "pages"
CHURNED, REPAIR = "examples/learners/churned.py", "examples/learners/to_repair.py"
WIDTH, HEIGHT, LARGEST = 880, 1_000, 150_000
PAGES = {
    "fail": (f"check {CHURNED}:model --source {CHURNED}:customers --size 300 --view predict --rho 0.2", "light"),
    "curve": ("curve rstat --vary size=100:10000:log4 --sample counts --pairs 2000", "light"),
    "explain": ("explain heavy_hitters_in_order_of_appearance", "light"),
    "repair": (f"repair {REPAIR}:predicted --source {REPAIR}:lines --size 1000", "dark"),
    "gate": ("check algorithms.controls --ledger {ledger}", "light"),
}


def main() -> None:
    browser_file = shutil.which("chromium") or shutil.which("chromium-browser")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_file, args=["--no-sandbox", "--disable-gpu"])
        ledger = Path(folder) / "audits.sqlite"
        for seed in range(1, 6):  # so that the gate has something to look back on
            audit(f"{PAGES['gate'][0]} --seed {seed}", Path(folder) / "past.html", ledger)
        for name, (command, scheme) in PAGES.items():
            page = Path(folder) / f"{name}.html"
            audit(command, page, ledger)
            shoot(browser, page, FOLDER / f"{name}.png", scheme)
        browser.close()


def audit(command: str, page: Path, ledger: Path) -> None:
    words = shlex.split(command.format(ledger=ledger))
    done = subprocess.run([sys.executable, "-m", "auditor", *words, "--html", str(page)], cwd=ROOT, capture_output=True)
    if not page.exists():
        sys.exit(f"{command}: {done.stderr.decode()}")


def shoot(browser: Browser, page: Path, picture: Path, scheme: str) -> None:
    tab = browser.new_page(viewport={"width": WIDTH, "height": 200}, color_scheme=scheme)
    tab.goto(page.as_uri())
    height = min(HEIGHT, tab.evaluate("document.documentElement.scrollHeight"))
    tab.set_viewport_size({"width": WIDTH, "height": height})
    tab.screenshot(path=picture)
    tab.close()
    if picture.stat().st_size > LARGEST:
        sys.exit(f"{picture} has {picture.stat().st_size:,} bytes, and {LARGEST:,} are the most")


if __name__ == "__main__":
    main()
