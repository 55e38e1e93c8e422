"""The scenarios of a whole service, by name, in the order in which they are run."""

from service.arrivals import awaited
from service.everyday import shared, single
from service.files import after, crowded, downloaded, far_file, fetched, stored_file
from service.further import further
from service.listening import listened
from service.losses import (absent_backend, crashed_recording, drained_worker, frozen_worker, killed_worker, logged,
                            restarted_worker)
from service.machines import absent_bucket, apart, left_machine, lost_machine, one_name, returned_machine
from service.refusing import able, nobody, receivers, refused, sealed, wishes
from service.starting import closed

SCENARIOS = {scenario.__name__: scenario for scenario in (
    closed, nobody, refused, able, receivers, wishes, sealed, single, shared, awaited, killed_worker, crashed_recording,
    logged, frozen_worker, absent_backend, drained_worker, restarted_worker, lost_machine, left_machine, returned_machine, apart,
    absent_bucket, one_name, fetched, crowded, far_file, stored_file, downloaded, after, further,
    listened)}
SMOKE = ("single",)
# Handing over: drained_worker, apart. A worker that comes back: restarted_worker, lost_machine.
LONG = ("left_machine", "returned_machine")
