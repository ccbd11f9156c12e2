"""What wmem's own loggers said, whoever else speaks meanwhile.

Any other may: asyncio's says of a task that an earlier test dropped that it was destroyed, whenever it is collected.
"""

import logging

import pytest

__all__ = ["own_records"]

_OURS = ("wmem", "langchain_wmem", "llamaindex_wmem")


def own_records(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """The captured records of wmem and its adapters."""
    return [record for record in caplog.records if record.name.partition(".")[0] in _OURS]
