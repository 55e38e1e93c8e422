"""A session that was logged, and what is composed of it afterwards."""

import datetime
import json
import pathlib
import signal
import subprocess
import time

import numpy as np

from judge import BATCH, Recording, accepted, levels, probe
from judge import run as ffmpeg
from playing import plays
from scenarios.common import FRAME, continuous, in_step, load
from scenarios.control import Remote, chapters
from stage import Process, Publisher, Recorder, Stage
from verdict import Verdict

PASSPHRASE = "correct horse battery"
SIZE = ("--size", "960x540")
# Who sends what: colour, codec, layers in one stream, and whether it is encrypted end to end.
PEOPLE = {"ann": ("red", "VP8", "", False), "bob": ("green", "VP9", "L3T3_KEY", False),
          "cleo": ("blue", "H264", "", False), "dora": ("yellow", "VP8", "", True), "eve": ("cyan", "AV1", "", False)}
# What ffprobe calls them.
NAMES = {"VP8": "vp8", "VP9": "vp9", "H264": "h264", "H265": "hevc", "AV1": "av1", "opus": "opus", "PCMU": "pcm_mulaw",
         "PCMA": "pcm_alaw", "G722": "adpcm_g722"}


def composed(stage: Stage, verdict: Verdict) -> None:
    """All codecs, one encrypted, logged while recorded: composed again as it was live, in another layout, in part, without a
    person, as sound alone; a person is erased from the log."""
    stage.server()
    people = [stage.publisher(
        name, *(["--codec", codec] if codec != "VP8" else []), *(["--scalability", layers] if layers else []),
        *(["--e2ee", PASSPHRASE] if sealed else []), colour=colour) for name, (colour, codec, layers, sealed) in PEOPLE.items()]
    for person in people:
        person.join()
    key = stage.folder / "key"
    key.write_text(PASSPHRASE)
    key.chmod(0o600)
    timeline, log = stage.folder / "live.jsonl", stage.folder / "session"
    recorder = stage.recorder("live", *SIZE, "--e2ee-key-file", str(key), "--log", str(log), "--timeline", str(timeline))
    began = recorder.recording()
    for person in people:
        person.tell("talk", "talking")
    stage.until(began + 4)
    remote = Remote(stage, recorder, timeline)
    remote("layout", "speaker")
    remote("pin", "bob")
    remote("marker", "Half")
    stage.until(began + 9)
    recorder.stop()
    live = load(recorder, verdict)
    verdict.check(recorder.last_progress["log"]["missing_frames"] == 0, f"the log: {recorder.last_progress['log']}")

    again = compose(stage, verdict, log, "as-live", "--as-live", *SIZE, "--timeline", str(stage.folder / "again.jsonl"))
    # What was told is told again, word by word. A stop for which a machine was too slow leaves out its own line.
    told, again_told = timeline.read_text().splitlines(), (stage.folder / "again.jsonl").read_text().splitlines()
    verdict.check(again_told[:len(told)] == told and len(again_told) - len(told) <= 1, "the timelines differ")
    verdict.check(len(live.times) == len(again.times) and np.abs(live.times - again.times).max() <= 0.0011,
                  f"{len(live.times)} pictures live, {len(again.times)} composed")
    for file in (live, again):
        verdict.check(not (complaint := accepted(file.path)), complaint)
    marks = [at for at, text in chapters(pathlib.Path(again.path)) if text == "Half"]
    verdict.check(len(marks) == 1, f"the marker is no chapter: {chapters(pathlib.Path(again.path))}")
    plays(stage.folder, pathlib.Path(again.path), again.duration,
          [("start", 1.5, people[0].colour, True), *(("mark", at, people[1].colour, True) for at in marks)], verdict)
    noise = [likeness(a, b) for a, b in zip(live.pictures, again.pictures)]
    verdict.check(min(noise) >= 45, f"the pictures differ: {min(noise):.1f} dB in picture {int(np.argmin(noise))}")
    difference = levels(live, people[0].pitch) - levels(again, people[0].pitch)
    verdict.check(np.abs(difference).max() < 0.01, f"the sound differs by {np.abs(difference).max():.3f}")
    verdict.figure(f"as live: {min(noise):.1f} dB")
    in_step(again, people, 1.5, 4, verdict)

    grid = compose(stage, verdict, log, "grid", "--layout", "grid", "--size", "960x540", "--codec", "av1", codec="av1")
    in_step(grid, people, 2, grid.duration, verdict)

    part = compose(stage, verdict, log, "part", "--from", "3s", "--to", "7s", "--layout", "grid", *SIZE,
                   "--exclude-participant", "cleo")
    verdict.check(abs(part.duration - 4) <= 0.04, f"from 3 to 7 s are {part.duration:.3f} s")
    # From the first calm moment on: nobody flashes.
    in_step(part, [person for person in people if person.name != "cleo"], part.calm(0.1), part.duration, verdict)
    gone(part, live, people[2], verdict)

    run(stage, verdict, "compose", str(log), "--audio-only", "--output", "sound.webm")
    streams = json.loads(run(stage, verdict, "probe", "--json", "sound.webm"))["tracks"]
    verdict.check([(track["kind"], track["codec"]) for track in streams] == [("audio", "A_OPUS")], f"sound alone: {streams}")

    exported(stage, verdict, log, live, people, {name: (codec, "opus") for name, (_, codec, _, _) in PEOPLE.items()})

    run(stage, verdict, "log", "check", str(log))
    run(stage, verdict, "log", "erase", str(log), "--participant", "bob")
    names = [person["identity"] for person in json.loads(run(stage, verdict, "log", "info", "--json", str(log)))["participants"]]
    verdict.check(names == ["ann", "cleo", "dora", "eve"], f"the log still has {names}")
    bytes_left = b"".join(file.read_bytes() for file in sorted(log.iterdir()))
    verdict.check(b"bob" not in bytes_left and b"Bob" not in bytes_left, "the log still has the name")
    erased = compose(stage, verdict, log, "erased", "--layout", "grid", *SIZE)
    in_step(erased, [person for person in people if person.name != "bob"], 2, erased.duration, verdict)
    gone(erased, live, people[1], verdict)


