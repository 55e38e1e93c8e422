"""The seed of what is random in a scenario: its own, unless the command line gives one."""

GIVEN: int | None = None


def seed(own: int) -> int:
    """The seed to use in place of a scenario's own one."""
    return own if GIVEN is None else GIVEN
