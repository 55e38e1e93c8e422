"""Clients of other makers against `PeerConnection` alone (Tests/Tools/peer-echo), by name."""

from peers.echo import answerer, offerer, relay, telephone

SCENARIOS = {scenario.__name__: scenario for scenario in (offerer, answerer, relay, telephone)}
