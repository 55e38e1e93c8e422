"""Finished files, from outside: fetched from the backend's folder, a worker's, a store; by links, by the command line; the
command after finishing. Whatever is tried against it."""

import hashlib
import http.client
import json
import os
import pathlib
import socket
import sqlite3
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from service.desk import PATIENCE, Service
from service.losses import begin
from service.machines import BUCKET, Store
from stage import Stage, free_port
from verdict import Verdict


class Answer:
    """What came back; redirects are not followed."""

    def __init__(self, url: str, key: str = "", method: str = "GET", body: dict | None = None, **headers: str):
        parts = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        if key:
            fields["Authorization"] = f"Bearer {key}"
        if body is not None:
            fields["Content-Type"] = "application/json"
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, None if body is None else json.dumps(body), fields)
        response = connection.getresponse()
        self.status, self.headers, self.body = response.status, response.headers, response.read()
        connection.close()

    @property
    def code(self) -> str:
        """The name of the refusal."""
        return json.loads(self.body)["error"]["code"]


def recorded(service: Service, room: str = "room", seconds: float = 2.0, *options: str) -> dict:
    """A finished job of a few seconds."""
    ann, job = begin(service, room, *options)
    service.stage.until(time.time() + seconds)
    service.ask("jobs", "control", job, "stop")
    done = service.reaches(job, {"completed", "failed", "cancelled"}, 40)
    ann.tell("leave", "left")
    return done


