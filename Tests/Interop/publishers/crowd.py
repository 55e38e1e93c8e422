#!/usr/bin/env python3
"""Many synthetic participants in one process: small pictures of one colour, which changes for everybody at once.

In even spans of the shared wall clock everybody has the first colour, in odd ones the second: who is shown with the
right one is there, and not just as a picture that stands still. Nobody has a microphone.
What happens is printed as JSON lines. Ends with its standard input.
"""

import argparse
import asyncio
import sys
import time

from livekit import rtc

from common import emit, make_token, parse_size, yuv
from publish import solid


async def join(options: argparse.Namespace, number: int) -> tuple[rtc.Room, rtc.VideoSource]:
    """One participant with a camera."""
    room = rtc.Room()
    identity = f"{options.identity}{number}"
    token = make_token(options.api_key, options.api_secret, options.room, identity)
    await room.connect(options.url, token, rtc.RoomOptions(auto_subscribe=False))
    emit("joined", identity=identity)
    width, height = parse_size(options.size)
    camera = rtc.VideoSource(width, height)
    how = rtc.TrackPublishOptions(
        source=rtc.TrackSource.SOURCE_CAMERA, video_codec=rtc.VideoCodec.VP8, simulcast=False)
    how.video_encoding.max_bitrate = 100_000
    how.video_encoding.max_framerate = options.fps
    await room.local_participant.publish_track(rtc.LocalVideoTrack.create_video_track("camera", camera), how)
    emit("published", identity=identity)
    return room, camera


async def show(options: argparse.Namespace, cameras: list) -> None:
    """Gives everybody's camera its pictures."""
    pictures = [solid(*parse_size(options.size), yuv(colour)) for colour in options.colours.split(",")]
    while True:
        now = time.time()
        for camera in cameras:
            camera.capture_frame(pictures[int(now // options.span) % 2], timestamp_us=int(now * 1_000_000))
        await asyncio.sleep(max(0.0, now + 1 / options.fps - time.time()))


async def main() -> None:
    """Lets them in, five at a time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--room", required=True)
    parser.add_argument("--identity", default="guest", help="of each, with a number behind it")
    parser.add_argument("--api-key", required=True)
    parser.add_argument("--api-secret", required=True)
    parser.add_argument("--people", type=int, default=27)
    parser.add_argument("--size", default="160x90")
    parser.add_argument("--fps", type=float, default=5)
    parser.add_argument("--span", type=float, default=2, help="of one colour, in seconds")
    parser.add_argument("--colours", default="20c020,2020d0", help="two, RRGGBB,RRGGBB")
    options = parser.parse_args()
    rooms, cameras = [], []
    # Those who are there already have pictures while others join: a track without any is not published by libwebrtc.
    showing = asyncio.create_task(show(options, cameras))
    for first in range(0, options.people, 5):
        group = [join(options, number) for number in range(first, min(first + 5, options.people))]
        for room, camera in await asyncio.gather(*group):
            rooms.append(room)
            cameras.append(camera)
    emit("complete", people=len(rooms))
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    showing.cancel()
    await asyncio.gather(*(room.disconnect() for room in rooms))
    emit("left")


if __name__ == "__main__":
    asyncio.run(main())
