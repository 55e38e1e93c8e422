"""A publisher that sends several layers."""

import numpy as np

from judge import Recording, mask
from scenarios.common import in_step, load
from stage import Stage
from verdict import Verdict, ms

# The finest stripes: a layer of half the size has only grey there. Somebody alone fills the canvas in the speaker
# layout, so that the full layer comes through pixel by pixel.
STRIPE = 1


def simulcast(stage: Stage, verdict: Verdict) -> None:
    """Simulcast 1280x720: the full layer arrives (fine stripes are sharp), and switching layers shows no damage."""
    stage.server()
    person = stage.publisher("ann", "--size", "1280x720", "--simulcast", "--stripes", str(STRIPE), "--stats",
                             "--bitrate", "2500000", colour="green")
    # Recorded from its first picture on, so that the layers rise while it is recorded.
    recorder = stage.recorder("simulcast", "--layout", "speaker", "--size", "1280x720", "--video-bitrate", "6M")
    recorder.recording()
    began = person.join().event("complete")["wall"]
    published = person.event("published", kind="camera")
    verdict.check(published["simulcast"], "the SDK did not publish simulcast")
    stage.until(began + 12)
    recorder.stop()

    recording = load(recorder, verdict)
    layers = {text["rid"]: text for text in person.events("outbound") if text["kind"] == "video" and text["rid"]}
    verdict.figure("layers sent " + " ".join(f"{rid}:{s['size']}@{s['fps']:.0f}" for rid, s in sorted(layers.items())))
    first = recording.shown(person.colour, 0)
    late = recording.zero + first - published["wall"]
    verdict.timely(late <= 1.5, f"first picture {ms(late)} after the publication")
    # From the first picture on, the plain half is there all the time, in one piece (but for the flashes).
    areas = recording.areas(person.colour, first)
    # A flash may be shown a little before its second: by the reports' small errors.
    flashing = ((recording.zero + recording.times[recording.times >= first] + 0.1) % 1) < 0.35
    damaged = np.flatnonzero((areas < 0.9 * np.median(areas)) & ~flashing)
    verdict.check(damaged.size == 0, f"{damaged.size} damaged pictures, the first at "
                  f"{first + damaged[0] / 30 if damaged.size else 0:.2f} s")
    seconds = [recording.calm(first + 0.1 + step / 2) for step in range(int(2 * (recording.duration - first)) - 1)]
    sharp = sharpness(recording, seconds, person.colour)
    full = [second for second, value in zip(seconds, sharp) if value > 0.5]
    verdict.check(bool(full) and full[0] - first < 8, "the full layer never arrives: contrast by half seconds: "
                  + " ".join(f"{value:.2f}" for value in sharp))
    verdict.figure(f"full layer after {full[0] - first if full else float('inf'):.1f} s")
    verdict.figure(f"contrast {sharp[0]:.2f} -> {max(sharp):.2f}")
    in_step(recording, [person], first + 1.2, recording.duration, verdict)


def sharpness(recording: Recording, moments: list[float], colour: str) -> list[float]:
    """How far the stripes of the left half are apart at moments: 1 is black and white, 0 is grey."""
    result = []
    for still in recording.stills(moments):
        found = np.flatnonzero(mask(still, colour).sum(axis=0) > still.shape[0] // 4)
        if not found.size:
            result.append(0.0)
            continue
        # The stripes fill the tile left of the plain half; an even part of its middle is looked at.
        right = int(found[0])
        part = still[still.shape[0] // 3: still.shape[0] // 2, right // 4: right * 3 // 4].mean(axis=(0, 2))
        result.append(float((np.percentile(part, 90) - np.percentile(part, 10)) / 255))
    return result