def grown(service: Service, job: dict, size: int) -> bytes:
    """Makes a finished recording of this machine larger, as if it were long: the file, and what the database has of it."""
    path = pathlib.Path(job["files"][0]["location"])
    data = (path.read_bytes() * (size // path.stat().st_size + 1))[:size]
    path.write_bytes(data)
    with sqlite3.connect(f"{service.data}/recbot.sqlite", timeout=PATIENCE) as database:
        [(text,)] = database.execute("SELECT body FROM jobs WHERE id = ?", (job["id"],)).fetchall()
        body = json.loads(text)
        body["files"][0] |= {"size": size, "sha256": hashlib.sha256(data).hexdigest()}
        database.execute("UPDATE jobs SET body = ? WHERE id = ?", (json.dumps(body), job["id"]))
    database.close()
    return data


def fetched(stage: Stage, verdict: Verdict) -> None:
    """A file of the backend's own folder: ranges, conditions, links, and what is not sent."""
    service = Service(stage)
    try:
        service.worker()
        ann, running = begin(service, "running")
        job = recorded(service)
        path = pathlib.Path(job["files"][0]["location"])
        data = path.read_bytes()
        url = f"{service.url()}/v1/recordings/{job['id']}/file"
        whole = Answer(url, service.key)
        etag = whole.headers["ETag"]
        verdict.check(whole.status == 200 and whole.body == data, f"the file: {whole.status}, {len(whole.body)} bytes")
        verdict.check(etag == f'"{hashlib.sha256(data).hexdigest()}"' and whole.headers["Accept-Ranges"] == "bytes"
                      and f'filename="{path.name}"' in whole.headers["Content-Disposition"],
                      f"its headers: {dict(whole.headers)}")
        head = Answer(url, service.key, "HEAD")
        verdict.check(head.status == 200 and head.headers["Content-Length"] == str(len(data)) and not head.body,
                      f"HEAD: {head.status} {dict(head.headers)}")
        for text, part in (("bytes=0-99", data[:100]), ("bytes=100-", data[100:]), ("bytes=-50", data[-50:]),
                           ("bytes=0-99999999999999999999", data)):
            found = Answer(url, service.key, Range=text)
            verdict.check(found.status == 206 and found.body == part, f"{text}: {found.status}, {len(found.body)} bytes")
        beyond = Answer(url, service.key, Range=f"bytes={len(data)}-")
        verdict.check(beyond.status == 416 and beyond.headers["Content-Range"] == f"bytes */{len(data)}",
                      f"beyond its end: {beyond.status} {dict(beyond.headers)}")
        thousands = "bytes=" + ",".join(f"{n}-{n}" for n in range(5000))
        for text in (thousands, "bytes=9-1", "bytes=x", "bytes=0-0,5-5"):
            found = Answer(url, service.key, Range=text)
            verdict.check(found.status == 200 and found.body == data, f"{text[:30]}: {found.status}")
        verdict.check(Answer(url, service.key, Range="bytes=0-0", If_Range=etag).status == 206
                      and Answer(url, service.key, Range="bytes=0-0", If_Range='"other"').status == 200
                      and Answer(url, service.key, If_None_Match=etag).status == 304, "conditions are not kept")

        # Whose it is.
        stranger = service.make_key("stranger")
        limited = service.recbot("keys", "add", "interop", "--rooms", "lesson-*", "--database", service.database,
                                 environment=service.common).strip()
        for name, key in (("another's key", stranger), ("a key for other rooms", limited)):
            verdict.check(Answer(url, key).status == 404
                          and Answer(url.removesuffix("/file"), key, "DELETE").status == 404
                          and Answer(url.removesuffix("file") + "links", key, "POST", {}).status == 404,
                          f"{name} reaches the recording")
        verdict.check(Answer(url).status == 401, "nobody's request is answered")

        # Links.
        link = service.ask("recordings", "link", job["id"], "--lifetime", "1m")
        verdict.check(Answer(link).body == data and Answer(link, Range="bytes=0-9").body == data[:10], "the link gives no file")
        forged = [link[:-1] + ("0" if link[-1] != "0" else "1"), link.replace("number=1", "number=2"),
                  link.replace("until=", "until=9"), link.replace(job["id"], running)]
        for text in forged:
            verdict.check(Answer(text).status == 401, f"a forged link is taken: {text}")
        short = service.ask("recordings", "link", job["id"], "--lifetime", "1s")
        service.wait(lambda: Answer(short).status == 410, "the link does not end", timeout=5)
        verdict.check("link_ended" == Answer(short).code, "an ended link does not say so")
        refused = service.ask("recordings", "link", job["id"], "--lifetime", "8d", status=64)
        verdict.check("lifetime" in refused, f"a link for more than a week: {refused}")

        # What is still recorded.
        at_work = f"{service.url()}/v1/recordings/{running}"
        verdict.check(Answer(f"{at_work}/file", service.key).code == "not_finished", "a running recording is sent")
        told = service.ask("recordings", "delete", running, status=46)
        verdict.check("running" in told and "stop or cancel" in told, f"deleting what is recorded: {told}")
        verdict.check(service.job(running)["state"] == "running", "the recording does not run any more")

        # Symbolic links lead nowhere.
        away = path.rename(stage.folder / "away.webm")
        path.symlink_to(away)
        verdict.check(Answer(url, service.key).status == 410, "a symbolic link is followed")
        told = service.ask("recordings", "delete", job["id"])
        verdict.check(away.read_bytes() == data, "deleting followed a symbolic link")
        verdict.check(Answer(url, service.key).code == "deleted", "what was deleted is still there")
        ann.tell("leave", "left")
    finally:
        service.close()


def crowded(stage: Stage, verdict: Verdict) -> None:
    """Readers that take nothing: the backend answers everybody else, and a recording goes on."""
    service = Service(stage)
    try:
        service.worker()
        job = recorded(service)
        data = grown(service, job, 64 << 20)
        ann, running = begin(service, "running")
        url = f"{service.url()}/v1/recordings/{job['id']}/file"
        held = []
        for _ in range(16):
            reader = socket.create_connection(("127.0.0.1", service.ports[0]), timeout=PATIENCE)
            reader.sendall(f"GET /v1/recordings/{job['id']}/file HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.key}"
                           "\r\n\r\n".encode())
            held.append(reader)
        for reader in held:
            verdict.check(reader.recv(15, socket.MSG_PEEK) == b"HTTP/1.1 200 OK", "a reader is not answered")
        one_more = Answer(url, service.key, Range="bytes=0-9")
        verdict.check(one_more.status == 503 and one_more.headers["Retry-After"] == "5", f"one more: {one_more.status}")
        slowest = 0.0
        for _ in range(20):
            began = time.monotonic()
            service.answers(f"{service.url()}/readyz")
            slowest = max(slowest, time.monotonic() - began)
        verdict.timely(slowest < 1.0, f"the backend answers after {slowest:.2f} s")
        verdict.check(service.job(running)["state"] == "running", "the recording does not run")
        for reader in held:
            reader.close()
        service.wait(lambda: Answer(url, service.key, Range="bytes=0-9").body == data[:10], "their places are not given back")
        service.ask("jobs", "control", running, "stop")
        done = service.reaches(running, {"completed", "failed"}, 30)
        verdict.check(done["state"] == "completed" and "error" not in done, f"{done['state']}: {done.get('error')}")
        ann.tell("leave", "left")
        verdict.figure(f"16 readers that take nothing; the slowest other answer {slowest * 1000:.0f} ms")
    finally:
        service.close()


def far_file(stage: Stage, verdict: Verdict) -> None:
    """A file at a worker on another machine: the backend fetches it; who is not the backend gets nothing."""
    service = Service(stage)
    port = free_port()
    try:
        worker = service.worker("--bind", f"127.0.0.1:{port}", machine=1)
        job = recorded(service, "room", 2.0, "--manifest", "--talkers", "--poster", "--storyboard")
        path = pathlib.Path(job["files"][0]["location"])
        data = path.read_bytes()
        verdict.check(path.is_relative_to(stage.folder / "machine-1"), f"the file is in {path}")
        url = f"{service.url()}/v1/recordings/{job['id']}/file"
        verdict.check(Answer(url, service.key).body == data and Answer(url, service.key, Range="bytes=5-9").body == data[5:10]
                      and Answer(url, service.key, "HEAD").status == 200, "the worker's file is not sent")
        sides = {side["kind"]: pathlib.Path(side["location"]).read_bytes() for side in job["files"][0]["beside"]}
        types = {side["kind"]: side["content_type"] for side in job["files"][0]["beside"]}
        verdict.check(sides.keys() == {"manifest", "talkers", "poster", "storyboard-image", "storyboard"},
                      f"beside the file: {job['files'][0]}")
        for kind, content in sides.items():
            link = service.ask("recordings", "link", job["id"], "--beside", kind)
            sent = Answer(f"{url}?beside={kind}", service.key)
            verdict.check(sent.body == content and sent.headers["Content-Type"] == types[kind] and Answer(link).body == content,
                          f"the worker's {kind} is not sent: {sent.status} {dict(sent.headers)}")
        page = f"http://127.0.0.1:{port}/files"
        for query in ("", "?", "?location=/etc/passwd", f"?folder=x&location={path}&size=1&start=0&end=1&until=9999999999"
                      f"&signature={'0' * 64}"):
            for method in ("GET", "DELETE"):
                verdict.check(Answer(page + query, method=method).status in (401, 404, 405),
                              f"{method} {query} is not refused")
        verdict.check(Answer(page, service.common["RECBOT_WORKER_SECRET"]).status == 404 and path.exists(),
                      "the secret alone opens something")
        # The worker goes: the answer says where the file is. Another one of the same folder has it, too.
        verdict.check(service.drained(worker) == 0, f"the worker ended with {worker.status}")
        service.wait(lambda: Answer(url, service.key).status == 503, "a worker that is gone is not told")
        verdict.check(Answer(url, service.key).code == "out_of_reach", "it is not said why")
        service.worker("--bind", f"0.0.0.0:{port}", "--files-url", f"http://localhost:{port}/", machine=1, name="second")
        service.wait(lambda: Answer(url, service.key).body == data, "the worker that came gives no file")
        service.ask("recordings", "delete", job["id"])
        verdict.check(not path.exists() and Answer(url, service.key).code == "deleted", "the file is not deleted")
        verdict.check(not any(pathlib.Path(side["location"]).exists() for side in job["files"][0]["beside"])
                      and Answer(f"{url}?beside=manifest", service.key).code == "deleted", "what was beside it is not deleted")
        verdict.figure(f"{len(data)} bytes from another machine's folder")
    finally:
        service.close()


def stored_file(stage: Stage, verdict: Verdict) -> None:
    """A file in a store: the backend sends whoever asks to a signed address of it."""
    store = Store(stage)
    service = Service(stage, settings=store.settings("after"))
    try:
        service.worker()
        job = recorded(service, "room", 2.0, "--manifest", "--talkers", "--storyboard")
        key = job["files"][0]["location"].removeprefix(f"s3://{BUCKET}/")
        data = store.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        url = f"{service.url()}/v1/recordings/{job['id']}/file"
        for method in ("GET", "HEAD"):
            sent = Answer(url, service.key, method)
            address = sent.headers["Location"] or ""
            verdict.check(sent.status == 307 and "X-Amz-Signature=" in address and "X-Amz-Expires=300" in address
                          and "interop-secret" not in address, f"{method}: {sent.status} {address}")
            found = Answer(address, method=method, Range="bytes=3-9") if method == "GET" else Answer(address, method=method)
            verdict.check(found.body == (data[3:10] if method == "GET" else b""), f"the store: {found.status}")
        # Byte for byte the address that boto3 would have signed at that moment.
        sent = urllib.parse.urlsplit(Answer(url, service.key).headers["Location"])
        query = dict(urllib.parse.parse_qsl(sent.query))
        verdict.check(signature(store, key, query) == query["X-Amz-Signature"], "the signature is not that of boto3")
        output = stage.folder / "stored.webm"
        service.ask("jobs", "download", job["id"], "-o", str(output))
        verdict.check(output.read_bytes() == data, "what was downloaded is another file")
        for side in job["files"][0]["beside"]:
            content = store.client.get_object(Bucket=BUCKET, Key=side["location"].removeprefix(f"s3://{BUCKET}/"))["Body"]
            kind, last = side["kind"], side["location"].split("/")[-1]
            # A storyboard names its image, which so keeps its name.
            name = last if kind == "storyboard-image" else {
                "manifest": "stored.json", "talkers": "stored.talkers.vtt", "storyboard": "stored.storyboard.vtt"}[kind]
            verdict.check((stage.folder / name).read_bytes() == content.read(), f"{name} is another file")
            sent = Answer(f"{url}?beside={kind}", service.key).headers["Location"]
            verdict.check(Answer(sent).headers["Content-Type"] == side["content_type"], f"{kind}: what the store says that it is")
        named = (stage.folder / "stored.storyboard.vtt").read_text().split("\n")[3].split("#")[0]
        verdict.check((stage.folder / urllib.parse.unquote(named)).exists(), f"the storyboard names {named}")
        service.ask("recordings", "delete", job["id"])
        verdict.check(store.keys() == [], f"the store still has {store.keys()}")
    finally:
        service.close()


def signature(store: Store, key: str, query: dict[str, str]) -> str:
    """What botocore signs the same request with."""
    import datetime
    from unittest import mock

    import botocore.auth
    import botocore.awsrequest
    import botocore.credentials

    at = datetime.datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ")
    parameters = {name: value for name, value in query.items() if not name.startswith("X-Amz-")}
    request = botocore.awsrequest.AWSRequest(
        "GET", f"{store.url}/{BUCKET}/{urllib.parse.quote(key, safe='/-._~')}", params=parameters)
    signer = botocore.auth.S3SigV4QueryAuth(
        botocore.credentials.Credentials("interop", "interop-secret"), "s3", "us-east-1", expires=300)
    name = "get_current_datetime" if hasattr(botocore.auth, "get_current_datetime") else "datetime"
    with mock.patch.object(botocore.auth, name) as clock:
        if name == "datetime":
            clock.datetime.utcnow.return_value = at
            clock.datetime.now.return_value = at
        else:
            clock.return_value = at
        signer.add_auth(request)
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(request.url).query))["X-Amz-Signature"]


