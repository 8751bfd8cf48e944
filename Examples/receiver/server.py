"""HTTP/1.1 over TLS: reads requests, has them verified and stored, answers."""

import json
import os
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import protocol
from misbehaviour import Line, Misbehaviour, replaces_answer
from protocol import Refusal, Request, Route
from records import Log, RawLog
from storage import Store
from verification import Sender, Verifier

BATCH_TAGS = frozenset({"aware-batch"})
# An over-long body is read and thrown away up to here, so that its sender gets to read the answer.
_MAX_DISCARDED = 64 << 20


@dataclass(frozen=True)
class Settings:
    verifier: Verifier
    store: Store
    log: Log
    raw_log: RawLog
    misbehaviour: Misbehaviour
    max_body: int
    acknowledges_forms: bool
    receipt_tags: frozenset[str]


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    log: Mapping[str, Any] = field(default_factory=dict)
    # Badly: "close" sends nothing of it, "reset" a half.
    cut: str = ""


class Server(ThreadingHTTPServer):
    # Idle connections must not hold up the end; requests under way are waited for in `close`.
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], tls: ssl.SSLContext, settings: Settings) -> None:
        super().__init__(address, Handler)
        self.settings = settings
        self.is_ending = False
        self._tls = tls
        self._active = 0
        self._idle = threading.Condition()

    def get_request(self) -> tuple[socket.socket, Any]:
        stream, address = super().get_request()
        # The handshake comes later, in the connection's own thread.
        return self._tls.wrap_socket(stream, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # which is a connection that broke, or is not TLS
            super().handle_error(request, client_address)

    def begin_request(self) -> bool:
        """Whether it may go on: not once the end has begun."""
        with self._idle:
            self._active += 0 if self.is_ending else 1
            return not self.is_ending

    def end_request(self) -> None:
        with self._idle:
            self._active -= 1
            self._idle.notify_all()

    def close(self) -> None:
        """Waits for the requests under way, then closes the store."""
        self.server_close()
        with self._idle:
            self._idle.wait_for(lambda: self._active == 0, timeout=30)
        self.settings.store.close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "aware-receiver"
    sys_version = ""
    timeout = 60
    disable_nagle_algorithm = True
    server: Server
    connection: ssl.SSLSocket

    def setup(self) -> None:
        self.request.settimeout(self.timeout)
        self.request.do_handshake()
        super().setup()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Paths have study keys in them: what may be known goes to the log."""

    def handle_expect_100(self) -> bool:
        # No "continue" for a body that is not wanted.
        return self._length() > self.server.settings.max_body or super().handle_expect_100()

    def do_POST(self) -> None:
        if not self.server.begin_request():
            self.close_connection = True
            return
        try:
            self._do_post()
        finally:
            self.server.end_request()

    def _do_post(self) -> None:
        began = time.perf_counter()
        details: dict[str, Any] = {"method": self.command, "path": "(unknown)", "bytes": 0}
        try:
            answer = self._answer(details)
        except Refusal as refusal:
            answer = self._refuse(refusal)
        details |= {"status": answer.status, **answer.log}
        if answer.cut:
            details |= {"status": None, "cut": answer.cut}
        details["milliseconds"] = round((time.perf_counter() - began) * 1000, 1)
        # Before the answer: who has it finds the line.
        self.server.settings.log.write(details)
        self._send(answer)

    def _refuse_method(self) -> None:
        self.close_connection = True
        self._send(Answer(405, headers={"Allow": "POST"}))

    do_GET = do_HEAD = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = _refuse_method

    # Reading

    def _length(self) -> int:
        text = self.headers.get("Content-Length", "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else -1

    def _read_body(self) -> bytes:
        length = self._length()
        if length < 0 or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            raise Refusal(411, "the body's length is not given")
        if length > self.server.settings.max_body:
            self.close_connection = True
            if self.headers.get("Expect", "").lower() != "100-continue":
                self._discard(min(length, _MAX_DISCARDED))
            raise Refusal(413, f"the body has more than {self.server.settings.max_body} bytes")
        body = self.rfile.read(length)
        if len(body) < length:
            raise ConnectionError("the connection ended within a body")
        return body

    def _discard(self, length: int) -> None:
        while length > 0 and (piece := self.rfile.read(min(length, 1 << 16))):
            length -= len(piece)

    # Answering

    def _answer(self, details: dict[str, Any]) -> Answer:
        settings = self.server.settings
        body = self._read_body()
        details["bytes"] = len(body)
        headers = list(self.headers.items())
        settings.raw_log.write(self.requestline, headers, body)
        route = protocol.route(self.path)
        details["path"] = route.safe_path
        try:
            settings.verifier.check_head(headers, route)
        except Refusal as refusal:
            if refusal.status == 401 and route.is_form:
                return _php_refusal("The study key is invalid.")
            raise
        request = Request(self.command, self.path, headers, body)
        is_receipt = route.kind == "receipt"
        sender = settings.verifier.check(request, settings.receipt_tags if is_receipt else BATCH_TAGS)
        details["keyid"] = sender.key_id
        return self._process(route, body, sender, details)

    def _process(self, route: Route, body: bytes, sender: Sender, details: dict[str, Any]) -> Answer:
        """Stores what the body holds, unless it is to be done badly."""
        settings = self.server.settings
        if route.kind == "create_table":
            details["table"] = protocol.table_to_create(route, body)
            return Answer(200)
        content = protocol.receipt(body) if route.kind == "receipt" else protocol.batch(route, body)
        details["table"] = "delivery_receipt" if isinstance(content, protocol.Receipt) else content.table
        line = settings.misbehaviour.next(details["table"])
        time.sleep(line.get("delay", 0))
        answer = Answer(200, b'{"accepted":0,"duplicates":0}')
        if line.get("store") or not replaces_answer(line):
            if isinstance(content, protocol.Receipt):
                settings.store.add_receipt(content, sender)
                answer = Answer(204)
            else:
                result = settings.store.add(content, sender)
                silent = route.is_form and not settings.acknowledges_forms
                counts = {"accepted": result.accepted, "duplicates": result.duplicates}
                answer = Answer(200, b"" if silent else result.json(), log=counts)
        return _misbehave(line, answer) if replaces_answer(line) else answer

    def _refuse(self, refusal: Refusal) -> Answer:
        text = f"{refusal.message}: {refusal.detail}" if refusal.detail else refusal.message
        headers = {"Retry-After": "1"} if refusal.status == 503 else {}
        return Answer(refusal.status, json.dumps({"error": text}).encode(), headers, {"error": refusal.message})

    def _send(self, answer: Answer) -> None:
        self.close_connection = self.close_connection or self.server.is_ending or answer.cut != ""
        encoded = self._encode(answer)
        if answer.cut == "reset":
            self.wfile.write(encoded[: len(encoded) - max(1, len(answer.body) // 2)])
            time.sleep(0.05)  # a reset may overtake what was sent
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            os.close(self.connection.detach())
        elif not answer.cut:
            self.wfile.write(encoded)

    def _encode(self, answer: Answer) -> bytes:
        """An answer as one piece: two writes would be two TLS records, and wait for each other."""
        names = {status.value: status.phrase for status in HTTPStatus}
        head = [
            f"{self.protocol_version} {answer.status} {names.get(answer.status, 'Status')}",
            f"Server: {self.server_version}",
            f"Date: {self.date_time_string()}",
        ]
        if answer.body:
            head.append("Content-Type: application/json")
        if answer.status != 204:
            head.append(f"Content-Length: {len(answer.body)}")
        if self.close_connection:
            head.append("Connection: close")
        head += [f"{name}: {value}" for name, value in answer.headers.items()]
        return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + answer.body


def _php_refusal(message: str) -> Answer:
    """As the PHP server of AWARE refuses: by 200 and a message."""
    return Answer(200, json.dumps([{"message": message}]).encode(), log={"error": message})


def _misbehave(line: Line, answer: Answer) -> Answer:
    """What goes out in the place of a good answer."""
    cut = "reset" if line.get("reset") else "close" if line.get("close") else ""
    if "status" not in line and "redirect" not in line:
        return replace(answer, cut=cut)
    headers = dict(line.get("headers", {}))
    if "redirect" in line:
        headers["Location"] = line["redirect"]
    return Answer(line.get("status", 307), line.get("body", "").encode(), headers, answer.log, cut)
