"""What the documentation says, tried, by name."""

from pages.commands import commands

SCENARIOS = {"commands": commands}
