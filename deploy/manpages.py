#!/usr/bin/env python3
"""Writes recbot's manual pages from what the program says of its commands.

  deploy/manpages.py RECBOT FOLDER

recbot(1) has the overview and the exit codes, recbot-NAME(1) each command with its subcommands and options. They come from
`recbot --experimental-dump-help` and Documentation.docc/ExitCodes.md, so that nothing is written twice. SOURCE_DATE_EPOCH
gives the date.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

EXIT_CODES = pathlib.Path(__file__).resolve().parent.parent / "Sources/recbot/Documentation.docc/ExitCodes.md"

FILES = [".Sh FILES", ".Bl -tag -width Ds", ".It Pa /etc/recbot/recbot.yaml",
         "Every setting, with its variable, its flag and its default.", ".El"]


def words(text: str) -> str:
    """Escapes text for mdoc(7): backslashes, and dashes that are to be copied as they are."""
    return text.strip().replace("\\", "\\e").replace("-", "\\-")


def line(text: str) -> str:
    """A line of running text, which must not look like a request."""
    escaped = words(text.replace("`", ""))
    return ("\\&" if escaped[:1] in (".", "'") else "") + escaped


def argument(text: str) -> str:
    """A word as an argument of a macro, never taken for a macro itself."""
    return "\\&" + words(text).replace('"', "\\(dq").replace(" ", "\\ ")


def sentences(text: str) -> list[str]:
    """Paragraphs of running text; indented lines, and tables made of spaces, stay as they are."""
    lines: list[str] = []
    literal = False
    for raw in text.strip("\n").splitlines():
        stays = raw.startswith("  ") or "  " in raw.strip()
        if literal and not stays:
            lines.append(".Ed")
        elif stays and not literal:
            # It stands apart by itself.
            lines = lines[:-1] if lines[-1:] == [".Pp"] else lines
            lines.append(".Bd -literal -offset indent")
        literal = stays
        if literal:
            lines.append(line(raw))
        elif raw.strip():
            lines += [line(sentence) for sentence in re.split(r"(?<=[.!?]) (?=[A-Z])", raw.strip())]
        elif lines[-1:] != [".Pp"]:
            lines.append(".Pp")
    return lines + ([".Ed"] if literal else [])


def shown(entries: list[dict] | None) -> list[dict]:
    """The commands or arguments that users are told of."""
    return [entry for entry in entries or [] if entry["shouldDisplay"] and entry.get("commandName") != "help"]


def names(entry: dict) -> list[str]:
    """An option's names without their first dash, the short ones first."""
    found = [("-" if name["kind"] == "long" else "") + name["name"] for name in entry.get("names", [])]
    return sorted(found, key=len)


def value(entry: dict) -> str:
    """What is given with an option, or in an argument's place."""
    if entry["kind"] == "flag":
        return ""
    return f" Ar {argument(entry.get('valueName', 'value'))}" + (" ..." if entry["isRepeating"] else "")


def synopsis(name: str, command: dict, common: list[dict]) -> list[str]:
    """How a command is called."""
    lines = [f".Nm {name}"]
    if shown(command.get("subcommands")):
        return [*lines, ".Ar \\&command", ".Op Ar options"]
    entries = [entry for entry in shown(command.get("arguments")) if entry not in common]
    last = [entry for entry in entries if entry["kind"] == "positional"]
    for entry in [entry for entry in entries if entry not in last and names(entry)[-1] not in ("-help", "-version")]:
        lines.append((".Op " if entry["isOptional"] else ".") + f"Fl {argument(names(entry)[-1])}{value(entry)}")
    lines += [".Op Ar options"] if common else []
    return lines + [(".Op " if entry["isOptional"] else ".") + value(entry).strip() for entry in last]


def told(command: dict) -> list[str]:
    """What a command does."""
    return sentences("\n\n".join(filter(None, [command["abstract"], command.get("discussion")])))


def lowered(text: str) -> str:
    """The first sentence as the rest of another one."""
    return text[:1].lower() + text[1:].rstrip(".")


