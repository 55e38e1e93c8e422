"""Attacks on the shipped program, by name: a scenario is a function of a Stage and a Verdict, named after its attack."""

import importlib
import pathlib
import pkgutil

SEED = 20261122
LONG = False

# Every function of the modules beside this one that stands in its module's list `ATTACKS`.
SCENARIOS = {
    attack.__name__: attack
    for module in pkgutil.iter_modules([str(pathlib.Path(__file__).parent)])
    for attack in importlib.import_module(f"{__name__}.{module.name}").ATTACKS
}
