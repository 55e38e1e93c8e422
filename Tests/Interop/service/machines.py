"""Workers on machines of their own: none sees the folder of one that is gone, and parts go through a store, or stay."""

import json
import math
import pathlib
import re
import signal
import struct
import time
import urllib.request

import boto3

from judge import Recording, decodes
from scenarios.control import chapters
from service.desk import Service
from service.losses import begin, holder, is_shown_late, process
from stage import Stage
from verdict import Verdict

BUCKET = "recordings"


class Store:
    """An S3 server, with an empty bucket or without one."""

    def __init__(self, stage: Stage, bucket: bool = True):
        _, self.url = stage.store()
        if bucket:
            self.make_bucket()

    def make_bucket(self) -> None:
        """Makes the bucket."""
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/{BUCKET}", method="PUT"), timeout=5).close()

    def settings(self, upload: str) -> dict[str, str]:
        """The environment of workers that use it."""
        return {"RECBOT_UPLOAD": upload, "RECBOT_S3_ENDPOINT": self.url, "RECBOT_S3_BUCKET": BUCKET,
                "RECBOT_S3_PATH_STYLE": "true", "RECBOT_S3_PREFIX": "talks", "AWS_ACCESS_KEY_ID": "interop",
                "AWS_SECRET_ACCESS_KEY": "interop-secret", "AWS_REGION": "us-east-1"}

    @property
    def client(self):
        """Its client."""
        return boto3.client("s3", endpoint_url=self.url, region_name="us-east-1", aws_access_key_id="interop",
                            aws_secret_access_key="interop-secret")

    def keys(self) -> list[str]:
        """All objects."""
        return [entry["Key"] for entry in self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])]

    def fetch(self, location: str, to: pathlib.Path) -> pathlib.Path:
        """An object as a file."""
        self.client.download_file(BUCKET, location.removeprefix(f"s3://{BUCKET}/"), str(to))
        return to


def joined_file(service: Service, store: Store, job: str, verdict: Verdict, error: str = "",
                files: int = 1) -> Recording | None:
    """Stops a job of two parts; gives its one file out of the store, checked."""
    service.ask("jobs", "control", job, "stop")
    done = service.reaches(job, {"completed", "failed", "cancelled"}, 60)
    if not verdict.check(done["state"] == "completed", f"{done['state']}: {done.get('error')}"):
        return None
    verdict.check(done.get("error", {}).get("name", "") == error, f"the error is {done.get('error')}")
    verdict.check(len(done["parts"]) == 2 and len({part["worker"] for part in done["parts"]}) == 2,
                  f"the parts are {done['parts']}")
    if not verdict.check(len(done["files"]) == 1, f"{len(done['files'])} files: {done['files']}"):
        return None
    path = store.fetch(done["files"][0]["location"], service.stage.folder / "joined.webm")
    trouble = decodes(str(path))
    verdict.check(not trouble, f"the file does not decode: {trouble}")
    service.wait(lambda: not [key for key in store.keys() if "/.parts/" in key],
                 lambda: f"parts are left in the store: {store.keys()}")
    verdict.check(len(store.keys()) == files, f"the store has {store.keys()}")
    return Recording.load(str(path))


def unplug(service: Service, machine: int) -> pathlib.Path:
    """Takes a machine's disk away from everybody else; gives where it is now."""
    folder = service.stage.folder / f"machine-{machine}"
    return folder.rename(folder.with_name(folder.name + "-away"))


def gap_of(path: str, verdict: Verdict) -> float:
    """When the one gap of a file begins."""
    gaps = [at for at, text in chapters(pathlib.Path(path)) if text == "Recording interrupted"]
    verdict.check(len(gaps) == 1, f"{len(gaps)} gaps: {chapters(pathlib.Path(path))}")
    return gaps[0] if gaps else 0.0


