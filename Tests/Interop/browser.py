"""Headless Chromium as the other side of a two-party room, commanded over the DevTools protocol through a pipe."""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import threading
import time

from stage import Failed


def chromium() -> str | None:
    """The browser's path, if there is one."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page in one browser with a fake camera (a green picture that moves) and a fake microphone (beeps)."""

    def __init__(self, folder: pathlib.Path, name: str = "browser", namespace: str = ""):
        path = chromium()
        if path is None:
            raise Failed("there is no chromium")
        self.folder = folder
        self.waiting: dict[int, dict | None] = {}
        self.number = 0
        self.session = ""
        self.console: list[str] = []
        self.changed = threading.Condition()
        command_read, self.commands = os.pipe()
        self.answers, answer_write = os.pipe()
        flags = [
            "--headless=new", "--no-sandbox", "--no-first-run", "--disable-gpu", "--mute-audio", "--hide-scrollbars",
            "--disable-dev-shm-usage", "--disable-background-networking", "--window-size=1000,800",
            f"--user-data-dir={folder / (name + '-profile')}", "--remote-debugging-pipe",
            "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
            # Nobody clicks on the page before its sound begins.
            "--autoplay-policy=no-user-gesture-required",
            # The pages of several browsers must all go on, also when a machine is busy.
            "--disable-renderer-backgrounding", "--disable-background-timer-throttling", "about:blank"]
        self.log = open(folder / f"{name}.log", "wb")
        inside = ["ip", "netns", "exec", namespace] if namespace else []
        self.child = subprocess.Popen(
            [*inside, "bash", "-c", f'exec "$0" "$@" 3<&{command_read} 4>&{answer_write}', path, *flags],
            pass_fds=(command_read, answer_write), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        os.close(command_read)
        os.close(answer_write)
        threading.Thread(target=self.read, daemon=True).start()
        try:
            self.attach()
        except Exception:
            self.close()
            raise

    def attach(self) -> None:
        """Finds the page that every browser begins with."""
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Runtime.enable")
        self.call("Page.enable")

    def read(self) -> None:
        """The reading thread: messages end in a zero byte."""
        rest = b""
        while chunk := os.read(self.answers, 65536):
            *messages, rest = (rest + chunk).split(b"\0")
            for message in map(json.loads, messages):
                with self.changed:
                    if message.get("id") in self.waiting:
                        self.waiting[message["id"]] = message
                    elif message.get("method") == "Runtime.consoleAPICalled":
                        self.console.append(" ".join(str(a.get("value", a.get("description", "")))
                                                     for a in message["params"]["args"]))
                    elif message.get("method") == "Runtime.exceptionThrown":
                        details = message["params"]["exceptionDetails"]
                        self.console.append("exception: " + details.get("exception", {}).get("description", "?"))
                    self.changed.notify_all()

    def call(self, method: str, timeout: float = 30, **parameters) -> dict:
        """Calls a method of the protocol; gives its result."""
        with self.changed:
            self.number += 1
            number = self.number
            self.waiting[number] = None
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        try:
            os.write(self.commands, json.dumps(message).encode() + b"\0")
        except BrokenPipeError as error:
            raise Failed(f"browser: it has ended (exit code {self.child.poll()})") from error
        end = time.monotonic() + timeout
        with self.changed:
            while self.waiting[number] is None:
                if self.child.poll() is not None or not self.changed.wait(max(0.0, end - time.monotonic())):
                    raise Failed(f"browser: no answer to {method} (exit code {self.child.poll()})")
            answer = self.waiting.pop(number)
        if "error" in answer:
            raise Failed(f"browser: {method}: {answer['error']['message']}")
        return answer["result"]

    def run(self, script: str):
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise Failed(f"browser: {script}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def until(self, script: str, timeout: float = 20) -> float:
        """Waits until an expression is true; gives the wall-clock time."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            try:
                if self.run(script):
                    return time.time()
            except Failed:  # in the middle of a navigation
                if self.child.poll() is not None:
                    raise
            time.sleep(0.05)
        shown = self.run("document.body.innerText + JSON.stringify(document.body.dataset)")
        raise Failed(f"browser: not {script} within {timeout} s: {shown!r}; console: {self.console[-5:]}")

    def open(self, url: str) -> None:
        """Goes to a page."""
        self.call("Page.navigate", url=url)

    def reload(self) -> float:
        """Loads the page again, as F5 does; gives the wall-clock time."""
        self.call("Page.reload")
        return time.time()

    def picture(self, name: str) -> pathlib.Path:
        """A picture of the page, as PNG."""
        path = self.folder / name
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
        return path

    def close(self) -> None:
        """Ends the browser and all of its processes."""
        if self.child.poll() is None:
            try:
                self.session = ""
                self.call("Browser.close", timeout=5)
                self.child.wait(5)
            except (Failed, subprocess.TimeoutExpired, OSError):
                self.child.kill()
        self.child.wait()
        if not self.log.closed:
            self.log.close()
            os.close(self.commands)
