"""The scenarios of the room server, by name: real clients, its faults, its server API."""

from case import scenarios
from room_server.bots import BotsTest
from room_server.clients import RoomServerTest
from room_server.examples import ExamplesTest
from room_server.faults import FaultsTest
from room_server.rights import no_capabilities

SCENARIOS = scenarios(RoomServerTest, BotsTest, ExamplesTest, FaultsTest) | {"no_capabilities": no_capabilities}
# The same verbs are shown with clients of our own by RoomServerTests, and under a recorder by recordings and faults.
LONG = ("a_publisher_resumes_and_nobody_notices", "a_loss_of_signal_and_media_is_overcome",
        "migration_leads_back_to_the_room", "paused_streams_stop_and_flow_again",
        "a_narrow_path_gets_small_pictures_and_then_none")
