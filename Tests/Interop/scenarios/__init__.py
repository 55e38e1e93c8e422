"""The scenarios, by name, in the order in which they are run."""

from scenarios.booth import booth, interview
from scenarios.churn import churn
from scenarios.control import control, pauses
from scenarios.conversation import conversation
from scenarios.crowd import crowd
from scenarios.demo import demo
from scenarios.endings import endings
from scenarios.faces import faces
from scenarios.joined import joined
from scenarios.judging import judging
from scenarios.kill import kill
from scenarios.messages import messages
from scenarios.outage import outage
from scenarios.presence import presence
from scenarios.reception import bandwidth, layers
from scenarios.refusals import refusals
from scenarios.seats import seats
from scenarios.shapes import shapes
from scenarios.simulcast import simulcast
from scenarios.speaker import speaker
from scenarios.tracks import tracks
from scenarios.trouble import trouble

SCENARIOS = {scenario.__name__: scenario for scenario in (
    judging, refusals, demo, conversation, tracks, shapes, speaker, simulcast, layers, bandwidth, messages, presence,
    churn, crowd, outage, booth, interview, seats, trouble, control, pauses, faces, endings, kill, joined)}
