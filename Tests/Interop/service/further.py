"""Further files of a job: joined over parts, delivered beside the recording, fetched and deleted with it."""

import json
import pathlib
import signal
import time

from judge import Recording, decodes
from scenarios.control import chapters
from service.desk import Service
from service.losses import begin, finish, holder, process
from stage import Stage
from verdict import Verdict


def further(stage: Stage, verdict: Verdict) -> None:
    """A worker is killed: what another one records goes on in each of the files. They come with the recording, and go with it."""
    service = Service(stage)
    try:
        refusals(service, verdict)
        service.worker()
        ann, job = begin(service, "room", "--also", "portrait", "--also", "audio", "--also", "size=320x180,codec=vp9")
        service.worker()
        stage.until(time.time() + 4.0)
        first = process(service, holder(service, job))
        first.send(signal.SIGKILL)
        service.wait(lambda: holder(service, job) not in ("", first.name), "nobody took the job", timeout=30)
        service.reaches(job, {"running"}, 10)
        stage.until(time.time() + 4.0)
        whole = finish(service, job, verdict, parts=2)
        if not whole:
            return
        file = service.job(job)["files"][0]
        stem = file["location"].removesuffix(".webm")
        told = {side["kind"]: (side["location"], side["content_type"]) for side in file.get("beside", [])}
        names = ("portrait", "audio", "also")
        if not verdict.check(told == {name: (f"{stem}.{name}.webm", "video/webm") for name in names}, f"beside: {told}"):
            return
        marks = [text for _, text in chapters(pathlib.Path(file["location"])) if text.startswith("Recording")]
        for side in file["beside"]:
            path = pathlib.Path(side["location"])
            report = probed(service, path)
            length = report["durationMs"] / 1000
            verdict.check(path.stat().st_size == side["size"] and not decodes(str(path)), f"{path} does not decode")
            verdict.check(abs(length - whole.duration) < 1, f"{path.name} has {length:.2f} s of {whole.duration:.2f} s")
            verdict.check([text for _, text in chapters(path) if text.startswith("Recording")] == marks,
                          f"{path.name}: {chapters(path)}")
        tall, small = Recording.load(f"{stem}.portrait.webm"), Recording.load(f"{stem}.also.webm", "vp9")
        verdict.check(tall.pictures.shape[1] > tall.pictures.shape[2], f"9:16 has the shape {tall.pictures.shape}")
        for one in (tall, small):
            verdict.check(max(one.area(ann.colour, one.duration - before) for before in (0.6, 0.9, 1.2, 1.5)) > 0.05,
                          "the second part is not shown")
        verdict.check(kinds(service, f"{stem}.audio.webm") == ["audio"], "sound alone has pictures")

        output = stage.folder / "fetched" / "talk.webm"
        output.parent.mkdir()
        lines = service.ask("jobs", "download", job, "-o", str(output)).splitlines()
        verdict.check([pathlib.Path(line).name for line in lines] == [f"talk.{name}.webm" for name in names] + ["talk.webm"],
                      f"downloaded: {lines}")
        verdict.check(output.with_name("talk.portrait.webm").read_bytes() == pathlib.Path(f"{stem}.portrait.webm").read_bytes(),
                      "what was downloaded is another file")
        service.ask("recordings", "delete", job)
        left = list(pathlib.Path(stem).parent.glob("*.webm"))
        verdict.check(not left, f"what was beside the file is not deleted: {left}")
        verdict.figure(f"{len(names)} further files of {whole.duration:.1f} s in two parts")
        ann.tell("leave", "left")
        lost(service, verdict)
    finally:
        service.close()


def lost(service: Service, verdict: Verdict) -> None:
    """A further file that is gone costs the recording nothing, and the job says so."""
    ann, job = begin(service, "second", "--also", "portrait", "--also", "audio")
    service.stage.until(time.time() + 2.0)
    parts = list((service.data / "worker").rglob("*.portrait.webm"))
    verdict.check(len(parts) == 1, f"the part's further file: {parts}")
    for part in parts:
        part.unlink()
    service.ask("jobs", "control", job, "stop")
    done = service.reaches(job, {"completed", "failed", "cancelled"}, 40)
    error = done.get("error", {})
    verdict.check(done["state"] == "completed" and error.get("name") == "alsoFailed"
                  and "portrait is missing" in error["message"], f"a file that is gone: {done['state']} {error}")
    verdict.check([side["kind"] for side in done["files"][0]["beside"]] == ["audio"], f"beside: {done['files'][0]}")
    verdict.check(not decodes(done["files"][0]["location"]), "the recording does not decode")
    ann.tell("leave", "left")


def refusals(service: Service, verdict: Verdict) -> None:
    """What can't be is refused in one line, by the command and by the backend."""
    for words, reason in (("poster", "no kind of file"), ("audio,size=320x180", "sound alone has no size"),
                          ("portrait:x.webm", "named after its recording"), ("fps=15", "pictures a second"),
                          ("bitrate=1k", "not a bit rate"), ("layout=no-such.yaml", "name of a layout")):
        told = service.ask("jobs", "submit", "room", "--also", words, status=64)
        verdict.check(reason in told and "\n" not in told.strip(), f"--also {words}: {told}")
    told = service.ask("jobs", "submit", "room", *["--also", "audio"] * 9, status=64)
    verdict.check("at most 8" in told, f"nine further files: {told}")


def probed(service: Service, path: pathlib.Path | str) -> dict:
    """What `recbot probe` says."""
    process = service.stage.run(f"probe-{time.monotonic_ns()}", "probe", "--json", str(path))
    process.exit(20)
    return json.loads("\n".join(process.output))


def kinds(service: Service, path: str) -> list[str]:
    """The kinds of a file's tracks."""
    return [track["kind"] for track in probed(service, path)["tracks"]]
