"""The bots of Examples, each with real LiveKit SDK clients (libwebrtc)."""

import subprocess
import wave

import numpy

from browser import Browser
from room_server.bots import COLOUR, BotsTest
from stage import Process, make_token


# The middle of what the other side shows; how loud it is at most during half a second.
PIXEL = """(() => {
  const video = document.querySelector("#other");
  const canvas = new OffscreenCanvas(1, 1).getContext("2d");
  canvas.drawImage(video, video.videoWidth / 2, video.videoHeight / 2, 1, 1, 0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((x) => x.toString(16).padStart(2, "0")).join("");
})()"""
LEVEL = """(async () => {
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  context.createMediaStreamSource(document.querySelector("#other").srcObject).connect(analyser);
  await new Promise((go) => setTimeout(go, 500));
  const samples = new Float32Array(analyser.fftSize);
  analyser.getFloatTimeDomainData(samples);
  await context.close();
  return Math.max(...samples.map(Math.abs));
})()"""


class ExamplesTest(BotsTest):
    def token(self, identity: str, room: str = "", **grants) -> str:
        return make_token(identity, room or self.room, canPublish=True, canPublishData=True, hidden=None, **grants)

    def example(self, name: str, *arguments: str, room: str = "", **grants) -> Process:
        """Starts one in the room; waits until it has joined."""
        bots = self.stage.start(Process(name, [
            self.stage.tool("bots"), name, self.url, self.token(name, room, **grants), *arguments], self.stage.folder))
        bots.line(lambda text: text.startswith("joined"), 20)
        return bots

    def end(self, bots: Process) -> None:
        """Ends it as a user does."""
        bots.send(2)
        self.assertEqual(bots.exit(10), 0, bots.tail())

    def test_the_player_plays_a_file(self) -> None:
        """A colour and a tone out of a WebM that ffmpeg made; then it ends by itself."""
        film = self.stage.folder / "film.webm"
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=c=0x3030c0:size=320x180:rate=25", "-f", "lavfi", "-i",
                        "sine=frequency=440:sample_rate=48000", "-t", "5", "-c:v", "libvpx", "-c:a", "libopus", str(film)], check=True)
        watcher = self.watcher()
        player = self.example("play", str(film))
        self.assertEqual(player.exit(20), 0, player.tail())
        lines = watcher.stop()
        (video,), (audio,) = self.summary(lines, "play", "video"), self.summary(lines, "play", "audio")
        self.assertColour(video["colour"], "3030c0")
        self.assertEqual(video["sizes"], ["320x180"])
        self.assertGreater(video["total"], 100)
        loud = [line for line in self.events(lines, "track", kind="audio") if line["level"] > 0.05]
        self.assertGreaterEqual(len(loud), 3, "the tone is not heard")

    def test_the_answer_talks_to_a_browser(self) -> None:
        """Somebody opens the page of a two-party room, sees and hears a film there, is seen, and is told that it is over."""
        film = self.stage.folder / "film.webm"
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=c=0x3030c0:size=320x180:rate=25", "-f", "lavfi", "-i",
                        "sine=frequency=440:sample_rate=48000", "-t", "6", "-c:v", "libvpx", "-c:a", "libopus", str(film)], check=True)
        for first in ("bot", "page"):
            room = f"{self.room}-{first}"
            link = f"{self.url.replace('ws', 'http', 1)}/peer/{room}#token={self.token('ann', room)}"
            browser = Browser(self.stage.folder, f"browser-{first}")
            self.addCleanup(browser.close)
            browser.open(link)
            browser.until("document.querySelector('#join')?.disabled === false")
            join = "document.querySelector('#name').value = 'Ann'; document.querySelector('#join').click()"
            if first == "page":
                browser.run(join)
                browser.until("document.body.dataset.state === 'waiting'")
            answer = self.example("answer", room, str(film), room=room)
            if first == "bot":
                browser.run(join)
            answer.line(lambda text: text == "Ann is there", 20)
            # Packets come a moment before there is a picture to look at, or a sound to hear.
            browser.until("document.body.dataset.other === 'seen' && document.querySelector('#other').readyState >= 2")
            # Chromium takes pictures of WebRTC for BT.709 ones.
            self.assertColour(browser.run(PIXEL), "3030c0", tolerance=24)
            browser.until(f"(async () => await {LEVEL} > 0.05)()", 5)
            answer.line(lambda text: text.startswith("ann is seen in "), 10)
            browser.until("document.body.dataset.stage === 'end'")
            self.assertEqual(browser.run("document.querySelector('#end-title').textContent"), "Call ended")
            self.assertEqual(answer.exit(10), 0, answer.tail())
            self.assertFalse([line for line in browser.console if "exception" in line], browser.console)

    def test_the_echo_says_back_what_it_hears(self) -> None:
        """A client's beeps come back after 1.5 s."""
        watcher = self.watcher()
        echo = self.example("echo", "1.5")
        self.publisher("ann", "--duration", "8", "--no-camera").finish()
        self.end(echo)
        lines = watcher.stop()
        (own,), (back,) = self.summary(lines, "ann", "audio"), self.summary(lines, "echo", "audio")
        self.assertGreaterEqual(len(back["onsets"]), 4)
        late = [min((beep - other for other in own["onsets"] if other < beep - 1), default=9) for beep in back["onsets"]]
        # The watcher's jitter buffer may hold up the client's own sound by more than the echo.
        self.assertTrue(all(1.25 < delay < 2.2 for delay in late), f"{late}")
        self.verdict.figure(f"echo after {min(late):.2f} to {max(late):.2f} s")

    def test_the_scribe_writes_down_who_speaks(self) -> None:
        """A WAV with a client's beeps; what a program makes of the sound is read in the room."""
        bot = self.bot()
        folder = self.stage.folder / "heard"
        # Two seconds of 16 kHz, then a line.
        scribe = self.example("scribe", str(folder), "while [ $(head -c 64000 | wc -c) = 64000 ]; do echo two seconds; done")
        self.publisher("ann", "--name", "Ann", "--duration", "7", "--no-camera").finish()
        said = self.heard(bot, "chat", identity="scribe")
        self.assertEqual(said["text"], "Ann: two seconds")
        scribe.line(lambda text: text.startswith("wrote ann"), 10)
        self.end(scribe)
        (file,) = folder.glob("ann-*.wav")
        with wave.open(str(file)) as sound:
            self.assertEqual((sound.getframerate(), sound.getnchannels(), sound.getsampwidth()), (16_000, 1, 2))
            samples = numpy.frombuffer(sound.readframes(sound.getnframes()), numpy.int16) / 32768
        self.assertGreater(len(samples), 5 * 16_000)
        # Each 20 ms; a beep begins where it was quiet.
        loud = numpy.abs(samples[: len(samples) // 320 * 320].reshape(-1, 320)).max(axis=1) > 0.2
        beeps = numpy.flatnonzero(loud[1:] & ~loud[:-1])
        self.assertGreaterEqual(len(beeps), 4)
        # They are a second apart, as they were sent.
        self.assertTrue(all(abs(gap - 50) <= 3 for gap in numpy.diff(beeps)), f"{numpy.diff(beeps) * 20} ms")

    def test_the_bridge_leads_both_ways(self) -> None:
        """A client's pictures and sound are received in the other room, and the words of one there."""
        other = f"{self.room}-other"
        bridge = self.example("bridge", self.url, self.token("bridge", other))
        watcher = self.stage.client("subscribe.py", "--duration", "60", room=other)
        watcher.wait_for("joined")
        # One of RecbotKit's in either room hears the other's words.
        near = self.bot()
        far = self.stage.start(Process("far", [self.stage.tool("kit-bot"), self.url, self.token("far", other)], self.stage.folder))
        self.heard(far, "published")
        self.tell(near, "say hello over there")
        self.heard(far, "chat", text="bot: hello over there")
        self.tell(far, "say hello back")
        self.heard(near, "chat", text="far: hello back")
        self.publisher("ann", "--colour", "3030c0", "--duration", "7").finish()
        lines = watcher.stop()
        names = {track["name"]: track for track in self.summary(lines, "bridge", "video")}
        self.assertIn("bot camera", names)
        self.assertColour(names["bot camera"]["colour"], COLOUR)
        (camera,) = [track for name, track in names.items() if name.startswith("ann ")]
        self.assertColour(camera["colour"], "3030c0")
        self.assertGreater(camera["total"], 60)
        (sound,) = [track for track in self.summary(lines, "bridge", "audio") if track["name"].startswith("ann ")]
        self.assertGreaterEqual(len(sound["onsets"]), 3)
        for bot in (near, far):
            self.tell(bot, "leave")
        self.end(bridge)

    def test_the_moderator_mutes_who_shouts(self) -> None:
        """Who talks too loudly is muted for everybody, and told so; without the right it says that it cannot."""
        bot = self.bot()
        watcher = self.watcher()
        powerless = self.example("moderate", "-30", roomAdmin=None)
        quiet = self.publisher("ben", "--no-camera", "--duration", "12")
        loud = self.publisher("ann", "--no-camera", "--duration", "12", "--script", "t=1-10:talk")
        powerless.line(lambda text: "cannot be muted" in text and "roomAdmin" in text, 20)
        self.end(powerless)
        moderator = self.example("moderate", "-30", roomAdmin=True)
        watcher.wait_for("muted")
        self.heard(bot, "chat", identity="moderate")
        quiet.stop()
        loud.stop()
        self.end(moderator)
        muted = self.events(watcher.stop(), "muted")
        self.assertEqual({line["identity"] for line in muted}, {"ann"})
