"""Two-party rooms whose bot is behind a bad network: headless Chromium is the other side, coturn the relay."""

import numpy as np

from browser import Browser
from disruptions import relays, wiring
from disruptions.judging import load
from judge import AUDIO_RATE, Recording
from scenarios.booth import GREEN, RECORDING, beeping, enter, press
from stage import Recorder, Stage
from verdict import Verdict, ms

# From the beginning of an exchange until a connection that does not come about is given up, and a little more.
WAIT = 15.0
AGAIN = 8.0
# Until media that broke off flows again through the relay.
CHANGED = 8.0


def booths(stage: Stage, verdict: Verdict) -> None:
    """Nothing but TCP gets out, and the relay is there only when the first attempt has begun: the next one goes over
    it. Then another call, whose media flows directly until that is cut off."""
    password = relays.begin(stage)
    browser = stage.start(Browser(stage.folder, namespace=stage.namespace))
    walled = caller(stage, "walled", wiring.wire(stage, 1, "delay=20ms; 0s udp loss=100%"))
    meet(stage, browser, "walled")
    asked = stage.until(0)
    stage.until(asked + 6)
    coturn = relays.relay(stage, password)
    light = browser.until(RECORDING, WAIT + AGAIN)
    verdict.check(light - asked >= WAIT - 3, f"walled: connected after {ms(light - asked)}, without the relay")
    stage.until(light + 5)
    bye = leave(browser, walled, verdict)
    told = [walled.progress(line).get("connection") for line in walled.output]
    verdict.check("relaying" in told, f"walled: no word of relays: {sorted(set(filter(None, told)))}")
    recording = load(walled, verdict, errors=False)
    first = recording.shown(GREEN, 0.0)
    verdict.check(first <= light - recording.zero + 1.5, f"walled: the first picture comes at {first:.2f} s")
    flows(recording, first + 1, bye - recording.zero - 0.5, "walled", verdict)
    used = relays.allocations(coturn)
    verdict.check(used >= 1, "walled: the relay gave out no address")
    verdict.figure(f"walled after {ms(light - asked)}")

    near = wiring.wire(stage, 2, "delay=20ms")
    direct = caller(stage, "direct", near)
    meet(stage, browser, "direct")
    light = browser.until(RECORDING, WAIT)
    stage.until(light + 4)
    cut = near.tell("udp loss=100%")["wall"]
    stage.until(cut + CHANGED + 6)
    bye = leave(browser, direct, verdict)
    recording = load(direct, verdict, errors=False)
    start, end = cut - recording.zero, bye - recording.zero
    gap = longest_pause(recording, start - 2, end)
    verdict.timely(1 < gap <= CHANGED, f"direct: no sound for {ms(gap)}")
    lost, back = (direct.happened(f"connection-{name}")[-1:] for name in ("lost", "restored"))
    if verdict.check(bool(lost and back), "direct: no loss was told, or no return"):
        flows(recording, back[0]["time_ms"] / 1000 + 1, end - 0.5, "direct", verdict)
    verdict.check(relays.allocations(coturn) > used, "direct: the relay gave out no other address")
    verdict.figure(f"direct silent for {ms(gap)}")


def caller(stage: Stage, name: str, near: wiring.Wire) -> Recorder:
    """A bot that waits in a room of its own, as host."""
    bot = wiring.bot(stage, name, near, "--as", "host", room=f"peer:{name}", identity="bot")
    bot.recording()
    return bot


def meet(stage: Stage, browser: Browser, room: str) -> None:
    """The page goes into the bot's room. Only the machine's own address lets a page use the camera without TLS."""
    enter(stage, browser, room=room, url=f"ws://127.0.0.1:{stage.url.rsplit(':', 1)[1]}")
    browser.until("['connecting', 'connected'].includes(document.body.dataset.state)")


def leave(browser: Browser, bot: Recorder, verdict: Verdict) -> float:
    """The page hangs up, and that ends the recording; gives the wall-clock time."""
    bye = press(browser, "hang-up")
    status = bot.exit(10)
    verdict.check(status == 0, f"{bot.name}: exit code {status}: {bot.tail()}")
    return bye


def longest_pause(recording: Recording, start: float, end: float) -> float:
    """The longest time from one beep of the page to the next."""
    sound = recording.audio[int(start * AUDIO_RATE):int(end * AUDIO_RATE)]
    loud = np.flatnonzero(np.abs(sound) > 0.05) / AUDIO_RATE
    return float(np.diff(np.concatenate(([0], loud, [end - start]))).max())


def flows(recording: Recording, start: float, end: float, name: str, verdict: Verdict) -> None:
    """Pictures and sound, all the time."""
    areas = recording.areas(GREEN, start, end)
    verdict.check(end - start > 3 and min(areas, default=0) > 0.3, f"{name}: the picture is gone for a while")
    rate = beeping(recording, start, end)
    verdict.check(rate > 1.5, f"{name}: {rate:.1f} beeps a second")
