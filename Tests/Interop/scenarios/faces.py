"""People's own images on their cards: from files, from the web, and never from elsewhere."""

import functools
import http.server
import pathlib
import signal
import subprocess
import threading

from scenarios.common import load
from stage import COLOURS, Stage
from verdict import Verdict


def faces(stage: Stage, verdict: Verdict) -> None:
    """Three people without cameras: one's image is a file, one's is on the web, one's is where nobody may look."""
    folder = stage.folder / "avatars"
    folder.mkdir()
    for name, where in (("green", folder / "green.png"), ("cyan", folder / "cyan.jpg"),
                        ("red", stage.folder / "red.png")):
        draw(COLOURS[name], where)
    settings = stage.folder / "private.yaml"
    settings.write_text("network:\n  private-addresses: allow\n")
    web = Web(folder)
    try:
        stage.server()
        file = stage.publisher("file", "--no-camera", colour="green").join()
        address = stage.publisher("address", "--no-camera", colour="cyan").join()
        outside = stage.publisher("outside", "--no-camera", colour="red").join()
        file.tell("avatar=green.png", "avatar")
        address.tell(f'metadata={{"avatar":"{web.url}/cyan.jpg"}}', "metadata")
        outside.tell("avatar=../red.png", "avatar")
        options = ("--size", "1280x720", "--avatars", "urls", "--avatar-folder", str(folder))
        allowed = stage.recorder("faces", "--config", str(settings), *options)
        # The web server is on this machine: without the setting, nobody asks it.
        refused = stage.recorder("refused", *options)
        began = max(allowed.recording(), refused.recording())
        stage.until(began + 4)
        fetched = web.requests
        for recorder in (allowed, refused):
            recorder.stop(signal.SIGTERM)
    finally:
        web.close()

    recording = load(allowed, verdict)
    moment = recording.duration - 1
    for person in (file, address):
        share = recording.area(person.colour, moment)
        verdict.check(share > 0.01, f"{person.name}: their image covers {share:.4f} of the canvas")
        verdict.figure(f"{person.name} {100 * share:.1f} %")
        shown = recording.shown(person.colour, 0)
        verdict.timely(shown <= 1.5, f"{person.name}: their image is there after {shown:.1f} s")
    verdict.check(recording.area(outside.colour, moment) < 0.0005, "a file outside of the folder is shown")
    verdict.check("is not in the folder of avatars" in allowed.errors, "nothing is said of the file outside")
    plain = load(refused, verdict)
    verdict.check(plain.area(file.colour, plain.duration - 1) > 0.01, "the file is not shown without the web")
    verdict.check(plain.area(address.colour, plain.duration - 1) < 0.0005, "an unencrypted private address is shown")
    verdict.check(fetched == 1, f"{fetched} requests for one image in one recording that may ask")


def draw(colour: str, path: pathlib.Path) -> None:
    """Writes an image of one colour."""
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"color=0x{colour}:s=240x240", "-frames:v", "1",
                    "-pix_fmt", "rgb24" if path.suffix == ".png" else "yuvj444p", str(path)],
                   check=True, stdin=subprocess.DEVNULL)


class Web:
    """A web server on this machine that counts requests."""

    def __init__(self, folder: pathlib.Path):
        self.requests = 0
        web = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_GET(self):  # noqa: N802 -- the library's name
                web.requests += 1
                super().do_GET()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Ends it."""
        self.server.shutdown()
        self.server.server_close()
