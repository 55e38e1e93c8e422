"""Two-party rooms: headless Chromium on the server's own page is the other side."""

import numpy as np

from browser import Browser
from judge import AUDIO_RATE, Recording
from scenarios.common import FRAME, continuous
from stage import Recorder, Stage, make_token
from verdict import Verdict, ms

GREEN = "008700"  # most of what Chromium's fake camera shows
RECORDING = "document.body.dataset.recording === 'true'"


def enter(stage: Stage, browser: Browser, name: str = "Ann", room: str = "booth", url: str = "") -> None:
    """Opens the page of the room and joins, as a caller does."""
    token = make_token("ann", room, canPublish=True, hidden=None)
    browser.open(f"{(url or stage.url).replace('ws', 'http', 1)}/peer/{room}#token={token}")
    browser.until("document.querySelector('#join')?.disabled === false")
    browser.run(f"document.querySelector('#name').value = '{name}'; document.querySelector('#join').click()")


def press(browser: Browser, button: str) -> float:
    """Presses a button of the page; gives the wall-clock time."""
    return browser.run(f"document.querySelector('#{button}').click(); Date.now()") / 1000


def booth(stage: Stage, verdict: Verdict) -> None:
    """A message is left: the page is there first, the camera goes off and on, the page is loaded again, and its end is
    the recording's."""
    stage.server()
    browser = stage.start(Browser(stage.folder))
    enter(stage, browser)
    browser.until("document.body.dataset.state === 'waiting'")
    recorder = stage.start(Recorder("booth", stage.recbot, stage.url, "peer:booth", stage.folder, "--log-level",
                                    stage.log_level))
    recorder.recording()
    light = browser.until(RECORDING)
    stage.until(light + 3)
    off = press(browser, "camera")
    press(browser, "microphone")
    stage.until(off + 2)
    on = press(browser, "camera")
    press(browser, "microphone")
    stage.until(on + 3)
    before = browser.run("performance.timeOrigin")
    reload = browser.reload()
    again = browser.until(f"performance.timeOrigin > {before} && {RECORDING}")
    stage.until(again + 3)
    bye = press(browser, "hang-up")
    browser.until("document.body.dataset.stage === 'end'")
    shown = browser.run("document.querySelector('#end-title').textContent")
    verdict.check(shown == "Message recorded", f"the page says '{shown}'")
    status = recorder.exit(10)
    verdict.check(status == 0, f"exit code {status}: {recorder.tail()}")

    recording = whole(recorder, verdict)
    zero = recording.zero
    first = recording.shown(GREEN, 0.0)
    verdict.check(first <= light - zero + 0.8, f"the first picture comes at {first:.2f} s")
    gone, back = recording.gone(GREEN, off - zero - 0.1), recording.shown(GREEN, on - zero)
    verdict.timely(-0.1 <= gone - (off - zero) <= 0.35, f"the camera goes off {ms(gone - (off - zero))} after the button")
    verdict.timely(back - (on - zero) <= 1.5, f"the camera is back {ms(back - (on - zero))} after the button")
    returned = recording.shown(GREEN, again - zero)
    verdict.timely(returned - (reload - zero) <= 5, f"the picture is back {ms(returned - (reload - zero))} after the reload")
    verdict.check(min(recording.areas(GREEN, first + 0.2, off - zero - 0.1), default=0) > 0.3, "the picture is cut")
    heard = {"before": (first + 1, off - zero - 0.2), "after": (returned + 1, bye - zero)}
    for name, (start, end) in heard.items():
        rate = beeping(recording, start, end)
        verdict.check(rate > 1.5, f"{rate:.1f} beeps a second {name} the reload")
    silence = beeping(recording, off - zero + 0.6, on - zero)
    verdict.check(silence == 0, f"{silence:.1f} beeps a second while the microphone is off")
    error = recording.duration - (bye - zero)
    verdict.timely(abs(error) <= 0.25, f"the recording ends {ms(error)} after the goodbye")
    verdict.check(not [line for line in browser.console if "exception" in line], f"the page: {browser.console}")
    verdict.figure(f"light after {ms(light - recorder.started)}, reload costs {ms(returned - (reload - zero))}, "
                   f"end {error * 1000:+.0f} ms")


def interview(stage: Stage, verdict: Verdict) -> None:
    """The bot is there first, as host; the server is killed and comes back while they talk; the other side disappears
    without a word."""
    server = stage.server()
    browser = stage.start(Browser(stage.folder))
    recorder = stage.start(Recorder("interview", stage.recbot, stage.url, "peer:booth", stage.folder, "--as", "host",
                                    "--stop-when-empty", "6s", "--log-level", stage.log_level))
    recorder.recording()
    enter(stage, browser, "Zoë")
    light = browser.until(RECORDING)
    stage.until(light + 2)
    server.close()
    stage.until(light + 5)
    stage.server(stage.url.rsplit(":", 1)[1])
    stage.until(light + 8)
    verdict.check(browser.run(RECORDING), "the connection did not survive the server's restart")
    browser.close()
    vanished = stage.until(0)
    status = recorder.exit(30)
    verdict.check(status == 0, f"exit code {status}: {recorder.tail()}")

    recording = whole(recorder, verdict)
    zero = recording.zero
    first = recording.shown(GREEN, 0.0)
    areas = recording.areas(GREEN, first + 0.2, vanished - zero - 0.5)
    verdict.check(min(areas, default=0) > 0.3, f"the restart of the server is seen: {min(areas, default=0):.2f}")
    rate = beeping(recording, first + 1, vanished - zero - 0.5)
    verdict.check(rate > 1.5, f"{rate:.1f} beeps a second")
    gone = recording.gone(GREEN, vanished - zero - 1)
    # Nothing comes for 2.5 s; then the last picture is dimmed for 3 s.
    verdict.check(gone - (vanished - zero) <= 6.5, f"who vanished is seen for {gone - (vanished - zero):.1f} s")
    ended = recording.duration - (vanished - zero)
    verdict.check(5.9 <= ended <= 20, f"the recording ends {ended:.1f} s after the other side vanished")
    verdict.figure(f"light after {ms(light - recorder.started)}, empty after {ended:.1f} s")


def whole(recorder: Recorder, verdict: Verdict) -> Recording:
    """The finished file."""
    recording = Recording.load(str(recorder.path))
    verdict.check(recorder.output[-1] == str(recorder.path), "standard output does not end with the file's path")
    continuous(recording, verdict)
    verdict.check(recorder.last_progress.get("decode_errors") == 0, "decode errors")
    return recording


def beeping(recording: Recording, start: float, end: float) -> float:
    """Beeps a second; Chromium's fake microphone makes two."""
    block = AUDIO_RATE // 50
    sound = recording.audio[int(start * AUDIO_RATE):int(end * AUDIO_RATE)]
    levels = np.sqrt((sound[:len(sound) // block * block].reshape(-1, block) ** 2).mean(axis=1))
    loud = levels > 0.03
    return float((loud[1:] & ~loud[:-1]).sum() / max(end - start, FRAME))