def described(entries: list[dict]) -> list[str]:
    """A list of options and arguments with what they mean."""
    if not entries:
        return []
    lines = [".Bl -tag -width Ds"]
    for entry in sorted(entries, key=lambda entry: entry["kind"] != "positional"):
        label = value(entry) if entry["kind"] == "positional" else \
            " , ".join(f" Fl {argument(name)}{value(entry)}" for name in names(entry))
        lines.append(".It" + label.replace("  ", " "))
        lines += sentences(" ".join(filter(None, [entry.get("abstract"), entry.get("discussion")])))
        if entry.get("allValues"):
            lines.append(line("One of: " + ", ".join(entry["allValues"]) + "."))
        if entry.get("defaultValue") and entry["kind"] != "flag":
            lines.append(line(f"The default is {entry['defaultValue']}."))
    return [*lines, ".El"]


def leaves(name: str, command: dict) -> list[tuple[str, dict]]:
    """The commands of a tree that do something, with their full names."""
    below = shown(command.get("subcommands"))
    return [leaf for sub in below for leaf in leaves(f"{name} {sub['commandName']}", sub)] if below else [(name, command)]


def page(name: str, command: dict, date: str, version: str) -> list[str]:
    """The page of one command of the first level, with everything below it."""
    every = leaves(f"recbot {name}", command)
    common = [entry for entry in shown(every[0][1].get("arguments"))
              if entry["kind"] != "positional" and len(every) > 1
              and all(entry in leaf.get("arguments", []) for _, leaf in every)]
    lines = [f".Dd {date}", f".Dt RECBOT-{name.upper()} 1", f".Os recbot {version}",
             ".Sh NAME", f".Nm recbot-{name}", ".Nd " + line(lowered(command["abstract"])), ".Sh SYNOPSIS"]
    for full, leaf in every:
        lines += synopsis(full, leaf, common)
    lines += [".Sh DESCRIPTION", *told(command)]
    if len(every) == 1:
        lines += [".Sh OPTIONS", *described(shown(command.get("arguments")))]
    else:
        lines.append(".Sh COMMANDS")
        for full, leaf in every:
            own = [entry for entry in shown(leaf.get("arguments")) if entry not in common]
            lines += [f".Ss {words(full)}", *told(leaf), *described(own)]
        if common:
            lines += [".Sh OPTIONS", "All of these commands take:", *described(common)]
    return [*lines, *FILES, *also(["recbot"])]


def overview(command: dict, date: str, version: str) -> list[str]:
    """The page of the program: its commands and exit codes."""
    lines = [f".Dd {date}", ".Dt RECBOT 1", f".Os recbot {version}", ".Sh NAME", ".Nm recbot",
             ".Nd records WebRTC rooms into WebM", ".Sh SYNOPSIS", ".Nm", ".Ar \\&command", ".Op Ar options",
             ".Sh DESCRIPTION", *told(command), ".Sh COMMANDS", ".Bl -tag -width Ds"]
    for sub in shown(command["subcommands"]):
        lines += [f".It Xr recbot-{sub['commandName']} 1", line(sub["abstract"])]
    lines += [".El", *FILES, ".Sh EXIT STATUS", ".Bl -tag -width 4n -compact", ".It 0",
              "The recording is whole, or the command done."]
    for row in re.findall(r"^\| (\d+) \|(.*)\|$", EXIT_CODES.read_text(), re.MULTILINE):
        cells = [cell.strip() for cell in row[1].split("|")]
        lines += [f".It {row[0]}", *[line(cell.rstrip(".") + ".") for cell in (cells[-2:] if len(cells) > 1 else cells)]]
    return [*lines, ".El", *also([f"recbot-{sub['commandName']}" for sub in shown(command["subcommands"])])]


def also(others: list[str]) -> list[str]:
    """The pages that are named at the end of one."""
    return [".Sh SEE ALSO", *(f".Xr {other} 1 ," for other in sorted(others)[:-1]), f".Xr {max(others)} 1"]


def main() -> None:
    """Writes all pages."""
    program, folder = sys.argv[1:]
    def ask(flag: str) -> str:
        return subprocess.run([program, flag], check=True, capture_output=True, text=True).stdout
    command, version = json.loads(ask("--experimental-dump-help"))["command"], ask("--version").strip()
    moment = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    date = f"{time.strftime('%B', moment)} {moment.tm_mday}, {moment.tm_year}"
    pages = {"recbot": overview(command, date, version)}
    pages |= {f"recbot-{sub['commandName']}": page(sub["commandName"], sub, date, version)
              for sub in shown(command["subcommands"])}
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for name, lines in pages.items():
        (pathlib.Path(folder) / f"{name}.1").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