def drawn(paths: dict, location: str, recording: Recording, verdict: Verdict) -> None:
    """The poster and the storyboard are of the whole joined file, which was delivered to `location`."""
    sizes = [struct.unpack(">II", paths[kind].read_bytes()[16:24]) for kind in ("poster", "storyboard-image")]
    seconds = math.ceil(recording.duration)
    cues = re.findall(r"(?m)^\S+ --> (\S+)\n(\S+)#xywh=(\d+),(\d+),160,90$", paths["storyboard"].read_text())
    rows = 1 + max(int(y) // 90 for *_, y in cues)
    verdict.check(sizes == [recording.full_size, (160 * min(10, seconds), 90 * math.ceil(seconds / 10))] and sizes[1][1] >= 90 * rows,
                  f"sizes of pictures: {sizes}")
    name = location.split("/")[-1].removesuffix(".webm") + ".storyboard.png"
    verdict.check(len(cues) == seconds and {image for _, image, *_ in cues} == {name}, f"the storyboard: {cues}")


def besides(service: Service, store: Store, job: str, recording: Recording, start: float, verdict: Verdict) -> float:
    """What is beside the file of a job of two parts, of which the first ends at `start`; gives how long nobody recorded."""
    file = service.job(job)["files"][0]
    stem = file["location"].removesuffix(".webm")
    told = {side["kind"]: (side["location"], side["content_type"]) for side in file.get("beside", [])}
    wanted = {"manifest": (f"{stem}.json", "application/json"), "talkers": (f"{stem}.talkers.vtt", "text/vtt"),
              "poster": (f"{stem}.poster.png", "image/png"), "storyboard-image": (f"{stem}.storyboard.png", "image/png"),
              "storyboard": (f"{stem}.storyboard.vtt", "text/vtt"), "audio": (f"{stem}.audio.webm", "video/webm")}
    if not verdict.check(told == wanted, f"beside the file: {told}"):
        return 0.0
    shown = [line.split()[:2] for line in service.ask("jobs", "show", job).splitlines()]
    verdict.check(all([kind, location] in shown for kind, (location, _) in wanted.items()), f"jobs show: {shown}")
    folder = pathlib.Path(recording.path).parent
    paths = {}
    for kind, (location, media) in wanted.items():
        paths[kind] = store.fetch(location, folder / f"joined{location.removeprefix(stem)}")
        head = store.client.head_object(Bucket=BUCKET, Key=location.removeprefix(f"s3://{BUCKET}/"))
        verdict.check(head["ContentType"] == media, f"{location} is stored as {head['ContentType']}")

    # Each part's sound alone went through the store, too.
    trouble = decodes(str(paths["audio"]))
    verdict.check(not trouble, f"the sound alone does not decode: {trouble}")
    alone = service.stage.run("probe-audio", "probe", "--json", str(paths["audio"]))
    alone.exit(20)
    length = json.loads("\n".join(alone.output))["durationMs"] / 1000
    verdict.check(abs(length - recording.duration) < 1, f"the sound alone has {length:.2f} s of {recording.duration:.2f} s")

    drawn(paths, file["location"], recording, verdict)
    told = json.loads(paths["manifest"].read_text())
    verdict.check(told["version"] == 1 and told["room"] == "room", f"version {told['version']}, room {told['room']}")
    verdict.check(abs(told["length_ms"] / 1000 - recording.duration) < 0.05, f"the length is {told['length_ms']} ms")
    verdict.check(told["file"]["bytes"] == file["size"] and "name" not in told["file"], f"the file: {told['file']}")
    verdict.check([person["identity"] for person in told["people"]] == ["ann"], f"people: {told['people']}")
    verdict.check([track["kind"] for track in sorted(told["tracks"], key=lambda track: track["kind"])] ==
                  ["audio", "video"], f"tracks: {told['tracks']}")
    verdict.check(len(told["parts"]) == 2 and not any("unknown" in part for part in told["parts"]), f"{told['parts']}")
    gaps = told["gaps"]
    verdict.check(len(gaps) == 1 and abs(gaps[0]["from_ms"] / 1000 - start) < 0.2
                  and gaps[0]["to_ms"] > gaps[0]["from_ms"], f"gaps: {gaps}")
    verdict.check(len(told["layouts"]) == 1, f"layouts: {told['layouts']}")
    second = told["parts"][1]["from_ms"]
    for track in told["tracks"]:
        verdict.check(track["first_ms"] < 2000 and track["last_ms"] > second + 1000 and
                      track["quality"]["packets_expected"] > 150, f"a track: {track}")
    report = service.stage.run("probe", "probe", "--quality", recording.path)
    verdict.check(report.exit(10) == 0 and any("the recording was interrupted once" in line for line in report.output),
                  f"probe: {report.output} {report.tail()}")

    text = paths["talkers"].read_text()
    cues = re.findall(r"(?m)^(\d\d):(\d\d):([\d.]+) --> \S+\n<v (\w+)>\w+$", text)
    begins = [int(hours) * 3600 + int(minutes) * 60 + float(seconds) for hours, minutes, seconds, _ in cues]
    verdict.check(text.startswith("WEBVTT\n") and begins == sorted(begins) and "NOTE" not in text, f"talkers: {text}")
    verdict.check(any(at < start for at in begins) and any(at * 1000 >= second for at in begins), f"talkers: {text}")
    return (gaps[0]["to_ms"] - gaps[0]["from_ms"]) / 1000 if gaps else 0.0


def lost_machine(stage: Stage, verdict: Verdict) -> None:
    """A machine is gone for good with its disk: what it recorded until a moment before is in the joined file. Who was
    there meanwhile nobody knows, and the manifest says so."""
    store = Store(stage)
    service = Service(stage, settings=store.settings("live"))
    try:
        service.worker(machine=0)
        ann, job = begin(service, "room", "--manifest", "--poster", "--storyboard")
        service.worker(machine=1)
        stage.until(time.time() + 8.0)
        first = process(service, holder(service, job))
        # All of the machine at once: the recording's process can't finish its file either.
        children = service.processes(first)
        killed = first.send(signal.SIGKILL)
        for child in children:
            service.kill(child)
        unplug(service, 0)
        service.wait(lambda: holder(service, job) not in ("", first.name), "nobody took the job", timeout=30)
        service.reaches(job, {"running"}, 15)
        stage.until(time.time() + 4.0)
        recording = joined_file(service, store, job, verdict, files=5)
        if recording:
            file = service.job(job)["files"][0]
            paths = {side["kind"]: store.fetch(side["location"], stage.folder / f"beside-{side['kind']}") for side in file["beside"]}
            drawn(paths, file["location"], recording, verdict)
            location = file["beside"][0]["location"]
            told = json.loads(store.fetch(location, stage.folder / "joined.json").read_text())
            verdict.check(["unknown" in part for part in told["parts"]] == [True, False], f"parts: {told['parts']}")
            verdict.check([person["identity"] for person in told["people"]] == ["ann"] and len(told["gaps"]) == 1,
                          f"people: {told['people']}, gaps: {told['gaps']}")
            lost = killed - recording.zero - gap_of(recording.path, verdict)
            verdict.check(lost <= 3.0, f"{lost:.1f} s before the loss are not in the file")
            verdict.check(recording.area(ann.colour, 2.0) > 0.05 or recording.area(ann.colour, 2.4) > 0.05,
                          "the first part is not shown")
            verdict.check(is_shown_late(recording, ann.colour), "the second part is not shown")
            verdict.figure(f"lost {lost:.1f} s with the machine, file {recording.duration:.1f} s")
    finally:
        service.close()


def left_machine(stage: Stage, verdict: Verdict) -> None:
    """A worker is drained and hands over; files are uploaded when they are finished. Nothing of its part is lost, nor of
    what its manifest and its file of who talks when tell."""
    store = Store(stage)
    service = Service(stage, settings=store.settings("after"))
    try:
        service.worker("--drain-timeout", "2s", machine=0)
        ann, job = begin(service, "room", "--manifest", "--talkers", "--poster", "--storyboard", "--also", "audio")
        ann.tell("talk", "talking")
        second = service.worker(machine=1)
        stage.until(time.time() + 3.0)
        first = process(service, holder(service, job))
        first.send(signal.SIGTERM)
        service.wait(lambda: holder(service, job) == second.name, "nobody took the job", timeout=15)
        service.reaches(job, {"running"})
        verdict.check(first.exit(15) == 0, f"the worker ended with {first.status}: {first.tail()}")
        unplug(service, 0)
        told = service.job(job)["parts"][0]["duration_seconds"]
        stage.until(time.time() + 3.0)
        recording = joined_file(service, store, job, verdict, files=7)
        if recording:
            gap = besides(service, store, job, recording, told, verdict)
            verdict.check(is_shown_late(recording, ann.colour), "the second part is not shown")
            verdict.figure(f"first part {told:.1f} s, a gap of {gap:.2f} s")
    finally:
        service.close()


def returned_machine(stage: Stage, verdict: Verdict) -> None:
    """A worker is killed and starts again on its disk while another one has its job: it sends what it had recorded."""
    store = Store(stage)
    service = Service(stage, settings=store.settings("after"))
    try:
        first = service.worker(machine=0)
        ann, job = begin(service)
        stage.until(time.time() + 4.0)
        second = service.worker(machine=1)
        children = service.processes(first)
        killed = first.send(signal.SIGKILL)
        service.wait(lambda: not any(pathlib.Path(f"/proc/{child}").exists() for child in children),
                     "the recording outlives its worker", timeout=6)
        service.wait(lambda: holder(service, job) == second.name, "nobody took the job", timeout=30)
        service.reaches(job, {"running"}, 15)
        verdict.check(store.keys() == [], f"the store has {store.keys()} already")
        service.worker(machine=0)
        service.wait(lambda: len(store.keys()) > 1, "the worker that is back sends nothing")
        stage.until(time.time() + 2.0)
        unplug(service, 0)
        recording = joined_file(service, store, job, verdict)
        if recording:
            more = recording.zero + gap_of(recording.path, verdict) - killed
            verdict.check(-0.5 <= more <= 2.5, f"the first part ends {more:.1f} s after the kill")
            verdict.check(is_shown_late(recording, ann.colour), "the second part is not shown")
            verdict.figure(f"first part until {more:.1f} s after the kill")
    finally:
        service.close()


def apart(stage: Stage, verdict: Verdict) -> None:
    """Without a store a part stays on its machine: the job says what is missing and where, and it can be joined."""
    service = Service(stage)
    try:
        service.worker("--drain-timeout", "2s", machine=0)
        _, job = begin(service)
        second = service.worker(machine=1)
        stage.until(time.time() + 2.0)
        first = process(service, holder(service, job))
        first.send(signal.SIGTERM)
        service.wait(lambda: holder(service, job) == second.name, "nobody took the job", timeout=15)
        service.reaches(job, {"running"})
        verdict.check(first.exit(15) == 0, f"the worker ended with {first.status}: {first.tail()}")
        away = unplug(service, 0)
        stage.until(time.time() + 3.0)
        service.ask("jobs", "control", job, "stop")
        done = service.reaches(job, {"completed", "failed", "cancelled"}, 40)
        part = done["parts"][0]["location"]
        error = done.get("error", {})
        verdict.check(done["state"] == "completed" and error.get("name") == "partsMissing", f"{done['state']}: {error}")
        verdict.check(first.name in error.get("message", "") and part in error.get("message", ""),
                      f"it doesn't say where the part is: {error}")
        verdict.figure(error.get("message", ""))
        # It is less than was asked for, and every way to ask says so.
        verdict.check(done.get("incomplete"), f"the API does not say that it is incomplete: {done}")
        for command, status in (("show", 0), ("watch", 51)):
            told = service.recbot("jobs", command, job, environment=service.caller(), status=status)
            verdict.check("less than was asked for" in told, f"jobs {command} does not say so: {told}")
        verdict.check("incomplete" in service.ask("jobs", "list"), f"jobs list does not say so: {service.ask('jobs', 'list')}")
        kept = away / pathlib.Path(part).relative_to(stage.folder / away.name.removesuffix("-away"))
        if not verdict.check(kept.exists() and bool(done["files"]), "the part, or the file, is not there"):
            return
        whole = stage.folder / "whole.webm"
        service.recbot("concat", str(whole), str(kept), done["files"][0]["location"])
        trouble = decodes(str(whole))
        verdict.check(not trouble, f"the joined file does not decode: {trouble}")
        shown = [text for _, text in chapters(whole) if text == "Recording interrupted"]
        # A gap of some pictures is none.
        verdict.check(len(shown) <= 1, f"{len(shown)} gaps: {chapters(whole)}")
    finally:
        service.close()


def absent_bucket(stage: Stage, verdict: Verdict) -> None:
    """No bucket is there when a recording ends: the file waits in the backup folder, and is delivered later."""
    store = Store(stage, bucket=False)
    backup = stage.folder / "backup"
    service = Service(stage, settings=store.settings("after") | {"RECBOT_BACKUP_DIR": str(backup)})
    try:
        service.worker()
        _, job = begin(service)
        stage.until(time.time() + 2.0)
        service.ask("jobs", "control", job, "stop")
        done = service.reaches(job, {"completed", "failed", "cancelled"}, 30)
        error = done.get("error", {})
        verdict.check(done["state"] == "completed" and error.get("name") == "deliveryFailed",
                      f"{done['state']}: {error}")
        [waiting] = [path for path in backup.iterdir() if path.name.endswith(".webm")]
        verdict.check(done["files"][0]["location"] == str(waiting), f"the record says {done['files']}")
        data = waiting.read_bytes()
        # Asked for now, it can't be delivered, and stays.
        said = service.recbot("upload", "--waiting", "--attempts", "1", environment=service.common, status=49)
        verdict.check("wait on" in said and waiting.exists(), f"upload --waiting: {said}")
        store.make_bucket()
        # A worker begins with what waits.
        service.worker()
        service.wait(lambda: not waiting.exists(), "nobody delivers what waits", timeout=30)
        [key] = store.keys()
        verdict.check(f"s3://{BUCKET}/{key}" in error["message"], f"{key} is not what the job told: {error}")
        path = store.fetch(f"s3://{BUCKET}/{key}", stage.folder / "late.webm")
        verdict.check(path.read_bytes() == data, "the store has another file")
        service.wait(lambda: [path.name for path in backup.iterdir()] == [".lock"],
                     "the backup folder is not empty", timeout=10)
        told = service.reaches(job, {"completed"}, 5)
        verdict.check(told["files"][0]["location"] == f"s3://{BUCKET}/{key}" and "error" not in told,
                      f"the record says {told['files']}, {told.get('error')}")
        service.ask("recordings", "download", job, "-o", str(stage.folder / "fetched.webm"))
        verdict.check((stage.folder / "fetched.webm").read_bytes() == data, "another file is downloaded")
        verdict.figure(f"{len(data) / 1e6:.1f} MB delivered late as {key}")
    finally:
        service.close()


def one_name(stage: Stage, verdict: Verdict) -> None:
    """Two workers of one name and data folder: the second one says so and ends; with another folder both work."""
    service = Service(stage)
    try:
        first = service.worker()
        service.wait(lambda: "takes jobs" in first.errors or service.metrics().get("recbot_workers"), "no worker")
        second = service.worker(name=first.name)
        verdict.check(second.exit(10) == 64, f"it ended with {second.status}: {second.tail()}")
        verdict.check("already" in second.errors, f"it says: {second.tail()}")
        verdict.check(first.status is None, "the first one has ended")
    finally:
        service.close()
