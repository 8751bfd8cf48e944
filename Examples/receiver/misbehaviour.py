"""Answers that a good receiver would not give, for demonstrations and tests.

A file of JSON lines. Each line is used once, by the first request that it matches; requests that are refused anyway use
none. Members, all optional:

    table       only for this table; receipts have the table delivery_receipt
    delay       seconds to wait first; a line with nothing else is then answered as usual
    store       true: the rows are stored before what follows
    status, headers, body   this answer instead
    redirect    a redirection there (307, or `status`)
    close       true: the connection is closed without an answer
    reset       "mid-body": half of the answer, then a TCP reset
"""

import json
import threading
from typing import Any

Line = dict[str, Any]


class Misbehaviour:
    def __init__(self, path: str | None) -> None:
        self._lines: list[Line] = []
        self._lock = threading.Lock()
        if path is not None:
            with open(path, encoding="utf-8") as file:
                self._lines = [json.loads(line) for line in file if line.strip()]

    def next(self, table: str) -> Line:
        """The line for a request; an empty one when there is none left for it."""
        with self._lock:
            for place, line in enumerate(self._lines):
                if line.get("table", table) == table:
                    return self._lines.pop(place)
        return {}


def replaces_answer(line: Line) -> bool:
    return not line.keys().isdisjoint({"status", "redirect", "close", "reset"})
