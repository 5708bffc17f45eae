"""Addresses of tables in databases, and their passwords, which are kept in memory and never repeated."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote, unquote

from workbench.params import InputError, ParameterError

SQLITE, POSTGRESQL = "sqlite", "postgresql"
_DIALECTS = ("sqlite", "postgresql", "postgres", "mysql", "mariadb", "oracle", "mssql")
_ON_THE_WEB = ("http", "https", "ftp", "ftps", "sftp", "s3", "gs", "az", "abfs", "abfss", "hdfs", "file")
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]{1,30}):/(/?)(.*)", re.IGNORECASE | re.DOTALL)
"""With one slash it has been a ``Path``, which keeps no two in a row."""
_SECRET = re.compile(r"passw|pwd|secret|token", re.IGNORECASE)
"""In the name of a parameter whose value is a password. One that names a file of them is none."""

COLUMNS = "columns"
QUERY = "query"  # what a ledger and a certificate call the rows of a query, which have no name of their own

PASSWORD_NEEDED = "password-needed"
WAYS_TO_GIVE_ONE = (
    "leave it out: you will be asked for it, or it is read from the database's own variable (PGPASSWORD) or file "
    "(~/.pgpass)"
)


@dataclass(frozen=True)
class Address:
    """A database, and a table or a query in it."""

    scheme: str  # the dialect, with its driver where one is named: `sqlite`, `postgresql`, `mysql+pymysql`
    user: str = ""  # who reads; empty for the database's usual
    host: str = ""  # the server, with its port; empty for the usual one, or a file
    database: str = ""  # its name, or the file
    options: tuple[tuple[str, str], ...] = ()  # parameters that are passed on, none of them a password
    table: str = ""  # what to read, as `TABLE` or `SCHEMA.TABLE`; empty if nothing or a query is named
    columns: tuple[str, ...] = ()  # of the table, in order; all of them if none is named
    query: str = ""  # a `SELECT`; empty if there is none
    # The password, and parameters that are passwords, by name; never shown.
    secrets: tuple[tuple[str, str], ...] = field(default=(), repr=False, compare=False)

    @property
    def shown(self) -> str:
        """The address without passwords: what messages, projects and lists of recent tables say."""
        what = [("table", self.table)] if self.table else [(QUERY, self.query)] if self.query else []
        stated = [f"{name}={quote(value, safe=_PLAIN)}" for name, value in (*self.options, *what)]
        if self.columns:
            stated.append(f"{COLUMNS}={','.join(quote(name, safe=' ') for name in self.columns)}")
        asked = "&".join(stated)
        return f"{self.place}{'?' if asked else ''}{asked}"

    @property
    def place(self) -> str:
        """The database alone, without passwords and parameters."""
        who = f"{quote(self.user, safe='')}@" if self.user else ""
        return f"{self.scheme}://{who}{self.host}/{quote(self.database, safe=_PLAIN)}"

    @property
    def title(self) -> str:
        """What may be published or written in a ledger: the name of the table, or :data:`QUERY`."""
        return self.table or QUERY

    @property
    def file(self) -> Path:
        """The file of an SQLite database; ``sqlite:///data/a.db`` is ``/data/a.db`` if only that is there."""
        named, rooted = Path(self.database), Path("/") / self.database
        return rooted if not named.exists() and not named.parent.is_dir() and rooted.parent.is_dir() else named

    def of(self, table: str, columns: tuple[str, ...] = ()) -> Address:
        """Return the address of a table of the same database, or of some columns of it."""
        return replace(self, table=table, columns=columns, query="")

    def asking(self, query: str) -> Address:
        """Return the address of a query of the same database."""
        return replace(self, table="", columns=(), query=query.strip().rstrip(";"))


_PLAIN = " /:;*,()<>='\"!.-_\\"  # what stays as it is typed in the part of an address that a person reads


