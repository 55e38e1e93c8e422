#!/usr/bin/env python3
"""Tries the package, the units, the manifests and the image's steps on bare Debian machines in folders; `make check-package`.

  sudo Tests/Package/check.py PROGRAM [--only SECTION] [--build] [--keep FOLDER]

Needs root, debootstrap, iproute2 and Debian's archives. The folders are in .build/package; everything that is mounted or
started goes with the process. --build runs the image's `make deb` as it stands, which compiles everything; without it
PROGRAM is packed in its place. --keep has a copy of what was recorded.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import dockerfile
from machine import Failed, Machine, debian, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORK = ROOT / ".build" / "package"
# What the tools say is printed as the machine that has them.
TOOLS = "lintian mandoc man-db prometheus systemd bash-completion fish zsh"
# What the server of the page "Getting it onto a server" has before, and a proxy.
SERVER = "systemd systemd-sysv dbus sudo openssl ca-certificates nginx-light curl sqlite3"
# What an operator puts in there.
OPERATORS = {
    "wss://livekit.example.com": "ws://127.0.0.1:7880", "LIVEKIT_API_KEY=KEY": "LIVEKIT_API_KEY=devkey",
    "LIVEKIT_API_SECRET=SECRET": "LIVEKIT_API_SECRET=secret", "--max-duration 1h": "--max-duration 5s", "my-room": "talk",
    "recbot-worker@1 -f": "recbot-worker@1 -f & sleep 2; kill $!",
}
# What the image `swift` has beside the toolchain.
SWIFT_IMAGE = ("binutils git libc6-dev libcurl4-openssl-dev libedit2 libgcc-12-dev libncurses-dev libsqlite3-0 "
               "libstdc++-12-dev libxml2-dev libz3-dev pkg-config tzdata zlib1g-dev")
# Stripped. The aim is 60 MB: ICU's data, which Foundation brings, are 34 of these.
LARGEST_PROGRAM = 96_000_000
# systemd's own measure: 10 is unprotected, below 2 is what it calls OK.
EXPOSURE = 2.0
LIVEKIT = {"LIVEKIT_URL": "ws://127.0.0.1:7880", "LIVEKIT_API_KEY": "devkey", "LIVEKIT_API_SECRET": "secret"}
# Two people in a room, ready to be recorded.
ROOM = """
recbot room-server >/tmp/room.log 2>&1 &
for _ in $(seq 150); do (exec 3<>/dev/tcp/127.0.0.1/7880) 2>/dev/null && break; sleep 0.2; done
recbot people talk --participants 2 --duration 60s >/tmp/people.log 2>&1 &
"""
# A job of the backend that begins to run, with a key that KEYS prints.
JOB = """
for _ in $(seq 150); do recbot health >/dev/null 2>&1 && break; sleep 0.2; done
recbot health
KEY=$($KEYS | grep -o 'rbk_[A-Za-z0-9_-]*')
RECBOT_API_KEY=$KEY recbot jobs submit talk --size 640x360 --max-duration 5s --watch
"""


class Check:
    """The sections, and what they share."""

    def __init__(self, options: argparse.Namespace):
        self.program = options.program.resolve()
        self.build = options.build
        self.keep = options.keep
        self.figures: list[str] = []
        self.package = pathlib.Path()
        self.machines: dict[str, Machine] = {}
        self.base = debian(WORK / "debian-12")

    def figure(self, text: str) -> None:
        """Notes what was measured."""
        self.figures.append(text)

    def expect(self, condition: object, fault: str) -> None:
        """Ends the section when something is not as it should be."""
        if not condition:
            raise Failed(fault)

    def made(self) -> pathlib.Path:
        """The package, made of the program once."""
        if not self.package.name:
            self.package = ROOT / run([str(ROOT / "deploy/debian/build.sh"), str(self.program)]).splitlines()[-1]
        return self.package

    def installed(self, name: str, below: pathlib.Path | None = None) -> Machine:
        """A machine on which the package is installed, as a person would: by apt, without what is only recommended."""
        if name not in self.machines:
            machine = self.machines[name] = Machine.copy(below or self.base, WORK / name)
            shutil.copy(self.made(), machine.root / "srv/recbot.deb")
            machine.online("apt-get update -qq && apt-get install -y -qq --no-install-recommends /srv/recbot.deb"
                           " && apt-get clean && rm -rf /var/lib/apt/lists/*")
        return self.machines[name]

    def tools(self, name: str = "tools") -> Machine:
        """A machine with the package and everything that judges it."""
        return self.installed(name, debian(WORK / "debian-12-tools", TOOLS, self.base))

    # The sections, in the order in which they are run.

    def contents(self) -> None:
        """What `make install` installs; the package: what is in it, the same bytes each time, and what lintian says."""
        folder = WORK / "installed"
        shutil.rmtree(folder, ignore_errors=True)
        run(["make", "install", "PREFIX=/opt/recbot", f"DESTDIR={folder}", f"PROGRAM={self.program}"])
        unit = (folder / "opt/recbot/lib/systemd/system/recbot-serve.service").read_text()
        self.expect("\nExecStart=/opt/recbot/bin/recbot serve --config /opt/recbot/etc/recbot/recbot.yaml" in unit,
                    f"make install: the unit starts another program: {unit}")
        self.expect((folder / "opt/recbot/etc/recbot/recbot.yaml").exists(), "make install: no settings")
        first = self.made().read_bytes()
        self.package = pathlib.Path()
        self.expect(self.made().read_bytes() == first, "made twice, the package differs")
        fields = run(["dpkg-deb", "--field", str(self.package)])
        listed = run(["dpkg-deb", "--contents", str(self.package)])
        size = int(re.search(r"(\d+) \S+ \S+ \./usr/bin/recbot$", listed, re.MULTILINE)[1])
        for path in ("./etc/recbot/recbot.yaml", "./usr/lib/systemd/system/recbot-serve.service", "./usr/share/recbot/layouts/grid.yaml",
                     "./usr/lib/systemd/system/recbot-worker@.service", "./usr/share/man/man1/recbot-join.1.gz",
                     "./usr/share/bash-completion/completions/recbot", "./usr/share/zsh/vendor-completions/_recbot",
                     "./usr/share/fish/vendor_completions.d/recbot.fish"):
            self.expect(f" {path}\n" in listed, f"the package has no {path}")
        self.expect("libswift" not in listed, "the package has libraries of the toolchain")
        self.figure(f"program {size / 1e6:.1f} MB stripped, package {len(first) / 1e6:.1f} MB")
        print(fields)
        tools = self.tools()
        print(tools.run("lintian --fail-on error,warning /srv/recbot.deb"))
        self.expect(size <= LARGEST_PROGRAM, f"the program has {size} bytes")

    def pages(self) -> None:
        """Manual pages and completions: read by man, mandoc and the shells."""
        tools = self.tools()
        self.expect("records WebRTC rooms" in tools.run("man recbot | col -b"), "man shows no recbot(1)")
        page = tools.run("man recbot-join | col -b")
        for word in ("--layout", "--stop-when-empty", "--wait-for-room"):
            self.expect(word in page, f"recbot-join(1) does not tell of {word}")
        tools.run("for page in /usr/share/man/man1/recbot*; do zcat $page | mandoc -T lint -W warning; done")
        tools.run("bash -n /usr/share/bash-completion/completions/recbot && zsh -n /usr/share/zsh/vendor-completions/_recbot"
                  " && fish --no-execute /usr/share/fish/vendor_completions.d/recbot.fish")
        offered = tools.run("""source /usr/share/bash-completion/bash_completion; set +eu
            source /usr/share/bash-completion/completions/recbot
            COMP_WORDS=(recbot jo) COMP_CWORD=1 COMP_LINE='recbot jo' COMP_POINT=9; _recbot recbot jo recbot
            echo "${COMPREPLY[@]}" """)
        self.expect({"join", "jobs"} <= set(offered.split()), f"bash completes `recbot jo` to: {offered}")
        self.figure(f"{tools.run('ls /usr/share/man/man1/recbot* | wc -l').strip()} manual pages")

    def demo(self) -> None:
        """A bare machine: the package, what it pulls in, and a recording."""
        machine = self.installed("bare")
        self.expect("not found" not in machine.run("ldd /usr/bin/recbot"), "a library is missing")
        machine.run("getent passwd recbot")
        machine.run("cd /srv && recbot demo --duration 8s --output demo.webm", LIVEKIT)
        print(machine.run("cd /srv && recbot probe demo.webm"))
        self.expect((machine.root / "srv/demo.png").stat().st_size > 20_000, "the poster is empty")
        size = run(["du", "--summarize", "--one-file-system", "--block-size=1M", str(self.base), str(machine.root)]).split()
        self.figure(f"Debian {size[0]} MB, with recbot {size[2]} MB")
        self.kept(machine, "srv/demo.webm", "srv/demo.png")

    def service(self) -> None:
        """`recbot serve --with-worker` on that machine, one job of it, and what removing leaves."""
        machine = self.installed("bare")
        said = machine.run(f"""{ROOM}
            cd /srv
            recbot serve --with-worker --data-dir /srv/data >/srv/serve.log 2>&1 &
            KEYS='recbot keys add check --data-dir /srv/data'
            {JOB}
            kill %3; wait %3; kill %1 %2
            recbot probe data/recordings/*.webm""", LIVEKIT)
        print(said)
        self.expect("duration" in said.lower(), "the job left no recording")
        machine.online("install -o recbot -g recbot /dev/null /var/lib/recbot/talk.webm; apt-get remove -y -qq recbot")
        self.expect((machine.root / "var/lib/recbot/talk.webm").exists(), "removing the package removed a recording")
        told = machine.online("apt-get purge -y -qq recbot")
        self.expect("recordings are left" in told, "purging does not tell of the recordings")
        self.expect(not (machine.root / "etc/recbot").exists(), "purging leaves settings")
        self.expect((machine.root / "var/lib/recbot/talk.webm").exists(), "purging removed a recording")
        machine.online("rm /var/lib/recbot/talk.webm; apt-get install -y -qq --no-install-recommends /srv/recbot.deb; "
                       "apt-get purge -y -qq recbot")
        self.expect(not (machine.root / "var/lib/recbot").exists(), "purging leaves an empty data folder")

    def units(self) -> None:
        """The units: by systemd-analyze, then started by a systemd that has the machine, with a job."""
        machine = self.tools("booted")
        units = "recbot-serve.service recbot-worker@1.service"
        machine.run(f"cd /usr/lib/systemd/system && systemd-analyze verify {units}")
        for unit in units.split():
            said = machine.run(f"systemd-analyze security --no-pager --offline=true {unit}", check=False)
            score = float(re.search(r"Overall exposure level.*: ([\d.]+)", said)[1])
            self.expect(score <= EXPOSURE, f"{unit} is exposed by {score}")
            self.figure(f"{unit} exposed by {score} of 10")
        machine.boot()
        try:
            machine.inside("""set -x
                test "$(systemctl is-enabled recbot-serve)" = disabled
                openssl rand -hex 32 | install -m 600 /dev/stdin /etc/recbot/worker-secret
                (umask 077; { echo LIVEKIT_URL=ws://127.0.0.1:7880; echo LIVEKIT_API_KEY=devkey
                  echo LIVEKIT_API_SECRET=secret; echo RECBOT_WORKER_SECRET=$(cat /etc/recbot/worker-secret); } > /etc/recbot/serve.env)
                systemctl enable --now recbot-serve recbot-worker@1""")
            said = machine.inside(f"""
                export LIVEKIT_URL=ws://127.0.0.1:7880 LIVEKIT_API_KEY=devkey LIVEKIT_API_SECRET=secret
                {ROOM}
                KEYS='runuser -u recbot -- recbot keys add check --data-dir /var/lib/recbot'
                {JOB}
                kill %1 %2
                recbot probe /var/lib/recbot/recordings/*.webm
                find /var/lib/recbot/recordings -name '*.webm' -user recbot -perm 600 | grep .
                systemctl show --property=NRestarts,ActiveState,MainPID {units}""")
            print(said)
            self.expect(said.count("NRestarts=0") == 2 and said.count("ActiveState=active") == 2, "a service was restarted")
            # An update: what runs is restarted.
            machine.inside("""before=$(systemctl show --property=MainPID --value recbot-serve)
                dpkg --install /srv/recbot.deb
                for _ in $(seq 100); do
                  now=$(systemctl show --property=MainPID --value recbot-serve)
                  test "$now" != 0 -a "$now" != "$before" && recbot health && exit
                  sleep 0.1
                done
                exit 1""")
            began = time.monotonic()
            said = machine.inside(f"""systemctl stop {units}; systemctl show --property=Result,ActiveState {units}
                journalctl --no-pager --unit=recbot-serve --unit=recbot-worker@1 | tail -30""")
            print(said)
            self.expect(said.count("Result=success") == 2 and said.count("ActiveState=inactive") == 2, "a stop failed")
            self.figure(f"both stopped in {time.monotonic() - began:.1f} s")
            # Removing the package ends what runs; purging takes back what was enabled.
            machine.inside("systemctl start recbot-serve; apt-get purge -y -qq recbot")
            self.expect("inactive" in machine.inside("systemctl is-active recbot-serve", check=False), "removed, and it runs")
            self.expect(not list((machine.root / "etc/systemd/system/multi-user.target.wants").glob("recbot*")),
                        "purging leaves units enabled")
        finally:
            machine.halt()

    def walk(self) -> None:
        """The page "Getting it onto a server", command by command as written, on a bare machine with systemd and nginx."""
        page = (ROOT / "Sources/recbot/Documentation.docc/Server.md").read_text()
        machine = self.machines["walk"] = Machine.copy(debian(WORK / "debian-12-server", SERVER, self.base), WORK / "walk")
        shutil.copy(self.made(), machine.root / "root")
        # A person answers yes.
        (machine.root / "etc/apt/apt.conf.d/90yes").write_text('APT::Get::Assume-Yes "true";\n')
        commands = [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
                    for line in block.replace("\\\n", "").splitlines()]
        said, exports = "", ""
        try:
            for line in commands:
                # Installing needs the network of this machine; what follows needs none.
                if "config check" in line:
                    machine.boot()
                    machine.inside(f"export {' '.join(f'{name}={value}' for name, value in LIVEKIT.items())}\n{ROOM}")
                for word, value in OPERATORS.items():
                    line = line.replace(word, value)
                if "recbot_NEW_amd64.deb" in line:
                    shutil.copy(self.made(), machine.root / "root/recbot_NEW_amd64.deb")
                for word, pattern in (("rbk_…", r"rbk_[A-Za-z0-9_-]+"), (" JOB", r"job_[a-z0-9]+")):
                    if word in line:
                        line = line.replace(word.strip(), re.findall(pattern, said)[-1])
                if line.startswith("export "):
                    exports += line + "\n"
                    continue
                print(f"$ {line}", flush=True)
                answer = (machine.inside if machine.booted else machine.online)(f"cd /root\n{exports}{line}")
                print(answer[-1000:])
                said += answer
            self.proxied(machine, re.search(r"```nginx\n(.*?)```", page, re.DOTALL)[1])
            self.figure(f"{len(commands)} commands")
        finally:
            machine.halt()

    def proxied(self, machine: Machine, site: str) -> None:
        """The backend answers through nginx with the page's site, and its metrics do not."""
        (machine.root / "etc/nginx/sites-enabled/recbot").write_text(site)
        machine.inside("""mkdir -p /etc/letsencrypt/live/recbot.example.com && cd /etc/letsencrypt/live/recbot.example.com
            openssl req -x509 -newkey rsa:2048 -nodes -keyout privkey.pem -out fullchain.pem -days 1 -subj /CN=recbot.example.com
            nginx -t && systemctl restart nginx
            ask() { curl --silent --insecure --resolve recbot.example.com:443:127.0.0.1 --output /dev/null \\
              --write-out '%{http_code}' "https://recbot.example.com$1"; }
            test "$(ask /readyz) $(ask /metrics) $(ask /v1/jobs)" = "200 403 401" """)

    def manifests(self) -> None:
        """Prometheus' files by promtool, Kubernetes' by its schemas, the Dockerfile by hadolint."""
        tools = self.tools()
        for name in ("alerts.yaml", "prometheus.yaml"):
            shutil.copy(ROOT / "deploy/monitoring" / name, tools.root / "srv")
        print(tools.run("cd /srv && promtool check rules alerts.yaml && promtool check config prometheus.yaml"))
        known = pathlib.Path(sys.executable).parent
        # KEDA's and kustomize's own kinds are not among Kubernetes' schemas.
        for path in sorted((ROOT / "deploy/kubernetes").glob("*.yaml")):
            if path.name in ("kustomization.yaml", "recbot.yaml", "scaling.yaml"):
                continue
            said = run([str(known / "kubernetes-validate"), "--strict", str(path)])
            self.expect("passed" in said, said)
            print(said.replace(f"{ROOT}/", ""))
        print(run([str(known / "hadolint"), str(ROOT / "deploy/Dockerfile")]))
        # The settings of the workers and backends, by recbot itself.
        shutil.copy(ROOT / "deploy/kubernetes/recbot.yaml", tools.root / "srv")
        print(tools.run("recbot config check /srv/recbot.yaml"))

    def image(self) -> None:
        """The Dockerfile's steps, one by one, from a clone; then what the image runs."""
        context = WORK / "context"
        shutil.rmtree(context, ignore_errors=True)
        run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", str(context)])

        def start(image: str, name: str) -> Machine:
            if not image.startswith("swift:"):
                return Machine.copy(self.base, WORK / f"image-{name}")
            machine = Machine.copy(debian(WORK / "debian-12-swift", SWIFT_IMAGE, self.base), WORK / f"image-{name}")
            toolchain = pathlib.Path(shutil.which("swift")).resolve().parent.parent
            self.lend(machine, toolchain, "/opt/swift")
            for program in (toolchain / "bin").iterdir():
                link = machine.root / "usr/local/bin" / program.name
                link.symlink_to(f"/opt/swift/bin/{program.name}")
            # Where git is told to look for packages here, it looks there too.
            for line in run(["git", "config", "--get-regexp", r"^url\..*\.insteadof$"], check=False).splitlines():
                mirror = line[len("url."):line.lower().rindex(".insteadof ")]
                if mirror.startswith("/"):
                    self.lend(machine, pathlib.Path(mirror), mirror)
                machine.run(f"git config --system --add url.{mirror}.insteadOf {line.split()[-1]}")
                machine.run("git config --system --replace-all safe.directory '*'")
            return machine

        def pack(stage: dockerfile.Stage) -> None:
            """the program that was built here is packed there, by deploy/debian/build.sh"""
            release = stage.machine.root / "src/.build/release"
            release.mkdir(parents=True)
            shutil.copy(self.program, release / "recbot")
            print(stage.machine.run("cd /src && deploy/debian/build.sh"))

        built = dockerfile.Build(ROOT / "deploy/Dockerfile", context, start, {} if self.build else {"make deb": pack}, print)
        image = built.stages["final"]
        print(image.run(["--version"]))
        # What `docker run` would do, and its health check meanwhile, as the image's user.
        said = image.run(script=f"""{' '.join(f'export {name}={value};' for name, value in LIVEKIT.items())} {ROOM}
            KEYS='recbot keys add check'
            recbot serve --with-worker >/tmp/serve.log 2>&1 &
            {JOB}
            recbot probe recordings/*.webm
            find recordings -name '*.webm' -user 10001 | grep .""")
        print(said)
        size = run(["du", "--summarize", "--one-file-system", "--block-size=1M", str(image.machine.root)]).split()[0]
        self.figure(f"image {size} MB unpacked")

    def lend(self, machine: Machine, folder: pathlib.Path, place: str) -> None:
        """Shows a folder of this machine on another one, to read only."""
        inside = machine.root / place.lstrip("/")
        inside.mkdir(parents=True, exist_ok=True)
        run(["mount", "--bind", str(folder), str(inside)])
        run(["mount", "--options", "remount,bind,ro", str(inside)])

    def kept(self, machine: Machine, *paths: str) -> None:
        """Copies what was made to where it is wanted."""
        for path in paths if self.keep else ():
            self.keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(machine.root / path, self.keep)


SECTIONS = ("contents", "pages", "demo", "service", "units", "walk", "manifests", "image")


def main() -> int:
    """Runs the sections; the exit code is 0 when all passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--only", action="append", choices=SECTIONS)
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("check-package: needs root and debootstrap", file=sys.stderr)
        return 1
    if os.environ.get("RECBOT_CHECK_PACKAGE") != "inside":
        # Mounts and processes that nobody else sees, and that end with this one.
        return subprocess.run(["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc",
                               sys.executable, *sys.argv], env={**os.environ, "RECBOT_CHECK_PACKAGE": "inside"}, check=False).returncode
    WORK.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    check = Check(options)
    failed = 0
    for name in options.only or SECTIONS:
        section = getattr(check, name)
        print(f"\n== {name}: {section.__doc__}", flush=True)
        began, check.figures = time.monotonic(), []
        try:
            section()
            verdict = "passed"
        except Failed as fault:
            print(f"FAILED: {fault}")
            verdict, failed = "FAILED", failed + 1
        print(f"-- {name} {verdict}, {time.monotonic() - began:.0f} s. {'; '.join(check.figures)}", flush=True)
    print(f"\n{len(options.only or SECTIONS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
