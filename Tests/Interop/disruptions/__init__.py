"""Networks and servers that fail: the scenarios by name, in the order in which they are run."""

from disruptions.addresses import addresses
from disruptions.arrivals import first_picture
from disruptions.booths import booths
from disruptions.codes import codes
from disruptions.families import families
from disruptions.losses import losses, losses_long, weather
from disruptions.narrow import narrow
from disruptions.outages import outage_120, outages
from disruptions.relays import relays
from disruptions.servers import meanwhile, restart
from disruptions.torn import torn
from disruptions.walls import walls

SCENARIOS = {scenario.__name__: scenario for scenario in (
    outages, restart, meanwhile, addresses, first_picture, families, relays, walls, booths, losses, weather, torn, narrow, codes,
    outage_120, losses_long)}
# The page over a relay: relays, and PeerRelayTests among the unit tests. Jitter, disorder, copies, damage and bursts: losses over a
# real network, MediaEngineTests in manual time. A bottleneck: the alert, the card, the sound that goes on and the picture that comes
# back are in recordings/bandwidth, who gives way in BandwidthPolicyTests and ReceptionPolicyTests.
LONG = ("outage_120", "losses_long", "booths", "weather", "narrow")
# Several recordings at once fill the machine, or it is its speed that is measured.
ALONE = ("losses", "losses_long", "weather", "torn", "first_picture", "booths")
