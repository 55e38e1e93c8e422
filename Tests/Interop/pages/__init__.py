"""What the documentation says, tried, by name."""

from pages.commands import commands
from pages.documentation import documentation

SCENARIOS = {"commands": commands, "documentation": documentation}
