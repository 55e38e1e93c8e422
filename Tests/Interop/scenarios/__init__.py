"""The scenarios, by name, in the order in which they are run."""

from scenarios.booth import booth, interview
from scenarios.browsers import browsers
from scenarios.budget import budget
from scenarios.churn import churn
from scenarios.codecs import codecs
from scenarios.composed import composed, log_full, log_killed
from scenarios.control import control, pauses
from scenarios.conversation import conversation
from scenarios.crowd import crowd
from scenarios.demo import demo
from scenarios.encrypted import encrypted, encrypted_codecs
from scenarios.endings import endings
from scenarios.faces import faces
from scenarios.hidden import processors, processors_long
from scenarios.joined import joined
from scenarios.judging import judging
from scenarios.kill import kill, kill_long, survival, survival_long
from scenarios.loudness import loudness
from scenarios.messages import messages
from scenarios.outage import outage
from scenarios.outputs import outputs, outputs_full
from scenarios.presence import presence
from scenarios.quality import quality
from scenarios.rare import high_efficiency, telephones
from scenarios.rates import rates
from scenarios.reception import bandwidth, cards, layers
from scenarios.refusals import refusals
from scenarios.repaired import repaired
from scenarios.running import running
from scenarios.seats import seats
from scenarios.segments import segments, segments_full
from scenarios.shapes import shapes
from scenarios.simulcast import simulcast
from scenarios.sinks import sinks, unread, watched
from scenarios.soak import soak
from scenarios.speaker import speaker
from scenarios.stalls import stalls
from scenarios.still import still
from scenarios.streams import streamed
from scenarios.tracks import tracks
from scenarios.trouble import trouble
from scenarios.waiting import bots_only, deleted, waiting
from scenarios.written import written

SCENARIOS = {scenario.__name__: scenario for scenario in (
    running, judging, refusals, demo, conversation, tracks, codecs, browsers, written, telephones, high_efficiency, shapes, speaker, simulcast,
    layers, cards, bandwidth, messages, presence, still, budget, encrypted, encrypted_codecs, churn, stalls, crowd, outage, booth, interview, seats, trouble, control, pauses, processors, processors_long,
    faces, loudness, endings, waiting, deleted, bots_only, rates, composed, log_killed, log_full, outputs, outputs_full, segments, segments_full, sinks, watched, unread, streamed, quality, kill, survival, repaired, joined, kill_long, survival_long, soak)}
SMOKE = ("running", "conversation")
# A server that goes away: faults/restart. Coming and going at random: presence and tracks. Encrypted VP8 and H.264: encrypted; the
# other codecs' frames are sealed in FrameEncryptionTests.
LONG = ("browsers", "encrypted_codecs", "churn", "crowd", "outage", "unread", "processors_long", "kill_long", "survival_long", "soak")
# Clients that encode in VP9 and AV1 need both cores.
ALONE = ("codecs", "browsers", "written", "encrypted_codecs", "composed", "outputs")
