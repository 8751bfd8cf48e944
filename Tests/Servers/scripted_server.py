"""A server on loopback that answers from a script, well or badly. The standard library alone.

    scripted_server.py SETTINGS.json

prints its port, answers until its input ends, and writes what happened to the file `events`, an object a line:

    {"event": "connection", "connection": 1}
    {"event": "handshake", "connection": 1, "tls": "TLSv1.3", "client": "common name or null"}
    {"event": "request", "connection": 1, "method": "POST", "path": "/insert/", "headers": [["Host", "…"], …],
     "body": "base64"}

Settings: `events`; `certificate` and `key` (none: plain HTTP); `minimumTLS`, `maximumTLS` ("1.0" to "1.3");
`clientAuthority` (a client certificate of it is demanded); `port`; `recordsBodies`; `steps`; `default`.

A step is used by the first request that it matches, or by `times` of them. After the last one comes `default`, or the
last step again. Its members, all optional:

    status, headers, body   the answer; {rows} in the body becomes the number of rows that the request brought
    delay                   seconds before the answer
    trickle                 bytes of the body a second
    close                   before-reading: the head is read, not the body
                            after-reading: all is read, nothing answered
                            mid-head: the answer's head is sent but for the empty line, and TLS is ended in order
                            after-head: the answer's head is sent, without a length: the end is all that ends the body
                            mid-body: half of the answer's body is sent
    reset                   such a close is a TCP reset
    hang                    no answer, until the client closes
    match                   {"table": …, "path": …}; the path is compared without a query
"""

import base64
import json
import os
import re
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse
from http import HTTPStatus
from typing import Any, BinaryIO

VERSIONS = {
    "1.0": ssl.TLSVersion.TLSv1,
    "1.1": ssl.TLSVersion.TLSv1_1,
    "1.2": ssl.TLSVersion.TLSv1_2,
    "1.3": ssl.TLSVersion.TLSv1_3,
}


def table_in_path(path: str) -> str | None:
    match = re.fullmatch(r"/index\.php/.*/([^/]+)/(?:insert|create_table)/?", path.partition("?")[0])
    return match[1] if match else None


def table_and_rows(path: str, body: bytes) -> tuple[str | None, int]:
    """What a batch is for, and how many rows it has."""
    try:
        if table := table_in_path(path):
            form = urllib.parse.parse_qs(body.decode())
            return table, len(json.loads(form.get("data", ["[]"])[0]))
        envelope = json.loads(body)
        data = envelope["data"]
        if isinstance(data, str):
            data = json.loads(data)
        if isinstance(data, dict):
            data = next(iter(data.values()), [])
        return envelope["tableName"], len(data)
    except (ValueError, KeyError, TypeError):
        return None, 0


class Script:
    def __init__(self, steps: list[dict[str, Any]], default: dict[str, Any] | None) -> None:
        self.steps = steps
        self.left: list[int] = [step.get("times", 1) for step in steps]
        self.default = default if default is not None else (steps[-1] if steps else {})
        self.lock = threading.Lock()

    def next(self, path: str, table: str | None, only_before_reading: bool) -> dict[str, Any] | None:
        """The step for a request. Before the body is read the table may not be known yet."""
        with self.lock:
            for place, step in enumerate(self.steps):
                match = step.get("match", {})
                if self.left[place] == 0 or match.get("path", path.partition("?")[0]) != path.partition("?")[0]:
                    continue
                if only_before_reading and table is None and "table" in match:
                    return None
                if match.get("table", table) != table:
                    continue
                if only_before_reading and step.get("close") != "before-reading":
                    return None
                self.left[place] -= 1
                return step
        if only_before_reading and self.default.get("close") != "before-reading":
            return None
        return self.default


