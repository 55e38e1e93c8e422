"""RecbotKit's documentation as web pages."""

import subprocess

from pages.commands import ROOT
from stage import Stage
from verdict import Verdict


def documentation(stage: Stage, verdict: Verdict) -> None:
    """Every declaration and page that the library's documentation names is there, and its pages are made without a warning."""
    folder = stage.folder / "docs"
    done = subprocess.run([ROOT / "deploy/api-docs.sh", str(folder)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
                          check=False)
    said = done.stdout + done.stderr
    verdict.check(done.returncode == 0 and "warning" not in said, f"exit code {done.returncode}: {said[:2000]}")
    pages = list((folder / "data" / "documentation" / "recbotkit").rglob("*.json"))
    verdict.check(len(pages) > 200, f"{len(pages)} pages")
    verdict.check(any(page.parent.name == "customvideoprocessor" for page in pages), "a declaration has no page")
    verdict.figure(f"{len(pages)} pages")
