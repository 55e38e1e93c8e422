"""What publishers do with their tracks while they are recorded: mute, unmute, unpublish, publish again."""

import numpy as np

from judge import Recording, mask, same
from reading import card, label, read
from scenarios.common import in_step, load
from stage import Publisher, Stage
from verdict import Verdict, ms

REASONS = ["Camera off", "No signal", "Not received", "Joining…", "Reconnecting…", "Encrypted", "Hidden"]
MUTE_ICON = "ff7a75"


def tracks(stage: Stage, verdict: Verdict) -> None:
    """Camera and microphone muted, unmuted; camera unpublished and published again: the right card, the same tile."""
    stage.server()
    actor = stage.publisher("actor", colour="green", display="Sophie")
    other = stage.publisher("other", colour="blue", display="Matthew")
    actor.join()
    other.join()
    recorder = stage.recorder("tracks", "--size", "1280x720")
    began = recorder.recording()
    stage.until(began + 1)
    muted = actor.tell("mute-camera", "muted")
    stage.until(muted + 2)
    unmuted = actor.tell("unmute-camera", "unmuted")
    stage.until(unmuted + 2.5)
    silent = actor.tell("mute-microphone", "muted")
    stage.until(silent + 2)
    heard = actor.tell("unmute-microphone", "unmuted")
    stage.until(heard + 1)
    gone = actor.tell("unpublish-camera", "unpublished")
    stage.until(gone + 1.5)
    back = actor.tell("publish-camera", "published")
    renamed = actor.tell("name=Penelope", "named")
    stage.until(back + 3)
    recorder.stop()

    recording = load(recorder, verdict)
    at = {name: wall - recording.zero for name, wall in (
        ("muted", muted), ("unmuted", unmuted), ("silent", silent), ("heard", heard), ("gone", gone), ("back", back))}
    before = recording.tile(actor.colour, at["muted"] - 0.6)
    if not verdict.check(before is not None, "no tile of the actor's colour at the beginning"):
        return
    verdict.figure(disappears(recording, actor, at["muted"], at["unmuted"], "mute", 0.2, verdict))
    verdict.figure(returns(recording, actor, at["unmuted"], before, "unmute", 1.5, verdict))
    verdict.figure(disappears(recording, actor, at["gone"], at["back"], "unpublish", 0.3, verdict))
    verdict.figure(returns(recording, actor, at["back"], before, "publish", 2.0, verdict))

    moments = {"unmuted": at["silent"] - 0.3, "camera muted": at["muted"] + 1.2, "microphone muted": at["silent"] + 1,
               "microphone unmuted": at["heard"] + 0.7, "unpublished": at["gone"] + 1,
               "renamed": renamed - recording.zero + 1.5}
    stills = dict(zip(moments, recording.stills([recording.calm(moment) for moment in moments.values()])))
    tile = recording.full(before)
    for moment in ("camera muted", "unpublished"):
        reason, likeness = read(stills[moment], card(tile), REASONS)
        verdict.check(reason == "Camera off" and likeness > 0.7, f"{moment}: the card says {reason} ({likeness:.2f})")
        name, likeness = read(stills[moment], label(tile), [actor.display, other.display])
        verdict.check(name == actor.display, f"{moment}: the card's label reads {name} ({likeness:.2f})")
    name, likeness = read(stills["renamed"], label(tile), [actor.display, other.display, "Penelope"])
    verdict.check(name == "Penelope" and likeness > 0.7, f"the new name's label reads {name} ({likeness:.2f})")
    for moment, still in stills.items():
        left, top, right, bottom = label(tile)
        icon = int(mask(still[top:bottom, left:right], MUTE_ICON, 60).sum())
        verdict.check((icon >= 20) == (moment == "microphone muted"), f"{moment}: {icon} pixels of a mute icon")
    # Muted means silent, and nothing else is touched: the other goes on in step through all of it.
    silence = recording.audio[int((at["silent"] + 0.3) * 48_000):int((at["heard"] - 0.1) * 48_000)]
    tone = np.abs(np.fft.rfft(silence))
    pitches = np.fft.rfftfreq(len(silence), 1 / 48_000)
    power = [tone[np.abs(pitches - person.pitch) < 20].max() for person in (actor, other)]
    verdict.check(power[0] < 0.05 * power[1], "the actor's beeps are heard while the microphone is muted")
    verdict.check(recording.areas(other.colour, 1.5).max() > 0.2, "the other has no tile")
    in_step(recording, [other], 1.5, recording.duration, verdict)
    # Before and after everything, the actor too: a track published again is in step with sound that went on.
    in_step(recording, [actor], at["back"] + 1.5, recording.duration, verdict)


def disappears(recording: Recording, person: Publisher, at: float, until: float, what: str, limit: float,
               verdict: Verdict) -> str:
    """After a camera goes off its picture is gone soon, and stays away."""
    gone = recording.gone(person.colour, at - 0.1) - at
    verdict.timely(gone <= limit, f"{what}: the picture is gone after {ms(gone)}")
    # Nothing of the person's colour until the camera is on again.
    rest = recording.areas(person.colour, at + limit, until - 0.05)
    verdict.check(rest.size > 0 and rest.max() < 0.002, f"{what}: the picture comes back without a camera")
    return f"{what} {ms(gone)}"


def returns(recording: Recording, person: Publisher, at: float, before: tuple[int, int, int, int], what: str,
            limit: float, verdict: Verdict) -> str:
    """After a camera goes on its picture is back soon, in the same place."""
    shown = recording.shown(person.colour, at - 0.05) - at
    verdict.timely(shown <= limit, f"{what}: the picture is back after {ms(shown)}")
    tile = recording.tile(person.colour, at + limit + 0.2)
    verdict.check(same(tile, before), f"{what}: the tile was at {before} and is at {tile}")
    return f"{what} {ms(shown)}"
