"""What is written down about requests: a log without content or keys, and, for tests, the raw bytes."""

import itertools
import json
import os
import threading
from datetime import datetime, timezone
from typing import Any


class Log:
    """A JSON object a line."""

    def __init__(self, path: str | None) -> None:
        self._file = open(path, "a", encoding="utf-8") if path is not None else None
        self._lock = threading.Lock()

    def write(self, details: dict[str, Any]) -> None:
        if self._file is None:
            return
        entry = {"time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"), **details}
        with self._lock:
            self._file.write(json.dumps(entry) + "\n")
            self._file.flush()


class RawLog:
    """Two files a request, numbered from 000001: `.head` with the request line and the headers, `.body`."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        if folder is not None:
            os.makedirs(folder, exist_ok=True)

    def write(self, line: str, headers: list[tuple[str, str]], body: bytes) -> None:
        if self._folder is None:
            return
        head = line + "".join(f"\r\n{name}: {value}" for name, value in headers) + "\r\n\r\n"
        # Several receivers, or one after another, may share the folder.
        for number in self._numbers:
            path = os.path.join(self._folder, f"{number:06}")
            try:
                with open(path + ".head", "xb") as file:
                    file.write(head.encode("latin-1"))
            except FileExistsError:
                continue
            with open(path + ".body", "xb") as file:
                file.write(body)
            return
