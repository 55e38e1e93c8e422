"""Machines to try a package on: a bare Debian in a folder, entered by chroot, with namespaces of its own."""

import pathlib
import shlex
import shutil
import subprocess
import time

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Failed(Exception):
    """A step that ended with another code than 0, and what it said."""


def run(command: list[str], *, check: bool = True, **options) -> str:
    """Runs a command and returns what it says on both outputs."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if check and done.returncode:
        raise Failed(f"{shlex.join(command)[-400:]}\nended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def debian(base: pathlib.Path, packages: str = "", below: pathlib.Path | None = None) -> pathlib.Path:
    """A folder with Debian 12, made once: the smallest that there is, or a copy of another one with packages."""
    if not base.exists():
        making = base.with_name(base.name + ".making")
        shutil.rmtree(making, ignore_errors=True)
        if below:
            run(["cp", "--archive", str(below), str(making)])
        else:
            making.parent.mkdir(parents=True, exist_ok=True)
            run(["debootstrap", "--variant=minbase", "bookworm", str(making)])
            # Security's archive too, from the same place that this machine has it from.
            sources = pathlib.Path("/etc/apt/sources.list.d/debian.sources")
            if sources.exists():
                (making / "etc/apt/sources.list").unlink()
                shutil.copy(sources, making / "etc/apt/sources.list.d")
            # As in every container: installing starts nothing.
            policy = making / "usr/sbin/policy-rc.d"
            policy.write_text("#!/bin/sh\nexit 101\n")
            policy.chmod(0o755)
        machine = Machine(making)
        machine.online(f"apt-get update -qq && apt-get install -y -qq --no-install-recommends {packages}"
                       " && apt-get clean && rm -rf /var/lib/apt/lists/*")
        machine.unmount()
        making.rename(base)
    return base


class Machine:
    """A folder with a system, in which commands are run. The mounts vanish with the process's mount namespace."""

    def __init__(self, root: pathlib.Path):
        self.root = root
        self.booted: subprocess.Popen | None = None
        self.init = 0
        run(["mount", "-t", "proc", "proc", str(root / "proc")])
        run(["mount", "-t", "sysfs", "-o", "ro", "sysfs", str(root / "sys")])
        run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", str(root / "dev")])
        for name in DEVICES:
            (root / "dev" / name).touch()
            run(["mount", "--bind", f"/dev/{name}", str(root / "dev" / name)])
        (root / "dev/shm").mkdir()
        run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", str(root / "dev/shm")])
        (root / "dev/pts").mkdir()
        run(["mount", "-t", "devpts", "-o", "newinstance,ptmxmode=0666", "devpts", str(root / "dev/pts")])
        for name, target in (("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
            (root / "dev" / name).symlink_to(target)
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")

    @classmethod
    def copy(cls, base: pathlib.Path, root: pathlib.Path) -> "Machine":
        """A new machine that begins as another one's folder."""
        if f" {root}/" in pathlib.Path("/proc/self/mountinfo").read_text():
            raise Failed(f"{root} is in use")
        shutil.rmtree(root, ignore_errors=True)
        run(["cp", "--archive", str(base), str(root)])
        return cls(root)

    def unmount(self) -> None:
        """Takes back the mounts, before the folder gets another name."""
        for mount in [*(f"dev/{name}" for name in DEVICES), "dev/pts", "dev/shm", "dev", "sys", "proc"]:
            run(["umount", str(self.root / mount)])

    def command(self, script: str, environment: dict[str, str] | None = None, user: str = "", root: str = "") -> list[str]:
        """What runs a script of bash in the folder."""
        given = {"HOME": "/root", "PATH": PATH, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", **(environment or {})}
        return ["env", "-i", *(f"{name}={value}" for name, value in given.items()), "/usr/sbin/chroot",
                *([f"--userspec={user}"] if user else []), root or str(self.root), "bash", "-euo", "pipefail", "-c", script]

    def online(self, script: str, environment: dict[str, str] | None = None, *, check: bool = True) -> str:
        """Runs a script with this machine's network: for what fetches packages."""
        return run(self.command(script, environment), check=check)

    def run(self, script: str, environment: dict[str, str] | None = None, *, user: str = "", check: bool = True) -> str:
        """Runs a script with a network that has only itself, and ends what it leaves behind."""
        inside = shlex.join(self.command(script, environment, user))
        # The folder's /proc tells of the processes outside; recbot needs only its own.
        return run(["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount", "bash", "-euc",
                    f"ip link set lo up; mount -t proc proc {self.root}/proc; exec {inside}"], check=check)

    def boot(self) -> None:
        """Starts the folder's systemd as the first process of a machine of its own."""
        root = shlex.quote(str(self.root))
        # The folder becomes the root, not by chroot: systemd makes namespaces of its own for its services.
        begin = f"""
            ip link set lo up
            mount --rbind {root} {root}
            cd {root}
            mount -t proc proc proc
            mount -t sysfs sysfs sys
            mount -t cgroup2 cgroup2 sys/fs/cgroup
            mount -t tmpfs -o mode=755 tmpfs run
            mount -t tmpfs -o mode=1777 tmpfs tmp
            pivot_root . mnt
            umount --lazy /mnt
            mount --make-rshared /
            exec env -i container=check PATH={PATH} /lib/systemd/systemd --unit=multi-user.target"""
        # A control group of its own, which then is all that systemd sees of them.
        groups = self.root.with_name("cgroups")
        groups.mkdir(exist_ok=True)
        self.booted = subprocess.Popen(
            ["unshare", "--mount", "bash", "-euc", f"""
             mount -t cgroup2 cgroup2 {groups}
             mkdir -p {groups}/recbot-check
             echo $$ > {groups}/recbot-check/cgroup.procs
             exec unshare --mount --pid --fork --kill-child --cgroup --net --uts --ipc bash -euc {shlex.quote(begin)}"""],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        children = pathlib.Path(f"/proc/{self.booted.pid}/task/{self.booted.pid}/children")
        for _ in range(300):
            time.sleep(0.1)
            if self.booted.poll() is not None:
                raise Failed("systemd did not start")
            self.init = int((children.read_text().split() or [0])[0])
            if self.init and self.inside("systemctl is-system-running", check=False).strip() in ("running", "degraded"):
                return
        raise Failed("systemd did not come up in 30 s")

    def inside(self, script: str, *, check: bool = True) -> str:
        """Runs a script on the machine that was booted."""
        return run(["nsenter", f"--target={self.init}", "--mount", "--pid", "--cgroup", "--net", "--uts", "--ipc",
                    *self.command(script, root="/")], check=check)

    def halt(self) -> None:
        """Ends the machine that was booted, and removes its control group."""
        if not self.booted:
            return
        self.booted.kill()
        self.booted.wait()
        groups = self.root.with_name("cgroups")
        run(["unshare", "--mount", "bash", "-uc", f"""
             mount -t cgroup2 cgroup2 {groups}
             for _ in $(seq 50); do
               find {groups}/recbot-check -depth -type d -exec rmdir {{}} + && exit
               sleep 0.1
             done"""], check=False)
        self.booted = None