def size(path: pathlib.Path) -> int:
    """Bytes of a file; 0 when there is none, or none any more: a finished one is renamed at any moment."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def downloaded(stage: Stage, verdict: Verdict) -> None:
    """The command line: what breaks off goes on, nothing stands half under its name, nothing is overwritten."""
    service = Service(stage)
    try:
        service.worker()
        job = recorded(service)
        data = grown(service, job, 48 << 20)
        name = job["id"]
        listed = service.ask("recordings", "list")
        verdict.check(name in listed and "50.3 MB" in listed, f"list: {listed}")
        shown = service.ask("recordings", "show", name)
        verdict.check(hashlib.sha256(data).hexdigest() in shown, f"show: {shown}")
        output = stage.folder / "talk.webm"
        part = output.with_name(f"talk.webm.{hashlib.sha256(data).hexdigest()[:12]}.part")

        # Killed in the middle, again and again: each time more is there, and never under its name.
        killed, sizes = 0, []
        while not output.exists() and killed < 200:
            process = subprocess.Popen([stage.recbot, "jobs", "download", name, "-o", str(output)], cwd=stage.folder,
                                       env={**os.environ, **service.caller()}, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            before = size(part)
            while process.poll() is None and size(part) <= before + (4 << 20):
                time.sleep(0.001)
            process.kill()
            process.wait()
            killed += 1
            if part.exists():
                sizes.append(part.stat().st_size)
                verdict.check(not output.exists(), "half of it stands under its name")
        verdict.check(killed > 2 and sizes == sorted(sizes) and output.read_bytes() == data and not part.exists(),
                      f"after {killed} kills: {sizes}")
        refused = service.ask("jobs", "download", name, "-o", str(output), status=40)
        verdict.check("exists already" in refused, f"over a file: {refused}")
        # What is there is not the file's beginning: found out, and begun anew.
        output.unlink()
        part.write_bytes(b"x" * (1 << 20))
        refused = service.ask("jobs", "download", name, "-o", str(output), status=49)
        verdict.check("SHA-256" in refused and not output.exists() and not part.exists(), f"a wrong beginning: {refused}")
        path = service.ask("recordings", "download", name, "-o", f"{stage.folder}/")
        verdict.check(pathlib.Path(path).read_bytes() == data, f"into a folder: {path}")
        denied = service.ask("jobs", "download", name, "-o", "/proc/nothing.webm", status=41)
        verdict.check("cannot be written" in denied, f"where nothing can be written: {denied}")
        gone = service.ask("jobs", "download", "job_nothing", status=46)
        verdict.check("no such recording" in gone, f"an unknown job: {gone}")
        service.ask("recordings", "delete", name)
        gone = service.ask("jobs", "download", name, status=46)
        verdict.check("deleted" in gone, f"a deleted recording: {gone}")
        with_sides(stage, service, verdict)
        verdict.figure(f"{killed} downloads killed, {len(data) >> 20} MiB")
    finally:
        service.close()


def with_sides(stage: Stage, service: Service, verdict: Verdict) -> None:
    """What is beside a file comes with it, a line for each; what is here already is kept, another file never replaced."""
    job = recorded(service, "sides", 2.0, "--manifest", "--talkers")
    name, places = job["id"], {side["kind"]: side["location"] for side in job["files"][0]["beside"]}
    contents = {"all.json": pathlib.Path(places["manifest"]).read_bytes(),
                "all.talkers.vtt": pathlib.Path(places["talkers"]).read_bytes(),
                "all.webm": pathlib.Path(job["files"][0]["location"]).read_bytes()}
    folder = stage.folder / "sides"
    folder.mkdir()
    output = folder / "all.webm"
    for _ in range(2):
        told = service.ask("jobs", "download", name, "-o", str(output)).splitlines()
        verdict.check(told == [str(folder / one) for one in contents], f"lines: {told}")
        verdict.check({path.name: path.read_bytes() for path in folder.iterdir()} == contents, "the files are others")
        # As if it had broken off before the last.
        output.unlink()
    (folder / "all.json").write_text("mine")
    refused = service.ask("jobs", "download", name, "-o", str(output), status=40)
    verdict.check("all.json exists already" in refused and (folder / "all.json").read_text() == "mine"
                  and not output.exists(), f"over another file: {refused}")
    (folder / "all.json").unlink()
    pathlib.Path(places["manifest"]).unlink()
    lacking = service.ask("jobs", "download", name, "-o", str(output), status=51)
    verdict.check("all.json is not here" in lacking and output.read_bytes() == contents["all.webm"]
                  and not (folder / "all.json").exists(), f"one that is gone: {lacking}")


def after(stage: Stage, verdict: Verdict) -> None:
    """The operator's command after finishing: what a caller chose is no shell text; a failure is told; it ends in time."""
    service = Service(stage)
    try:
        hostile = "$(touch pwned) `touch pwned`; touch pwned #'\""
        command = ('echo "$RECORDING_ROOM" > "$RECORDING_FILE.txt"; env > "$RECORDING_FILE.env"; '
                   'case "$RECORDING_ROOM" in fails) exit 3;; hangs) sleep 600 & echo $! > "$RECORDING_FILE.pid"; wait;; esac')
        worker = service.worker("--after", command, "--after-timeout", "4s")
        done = recorded(service, hostile)
        path = done["files"][0]["location"]
        verdict.check(done["state"] == "completed" and "error" not in done, f"{done['state']}: {done.get('error')}")
        verdict.check(pathlib.Path(f"{path}.txt").read_text() == hostile + "\n", "the command did not get the room's name")
        verdict.check(not list(stage.folder.rglob("pwned")), "a room's name was run by the shell")
        environment = pathlib.Path(f"{path}.env").read_text()
        verdict.check(service.common["RECBOT_WORKER_SECRET"] not in environment
                      and f"RECORDING_SHA256={done['files'][0]['sha256']}" in environment, "its environment")
        failed = recorded(service, "fails")
        error = failed.get("error", {})
        verdict.check(failed["state"] == "completed" and error.get("name") == "afterFailed" and "code 3" in error["message"],
                      f"a command that fails: {failed['state']} {error}")
        verdict.check("ended with code 3" in worker.errors, "the log does not tell it")
        late = recorded(service, "hangs")
        error = late.get("error", {})
        verdict.check(late["state"] == "completed" and "longer than 4 s" in error.get("message", ""),
                      f"a command that hangs: {late['state']} {error}")
        child = pathlib.Path("/proc", pathlib.Path(f"{late['files'][0]['location']}.pid").read_text().strip(), "stat")
        service.wait(lambda: not child.exists() or ") Z " in child.read_text(), "what it started still runs")
    finally:
        service.close()
