"""Real LiveKit SDK clients (libwebrtc) against the room server: publishing, watching, muting, coming and going."""

import asyncio
import contextlib
import time

from livekit import rtc

from case import Case
from stage import Client, make_token


class RoomServerTest(Case):
    def setUp(self) -> None:
        self.stage.server()
        self.url, self.room = self.stage.url, self.name

    def client(self, script: str, *arguments: str) -> Client:
        return self.stage.client(script, *arguments, room=self.room)

    def publisher(self, identity: str, *arguments: str) -> Client:
        return self.client("publish.py", "--identity", identity, *arguments)

    def watcher(self, *arguments: str) -> Client:
        """A watcher until it is stopped, for at most a minute; its joining is waited for."""
        watcher = self.client("subscribe.py", "--duration", "60", *arguments)
        watcher.wait_for("joined")
        return watcher

    def events(self, lines: list[dict], event: str, **fields) -> list[dict]:
        return [line for line in lines
                if line["event"] == event and all(line.get(key) == value for key, value in fields.items())]

    def summary(self, lines: list[dict], identity: str, kind: str, name: str | None = None) -> list[dict]:
        summaries = self.events(lines, "summary")
        self.assertTrue(summaries, f"no summary in {lines}")
        return [track for track in summaries[-1]["tracks"]
                if track["identity"] == identity and track["kind"] == kind and name in (None, track["name"])]

    def assertColour(self, seen: str, expected: str, tolerance: int = 12) -> None:
        difference = max(abs(int(seen[i:i + 2], 16) - int(expected[i:i + 2], 16)) for i in (0, 2, 4))
        self.assertLessEqual(difference, tolerance, f"{seen} instead of {expected}")

    def test_two_publishers_are_received_in_their_colours_with_sound(self) -> None:
        watcher = self.watcher()
        publishers = [self.publisher(identity, "--colour", colour, "--subscribe", "--duration", "7", "--stats", *options)
                      for identity, colour, options in (("red", "c03030", ["--red"]), ("blue", "3030c0", []))]
        # One sends all sound twice (RFC 2198), the other once; its statistics name the inner codec only. By the packet, as one may
        # have begun a second before the other.
        sent = [self.events(publisher.finish(), "outbound", kind="audio")[-1] for publisher in publishers]
        twice, once = (last["bytes"] / last["packets"] for last in sent)
        self.assertGreater(twice, 1.4 * once)
        lines = watcher.stop()
        for identity, colour in (("red", "c03030"), ("blue", "3030c0")):
            (video,) = self.summary(lines, identity, "video")
            (audio,) = self.summary(lines, identity, "audio")
            self.assertGreater(video["total"], 120)
            self.assertColour(video["colour"], colour)
            self.assertGreaterEqual(len(video["onsets"]), 4)
            self.assertGreaterEqual(len(audio["onsets"]), 4)

    def test_simulcast_gives_each_watcher_the_layer_that_it_asked_for(self) -> None:
        large = self.watcher("--identity", "large")
        small = self.watcher("--identity", "small", "--quality", "low")
        self.publisher("red", "--simulcast", "--size", "1280x720", "--duration", "9").finish()
        (best,) = self.summary(large.stop(), "red", "video")
        (least,) = self.summary(small.stop(), "red", "video")
        self.assertEqual(best["sizes"][-1], "1280x720")
        self.assertEqual(least["sizes"][-1], "320x180")
        self.assertGreater(best["total"], 120)
        self.assertGreater(least["total"], 60)

    def test_a_muted_camera_sends_nothing_and_comes_back(self) -> None:
        watcher = self.watcher()
        self.publisher("red", "--duration", "10", "--script", "t=3:mute-camera;t=6:unmute-camera").finish()
        lines = watcher.stop()
        muted = self.events(lines, "muted", identity="red")[0]["wall"]
        unmuted = self.events(lines, "unmuted", identity="red")[0]["wall"]
        self.assertAlmostEqual(unmuted - muted, 3, delta=0.5)
        silent = [line["frames"] for line in self.events(lines, "track", kind="video")
                  if muted + 1.2 < line["wall"] < unmuted]
        self.assertTrue(silent and max(silent) == 0, silent)
        after = [line["frames"] for line in self.events(lines, "track", kind="video")
                 if unmuted + 1.5 < line["wall"] < unmuted + 2.8]
        self.assertTrue(after and min(after) > 15, after)

    def test_unpublishing_leaving_and_coming_back(self) -> None:
        watcher = self.watcher()
        script = "t=2:unpublish-camera;t=4:publish-camera;t=6:share-screen;t=8:leave;t=10:join"
        publisher = self.publisher("red", "--colour", "c03030", "--duration", "13", "--script", script)
        done = publisher.finish()
        lines = watcher.stop()
        self.assertEqual(self.events(done, "failed"), [])
        cameras = self.summary(lines, "red", "video", "camera")
        self.assertEqual(len(cameras), 3)
        for camera in cameras:
            self.assertGreater(camera["total"], 30)
            self.assertColour(camera["colour"], "c03030")
        (screen,) = self.summary(lines, "red", "video", "screen")
        self.assertGreater(screen["total"], 20)
        self.assertColour(screen["colour"], "d0d0a0", 20)
        self.assertEqual(len(self.events(lines, "gone", identity="red", reason=1)), 2)
        sids = {line["sid"] for line in self.events(done, "joined")}
        self.assertEqual(len(sids), 2)

    def test_names_metadata_data_and_speakers_reach_the_others(self) -> None:
        watcher = self.watcher()
        script = "t=1:name=Red Two;t=2:metadata=hello;t=3:data=reliable text;t=3.5:lossy=lossy text;t=4-7:talk"
        publisher = self.publisher("red", "--no-camera", "--duration", "9", "--script", script)
        done = publisher.finish()
        lines = watcher.stop()
        self.assertEqual(self.events(done, "failed"), [])
        self.assertTrue(self.events(lines, "named", name="Red Two"))
        self.assertTrue(self.events(lines, "metadata", text="hello"))
        texts = [line["text"] for line in self.events(lines, "data", identity="red", topic="test")]
        self.assertEqual(texts, ["reliable text", "lossy text"])
        talking = self.events(done, "talking")[0]["wall"]
        silent = self.events(done, "silent")[0]["wall"]
        speaking = [line["wall"] for line in self.events(lines, "speakers", identities=["red"])]
        quiet = [line["wall"] for line in self.events(lines, "speakers", identities=[])]
        self.assertTrue(speaking and talking < speaking[0] < talking + 1.5, (talking, speaking))
        self.assertTrue(quiet and silent < quiet[-1] < silent + 2, (silent, quiet))

    def test_a_late_joiner_gets_what_is_there_and_is_hidden_when_it_wants(self) -> None:
        other = self.watcher("--identity", "other")
        self.publisher("red", "--duration", "20").wait_for("complete")
        time.sleep(2)
        late = self.watcher("--identity", "late", "--hidden")
        time.sleep(5)
        lines = late.stop()
        (video,) = self.summary(lines, "red", "video")
        self.assertGreater(video["total"], 80)
        first, second, *_ = self.events(lines, "track", kind="video")
        self.assertGreater(first["frames"] + second["frames"], 20)
        seen = [line["identity"] for line in self.events(other.stop(), "connected")]
        self.assertEqual(seen, ["red"])

    def test_the_same_identity_takes_the_place_of_a_dead_client(self) -> None:
        watcher = self.watcher()
        first = self.publisher("red", "--colour", "c03030")
        first.wait_for("complete")
        time.sleep(2)
        first.kill()
        self.publisher("red", "--colour", "30c030", "--duration", "5").finish()
        lines = watcher.stop()
        self.assertEqual(len(self.events(lines, "gone", identity="red", reason=2)), 1)
        colours = [track["colour"] for track in self.summary(lines, "red", "video")]
        self.assertEqual(len(colours), 2)
        self.assertColour(colours[1], "30c030")

    def test_what_a_publication_says_of_itself_comes_through(self) -> None:
        asyncio.run(asyncio.wait_for(self.say(), 40))

    async def say(self) -> None:
        features = [rtc.FrameMetadataFeature.FMF_USER_TIMESTAMP, rtc.FrameMetadataFeature.FMF_FRAME_ID]
        seen: asyncio.Queue = asyncio.Queue()
        async with self.inside("watcher") as watcher, self.inside("camera") as camera:
            watcher.on("track_subscribed", lambda track, publication, _: seen.put_nowait((track, publication)))
            source = rtc.VideoSource(320, 240)
            publication = await camera.local_participant.publish_track(
                rtc.LocalVideoTrack.create_video_track("camera", source),
                rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_CAMERA, frame_metadata_features=features))
            self.assertEqual(list(publication.frame_metadata_features), features)
            track, remote = await asyncio.wait_for(seen.get(), 10)
            self.assertEqual(list(remote.frame_metadata_features), features)
            frame = rtc.VideoFrame(320, 240, rtc.VideoBufferType.RGBA, bytes([255, 0, 0, 255] * (320 * 240)))

            async def send() -> None:
                while True:
                    source.capture_frame(frame, metadata=rtc.FrameMetadata(user_timestamp=123456789, frame_id=77))
                    await asyncio.sleep(0.1)

            sending = asyncio.create_task(send())
            stream = rtc.VideoStream.from_track(track=track, capacity=1)
            # The first pictures may come without: the clients put their writer and reader in place while media flow already.
            got = None
            async with asyncio.timeout(10):
                while got is None:
                    got = (await stream.__anext__()).metadata
            sending.cancel()
            self.assertEqual((got.user_timestamp, got.frame_id), (123456789, 77))
            await stream.aclose()
            await source.aclose()

    def test_a_client_that_fully_reconnects_keeps_its_publication(self) -> None:
        asyncio.run(asyncio.wait_for(self.reconnect(), 60))

    async def reconnect(self) -> None:
        features = [rtc.FrameMetadataFeature.FMF_USER_TIMESTAMP, rtc.FrameMetadataFeature.FMF_FRAME_ID]
        async with self.inside("camera") as camera:
            back = asyncio.Event()
            camera.on("reconnected", back.set)
            source = rtc.VideoSource(64, 64)
            mine = camera.local_participant
            publication = await mine.publish_track(
                rtc.LocalVideoTrack.create_video_track("camera", source),
                rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_CAMERA, frame_metadata_features=features))
            before = publication.sid
            await camera.simulate_scenario(rtc.SimulateScenarioKind.SIMULATE_FULL_RECONNECT)
            await asyncio.wait_for(back.wait(), 20)
            end = time.monotonic() + 10
            while time.monotonic() < end and publication.sid in (before, None):
                await asyncio.sleep(0.05)
            self.assertNotEqual(publication.sid, before)
            self.assertIs(mine.track_publications.get(publication.sid), publication)
            self.assertNotIn(before, mine.track_publications)
            self.assertEqual(list(publication.frame_metadata_features), features)
            await source.aclose()

    @contextlib.asynccontextmanager
    async def inside(self, identity: str):
        """A client of this process in the test's room."""
        token = make_token(identity, self.room, canPublish=True, hidden=None)
        room = rtc.Room()
        await room.connect(self.url, token)
        try:
            yield room
        finally:
            await room.disconnect()

    def test_a_bad_token_is_refused_with_a_reason(self) -> None:
        lines = self.publisher("red", "--api-secret", "not the secret of this server").finish()
        (failure,) = self.events(lines, "failed", action="join")
        self.assertIn("invalid authorization token", failure["error"])
