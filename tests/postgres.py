"""A real PostgreSQL for tests, which asks the user ``ana`` for a password and nobody else."""

import atexit
import functools
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

import psutil
import pytest

PASSWORD = "Kanarienvogel-7"
HOST_RULES = "local all ana scram-sha-256\nlocal all all trust\n"


class Server:
    """A server in a folder of its own, reached by a socket."""

    def __init__(self, module: Any) -> None:
        # Its own user must reach the folder, and those of pytest are for their owner alone; a run that starts beside
        # this one makes them so again.
        self.folder = Path(tempfile.mkdtemp(prefix="workbench-pg-", dir="/tmp" if Path("/tmp").is_dir() else None))
        try:
            self._server = module.get_server(self.folder, cleanup_mode=None)
        except subprocess.TimeoutExpired:  # it waits for ten seconds; the server goes on starting
            self._server = module.get_server(self.folder, cleanup_mode=None)
        self._tool = Path(module.__file__).parent / "pginstall" / "bin" / "pg_ctl"
        self._user = (self.folder / "postmaster.pid").owner()
        (self.folder / "pg_hba.conf").write_text(HOST_RULES)
        self.run(f"CREATE ROLE ana LOGIN SUPERUSER PASSWORD '{PASSWORD}'", "SELECT pg_reload_conf()")

    def run(self, *statements: str) -> list[Any]:
        """Run statements; return the rows of the last."""
        from adbc_driver_postgresql.dbapi import connect

        place = f"postgresql://postgres@/postgres?host={self.folder}"
        with connect(place, autocommit=True) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

    def table(self, name: str, user: str = "postgres") -> str:
        return f"postgresql://{user}@/postgres?host={self.folder}&table={name}"

    def query(self, text: str) -> str:
        return f"postgresql://postgres@/postgres?host={self.folder}&query={text}"

    def kill(self) -> None:
        main = psutil.Process(int((self.folder / "postmaster.pid").read_text().split()[0]))
        every = [main, *main.children(recursive=True)]
        for process in every:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(every)

    def start(self) -> None:
        words = f'-h "" -k {self.folder}'
        self._control("-w", "-t", "600", "-o", words, "-l", str(self.folder / "log"), "start")

    def stop(self) -> None:
        self._control("-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _control(self, *words: str) -> None:
        asked = [str(self._tool), "-D", str(self.folder), *words]
        subprocess.run(asked, user=self._user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


@functools.cache
def server() -> Server:
    """Return the server of this run of the tests; skips where there is none."""
    pytest.importorskip("adbc_driver_postgresql", reason="the extra sql is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a folder that this computer lacks
        module = pytest.importorskip("pgserver", reason="pgserver starts the PostgreSQL of these tests")
        made = Server(module)
    atexit.register(made.stop)
    return made