def log_killed(stage: Stage, verdict: Verdict) -> None:
    """A recorder that is killed leaves a log that is composed up to its last half second."""
    stage.server()
    ann = stage.publisher("ann", colour="red").join()
    log = stage.folder / "session"
    recorder = stage.recorder("killed", "--log", str(log))
    began = recorder.recording()
    stage.until(began + 6)
    killed_at = recorder.send(signal.SIGKILL)
    recorder.exit(5)
    check = stage.run("check", "log", "check", str(log))
    verdict.check(check.exit(10) == 42 and "no end" in check.errors, f"log check: {check.errors}")
    recording = compose(stage, verdict, log, "rest")
    missing = killed_at - recording.zero - recording.duration
    verdict.check(-0.1 <= missing <= 0.5, f"{missing:.2f} s before the kill are missing")
    in_step(recording, [ann], 1.5, recording.duration, verdict)
    verdict.figure(f"{missing:.2f} s lost by the kill")


def log_full(stage: Stage, verdict: Verdict) -> None:
    """A log on a full disk ends and says so within five seconds; the recording goes on, and what is in the log is composed."""
    stage.server()
    ann = stage.publisher("ann", colour="red").join()
    disk = stage.folder / "disk"
    disk.mkdir()
    # The folder of a log is made by the recorder, and a disk has its own root.
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs", str(disk)], check=True)
    try:
        recorder = stage.recorder("full", "--log", str(disk / "session"))
        began = recorder.recording()
        end = time.time() + 40
        while not (recorder.last_progress.get("log") or {}).get("failure") and time.time() < end:
            time.sleep(0.1)
        told = [line for line in recorder.errors.splitlines() if "the session log has ended" in line]
        verdict.check(len(told) == 1 and "No space left on device" in told[0], f"the log says {told}")
        ended = recorder.last_progress["time_ms"] / 1000
        stage.until(time.time() + 3)
        recorder.stop()
        recording = load(recorder, verdict)
        verdict.check(recording.duration > ended + 2, "the recording did not go on")
        in_step(recording, [ann], 1.5, recording.duration, verdict)
        part = compose(stage, verdict, disk / "session", "until-full")
        verdict.check(ended - 5 <= part.duration <= ended + 1, f"the log has {part.duration:.2f} s of {ended:.2f}")
        verdict.figure(f"the log was full at {ended:.1f} s, {time.time() - began:.0f} s after the beginning all was composed")
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=False)


