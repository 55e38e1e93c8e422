"""Plays a file in headless Chromium, as its viewers do, and looks at what is on the screen."""

import functools
import http.server
import pathlib
import re
import threading

import numpy as np

from browser import Browser
from judge import mask, run
from verdict import Verdict

PAGE = """<!doctype html><body style="margin:0;background:#fff"><video id=v src="{name}" muted
style="width:640px;height:360px;display:block"></video>"""


class Ranges(http.server.SimpleHTTPRequestHandler):
    """A file server that knows ranges (RFC 9110, section 14), without which a browser can't seek."""

    def log_message(self, *_) -> None:
        """Says nothing."""

    def do_GET(self) -> None:  # noqa: N802, as the base class names it
        """Answers with the file, or the range of it that is asked for."""
        path = pathlib.Path(self.translate_path(self.path))
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked is None or not path.is_file():
            super().do_GET()
            return
        data = path.read_bytes()
        start = int(asked[1])
        end = min(int(asked[2] or len(data) - 1), len(data) - 1)
        if start > end:
            self.send_error(416)
            return
        self.send_response(206)
        self.send_header("Content-Type", "video/webm")
        self.send_header("Content-Length", str(end + 1 - start))
        self.send_header("Content-Range", f"bytes {start}-{end}/{len(data)}")
        self.end_headers()
        try:
            self.wfile.write(data[start:end + 1])
        except (BrokenPipeError, ConnectionResetError):
            pass  # a browser that has enough


def plays(folder: pathlib.Path, file: pathlib.Path, length: float, moments: list[tuple[str, float, str, bool]],
          verdict: Verdict) -> None:
    """Opens a file and seeks to moments in the order given. Each is a name, a time in seconds, a colour, and whether
    the picture there must have it; people flash white for a moment, so that it is looked at three times."""
    (folder / "play.html").write_text(PAGE.format(name=file.name))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Ranges, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = Browser(folder, "player")
    try:
        browser.open(f"http://127.0.0.1:{server.server_port}/play.html")
        browser.until("document.getElementById('v')?.readyState >= 2 || document.getElementById('v')?.error")
        browser.run("window.v = document.getElementById('v'); true")
        shown = browser.run("v.duration")
        verdict.check(shown is not None and abs(shown - length) < 0.1,
                      f"Chromium says that it lasts {shown} s instead of {length:.2f} s")
        for name, at, colour, is_there in moments:
            shares = []
            for step in (0.0, 0.25, 0.5):
                browser.run(f"v.currentTime = {at + step}; true")
                browser.until(f"!v.seeking && v.readyState >= 2 && Math.abs(v.currentTime - {at + step}) < 0.1")
                browser.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
                shares.append(share(browser.picture(f"{name}.png"), colour))
            good = max(shares) > 0.05 if is_there else max(shares) < 0.01
            verdict.check(good, f"Chromium, {name} ({at:.1f} s): the colour is on {max(shares):.0%} of the picture")
        # Across the gap without a stop.
        before = moments[0][1]
        browser.run(f"v.currentTime = {before}; v.playbackRate = 4; v.play().then(() => true)")
        browser.until("v.ended || v.error", timeout=length + 20)
        failure = browser.run("v.error && v.error.message")
        verdict.check(failure is None, f"Chromium can't play it: {failure}")
        verdict.figure(f"Chromium: {shown:.1f} s, {len(moments)} seeks, played to the end")
    finally:
        browser.close()
        server.shutdown()
        server.server_close()


def share(picture: pathlib.Path, colour: str) -> float:
    """The share of the video's pixels that have a colour."""
    raw = run(["ffmpeg", "-v", "error", "-i", str(picture), "-vf", "crop=640:360:0:0", "-f", "rawvideo", "-pix_fmt",
               "rgb24", "-"])
    return float(mask(np.frombuffer(raw, np.uint8).reshape(360, 640, 3), colour, tolerance=60).mean())