def address_of(source: str) -> Address | None:
    """Return the database that ``source`` names; ``None`` if it names a file, or a place on the web.

    Raises:
        InputError: it is the address of a database, and something in it makes no sense; no part of it is repeated.
    """
    found = _ADDRESS.match(source)
    if found is None:
        return None
    scheme, rest = found.group(1).lower(), found.group(3)
    before, _, asked = rest.partition("?")
    given = [part.partition("=")[::2] for part in asked.split("&") if part]
    names = [name for name, _ in given]
    dialect, asks = scheme.partition("+")[0], bool({"table", QUERY} & set(names))
    if scheme in _ON_THE_WEB or not (dialect in _DIALECTS or (asks and found.group(2))):
        return None
    if not found.group(2):  # as_path wrote a second slash as %2F
        before = f"/{before}" if dialect == SQLITE else before.replace("%2F", "/", 1 if before.startswith("%2F") else 0)
    if "table" in names and QUERY in names:
        raise InputError("the address names a table and a query", "", "choose one of the two", code="address")
    if any(names.count(name) > 1 for name in ("table", QUERY)):
        raise InputError("the address names more than one table or query", "", "name one", code="address")
    if COLUMNS in names and "table" not in names:
        raise InputError("the address names columns but no table", "", "add table=TABLE", code="address")
    columns = tuple(unquote(name) for name in dict(given).get(COLUMNS, "").split(",") if name)
    stated = {name: _value(name, value) for name, value in given if name != COLUMNS}
    options = {name: value for name, value in stated.items() if name not in ("table", QUERY)}
    secrets = {name: value for name, value in options.items() if _SECRET.search(name) and "file" not in name.lower()}
    options = {name: value for name, value in options.items() if name not in secrets}
    scheme = POSTGRESQL if scheme == "postgres" else scheme
    table, query = stated.get("table", ""), stated.get(QUERY, "").strip().rstrip(";")
    if dialect == SQLITE:
        if not before.startswith("/") or not before[1:]:
            raise InputError("the address names no SQLite file", "", "write sqlite:///FILE?table=TABLE", code="address")
        database, kept = unquote(before[1:]), tuple(options.items())
        return Address(scheme, database=database, options=kept, table=table, columns=columns, query=query)
    who, _, place = before.rpartition("@")
    user, _, password = who.partition(":")
    host, _, database = place.partition("/")
    if password:
        secrets["password"] = unquote(password)
    return Address(
        scheme,
        unquote(user),
        host,
        unquote(database),
        tuple(options.items()),
        secrets=tuple((name, value) for name, value in secrets.items() if value),
        table=table,
        columns=columns,
        query=query,
    )


def _value(name: str, text: str) -> str:
    # A program that encodes forms writes a blank as +; a SELECT without any blank was encoded so.
    if name == QUERY and "+" in text and " " not in text and "%20" not in text:
        text = text.replace("+", " ")
    return unquote(text)


def as_path(text: str) -> Path:
    """Return ``text`` as a path, which an address stays: :func:`address_of` knows it. Its passwords are kept aside."""
    address = address_of(text)
    if address is None:
        return Path(text)
    PASSWORDS.keep(address)
    scheme, _, rest = address.shown.partition("://")
    if scheme.partition("+")[0] == SQLITE:
        rest = rest.removeprefix("/")
    if rest.startswith("/"):
        rest = f"%2F{rest[1:]}"
    return Path(f"{scheme}:/{rest.replace('//', '/%2F')}")


def shown(place: Path) -> str:
    """Return a path as a person writes it, also where it is an address."""
    address = address_of(str(place))
    return str(place) if address is None else address.shown


def title_of(source: str) -> str:
    """Return what a ledger calls a table: its file's name, or what is read of a database."""
    address = address_of(source)
    return Path(source).name if address is None else address.title


def require_no_password(words: list[str]) -> None:
    """Refuse a password among the words of a command line: other users of the computer can read it there.

    Raises:
        ParameterError: there is one; it is not repeated.
    """
    for word in words:
        option, _, value = word.partition("=") if word.startswith("-") else ("", "", word)
        address = address_of(value)
        if address is not None and address.secrets:
            where = option or "the command line"
            what = "an address on the command line contains a password, which other users of this computer can read"
            raise ParameterError(what, where, WAYS_TO_GIVE_ONE, code="password-shown")


# -- passwords ---------------------------------------------------------------------------------------------------------


class Passwords:
    """The passwords of this run of the program, by database and user."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[str, str], ...]] = {}
        # Asks a person for the password of a database, where one can be asked; returns an empty text if she gives none.
        self.ask: Callable[[Address], str] | None = None

    def keep(self, address: Address, password: str = "") -> None:
        """Keep a password that was typed, or those that ``address`` brings."""
        secrets = (("password", password),) if password else address.secrets
        if secrets:
            self._known[address.place] = secrets

    def of(self, address: Address) -> dict[str, str]:
        """Return what is known for a database."""
        return dict(address.secrets or self._known.get(address.place, ()))


PASSWORDS = Passwords()
