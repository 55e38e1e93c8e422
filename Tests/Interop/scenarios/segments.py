"""Recordings that are written in segments beside their file, and watched while they are made."""

import functools
import http.server
import json
import pathlib
import re
import subprocess
import threading

from browser import Browser
from judge import Recording, decodes
from playing import Ranges
from scenarios.common import SKEW, continuous, goes_on, in_step, load, small_disk
from stage import Stage
from verdict import Verdict

LENGTH = 3
SECONDS = 10
PAGE = pathlib.Path(__file__).parents[3] / "Sources/recbot/Documentation.docc/Segments.md"


def segments(stage: Stage, verdict: Verdict) -> None:
    """Two people in segments of three seconds, which the documented page plays in Chromium while they are recorded: each is closed
    in time and whole, and joined again they are the recording."""
    stage.server()
    people = [stage.publisher(name, colour=colour).join() for name, colour in (("ann", "red"), ("bob", "green"))]
    recorder = stage.recorder("talk", "--size", "640x360", "--segments", f"{LENGTH}s")
    folder = stage.folder / "talk.segments"
    index = folder / "index.jsonl"
    began = recorder.recording()
    html = re.search(r"```html\n(.*?)```", PAGE.read_text(), re.DOTALL)[1].replace("standup.segments", folder.name)
    (stage.folder / "live.html").write_text(html)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Ranges, directory=str(stage.folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = Browser(stage.folder, "viewer")
    try:
        browser.open(f"http://127.0.0.1:{server.server_port}/live.html")
        # The first one is watched while the second is recorded.
        watched = browser.until("document.querySelector('video')?.currentTime > 0.5", timeout=15) - began
        verdict.timely(watched < 2.5 * LENGTH, f"a viewer sees the first segment {watched:.1f} s after the beginning")
        # Progress is told twice a second, the index at once.
        recorder.line(lambda text: (recorder.progress(text).get("segments") or {}).get("closed", 0) >= 1, timeout=3)
        verdict.figure(f"watched after {watched:.1f} s")
        stage.until(began + SECONDS)
        recorder.stop()
        browser.until("document.querySelector('video').ended", timeout=20)
        shown = browser.run("document.querySelector('video').duration")
        buffered = browser.run("document.querySelector('video').buffered.length")
        failure = browser.run("document.querySelector('video').error?.message ?? null")
    finally:
        browser.close()
        server.shutdown()
        server.server_close()

    recording = load(recorder, verdict)
    in_step(recording, people, 1.5, recording.duration, verdict)
    verdict.check(failure is None and buffered == 1 and abs(shown - recording.duration) < 0.1,
                  f"Chromium played {shown} s of {recording.duration:.2f} in {buffered} pieces: {failure}")
    verdict.check(recorder.output[-2:] == [str(index), str(recorder.path)], f"at the end: {recorder.output[-2:]}")
    *lines, last = map(json.loads, index.read_text().splitlines())
    end = round(recording.duration * 1000)
    verdict.check(last["ended"] and last["segments"] == len(lines) == 1 + int(recording.duration // LENGTH), f"the index: {lines} {last}")
    verdict.check([line["start_ms"] for line in lines] == [1000 * LENGTH * number for number in range(len(lines))]
                  and abs(last["end_ms"] - end) <= 40, f"the index: {lines} {last}")
    files = [folder / line["file"] for line in lines]
    for line, file in zip(lines, files):
        words = decodes(str(file))
        verdict.check(not words, f"{file.name}: {words}")
        verdict.check(file.stat().st_size == line["bytes"], f"{file.name}: {file.stat().st_size} bytes, {line}")
    # One by itself is like any recording; and all of them are the one.
    second = Recording.load(str(files[1]))
    continuous(second, verdict)
    in_step(second, people, 0.1, second.duration, verdict, limit=SKEW)
    joined = stage.folder / "joined.webm"
    done = subprocess.run([stage.recbot, "concat", str(joined), *map(str, files)], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)
    verdict.check(done.returncode == 0 and "no gap" in done.stdout and not done.stderr, f"concat: {done.stdout} {done.stderr}")
    verdict.check(packets(joined) == packets(recorder.path), "the joined segments are not the recording")


def segments_full(stage: Stage, verdict: Verdict) -> None:
    """Segments on a full disk end and say so; the recording goes on, is whole, and the exit code says that it is not all."""
    stage.server()
    ann = stage.publisher("ann", colour="red").join()
    with small_disk(stage.folder / "full.segments", "640k") as disk:
        recorder = stage.recorder("full", "--segments", "2s")
        recorder.recording()
        ended = goes_on(stage, recorder, [ann], failure, "the segments have ended", verdict)
        closed = [json.loads(line)["file"] for line in (disk / "index.jsonl").read_text().splitlines()]
        verdict.check(len(closed) == recorder.last_progress["segments"]["closed"], f"the index: {closed}, {recorder.last_progress}")
        for name in closed:
            words = decodes(str(disk / name))
            verdict.check(not words, f"{name}: {words}")
        verdict.figure(f"the disk was full at {ended:.1f} s, {len(closed)} segments are closed")


def failure(progress: dict) -> str | None:
    """Why the segments have ended."""
    return (progress.get("segments") or {}).get("failure")


def packets(path: pathlib.Path) -> str:
    """The packets of a file, with their times."""
    done = subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-map", "0", "-c", "copy", "-copyts", "-f", "framemd5", "-"],
                          capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    return "\n".join(sorted(line for line in done.stdout.splitlines() if not line.startswith("#")))
