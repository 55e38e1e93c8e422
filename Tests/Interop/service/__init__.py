"""The scenarios of a whole service, by name, in the order in which they are run."""

from service.everyday import shared, single
from service.losses import (absent_backend, crashed_recording, drained_worker, frozen_worker, killed_worker,
                            restarted_worker)

SCENARIOS = {scenario.__name__: scenario for scenario in (
    single, shared, killed_worker, crashed_recording, frozen_worker, absent_backend, drained_worker, restarted_worker)}
