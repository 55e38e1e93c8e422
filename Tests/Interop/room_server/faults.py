"""Real LiveKit SDK clients (libwebrtc) under the room server's faults, and LiveKit's server API against it."""

import asyncio
import http.server
import json
import threading
import time
import urllib.error
import urllib.request

import jwt
from livekit import api

from room_server.clients import RoomServerTest
from stage import SECRET

PARTICIPANT_REMOVED, ROOM_DELETED = 4, 5


def admin_token(room: str = "") -> str:
    """A token for the server's APIs."""
    video = {"roomAdmin": True, "roomCreate": True, "roomList": True} | ({"room": room} if room else {})
    now = int(time.time())
    return jwt.encode({"iss": "devkey", "sub": "admin", "nbf": now - 10, "exp": now + 600, "video": video}, SECRET,
                      algorithm="HS256")


class Hooks(http.server.ThreadingHTTPServer):
    """Takes webhooks and checks them as LiveKit's own library does."""

    def __init__(self) -> None:
        self.events: list[api.WebhookEvent] = []
        self.faults: list[str] = []
        receiver = api.WebhookReceiver(api.TokenVerifier("devkey", SECRET))

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(handler) -> None:
                body = handler.rfile.read(int(handler.headers["Content-Length"])).decode()
                try:
                    self.events.append(receiver.receive(body, handler.headers["Authorization"]))
                except Exception as error:  # of whatever kind: the test shows it
                    self.faults.append(f"{error}: {body}")
                handler.send_response(200)
                handler.end_headers()

            def log_message(handler, *_) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stops listening."""
        self.shutdown()
        self.server_close()


class FaultsTest(RoomServerTest):
    """Clients that go on, or end, as the verbs say."""

    def setUp(self) -> None:
        self.hooks = Hooks()
        self.addCleanup(self.hooks.close)
        self.stage.server("0", "--test-api", "--webhook", f"http://127.0.0.1:{self.hooks.server_port}/hooks")
        self.url, self.room = self.stage.url, self.name

    def verb(self, name: str, **fields) -> float:
        """Calls a verb for this test's room, or for the whole server; gives the wall-clock time."""
        token = admin_token("" if name in ("restart", "restore") else self.room)
        body = json.dumps({"room": self.room, **fields}).encode()
        request = urllib.request.Request(
            f"{self.url.replace('ws', 'http', 1)}/test/{name}", body, {"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=10) as reply:
                self.assertTrue(json.load(reply)["ok"])
        except urllib.error.HTTPError as error:
            self.fail(f"{name}: {error.status} {error.read()}")
        return time.time()

    def frames(self, lines: list[dict], kind: str, begin: float, end: float) -> list[int]:
        """The frames of each whole second's report between two times."""
        return [line["frames"] for line in self.events(lines, "track", kind=kind) if begin < line["wall"] < end]

    def assertFlowsAgain(self, lines: list[dict], since: float, within: float = 5) -> None:
        """Pictures come again within so many seconds of a time, and go on coming until the client is stopped.

        When a client tries again is its own affair (it waits longer after each failure); that it gets everything
        when it has succeeded, and keeps it, is the server's.
        """
        reports = [line for line in self.events(lines, "track", kind="video") if since < line["wall"]]
        first = next((line["wall"] for line in reports if line["frames"] >= 15), float("inf"))
        self.assertLess(first - since, within, reports)
        after = [line["frames"] for line in reports if line["wall"] > first][:-1]
        self.assertTrue(after and min(after) >= 15, after)

    def test_a_watcher_resumes_after_a_lost_signal_and_misses_nothing(self) -> None:
        other = self.watcher("--identity", "other")
        publisher = self.publisher("red")
        publisher.wait_for("complete")
        watcher = self.watcher()
        watcher.wait_for("subscribed")
        time.sleep(3)
        cut = self.verb("cut-signal", identity="watcher", **{"for": 0})
        watcher.wait_for("reconnected")
        time.sleep(3)
        lines = watcher.stop()
        end = self.events(lines, "track")[-1]["wall"] - 1.5
        seen = self.frames(lines, "video", cut - 0.5, end)
        self.assertTrue(seen and min(seen) >= 15, seen)
        heard = self.frames(lines, "audio", cut - 0.5, end)
        self.assertTrue(heard and min(heard) >= 75, heard)
        self.assertEqual([line for line in self.events(lines, "unsubscribed") if line["wall"] < end], [])
        gone = [line for line in self.events(other.stop(), "gone", identity="watcher") if line["wall"] < end]
        self.assertEqual(gone, [])

    def test_a_publisher_resumes_and_nobody_notices(self) -> None:
        watcher = self.watcher()
        publisher = self.publisher("red")
        publisher.wait_for("complete")
        time.sleep(3)
        cut = self.verb("cut-signal", identity="red", **{"for": 0})
        publisher.wait_for("reconnected")
        time.sleep(3)
        lines = watcher.stop()
        noticed = [line for name in ("gone", "unpublished", "unsubscribed") for line in self.events(lines, name)
                   if line["wall"] < self.events(lines, "track")[-1]["wall"] - 0.5]
        self.assertEqual(noticed, [])
        seen = self.frames(lines, "video", cut - 0.5, self.events(lines, "track")[-1]["wall"] - 1.5)
        self.assertTrue(seen and min(seen) >= 15, seen)

    def test_a_loss_of_signal_and_media_is_overcome(self) -> None:
        self.publisher("red").wait_for("complete")
        watcher = self.watcher()
        watcher.wait_for("subscribed")
        time.sleep(2)
        self.verb("cut-media", identity="watcher", **{"for": 3000})
        cut = self.verb("cut-signal", identity="watcher", **{"for": 3000})
        back = watcher.wait_for("reconnected")["wall"]
        time.sleep(6)
        lines = watcher.stop()
        silent = self.frames(lines, "video", cut + 1.2, cut + 2.8)
        self.assertLessEqual(max(silent, default=0), 2, silent)
        self.assertFlowsAgain(lines, back)

    def test_everybody_comes_back_after_a_restart(self) -> None:
        watcher = self.watcher()
        publisher = self.publisher("red", "--colour", "c03030")
        publisher.wait_for("complete")
        time.sleep(2)
        self.verb("restart")
        back = max(client.wait_for("reconnected")["wall"] for client in (watcher, publisher))
        time.sleep(6)
        self.assertFlowsAgain(watcher.stop(), back)

    def test_migration_leads_back_to_the_room(self) -> None:
        self.publisher("red").wait_for("complete")
        for action in ("RECONNECT", "RESUME"):
            watcher = self.watcher("--identity", action)
            watcher.wait_for("subscribed")
            time.sleep(1)
            self.verb("migrate", identity=action, action=action)
            back = watcher.wait_for("reconnected")["wall"]
            time.sleep(5)
            lines = watcher.stop()
            self.assertFlowsAgain(lines, back)
            self.assertEqual(self.events(lines, "disconnected")[:-1], [])

    def test_being_removed_and_the_end_of_the_room_are_told_apart(self) -> None:
        removed, stayed = self.watcher("--identity", "removed"), self.watcher("--identity", "stayed")
        self.verb("kick", identity="removed")
        self.assertEqual(removed.wait_for("disconnected")["reason"], PARTICIPANT_REMOVED)
        self.verb("end-room")
        self.assertEqual(stayed.wait_for("disconnected")["reason"], ROOM_DELETED)

    def test_full_busy_and_expired_are_refused(self) -> None:
        keeper = self.watcher("--identity", "keeper")
        self.verb("fill", limit=1)
        (failure,) = self.events(self.client("subscribe.py", "--duration", "1").finish(), "failed")
        self.assertIn("max participants", failure["error"])
        self.verb("fill", limit=None)
        self.verb("busy")
        (failure,) = self.events(self.client("subscribe.py", "--duration", "1").finish(), "failed")
        self.assertIn("busy", failure["error"])
        self.verb("restore")
        self.verb("expire-token", identity="watcher")
        (failure,) = self.events(self.client("subscribe.py", "--duration", "1").finish(), "failed")
        self.assertIn("expired", failure["error"])
        self.verb("restore")
        self.assertTrue(self.events(self.client("subscribe.py", "--duration", "1").finish(), "joined"))
        keeper.kill()

    def test_paused_streams_stop_and_flow_again(self) -> None:
        self.publisher("red").wait_for("complete")
        watcher = self.watcher()
        watcher.wait_for("subscribed")
        time.sleep(2)
        paused = self.verb("pause-streams", identity="watcher", paused=True)
        time.sleep(4)
        resumed = self.verb("pause-streams", identity="watcher", paused=False)
        time.sleep(5)
        lines = watcher.stop()
        still = self.frames(lines, "video", paused + 1.2, resumed)
        self.assertTrue(still and max(still) == 0, still)
        sound = self.frames(lines, "audio", paused + 1.2, resumed)
        self.assertTrue(sound and min(sound) >= 75, sound)
        self.assertFlowsAgain(lines, resumed)

    def test_a_narrow_path_gets_small_pictures_and_then_none(self) -> None:
        self.publisher("red", "--simulcast", "--size", "1280x720").wait_for("complete")
        watcher = self.watcher()
        watcher.wait_for("subscribed")
        time.sleep(4)
        small = self.verb("limit-bandwidth", identity="watcher", bps=150_000)
        time.sleep(4)
        none = self.verb("limit-bandwidth", identity="watcher", bps=20_000)
        time.sleep(3)
        free = self.verb("limit-bandwidth", identity="watcher", bps=None)
        time.sleep(7)
        lines = watcher.stop()
        # What it may be shown is a matter of bits: a busy machine's large pictures may be coarse enough to fit.
        narrow = [line for line in self.events(lines, "track", kind="video") if small + 1 < line["wall"] < none]
        rate = 8 * (narrow[-1]["bytes"] - narrow[0]["bytes"]) / (narrow[-1]["wall"] - narrow[0]["wall"])
        self.assertLess(rate, 200_000, narrow)
        still = self.frames(lines, "video", none + 1.5, free)
        self.assertTrue(still and max(still) == 0, still)
        sound = self.frames(lines, "audio", none + 1.5, free)
        self.assertTrue(sound and min(sound) >= 75, sound)
        back = self.frames(lines, "video", free + 1.2, free + 6.5)
        self.assertTrue(back and max(back) >= 15, back)

    def test_the_server_api_administrates_a_room(self) -> None:
        asyncio.run(self.administrate())

    async def administrate(self) -> None:
        async with api.LiveKitAPI(self.url.replace("ws", "http", 1), "devkey", SECRET) as server:
            made = await server.room.create_room(
                api.CreateRoomRequest(name=self.room, empty_timeout=60, max_participants=5, metadata="first"))
            self.assertTrue(made.sid.startswith("RM_"))
            watcher = await asyncio.to_thread(self.watcher)
            publisher = self.publisher("red")
            await asyncio.to_thread(publisher.wait_for, "complete")
            await asyncio.to_thread(watcher.wait_for, "subscribed")
            rooms = await server.room.list_rooms(api.ListRoomsRequest(names=[self.room]))
            self.assertEqual([(room.sid, room.num_participants) for room in rooms.rooms], [(made.sid, 2)])
            people = await server.room.list_participants(api.ListParticipantsRequest(room=self.room))
            self.assertEqual({person.identity for person in people.participants}, {"watcher", "red"})
            red = await server.room.get_participant(api.RoomParticipantIdentity(room=self.room, identity="red"))
            camera = next(track for track in red.tracks if track.type == api.TrackType.VIDEO)
            muted = await server.room.mute_published_track(api.MuteRoomTrackRequest(
                room=self.room, identity="red", track_sid=camera.sid, muted=True))
            self.assertTrue(muted.track.muted)
            await asyncio.to_thread(watcher.wait_for, "muted")
            with self.assertRaises(api.TwirpError) as refused:
                await server.room.mute_published_track(api.MuteRoomTrackRequest(
                    room=self.room, identity="red", track_sid=camera.sid, muted=False))
            self.assertEqual(refused.exception.code, api.TwirpErrorCode.FAILED_PRECONDITION)
            await server.room.update_participant(api.UpdateParticipantRequest(
                room=self.room, identity="red", name="Red Two", metadata="new"))
            self.assertEqual((await asyncio.to_thread(watcher.wait_for, "named"))["name"], "Red Two")
            self.assertEqual((await asyncio.to_thread(watcher.wait_for, "metadata"))["text"], "new")
            await server.room.send_data(api.SendDataRequest(
                room=self.room, data=b"from the server", kind=0, topic="news", nonce=bytes(16)))
            data = await asyncio.to_thread(watcher.wait_for, "data")
            self.assertEqual((data["text"], data["topic"]), ("from the server", "news"))
            updated = await server.room.update_room_metadata(
                api.UpdateRoomMetadataRequest(room=self.room, metadata="second"))
            self.assertEqual(updated.metadata, "second")
            await server.room.remove_participant(api.RoomParticipantIdentity(room=self.room, identity="watcher"))
            gone = await asyncio.to_thread(watcher.wait_for, "disconnected")
            self.assertEqual(gone["reason"], PARTICIPANT_REMOVED)
            await server.room.delete_room(api.DeleteRoomRequest(room=self.room))
            self.assertEqual((await asyncio.to_thread(publisher.wait_for, "disconnected"))["reason"], ROOM_DELETED)
            with self.assertRaises(api.TwirpError) as missing:
                await server.room.delete_room(api.DeleteRoomRequest(room=self.room))
            self.assertEqual(missing.exception.code, api.TwirpErrorCode.NOT_FOUND)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and not self.told("room_finished"):
            await asyncio.sleep(0.05)
        self.assertEqual(self.hooks.faults, [])
        self.assertEqual(len(self.told("room_started")), 1)
        self.assertEqual({event.participant.identity for event in self.told("participant_joined")}, {"watcher", "red"})
        self.assertEqual({event.participant.identity for event in self.told("participant_left")}, {"watcher", "red"})
        self.assertEqual(len(self.told("track_published")), 2)
        self.assertEqual(len(self.told("track_unpublished")), 2)
        self.assertEqual(len(self.told("room_finished")), 1)

    def told(self, name: str) -> list[api.WebhookEvent]:
        """The webhooks of a kind about this test's room."""
        return [event for event in self.hooks.events if event.event == name and event.room.name == self.room]