class Connection:
    def __init__(self, number: int, stream: socket.socket, script: Script, events: "Events") -> None:
        self.number = number
        self.stream = stream
        self.script = script
        self.events = events

    def run(self) -> None:
        try:
            if isinstance(self.stream, ssl.SSLSocket):
                self.stream.do_handshake()
                self.events.add(
                    "handshake", connection=self.number, tls=self.stream.version(), client=self.client_name()
                )
            self.file: BinaryIO = self.stream.makefile("rb")
            while self.answer_one():
                pass
        except (OSError, ValueError):
            pass
        self.close(reset=False)

    def client_name(self) -> str | None:
        certificate = self.stream.getpeercert() if isinstance(self.stream, ssl.SSLSocket) else None
        for part in (certificate or {}).get("subject", ()):
            for pair in part:
                if pair[0] == "commonName":
                    return str(pair[1])
        return None

    def close(self, reset: bool) -> None:
        if self.stream.fileno() < 0:
            return
        if reset:
            self.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # Whatever else refers to the socket, it closes now.
        os.close(self.stream.detach())

    def answer_one(self) -> bool:
        """Whether the connection goes on."""
        start = self.file.readline().decode("latin-1").split()
        if len(start) != 3:
            return False
        method, path, _ = start
        headers = []
        while line := self.file.readline().decode("latin-1").strip():
            name, _, value = line.partition(":")
            headers.append([name, value.strip()])
        fields = {name.lower(): value for name, value in headers}

        step = self.script.next(path, table_in_path(path), only_before_reading=True)
        body = b""
        if step is None:
            if fields.get("expect", "").lower() == "100-continue":
                self.stream.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            body = self.file.read(int(fields.get("content-length", "0")))
        table, rows = table_and_rows(path, body)
        self.events.add(
            "request",
            connection=self.number,
            method=method,
            path=path,
            headers=headers,
            body=base64.b64encode(body).decode(),
        )
        if step is None:
            step = self.script.next(path, table, only_before_reading=False) or {}
        return self.send(step, rows) and fields.get("connection", "").lower() != "close"

    def send(self, step: dict[str, Any], rows: int) -> bool:
        closing, reset = step.get("close"), step.get("reset", False)
        if closing == "before-reading":
            self.close(reset)
            return False
        time.sleep(step.get("delay", 0))
        if step.get("hang"):
            self.file.read(1)
            return False
        if closing == "after-reading":
            self.close(reset)
            return False
        status = step.get("status", 200)
        body = step.get("body", "").replace("{rows}", str(rows)).encode()
        phrase = HTTPStatus(status).phrase if status in list(HTTPStatus) else "Status"
        head = [f"HTTP/1.1 {status} {phrase}"]
        head += [f"{name}: {value}" for name, value in step.get("headers", {}).items()]
        if status != 204 and status >= 200 and closing not in ("mid-head", "after-head"):
            head.append(f"Content-Length: {len(body)}")
        start = "\r\n".join(head).encode("latin-1") + b"\r\n\r\n"
        if closing == "mid-head":
            self.stream.sendall(start[:-2])
            if isinstance(self.stream, ssl.SSLSocket) and not reset:
                self.stream.unwrap()
        elif closing == "after-head":
            self.stream.sendall(start)
        elif closing == "mid-body":
            self.stream.sendall(start + body[: len(body) // 2])
        if closing:
            time.sleep(0.05)  # a reset may overtake what was sent
            self.close(reset)
            return False
        if rate := step.get("trickle"):
            self.stream.sendall(start)
            piece = max(1, rate // 10)
            for offset in range(0, len(body), piece):
                time.sleep(piece / rate)
                self.stream.sendall(body[offset : offset + piece])
        else:
            self.stream.sendall(start + body)
        return True


class Events:
    def __init__(self, path: str, records_bodies: bool) -> None:
        self.file = open(path, "a", encoding="utf-8")
        self.records_bodies = records_bodies
        self.lock = threading.Lock()

    def add(self, event: str, **details: Any) -> None:
        if not self.records_bodies:
            details.pop("body", None)
        with self.lock:
            self.file.write(json.dumps({"event": event, **details}) + "\n")
            self.file.flush()


def context(settings: dict[str, Any]) -> ssl.SSLContext | None:
    if "certificate" not in settings:
        return None
    result = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    result.load_cert_chain(settings["certificate"], settings["key"])
    minimum = settings.get("minimumTLS", "1.2")
    result.minimum_version = VERSIONS[minimum]
    result.maximum_version = VERSIONS[settings.get("maximumTLS", "1.3")]
    if minimum < "1.2":
        result.set_ciphers("ALL:@SECLEVEL=0")  # OpenSSL 3 keeps the old versions from any other level
    if "clientAuthority" in settings:
        result.load_verify_locations(settings["clientAuthority"])
        result.verify_mode = ssl.CERT_REQUIRED
    return result


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        settings = json.load(file)
    script = Script(settings.get("steps", []), settings.get("default"))
    events = Events(settings["events"], settings.get("recordsBodies", True))
    tls = context(settings)
    listener = socket.create_server(("127.0.0.1", settings.get("port", 0)), backlog=128)
    print(listener.getsockname()[1], flush=True)

    def end_with_input() -> None:
        while os.read(0, 4096):
            pass
        os._exit(0)

    threading.Thread(target=end_with_input, daemon=True).start()
    number = 0
    while True:
        stream, _ = listener.accept()
        number += 1
        events.add("connection", connection=number)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            stream = tls.wrap_socket(stream, server_side=True, do_handshake_on_connect=False)
        connection = Connection(number, stream, script, events)
        threading.Thread(target=connection.run, daemon=True).start()


if __name__ == "__main__":
    main()
