"""Recordings that wait for their room, and rooms that end or empty under them."""

import random

import numpy as np

from judge import AUDIO_RATE, Recording, beeps
from scenarios.common import continuous
from stage import Stage, make_token
from verdict import Verdict, ms

# How much of a room's beginning is missed: where the server tells of rooms, and where it can only be tried.
TOLD, TRIED = 0.5, 1.2
ROUNDS = 3


def waiting(stage: Stage, verdict: Verdict) -> None:
    """Rooms that begin at random moments while recordings wait for them, with the secret and with a token only."""
    stage.server("0", "--no-auto-create")
    chance = random.Random(20261122)
    person = stage.publisher("ann", "--size", "320x180", colour="green", room="room1")
    person.event("ready", timeout=30)
    told, tried = [], []
    for number in range(1, ROUNDS + 1):
        room = f"room{number}"
        patient = stage.recorder(f"told{number}", "--size", "320x180", "--wait-for-room", "60s", room=room)
        poor = stage.recorder(f"tried{number}", "--size", "320x180", "--wait-for-room", "60s", "--token",
                              make_token(f"tried{number}", room), room=room)
        for recorder in (patient, poor):
            recorder.line(lambda text: recorder.progress(text).get("connection") == "waitingForRoom", 10)
        stage.until(stage.until(0) + chance.uniform(3.0, 4.5))
        begun = stage.service("CreateRoom", name=room)
        if number == 1:
            person.tell("join", "complete")
        for recorder in (patient, poor):
            recorder.recording()
        stage.until(max(begun, stage.until(0)) + 2.5)
        for recorder, limits in ((patient, told), (poor, tried)):
            recorder.stop()
            recording = Recording.load(str(recorder.path))
            continuous(recording, verdict)
            limits.append(recording.zero - begun)
            if number == 1:
                # The first beep that follows the publication by what a subscription takes is there.
                published = max(event["wall"] for event in person.events("published")) - recording.zero
                first = np.ceil(recording.zero + max(published, 0) + 0.5) - recording.zero
                heard = beeps(recording, person.pitch, first - 0.3, first + 0.5)
                verdict.check(bool(heard), f"{recorder.name}: the beep at {first:.2f} s of the file is not heard")
    verdict.check(max(told) <= TOLD, f"with the secret, the recordings begin {', '.join(map(ms, told))} after the rooms")
    verdict.check(max(tried) <= TRIED, f"with a token, the recordings begin {', '.join(map(ms, tried))} after the rooms")
    verdict.figure(f"with the secret after {', '.join(map(ms, told))}, with a token {', '.join(map(ms, tried))}")


def deleted(stage: Stage, verdict: Verdict) -> None:
    """Rooms that are deleted while somebody talks: the file ends with the word that was received last."""
    stage.server()
    for number in range(1, ROUNDS + 1):
        room = f"talk{number}"
        person = stage.publisher(f"ann{number}", "--size", "320x180", colour="green", room=room).join()
        person.tell("talk", "talking")
        recorder = stage.recorder(f"deleted{number}", "--size", "320x180", room=room)
        began = recorder.recording()
        # In the middle of a second: the noise between two beeps.
        stage.until(np.ceil(began) + 3.5)
        asked = stage.until(0)
        stage.service("DeleteRoom", room=room)
        status = recorder.exit(10)
        verdict.check(status == 0, f"{room}: exit code {status}: {recorder.tail()}")
        recording = Recording.load(str(recorder.path))
        continuous(recording, verdict)
        length = recording.zero + recording.duration - asked
        verdict.timely(-0.05 <= length <= 0.25, f"{room}: the file ends {ms(length)} after the room")
        quiet = silence_at_end(recording)
        verdict.check(quiet <= 0.05, f"{room}: silent for the last {ms(quiet)}")
        verdict.check(recording.area(person.colour, recording.duration) > 0.3, f"{room}: no picture at the end")
        verdict.figure(f"{room} ends {ms(length)} after the room, silent for {ms(quiet)}")
        person.close()


def silence_at_end(recording: Recording) -> float:
    """For how long nothing is heard at the end, in seconds."""
    loud = np.flatnonzero(np.abs(recording.audio) > 0.02)
    return recording.duration - (loud[-1] / AUDIO_RATE if loud.size else 0.0)


def bots_only(stage: Stage, verdict: Verdict) -> None:
    """A telephone caller is a person, an agent is none: when only the agent is left, `--stop-when-empty` counts."""
    stage.server()

    def somebody(name: str, kind: str, colour: str):
        token = make_token(name, "test", kind=kind, canPublish=True, hidden=None)
        return stage.publisher(name, "--size", "320x180", "--token", token, colour=colour)

    caller, agent = somebody("caller", "sip", "green"), somebody("agent", "agent", "blue")
    caller.join()
    agent.join()
    recorder = stage.recorder("bots", "--stop-when-empty", "2s", "--size", "320x180")
    stage.until(recorder.recording() + 3.5)
    verdict.check(recorder.status is None, "the recording ended while somebody was on the telephone")
    left = caller.tell("leave", "left")
    status = recorder.exit(10)
    verdict.check(status == 0, f"exit code {status}: {recorder.tail()}")
    recording = Recording.load(str(recorder.path))
    continuous(recording, verdict)
    waited = recording.zero + recording.duration - left
    verdict.timely(abs(waited - 2) <= 0.2, f"the recording ends {waited:.2f} s after the last person left")
    verdict.figure(f"after {waited:.2f} s beside an agent")