def exported(stage: Stage, verdict: Verdict, log: pathlib.Path, live: Recording, people: list[Publisher],
             codecs: dict[str, tuple[str, str]]) -> None:
    """Each track is a file of its own, as it was sent, on the live recording's clock: flashes and beeps of two files belong
    together, and are where the live recording has them."""
    folder = stage.folder / "tracks"
    run(stage, verdict, "log", "export", str(log), str(folder))
    written = json.loads((folder / "timeline.json").read_text())
    verdict.check(len(written["tracks"]) == 2 * len(people) and written["events"][0]["event"] == "started",
                  f"timeline.json: {written['tracks']}")
    for person in people:
        files = {track["source"]: folder / track["file"] for track in written["tracks"] if track["participant"] == person.name}
        for source, codec in zip(("camera", "microphone"), codecs[person.name]):
            [stream] = probe(str(files[source]))["streams"]
            verdict.check(stream["codec_name"] == NAMES[codec], f"{files[source].name} has {stream['codec_name']}")
            verdict.check(not (complaint := accepted(str(files[source]))), f"{files[source].name}: {complaint}")
        # A picture in layers is one picture, also for FFmpeg's own decoder.
        [stream] = json.loads(ffmpeg(["ffprobe", "-v", "error", "-count_frames", "-count_packets", "-show_streams", "-of", "json",
                                      str(files["camera"])]))["streams"]
        verdict.check(stream["nb_read_frames"] == stream["nb_read_packets"],
                      f"{files['camera'].name}: {stream['nb_read_frames']} pictures of {stream['nb_read_packets']} frames")
        if files["camera"].suffix == ".webm" and codecs[person.name][0] == "VP9":
            length = float(probe(str(files["camera"]))["format"]["duration"])
            plays(folder, files["camera"], length, [("track", live.calm(5.0), person.colour, True)], verdict)
        both = folder / f"{person.name}.webm"
        ffmpeg(["ffmpeg", "-v", "error", "-copyts", "-i", str(files["camera"]), "-i", str(files["microphone"]), "-map", "0:v",
                "-map", "1:a", "-vf", "scale=320:-2", "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "2M",
                "-fps_mode", "passthrough", "-enc_time_base:v", "1:1000",
                # The judge counts samples: gaps, also the one before the first packet, become silence.
                "-af", "aresample=48000:async=1:min_hard_comp=0.01:first_pts=0", "-ac", "2", "-c:a", "libopus", "-metadata",
                f"creation_time={datetime.datetime.fromtimestamp(live.zero, datetime.UTC).isoformat()}", str(both)])
        in_step(Recording.load(str(both)), [person], 3, live.duration - 0.5, verdict)


def compose(stage: Stage, verdict: Verdict, log: pathlib.Path, name: str, *options: str, codec: str = "vp8",
            frame: float = FRAME) -> Recording:
    """Composes a log, and decodes the file."""
    path = stage.folder / f"{name}.webm"
    run(stage, verdict, "compose", str(log), "--output", str(path), "--progress", "none", *options)
    recording = Recording.load(str(path), codec)
    continuous(recording, verdict, frame)
    return recording


def run(stage: Stage, verdict: Verdict, *arguments: str) -> str:
    """Runs recbot to its end; gives what it printed."""
    process: Process = stage.run(f"{arguments[0]}-{len(list(stage.folder.glob('*.log')))}", *arguments, before=BATCH)
    status = process.exit(120)
    verdict.check(status == 0, f"recbot {' '.join(arguments)}: {status}: {process.errors}")
    return "\n".join(process.output)


def likeness(a: np.ndarray, b: np.ndarray) -> float:
    """PSNR of two pictures, dB."""
    return 10 * np.log10(255 ** 2 / max(1e-9, float(((a.astype(float) - b) ** 2).mean())))


def gone(recording: Recording, whole: Recording, person: Publisher, verdict: Verdict) -> None:
    """Nothing is seen or heard of somebody."""
    seen = [t for t in np.arange(0.5, recording.duration, 0.5) if recording.tile(person.colour, recording.calm(t)) is not None]
    verdict.check(not seen, f"{person.name} is seen at {seen}")
    # The others beep at the same instants, and each beep has a little of the pitches beside it.
    heard = levels(recording, person.pitch).max() / levels(whole, person.pitch).max()
    verdict.check(heard < 0.25, f"{person.name} is heard, {heard:.2f} as loud")
