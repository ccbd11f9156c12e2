"""Redis URLs, normalized so that one store has one spelling, and safe to print: without the password."""

from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from wmem.errors import InvalidInputError

_DEFAULT_PORT = 6379
_SECRET_OPTIONS = ("password", "ssl_password")
_RESERVED_OPTIONS = ("decode_responses", "encoding", "encoding_errors", "retry_on_timeout")
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


class RedisUrl(str):
    """A URL that prints without its password but opens the same store again in this process.

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
        parts = _split_url(url)
        options = _parse_options(parts)
        secrets = {name: options.pop(name) for name in _SECRET_OPTIONS if name in options}
        cluster = _parse_flag(options.pop("cluster", "false"))
        address, user = (
            _unix_address(parts, options) if parts.scheme == "unix" else _tcp_address(parts, options, cluster=cluster)
        )
    except ValueError as exc:
        raise InvalidInputError(f"a {url.partition('://')[0]}:// URL reads like {_EXAMPLES}: {exc}") from None
    query = urlencode(sorted(options.items()))
    driver_query = urlencode(sorted({**options, **secrets}.items()))
    name = quote(user, safe="")
    word = ":" + quote(unquote(parts.password), safe="") if parts.password else ""
    marked = urlencode({"cluster": "true"}) if cluster else ""
    shown = RedisUrl(_join_url(parts.scheme, name and f"{name}@", address, "&".join(filter(None, (query, marked)))))
    shown.driver_url = _join_url(parts.scheme, f"{name}{word}@" if name or word else "", address, driver_query)
    shown.is_cluster = cluster
    return shown


_EXAMPLES = "redis://user:password@host:6379/0, rediss://…, unix:///path/to/socket?db=0"


def _join_url(scheme: str, user: str, address: str, query: str) -> str:
    return f"{scheme}://{user}{address}{query and f'?{query}'}"


def _split_url(url: str) -> SplitResult:
    """Split a URL; error messages do not quote it, because a part may belong to a password."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ValueError(f"a host is a name or an address, a port a number up to 65,535; {_QUOTING_HINT}") from None
    if parts.fragment:
        raise ValueError(f"'#' begins nothing here; {_QUOTING_HINT}")
    return parts


_QUOTING_HINT = "in a password write '/', '?', '#' and '@' as %2F, %3F, %23 and %40"


def _parse_options(parts: SplitResult) -> dict[str, str]:
    try:
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        raise ValueError(f"options are name=value, joined by '&'; {_QUOTING_HINT}") from None
    if refused := sorted(set(options) & set(_RESERVED_OPTIONS)):
        raise ValueError(f"the option {refused[0]!r} is for wmem to decide")
    return options


def _parse_flag(value: str) -> bool:
    if value.lower() not in (*_TRUE, *_FALSE):
        raise ValueError(f"cluster is true or false, not {value!r}")
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
