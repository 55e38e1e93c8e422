"""Several files of one recording: in 16:9, in 9:16, and the sound alone."""

import json
import re

from judge import Recording, run as ffmpeg
from scenarios.common import FRAME, continuous, goes_on, in_step, load, small_disk
from scenarios.composed import compose, run
from stage import Process, Stage
from verdict import Verdict

SIZE = ("--size", "1280x720")
SECONDS = 9
HALF = 2 * FRAME


def outputs(stage: Stage, verdict: Verdict) -> None:
    """Three people, in 16:9, in 9:16 and as sound alone at once, each as whole as a recording of its own, for less than two
    recordings cost; then the same from the log, in 9:16 at half the rate."""
    stage.server()
    people = [stage.publisher(name, colour=colour).join() for name, colour in
              (("ann", "red"), ("bob", "green"), ("cleo", "blue"))]
    phone, sound, log = (stage.folder / name for name in ("phone.webm", "sound.webm", "session"))
    recorder = stage.recorder("several", *SIZE, "--also", f"portrait:{phone}", "--also", f"audio:{sound}", "--log", str(log))
    began = recorder.recording()
    # One talks, and stays where the talker is.
    people[0].tell("talk", "talking")
    stage.until(began + SECONDS)
    recorder.stop()
    verdict.check(recorder.output[-3:] == [str(phone), str(sound), str(recorder.path)], f"at the end: {recorder.output[-3:]}")
    told = recorder.last_progress["also"]
    verdict.check(all(file["failure"] is None and file["dropped_frames"] == 0 for file in told), f"progress: {told}")
    whole = load(recorder, verdict)
    judge(verdict, whole, Recording.load(str(phone)), people, FRAME, "live")
    same_sound(verdict, recorder.path, phone, sound)
    told = tags(stage, verdict, recorder.path, phone, sound)

    # The same two pictures by two recordings, side by side.
    pair = [stage.recorder("wide", *SIZE), stage.recorder("tall", "--size", "720x1280", "--layout", "portrait")]
    began = max(one.recording() for one in pair)
    stage.until(began + SECONDS)
    for one in pair:
        one.stop()
    cost, both = share(recorder), sum(share(one) for one in pair)
    verdict.figure(f"cpu {100 * cost:.0f}% of a core, two recordings {100 * both:.0f}%")
    verdict.timely(cost < both, f"several files cost {cost:.2f} of a core, two recordings {both:.2f}")

    phone, sound = stage.folder / "again-phone.webm", stage.folder / "again-sound.webm"
    again = compose(stage, verdict, log, "again", *SIZE, "--also", f"portrait,fps=15:{phone}", "--also", f"audio:{sound}")
    judge(verdict, again, Recording.load(str(phone)), people, HALF, "composed")
    same_sound(verdict, stage.folder / "again.webm", phone, sound)
    verdict.check(tags(stage, verdict, stage.folder / "again.webm", phone, sound) == told, "composed files have other tags")
    verdict.check(abs(again.duration - whole.duration) <= HALF, f"{again.duration:.3f} s of {whole.duration:.3f}")
    refused = stage.run("refused", "compose", str(log), "--output", "x.webm", "--also", f"audio:{sound}")
    verdict.check(refused.exit(10) == 40 and "exists already" in refused.errors, f"a file that is there: {refused.errors}")


def outputs_full(stage: Stage, verdict: Verdict) -> None:
    """A further file on a full disk ends and says so; the recording goes on, is whole, and the exit code says that it is not all."""
    stage.server()
    ann = stage.publisher("ann", colour="red").join()
    with small_disk(stage.folder / "disk", "512k") as disk:
        small = disk / "phone.webm"
        recorder = stage.recorder("full", "--also", f"portrait:{small}")
        recorder.recording()
        ended = goes_on(stage, recorder, [ann], failure, "a further file ends here", verdict)
        verdict.check(str(small) not in recorder.output, "the file that is not whole is named as one that is")
        # What was written before the disk was full plays.
        tracks = json.loads(run(stage, verdict, "probe", "--json", str(small)))["tracks"]
        verdict.check(tracks[0]["frames"] > 10, f"on the full disk: {tracks}")
        verdict.figure(f"the disk was full at {ended:.1f} s")


def judge(verdict: Verdict, wide: Recording, tall: Recording, people: list, frame: float, what: str) -> None:
    """Both pictures show everybody, in step with the sound, and are of one length and one beginning."""
    verdict.check(tall.pictures.shape[1] > tall.pictures.shape[2], f"{what}: 9:16 has the shape {tall.pictures.shape}")
    verdict.check(abs(tall.duration - wide.duration) <= HALF and abs(tall.zero - wide.zero) < 0.001,
                  f"{what}: {tall.duration:.3f} s from {tall.zero:.3f}, and {wide.duration:.3f} s from {wide.zero:.3f}")
    continuous(tall, verdict, frame)
    verdict.check(abs(len(tall.times) * frame - len(wide.times) * FRAME) <= frame, f"{what}: {len(tall.times)} pictures of {len(wide.times)}")
    in_step(wide, people, 2, wide.duration, verdict)
    if frame == FRAME:
        in_step(tall, people, 2, tall.duration, verdict)
    else:
        # A flash is one picture then, and up to one late.
        unseen = [person.name for person in people if tall.tile(person.colour, tall.calm(3)) is None]
        verdict.check(not unseen, f"{what}: {unseen} are not seen in 9:16")


def same_sound(verdict: Verdict, *files) -> None:
    """The files have the same packets of sound."""
    sums = {ffmpeg(["ffmpeg", "-v", "error", "-i", str(file), "-map", "0:a", "-c", "copy", "-f", "md5", "-"]) for file in files}
    verdict.check(len(sums) == 1, f"the sound differs: {sums}")


def tags(stage: Stage, verdict: Verdict, *files) -> dict[str, str]:
    """What the files say of themselves, which is the same."""
    found = [{tag["name"]: tag["value"] for tag in json.loads(run(stage, verdict, "probe", "--json", str(file)))["tags"]}
             for file in files]
    verdict.check(all(one == found[0] for one in found) and found[0].get("ENCODER", "").startswith("recbot ")
                  and found[0].get("ROOM") and re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}", found[0].get("DATE_RECORDED", "")),
                  f"tags: {found}")
    return found[0]


def share(process: Process) -> float:
    """Of a core, while it lived."""
    return (process.usage.ru_utime + process.usage.ru_stime) / (process.ended - process.started)


def failure(progress: dict) -> str | None:
    """Why the first further file has ended."""
    return next(iter(progress.get("also") or [{}])).get("failure")
