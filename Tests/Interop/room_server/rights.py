"""What recbot may do on its machine: nothing that root alone may."""

from stage import KEY, SECRET, Process, Stage
from verdict import Verdict

WITHOUT = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


def no_capabilities(stage: Stage, verdict: Verdict) -> None:
    """Server and recorder without any capability, as for whoever is not root: somebody joins and is recorded."""
    def start(name: str, *arguments: str) -> Process:
        return stage.start(Process(name, [*WITHOUT, stage.recbot, *arguments, "--api-key", KEY], stage.folder,
                                   {"LIVEKIT_API_SECRET": SECRET}))

    server = start("server", "room-server", "--port", "0")
    _, text = server.line(lambda text: "ws://" in text, 20)
    stage.url = next(word for word in text.split() if word.startswith("ws://"))
    stage.publisher("ann", "--size", "320x180", colour="green").join()
    path = stage.folder / "talk.webm"
    recorder = start("recorder", "join", "test", "--url", stage.url, "--output", str(path), "--max-duration", "3s")
    verdict.check(recorder.exit(20) == 0, f"the recorder ended with {recorder.status}: {recorder.tail()}")
    verdict.check(path.exists() and path.stat().st_size > 20_000, "nobody was recorded")
    verdict.figure(f"{path.stat().st_size >> 10} KiB")
