"""A bot of RecbotKit (Tests/Tools/kit-bot) and real LiveKit SDK clients (libwebrtc) in one room: what the bot publishes is seen and
heard by them, and what they publish by it."""

import json
import subprocess
import time

import numpy as np

from judge import Recording
from room_server.clients import RoomServerTest
from stage import KEY, SECRET, Process, make_token

# The bot's colour: Y 81, U 90, V 200.
COLOUR = "bf2000"


class BotsTest(RoomServerTest):
    def bot(self, *arguments: str) -> Process:
        token = make_token("bot", self.room, canPublish=True, canPublishData=True, hidden=None)
        options, passphrase = [[word for word in arguments if word.startswith("--") == is_option] for is_option in (True, False)]
        bot = self.stage.start(
            Process("bot", [self.stage.tool("kit-bot"), *options, self.url, token, *passphrase], self.stage.folder))
        self.heard(bot, "published")
        return bot

    def heard(self, bot: Process, event: str, timeout: float = 20, after: int = 0, **fields) -> dict:
        """The first line of the bot about something."""
        def fits(text: str) -> bool:
            line = json.loads(text)
            return line["event"] == event and all(line.get(key) == value for key, value in fields.items())

        return json.loads(bot.line(fits, timeout, after)[1])

    def tell(self, bot: Process, line: str) -> None:
        bot.child.stdin.write(line.encode() + b"\n")
        bot.child.stdin.flush()

    def test_a_bots_pictures_sound_and_words_reach_real_clients(self) -> None:
        """Colours, flashes with beeps, two layers, a clone of another encoding, muting, messages, and statistics that agree."""
        bot = self.bot()
        high = self.watcher("--identity", "high")
        low = self.watcher("--identity", "low", "--quality", "low")
        began = time.time()
        self.tell(bot, "say hello, everybody")
        self.tell(bot, "data 42")
        self.stage.until(began + 2)
        first = self.statistics(bot)
        self.stage.until(began + 10)
        last = self.statistics(bot)
        self.tell(bot, "mute")
        high.wait_for("muted")
        muted = time.time()
        self.stage.until(muted + 2.5)
        quiet = [line for line in self.events(high.told, "track", name="camera") if line["wall"] > muted + 1]
        self.tell(bot, "unmute")
        high.wait_for("unmuted")
        self.stage.until(time.time() + 2)
        self.tell(bot, "unpublish")
        high.wait_for("unpublished")
        self.tell(bot, "leave")
        high.wait_for("gone")
        low.stop()
        lines = high.stop()
        self.assertEqual(bot.exit(10), 0, bot.tail())

        (camera,) = self.summary(lines, "bot", "video", "camera")
        (small,) = self.summary(lines, "bot", "video", "small")
        (sound,) = self.summary(lines, "bot", "audio")
        for video in (camera, small):
            self.assertColour(video["colour"], COLOUR)
        self.assertIn("640x360", camera["sizes"])
        self.assertEqual(small["sizes"], ["640x360"])
        # Thirty a second, and ten; muted for about three of twelve seconds.
        self.assertGreater(camera["total"], 200)
        self.assertGreater(small["total"], 60)
        self.assertLess(small["total"], 0.55 * camera["total"])
        self.assertTrue(quiet and all(line["frames"] == 0 for line in quiet), f"muted, and still {quiet}")
        (least,) = self.summary(low.told, "bot", "video", "camera")
        self.assertIn("320x180", least["sizes"])
        # Each flash has its beep.
        self.assertGreaterEqual(len(sound["onsets"]), 8)
        skews = [min(abs(flash - beep) for beep in sound["onsets"]) for flash in camera["onsets"]]
        together = sorted(skews)[: max(1, len(skews) * 3 // 4)]
        self.assertGreaterEqual(len(camera["onsets"]), 6)
        self.assertLess(together[-1], 0.12, f"flashes and beeps: {skews}")
        self.verdict.figure(f"{camera['total']} pictures, flash to beep at most {together[-1] * 1000:.0f} ms")
        self.assertTrue(self.events(lines, "data", topic="test", text="42"), "no data")
        # What the bot says that it sent is what came: both layers of the camera, each to one of the two.
        agreed = []
        for name in ("camera", "small", "microphone"):
            sent = self.rate([first[name], last[name]])
            came = self.rate(self.track(lines, name, first, last))
            if name == "camera":
                came += self.rate(self.track(low.told, name, first, last))
            agreed.append(f"{name} {sent / 1000:.0f} and {came / 1000:.0f} kbit/s")
            self.assertLess(abs(came / sent - 1), 0.1, f"sent and received: {agreed}")
        self.assertLess(last["camera"]["dropped"], 10)
        self.verdict.figure("sent and received: " + ", ".join(agreed))

    def statistics(self, bot: Process) -> dict[str, dict]:
        """What the bot has sent so far of each track."""
        after = len(bot.lines)
        self.tell(bot, "statistics")
        return {name: self.heard(bot, "statistics", after=after, name=name) for name in ("camera", "small", "microphone")}

    def track(self, lines: list[dict], name: str, first: dict, last: dict) -> list[dict]:
        """What a watcher told of a track between two moments."""
        return [line for line in self.events(lines, "track", name=name)
                if first[name]["wall"] < line["wall"] < last[name]["wall"]]

    @staticmethod
    def rate(lines: list[dict]) -> float:
        """Bits a second from the first line to the last."""
        return 8 * (lines[-1]["bytes"] - lines[0]["bytes"]) / (lines[-1]["wall"] - lines[0]["wall"])

    def test_a_bot_sees_and_hears_real_clients(self) -> None:
        """Its renderers get the pictures and the sound of a client; words come through; the bot hears when a camera is off."""
        bot = self.bot()
        publisher = self.publisher("ann", "--colour", "3030c0", "--duration", "8", "--simulcast")
        self.heard(bot, "connected", identity="ann")
        publisher.finish()
        self.heard(bot, "gone", identity="ann")
        video, sound = self.heard(bot, "video"), self.heard(bot, "audio")
        self.assertGreater(video["frames"], 120)
        self.assertLess(max(abs(video["y"] - 71), abs(video["u"] - 191), abs(video["v"] - 118)), 14, f"colour {video}")
        self.assertGreater(sound["samples"], 5 * 48_000)
        self.assertGreaterEqual(sound["beeps"], 4)
        self.tell(bot, "leave")
        self.assertEqual(bot.exit(10), 0, bot.tail())
        self.verdict.figure(f"{video['frames']} pictures, {sound['samples'] / 48_000:.1f} s of sound, {sound['beeps']} beeps")

    def test_a_bot_with_the_key_sees_and_hears_who_encrypts_and_is_seen_and_heard(self) -> None:
        """Its renderers get what a client encrypts end to end; a client with the key gets what it publishes and says, one without gets
        nothing."""
        key = "open sesame"
        bot = self.bot(key)
        friend = self.watcher("--identity", "friend", "--e2ee", key)
        stranger = self.watcher("--identity", "stranger")
        self.publisher("ann", "--colour", "3030c0", "--duration", "8", "--e2ee", key).finish()
        self.heard(bot, "gone", identity="ann")
        self.tell(bot, "say hello, friends")
        self.tell(bot, "data 42")
        self.stage.until(time.time() + 1)
        lines, dark = friend.stop(), stranger.stop()
        for name, size in (("camera", "640x360"), ("small", "640x360")):
            (shown,) = self.summary(lines, "bot", "video", name)
            self.assertColour(shown["colour"], COLOUR)
            self.assertIn(size, shown["sizes"])
            self.assertGreater(shown["total"], 40)
        (beeps,) = self.summary(lines, "bot", "audio")
        self.assertGreaterEqual(len(beeps["onsets"]), 5)
        self.assertTrue(self.events(lines, "data", topic="test", text="42"), "no data")
        self.assertFalse(self.events(dark, "data", topic="test", text="42"), "data in the clear")
        self.assertFalse([track for track in self.summary(dark, "bot", "video") if track.get("colour") == COLOUR], "pictures in the clear")
        video, sound = self.heard(bot, "video"), self.heard(bot, "audio")
        self.assertGreater(video["frames"], 100)
        self.assertLess(max(abs(video["y"] - 71), abs(video["u"] - 191), abs(video["v"] - 118)), 14, f"colour {video}")
        self.assertGreaterEqual(sound["beeps"], 4)
        self.tell(bot, "leave")
        self.assertEqual(bot.exit(10), 0, bot.tail())

    def test_nobody_sees_what_a_bots_processor_was_given(self) -> None:
        """It paints over every picture of the camera, from the first on, in both layers. It throws for three seconds, does not come back
        for three, and the camera is off and on: a recording and a client see its paint, and black, and never the camera's own colour."""
        recorder = self.stage.recorder("recorder", "--fps", "30", room=self.room)
        watchers = [self.watcher("--identity", quality, "--quality", quality) for quality in ("high", "low")]
        began = recorder.recording()
        bot = self.bot("--hidden")
        for at, word in enumerate(("fail", "paint", "hang", "paint", "mute", "unmute")):
            self.stage.until(began + 4 + 3 * at)
            self.tell(bot, word)
        self.stage.until(began + 22)
        after = len(bot.lines)
        self.tell(bot, "failures")
        failures = self.heard(bot, "failures", after=after)["count"]
        self.tell(bot, "leave")
        self.assertEqual(bot.exit(10), 0, bot.tail())
        recorder.stop()

        for quality, watcher in zip(("high", "low"), watchers):
            (camera,) = self.summary(watcher.stop(), "bot", "video", "camera")
            self.assertColour(camera["colour"], "00ff01")
            self.assertGreater(camera["total"], 300, quality)
        recording = Recording.load(str(recorder.path))
        pictures = recording.pictures.astype(int)
        red, green, blue = (pictures[..., channel] for channel in range(3))
        given = ((red > 110) & (green < 90) & (blue < 90)).mean(axis=(1, 2))
        self.assertLess(given.max(), 0.002, f"at {recording.times[given.argmax()]:.2f} s something of what the camera gave is recorded")
        # The lower left tile is one of the bot's two cameras.
        tile = np.median(pictures[:, 110:150, 30:120], axis=(1, 2))
        painted, black = ((np.abs(tile - colour).max(axis=1) < 30) for colour in ((0, 255, 1), (0, 0, 0)))
        moments = recording.times + recording.zero - began
        shown = [(float(painted[spell].mean()), float(black[spell].mean())) for spell in (
            (moments > begin) & (moments < end) for begin, end in ((2, 3.9), (4.5, 6.9), (7.5, 9.9), (11, 12.9)))]
        for (paint, dark), is_painted in zip(shown, (True, False, True, False)):
            self.assertGreater(paint if is_painted else dark, 0.9, f"painted and black, by turns: {shown}")
        self.assertGreater(failures, 100)
        self.verdict.figure(f"{len(pictures)} pictures, {failures} withheld, at most {given.max():.5f} of one as it was given")

    def test_people_with_a_key_file_encrypt(self) -> None:
        """`recbot people --e2ee-key-file`: a client with the passphrase sees and hears them, one without does not."""
        file = self.stage.folder / "room.key"
        file.touch(0o600)
        file.write_text("open sesame\n")
        people = self.stage.run("people", "people", self.room, "--url", self.url, "--participants", "2", "--duration", "60s",
                                "--e2ee-key-file", str(file), "--api-key", KEY, LIVEKIT_API_SECRET=SECRET)
        people.line(lambda text: text == f"2 people are in {self.room}.", 20)
        friend = self.watcher("--identity", "friend", "--e2ee", "open sesame")
        stranger = self.watcher("--identity", "stranger")
        self.stage.until(time.time() + 6)
        lines, dark = friend.stop(), stranger.stop()
        shown = [track for track in lines[-1]["tracks"] if track["kind"] == "video"]
        self.assertEqual(len(shown), 2)
        for video in shown:
            self.assertGreater(video["total"], 60)
            self.assertIn("640x360", video["sizes"])
        self.assertTrue(any(line["level"] > 0.02 for line in self.events(lines, "track", kind="audio")), "nobody is heard")
        spied = [track["total"] for track in dark[-1]["tracks"] if track["kind"] == "video"]
        # Now and then a decoder makes a picture of ciphertext, which shows nothing.
        self.assertTrue(spied and max(spied) < min(video["total"] for video in shown) / 4, f"{spied} pictures in the clear")

    def test_prepared_files_are_shown_as_they_are(self) -> None:
        """`recbot people --play`: two layers that ffmpeg encoded, and their sound, for two people; who comes late has a picture at once,
        though the files have one keyframe only."""
        folder = self.stage.folder / "people"
        folder.mkdir()
        colours = {"ann": "3030c0", "ben": "c03030"}
        for name, colour in colours.items():
            encoder = ["-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "-8", "-threads", "1", "-g", "3000", "-c:a",
                       "libopus"]
            # Noise, so that there are bits to count. One thread: several of libvpx spin while they wait for each other.
            picture = f"color=c=0x{colour}:size=640x360:rate=30:duration=20,noise=alls=12:allf=t,split[a][b];[b]scale=320:180[c]"
            subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=frequency=440:beep_factor=2:sample_rate=48000:duration=20", "-filter_complex",
                            picture, "-map", "[a]", "-map", "0:a", "-t", "20", *encoder, "-b:v", "500k", str(folder / f"{name}.webm"),
                            "-map", "[c]", "-map", "0:a", "-t", "20", *encoder, "-b:v", "150k", str(folder / f"{name}_lo.webm")], check=True)
        people = self.stage.run("people", "people", self.room, "--url", self.url, "--play", str(folder), "--duration", "60s",
                                "--api-key", KEY, LIVEKIT_API_SECRET=SECRET)
        people.line(lambda text: text == f"2 people are in {self.room}.", 20)
        time.sleep(3)
        high = self.watcher("--identity", "high")
        low = self.watcher("--identity", "low", "--quality", "low")
        self.stage.until(time.time() + 7)
        lines, small = high.stop(), low.stop()
        for name, colour in colours.items():
            (video,), (least,) = self.summary(lines, name, "video"), self.summary(small, name, "video")
            self.assertColour(video["colour"], colour)
            self.assertEqual((video["sizes"][-1], least["sizes"][-1]), ("640x360", "320x180"))
            self.assertGreater(video["total"], 150)
            (sound,) = self.summary(lines, name, "audio")
            self.assertTrue(any(line["level"] > 0.02 for line in self.events(lines, "track", identity=name, kind="audio")), f"{sound}")
            # As many bytes as the file has: nothing is encoded again.
            told = [line for line in self.events(lines, "track", identity=name, kind="video")][2:]
            video_bits = 8 * sum(int(size) for size in subprocess.run(
                ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=size", "-of", "csv=p=0", str(folder / f"{name}.webm")],
                capture_output=True, text=True, check=True).stdout.split()) / 20
            self.assertLess(abs(self.rate(told) / video_bits - 1), 0.35, f"{name}: {self.rate(told):.0f} of {video_bits:.0f} bit/s")
        people.send(2)
        self.assertEqual(people.exit(10), 0, people.tail())

    def test_files_that_nobody_can_show_are_told(self) -> None:
        """A folder that is not there, without files, with a text, with sound in FLAC, and layers that do not belong together: one line each."""
        folder = self.stage.folder / "people"
        folder.mkdir()

        def refused(*words: str) -> None:
            people = self.stage.run("people", "people", self.room, "--url", self.url, "--play", str(folder),
                                    "--api-key", KEY, LIVEKIT_API_SECRET=SECRET)
            self.assertEqual(people.exit(20), 64, people.tail())
            self.assertEqual(len(people.errors.strip().splitlines()), 1, people.errors)
            for word in words:
                self.assertIn(word, people.errors)

        refused("no .webm file")
        (folder / "ann.webm").write_text("hello")
        refused("ann.webm", "not a WebM")
        make = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i"]
        subprocess.run([*make, "sine=duration=1", "-f", "matroska", "-c:a", "flac", str(folder / "ann.webm")], check=True)
        refused("ann.webm", "VP8")
        for name in ("ann", "ann_lo"):
            subprocess.run([*make, "color=size=64x64:rate=10:duration=1", "-c:v", "libvpx", str(folder / f"{name}.webm")], check=True)
        refused("same size")
        subprocess.run([*make, "color=size=32x32:rate=10:duration=1", "-c:v", "libvpx-vp9", str(folder / "ann_lo.webm")], check=True)
        refused("same kind")
