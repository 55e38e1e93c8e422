"""Networks that let no datagram out: media goes over TCP to the room server, or over TLS to a relay."""

import json
import secrets
import shutil
import subprocess

from disruptions import wiring
from disruptions.judging import load, present
from stage import Stage
from verdict import Verdict, ms

SERVER = "198.18.1.1"
TLS = 5349
# From the beginning until everybody is seen.
SHOWN = 5.0


def walls(stage: Stage, verdict: Verdict) -> None:
    """UDP is blocked: in the room within 5 s by ICE over TCP; where only TLS gets out, by a relay. Both say so."""
    if not shutil.which("nft"):
        verdict.figure("skipped: there is no `nft` (Debian: nftables)")
        return
    key, certificate = (stage.folder / f"relay.{kind}" for kind in ("key", "pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=relay", "-addext", f"subjectAltName=IP:{SERVER}", "-keyout", str(key), "-out",
                    str(certificate)], check=True, capture_output=True)
    password = secrets.token_hex(8)
    wiring.begin(stage, "--ice-server", f"turns:{SERVER}:{TLS}", "--ice-username", "u", "--ice-credential", password)
    stage.relay(SERVER, 3478, password, "--tls-listening-port", str(TLS), "--cert", str(certificate), "--pkey", str(key),
                tls=True)
    person = stage.publisher("ann", "--size", "480x270", colour="green", display="Sophie").join()
    person.tell("talk", "talking")
    signal = int(stage.url.rsplit(":", 1)[1])
    ports = {"tcp": "1-65535", "tls": f"{signal}, {TLS}", "wary": f"{signal}, {TLS}"}
    bots = {}
    for number, (name, allowed) in enumerate(ports.items(), 1):
        near = wiring.wire(stage, number, "delay=20ms")
        wiring.inside(near.near, "nft", "add table inet wall; add chain inet wall out { type filter hook output priority 0; "
                      "policy drop; }; add rule inet wall out oif lo accept; "
                      f"add rule inet wall out tcp dport {{ {allowed} }} accept")
        trusted = [] if name == "wary" else ["--tls-ca", str(certificate)]
        bots[name] = wiring.bot(stage, name, near, "--timeline", str(stage.folder / f"{name}.jsonl"), *trusted)
    began = max(bots[name].recording(30) for name in ("tcp", "tls"))
    stage.until(began + 10)
    for bot in bots.values():
        bot.stop()
    for name, carrier in (("tcp", "TCP"), ("tls", "TURN over TLS")):
        recording = load(bots[name], verdict)
        shown = recording.shown(person.colour, 0)
        total, _, _, both = present(recording, person, shown + 0.5, recording.duration - 1)
        verdict.check(shown < SHOWN and both == total > 4,
                      f"{name}: shown after {ms(shown)}, {both} of {total} seconds are whole")
        verdict.figure(f"{name} from {ms(shown)} on {both} of {total}")
        # The far side has an address on each wire; the relay has the first.
        host = SERVER if name == "tls" else "198.18."
        entries = map(json.loads, (stage.folder / f"{name}.jsonl").read_text().splitlines())
        paths = [f"{entry['carrier']}, {entry['address']}" for entry in entries if entry["event"] == "path"]
        verdict.check(len(paths) == 1 and paths[0].startswith(f"{carrier}, {host}"), f"{name}: the timeline says {paths}")
        told = bots[name].last_progress.get("path")
        verdict.check(paths[-1:] == [told], f"{name}: the progress says {told!r}")
    warned = [line for line in bots["wary"].errors.splitlines() if "no authority that this machine trusts" in line]
    verdict.check(any(f"{SERVER}:{TLS}" in line for line in warned), f"wary: the log says {bots['wary'].errors[-300:]!r}")
