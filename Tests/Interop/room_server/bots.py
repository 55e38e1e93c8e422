"""A bot of RecbotKit (Tests/Tools/kit-bot) and real LiveKit SDK clients (libwebrtc) in one room: what the bot publishes is seen and
heard by them, and what they publish by it."""

import json
import time

from room_server.clients import RoomServerTest
from stage import Process, make_token

# The bot's colour: Y 81, U 90, V 200.
COLOUR = "bf2000"


class BotsTest(RoomServerTest):
    def bot(self) -> Process:
        token = make_token("bot", self.room, canPublish=True, canPublishData=True, hidden=None)
        bot = self.stage.start(Process("bot", [self.stage.tool("kit-bot"), self.url, token], self.stage.folder))
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
