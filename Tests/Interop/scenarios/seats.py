"""Two-party rooms that are not there yet, full, or gone: what is told, and what comes of it."""

import time

from stage import Recorder, Stage, free_port
from verdict import Verdict, ms


def seats(stage: Stage, verdict: Verdict) -> None:
    """The bot is there before the server; a third one waits for a seat; fixed rules end a recording whose server is gone."""
    port = str(free_port())
    stage.url = f"ws://127.0.0.1:{port}"
    alone = enter(stage, "alone", "--wait-for-room", "20s", "--reconnect-attempts", "2", "--reconnect-interval", "1s")
    told(alone, "refused", 10)
    time.sleep(1)
    server = stage.server(port)
    opened = time.time()
    began = alone.recording(10)
    verdict.timely(began - opened < 3, f"joined {ms(began - opened)} after the server was there")

    host, guest = (enter(stage, name, "--as", name, room="full") for name in ("host", "guest"))
    host.recording(10)
    guest.recording(10)
    third = enter(stage, "third", "--wait-for-room", "30s", room="full")
    report = told(third, "roomFull", 10)
    verdict.check(report["connection"] == "waitingForRoom" and report["error"]["codes"].get("twilio") == 53105,
                  f"third: {report}")
    left = host.stop()
    taken = third.recording(12)
    verdict.figure(f"seat taken {taken - left:.1f} s after it was free")
    third.stop()
    # A goodbye is the end for who sat opposite.
    verdict.check(guest.exit(10) == 0, f"guest: {guest.tail()}")

    killed = time.time()
    server.close()
    status = alone.exit(10)
    verdict.check(status == 32, f"alone: exit code {status}: {alone.tail()}")
    report = told(alone, "connectionLost", 1)
    verdict.check(report["error"]["codes"].get("enablex") == 5087, f"alone: {report}")
    verdict.check(alone.path.exists(), "alone: there is no file")
    verdict.figure(f"given up {alone.ended - killed:.1f} s after the server was gone")


def enter(stage: Stage, name: str, *options: str, room: str = "booth") -> Recorder:
    """Starts a bot in a two-party room."""
    return stage.start(Recorder(name, stage.recbot, stage.url, f"peer:{room}", stage.folder, "--size", "320x180",
                                "--log-level", stage.log_level, *options))


def told(bot: Recorder, error: str, timeout: float) -> dict:
    """Waits for a line of progress with this error."""
    def matches(text: str) -> bool:
        return ((bot.progress(text).get("error")) or {}).get("name") == error
    return bot.progress(bot.line(matches, timeout)[1])
