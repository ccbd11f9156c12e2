"""Redis URLs, normalized so that one store has one spelling, and safe to print: without the password."""

import re
from contextlib import suppress
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from wmem.describe import describe
from wmem.errors import InvalidInputError

_DEFAULT_PORT = 6379
HIDDEN = "***"
"""Stands for a secret in a URL that is shown."""
_PASSWORD_OPTION = "password"  # noqa: S105  # the name of one
_SHOWN_OPTION = re.compile(
    r"\A(?!.*(?:pass|secret|token))"
    "(?:socket_.+|ssl_.+|client_name|db|health_check_interval|lib_.+|max_connections|protocol|retry_.+|timeout|username)"
)
"""Options whose values are shown; any other may be a misspelt password."""
_RESERVED_OPTIONS = ("decode_responses", "encoding", "encoding_errors", "retry_on_timeout")
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


class RedisUrl(str):
    """A URL that prints ``***`` for its password but opens the same store again in this process.

    Its text alone, in another process or out of a pickle, is refused: it must be given whole.

    Attributes:
        driver_url: The URL as redis-py reads it, password included.
        is_cluster: Whether the server is part of a cluster: ``?cluster=true``.
    """

    __slots__ = ("driver_url", "is_cluster")

    driver_url: str
    is_cluster: bool

    def __eq__(self, other: object) -> bool:
        # URLs that differ in the password are unequal: a caller with a wrong one must not get an open store.
        return str.__eq__(self, other) is True and (
            not isinstance(other, RedisUrl) or other.driver_url == self.driver_url
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __copy__(self) -> "RedisUrl":
        return self

    def __deepcopy__(self, memo: object) -> "RedisUrl":
        return self

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def parse_redis_url(url: str) -> RedisUrl:
    """Parse and normalize the URL of a server.

    Beside ``cluster``, the query takes the driver's own options, such as ``socket_timeout=30``
    (seconds), ``db``, ``ssl_ca_certs`` or ``protocol``.

    Raises:
        InvalidInputError: The URL is invalid; the message never contains a password.
    """
    if isinstance(url, RedisUrl):
        return url
    try:
        return _parse(url)
    except ValueError as exc:
        fault = str(exc)
    raise InvalidInputError(f"a {url.partition('://')[0]}:// URL reads like {_EXAMPLES}: {fault}")


def _parse(url: str) -> RedisUrl:
    parts = _split_url(url)
    options = _parse_options(parts)
    if HIDDEN in (parts.password, *options.values()):
        raise ValueError(f"{HIDDEN!r} stands for what is not shown, such as a password: pass the whole URL")
    cluster = _parse_flag(options.pop("cluster", "false"))
    address, user = (
        _unix_address(parts, options) if parts.scheme == "unix" else _tcp_address(parts, options, cluster=cluster)
    )
    name = quote(user, safe="")
    word = ":" + quote(unquote(parts.password), safe="") if parts.password else ""
    hidden = f":{HIDDEN}" if word or _PASSWORD_OPTION in options else ""
    shown_options = {each: value if _SHOWN_OPTION.fullmatch(each) else HIDDEN for each, value in options.items()}
    shown_options.pop(_PASSWORD_OPTION, None)
    query = [urlencode(sorted(shown_options.items()), safe="*"), "cluster=true" * cluster]
    shown = RedisUrl(_join_url(parts.scheme, name + hidden, address, "&".join(filter(None, query))))
    shown.driver_url = _join_url(parts.scheme, name + word, address, urlencode(sorted(options.items())))
    shown.is_cluster = cluster
    return shown


_EXAMPLES = "redis://user:password@host:6379/0, rediss://…, unix:///path/to/socket?db=0"


def _join_url(scheme: str, user: str, address: str, query: str) -> str:
    return f"{scheme}://{user and f'{user}@'}{address}{query and f'?{query}'}"


def _split_url(url: str) -> SplitResult:
    """Split a URL; error messages do not quote it, because a part may belong to a password."""
    parts = None
    with suppress(ValueError):  # its message would quote it
        split = urlsplit(url)
        _ = split.port  # checked when it is read
        parts = split
    if parts is None:
        raise ValueError(f"a host is a name or an address, a port a number up to 65,535; {_QUOTING_HINT}")
    if parts.fragment:
        raise ValueError(f"'#' begins nothing here; {_QUOTING_HINT}")
    return parts


_QUOTING_HINT = "in a password write '/', '?', '#' and '@' as %2F, %3F, %23 and %40"


def _parse_options(parts: SplitResult) -> dict[str, str]:
    options = None
    with suppress(ValueError):
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    if options is None:
        raise ValueError(f"options are name=value, joined by '&'; {_QUOTING_HINT}")
    if refused := sorted(set(options) & set(_RESERVED_OPTIONS)):
        raise ValueError(f"the option {refused[0]!r} is for wmem to decide")
    return options


def _parse_flag(value: str) -> bool:
    if value.lower() not in (*_TRUE, *_FALSE):
        raise ValueError(f"cluster is true or false, not {describe(value)}")
    return value.lower() in _TRUE


def _tcp_address(parts: SplitResult, options: dict[str, str], *, cluster: bool) -> tuple[str, str]:
    host = (parts.hostname or "localhost").lower()
    db = options.pop("db", parts.path.strip("/") or "0")
    if not db.isascii() or not db.isdecimal():
        raise ValueError(f"a database is a number; {_QUOTING_HINT}")
    if cluster and int(db):
        raise ValueError("a cluster has one database, 0")
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{parts.port or _DEFAULT_PORT}/{'' if cluster else int(db)}", unquote(parts.username or "")


def _unix_address(parts: SplitResult, options: dict[str, str]) -> tuple[str, str]:
    path = unquote(parts.path)
    if not path.strip("/") or "\0" in path or parts.hostname:
        raise ValueError("it names no socket")
    options.setdefault("db", "0")
    return quote(path), unquote(parts.username or options.pop("username", ""))
