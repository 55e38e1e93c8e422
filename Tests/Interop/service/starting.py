"""What recbot refuses to start with, from the command line."""

import os
import subprocess

from stage import Stage, free_port
from verdict import Verdict


def closed(stage: Stage, verdict: Verdict) -> None:
    """The well-known pair serves on this machine only, and keys are made for a database that is there."""
    pair = {"LIVEKIT_API_KEY": "key", "LIVEKIT_API_SECRET": "a secret of this test's own"}
    here, elsewhere = "ws://127.0.0.1:7880", "wss://livekit.example.com"
    refused = (
        ("another machine's rooms", elsewhere, "127.0.0.1", {}, "LIVEKIT_API_KEY and LIVEKIT_API_SECRET"),
        ("without the secret", elsewhere, "127.0.0.1", {"LIVEKIT_API_KEY": "key"}, "set LIVEKIT_API_SECRET"),
        ("without the key", elsewhere, "127.0.0.1", {"LIVEKIT_API_SECRET": "a secret"}, "set LIVEKIT_API_KEY"),
        ("open to others", here, "0.0.0.0", {}, "LIVEKIT_API_KEY and LIVEKIT_API_SECRET"),
        ("no room server", "livekit.example.com", "127.0.0.1", pair, "--url"),
    )
    for name, url, bind, settings, words in refused:
        data = stage.folder / name.replace(" ", "-")
        done = run(stage, "serve", "--url", url, "--bind", bind, "--port", "0", "--data-dir", str(data), **settings)
        verdict.check(done.returncode == 64 and words in done.stderr and len(done.stderr.splitlines()) == 1,
                      f"{name}: {done.returncode} {done.stderr.strip()}")
        verdict.check(not data.exists(), f"{name}: something was made before it was refused")

    missing = stage.folder / "nowhere"
    for command in (("add", "app"), ("list",), ("remove", "app")):
        done = run(stage, "keys", *command, "--data-dir", str(missing))
        verdict.check(done.returncode == 48 and f"{missing}/recbot.sqlite" in done.stderr and not done.stdout,
                      f"keys {command[0]}: {done.returncode} {done.stderr.strip()}")
    verdict.check(not missing.exists(), "keys made a database")

    data, port = stage.folder / "data", free_port()
    backend = stage.run("serve", "serve", "--port", str(port), "--url", elsewhere, "--data-dir", str(data), **pair)
    backend.line(lambda text: "callers" in text, 20)
    made = run(stage, "keys", "add", "app", "--data-dir", str(data))
    verdict.check(made.returncode == 0 and made.stdout.startswith("rbk_"), f"keys add: {made.stderr.strip()}")
    verdict.check(f"Database: sqlite:{data}/recbot.sqlite" in made.stderr, f"which database? {made.stderr.strip()}")
    listed = run(stage, "jobs", "list", RECBOT_BACKEND=f"http://127.0.0.1:{port}", RECBOT_API_KEY=made.stdout.strip())
    verdict.check(listed.returncode == 0, f"the key is not taken: {listed.stderr.strip()}")
    verdict.figure(f"{len(refused) + 3} refusals")


def run(stage: Stage, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Runs recbot to its end, with these settings alone."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("RECBOT_", "LIVEKIT_"))}
    return subprocess.run([stage.recbot, *arguments], capture_output=True, text=True, timeout=30, cwd=stage.folder,
                          env=clean | settings, stdin=subprocess.DEVNULL)
