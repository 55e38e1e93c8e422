"""A PostgreSQL server for one run: a fresh folder, a socket in it, no TCP port."""

import os
import pathlib
import shutil
import subprocess
import tempfile


def binaries() -> pathlib.Path | None:
    """Where the newest version is; nil when there is none."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    return found[-1] if found else None


def obstacle() -> str:
    """Why there can be no server here; empty when there can."""
    if binaries() is None:
        return "PostgreSQL is not installed (deploy/install-deps.sh --tests)"
    if os.geteuid() == 0 and not shutil.which("runuser"):
        return "PostgreSQL doesn't run as root, and there is no runuser"
    return ""


class Postgres:
    """The server. A context manager: nothing is left behind it."""

    def __enter__(self) -> "Postgres":
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="recbot-pg-"))
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
        try:
            self.run("initdb", "-D", str(self.folder / "data"), "-A", "trust", "-U", "recbot", "-N")
            self.run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-l", str(self.folder / "log"), "-o",
                     f"-k {self.folder} -c listen_addresses='' -c fsync=off", "start")
            self.run("createdb", "-h", str(self.folder), "-U", "recbot", "recbot")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        if (self.folder / "data" / "postmaster.pid").exists():
            self.run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def address(self) -> str:
        """As recbot takes it."""
        return f"postgres:///recbot?host={self.folder}&user=recbot"

    def run(self, program: str, *arguments: str) -> None:
        """Runs one of the server's programs, never as root."""
        command = [str(binaries() / program), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        with open(self.folder.with_suffix(".out"), "w+", encoding="utf-8") as output:
            # Not a pipe: the server would hold it open.
            status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                    cwd="/", check=False).returncode
            output.seek(0)
            said = output.read()
        self.folder.with_suffix(".out").unlink()
        if status != 0:
            raise RuntimeError(f"{program}: {said}")
