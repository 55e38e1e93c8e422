"""The scenarios of faults.py, by name, in the order in which they are run."""

from disruptions.addresses import addresses
from disruptions.losses import losses, losses_long, weather
from disruptions.outages import outage_120, outages
from disruptions.servers import restart

SCENARIOS = {scenario.__name__: scenario for scenario in (
    outages, restart, addresses, losses, weather, outage_120, losses_long)}
LONG = ("outage_120", "losses_long")
