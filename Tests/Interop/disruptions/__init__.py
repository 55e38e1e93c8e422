"""The scenarios of faults.py, by name, in the order in which they are run."""

from disruptions.addresses import addresses
from disruptions.booths import booths
from disruptions.codes import codes
from disruptions.families import families
from disruptions.losses import losses, losses_long, weather
from disruptions.narrow import narrow
from disruptions.outages import outage_120, outages
from disruptions.relays import relays
from disruptions.servers import meanwhile, restart

SCENARIOS = {scenario.__name__: scenario for scenario in (
    outages, restart, meanwhile, addresses, families, relays, booths, losses, weather, narrow, codes, outage_120, losses_long)}
LONG = ("outage_120", "losses_long")
