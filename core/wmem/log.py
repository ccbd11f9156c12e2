"""The loggers of wmem: what they write stays on its line, and names no content."""

import logging
from collections.abc import Mapping

from wmem.describe import escape


def find_logger(name: str) -> logging.Logger:
    """The logger of a name, whose lines no id, key or error text can break.

    Ids and keys were chosen by others: a line separator in one must not forge a log line.
    """
    logger = logging.getLogger(name)  # noqa: TID251  # the one place
    logger.addFilter(_escape_arguments)  # added once, however often it is asked for
    return logger


def _escape_arguments(record: logging.LogRecord) -> bool:
    if record.args and not isinstance(record.args, Mapping):
        record.args = tuple(
            escape(str(value)) if isinstance(value, str | BaseException) else value for value in record.args
        )
    return True


def log_callback_failure(logger: logging.Logger, message: str, *args: object, exc: BaseException) -> None:
    """Log that a user's function failed: where, and with which type of error.

    The error's own message is left out: it may quote what the function was given.
    """
    shown = RuntimeError(f"{type(exc).__name__}; its message may quote what is remembered, and is left out")
    logger.error(message, *args, exc_info=(type(shown), shown, exc.__traceback__), stacklevel=2)
