"""The reference receiver, asked over TLS as a sensor would ask it. Signatures are made here by hand."""

import base64
import hashlib
import hmac
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
from datetime import timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DEVICE = "5B3E0F9C-6D0A-4E0B-9F63-1B7A4C2D9E11"
KEY = b"0123456789abcdef0123456789abcdef"
MICRO = "/api/1/study-key/insert/"
PHP = "/index.php/webservice/index/1/study-key/ios_notification"
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
COVERED = ("@method", "@authority", "@path", "content-type", "content-digest", "idempotency-key")


def make_certificate(folder: Path) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3"]
        + ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        + ["-keyout", str(folder / "tls.key"), "-out", str(folder / "tls.pem")],
        check=True,
        capture_output=True,
    )


def row(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "timestamp": 1764460861000 + number,
        "deviceId": DEVICE,
        "label": "",
        "timezone": 9,
        "os": "iOS",
        "jsonVersion": 2,
        "notificationId": f"request {number}",
        "title": "Mia",
        "body": "Are we still on for Saturday? 🥾",
        "recordId": f"record-{number}",
        "timezoneOffset": 540,
        "source": "foreground",
        **more,
    }


def v1_row(number: int, **more: Any) -> dict[str, Any]:
    columns = ("timestamp", "deviceId", "label", "timezone", "os", "jsonVersion", "notificationId", "title", "body")
    return {name: row(number)[name] for name in columns} | more


def envelope(data: Any, table: str = "ios_notification") -> bytes:
    return json.dumps({"deviceId": DEVICE, "data": data, "tableName": table, "timestamp": 1764460861000}).encode()


def form(data: Any) -> bytes:
    return urllib.parse.urlencode({"device_id": DEVICE, "data": json.dumps(data)}).encode()


def digest_field(body: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"


class ReceiverTestCase(unittest.TestCase):
    options: list[str] = []

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="receiver-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        make_certificate(self.folder)
        (self.folder / "study.key").write_bytes(b"study-key\n")
        (self.folder / "signing.key").write_bytes(KEY + b"\r\n")
        self.database = self.folder / "store.db"
        self.connection: http.client.HTTPSConnection | None = None
        self.start()

    def start(self, *more: str) -> subprocess.Popen[str]:
        self.process, self.port = self.start_another(*more)
        self.connection = None
        return self.process

    def start_another(self, *more: str) -> tuple[subprocess.Popen[str], int]:
        options = [option.replace("FOLDER", str(self.folder)) for option in [*self.options, *more]]
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "Examples/receiver"), "--database", str(self.database)]
            + ["--certificate", str(self.folder / "tls.pem"), "--key", str(self.folder / "tls.key"), *options],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout
        self.addCleanup(self.end, process)
        line = process.stdout.readline()
        self.assertRegex(line, r"^listening on https://localhost:\d+\n$")
        return process, int(line.rsplit(":", 1)[1])

    def end(self, process: subprocess.Popen[str]) -> None:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()

    def connect(self, port: int | None = None) -> http.client.HTTPSConnection:
        tls = ssl.create_default_context(cafile=str(self.folder / "tls.pem"))
        connection = http.client.HTTPSConnection("localhost", port or self.port, timeout=30, context=tls)
        self.addCleanup(connection.close)
        return connection

    def headers(self, body: bytes, content_type: str = JSON, key: str = "batch-1") -> dict[str, str]:
        return {
            "Content-Type": content_type,
            "Content-Digest": digest_field(body),
            "Idempotency-Key": f'"{key}"',
        }

    def signed(
        self,
        path: str,
        body: bytes,
        content_type: str = JSON,
        key: str = "batch-1",
        *,
        method: str = "POST",
        age: int = 0,
        tag: str = "aware-batch",
        key_id: str = "device",
        secret: bytes = KEY,
        covered: tuple[str, ...] = COVERED,
        port: int | None = None,
        parameters: str | None = None,
    ) -> dict[str, str]:
        headers = self.headers(body, content_type, key)
        values = {"@method": method, "@authority": f"localhost:{port or self.port}", "@path": path}
        values |= {name.lower(): value for name, value in headers.items()}
        if parameters is None:
            parameters = f';created={int(time.time()) - age};keyid="{key_id}";tag="{tag}"'
        inner = "(" + " ".join(f'"{name}"' for name in covered) + ")" + parameters
        base = "".join(f'"{name}": {values[name]}\n' for name in covered) + f'"@signature-params": {inner}'
        signature = base64.b64encode(hmac.new(secret, base.encode(), hashlib.sha256).digest()).decode()
        return headers | {"Signature-Input": f"batch={inner}", "Signature": f"batch=:{signature}:"}

    def post(
        self, path: str, body: bytes, headers: dict[str, str] | None = None, port: int | None = None
    ) -> tuple[int, bytes]:
        if port or self.connection is None:
            connection = self.connect(port)
            self.connection = self.connection if port else connection
        else:
            connection = self.connection
        connection.request("POST", path, body, headers if headers is not None else {"Content-Type": JSON})
        answer = connection.getresponse()
        self.answer_headers = answer.headers
        return answer.status, answer.read()

    def query(self, sql: str) -> list[Any]:
        connection = sqlite3.connect(self.database)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def count(self, table: str = "ios_notification") -> int:
        return int(self.query(f"SELECT count(*) FROM {table}")[0][0])

    def assertRefused(self, answer: tuple[int, bytes], status: int, text: str) -> None:
        self.assertEqual(answer[0], status, answer[1])
        self.assertIn(text, json.loads(answer[1])["error"])
        self.assertEqual(self.count(), 0)
        self.assertEqual(self.count("batch"), 0)


class BatchTests(ReceiverTestCase):
    def test_rows_are_stored_as_they_were_sent(self) -> None:
        rows = [row(1), row(2, label=None, title="+ & = % \0 \u2028 👩‍👩‍👧", badge=3)]
        self.assertEqual(self.post(MICRO, envelope(rows)), (200, b'{"accepted":2,"duplicates":0}'))
        stored = self.query("SELECT id, deviceId, label, title, badge, recordId FROM ios_notification ORDER BY id")
        self.assertEqual(stored[0], (1, DEVICE, "", "Mia", None, "record-1"))
        self.assertEqual(stored[1], (2, DEVICE, None, "+ & = % \0 \u2028 👩‍👩‍👧", 3, "record-2"))

    def test_the_other_tables_and_routes(self) -> None:
        token = {"timestamp": 1, "token": "00ff", "recordId": "t"}
        self.assertEqual(
            self.post("/insert/", envelope([token], "ios_notification_token")), (200, b'{"accepted":1,"duplicates":0}')
        )
        push = {"timestamp": 1, "payload": "{}", "recordId": "p", "pushId": "p-1"}
        self.assertEqual(self.post("/insert", envelope([push], "ios_silent_push"))[0], 200)
        self.assertEqual(self.query("SELECT deviceId, token FROM ios_notification_token"), [(DEVICE, "00ff")])
        self.assertEqual(self.query("SELECT deviceId, payload, pushId FROM ios_silent_push"), [(DEVICE, "{}", "p-1")])

    def test_a_batch_that_comes_again_is_answered_as_the_first_time(self) -> None:
        body = envelope([row(1), row(2)])
        first = self.post(MICRO, body, self.headers(body))
        self.assertEqual(first, (200, b'{"accepted":2,"duplicates":0}'))
        self.assertEqual(self.post(MICRO, body, self.headers(body)), first)
        self.assertEqual(self.count(), 2)
        self.assertEqual(self.count("batch"), 1)

    def test_the_same_key_with_another_body_is_refused(self) -> None:
        body, other = envelope([row(1)]), envelope([row(2)])
        self.post(MICRO, body, self.headers(body))
        status, answer = self.post(MICRO, other, self.headers(other))
        self.assertEqual(status, 422, answer)
        self.assertEqual(self.count(), 1)

    def test_the_same_form_under_the_same_key_for_another_table_is_refused(self) -> None:
        body = form([{"timestamp": 1}])
        self.post(f"{PHP}/insert", body, self.headers(body, FORM))
        status, _ = self.post(f"{PHP}_token/insert", body, self.headers(body, FORM))
        self.assertEqual(status, 422)
        self.assertEqual(self.count("ios_notification_token"), 0)

    def test_rows_that_come_again_in_another_batch_are_duplicates(self) -> None:
        body, other = envelope([row(1), row(2)]), envelope([row(2), row(3), row(3)])
        self.post(MICRO, body, self.headers(body, key="a"))
        answer = self.post(MICRO, other, self.headers(other, key="b"))
        self.assertEqual(answer, (200, b'{"accepted":1,"duplicates":2}'))
        self.assertEqual(self.count(), 3)

    def test_rows_without_a_record_id_are_known_by_their_values(self) -> None:
        rows = [v1_row(1), v1_row(1), v1_row(1, body="other"), v1_row(1, recordId="")]
        self.assertEqual(self.post(MICRO, envelope(rows)), (200, b'{"accepted":2,"duplicates":2}'))
        rows = [v1_row(2, recordId=""), v1_row(3, recordId="")]
        self.assertEqual(self.post(MICRO, envelope(rows)), (200, b'{"accepted":2,"duplicates":0}'))
        # Another device, and null in the place of nothing.
        rows = [v1_row(1, deviceId="other"), v1_row(1, sound=None)]
        self.assertEqual(self.post(MICRO, envelope(rows)), (200, b'{"accepted":1,"duplicates":1}'))

    def test_columns_in_the_place_of_rows(self) -> None:
        columns = {"recordId": ["a", "b"], "title": ["one", None], "timestamp": [1, 2]}
        for data in (columns, json.dumps(columns)):
            self.assertEqual(self.post(MICRO, envelope(data))[0], 200)
        stored = self.query("SELECT recordId, title, timestamp, deviceId, os FROM ios_notification ORDER BY recordId")
        self.assertEqual(stored, [("a", "one", 1, DEVICE, None), ("b", None, 2, DEVICE, None)])

    def test_a_body_is_taken_whole_or_not_at_all(self) -> None:
        good = row(1)
        cases: dict[str, Any] = {
            "unequal length": {"recordId": ["a", "b"], "title": ["one"]},
            "a column is not an array": {"recordId": ["a"], "title": "o"},
            "unknown columns: nickname": [good, row(2, nickname="x")],
            "a row is not an object": [good, 5],
            "64 bits": [good, row(2, title={"nested": 1})],
            "text, a number": [good, row(2, badge=1 << 64)],
            "or null": [good, row(2, title="\ud800")],
            "neither an array": 5,
            "not JSON": "[",
        }
        for text, data in cases.items():
            with self.subTest(text):
                self.assertRefused(self.post(MICRO, envelope(data)), 400, text)
        for body, text in {
            b'{"a": NaN}': "not JSON",
            b"\xff": "not UTF-8",
            b"[]": "not a JSON object",
            b"[" * 100_000: "not JSON",
            envelope([good]).replace(b"deviceId", b"device", 1): "no device id",
        }.items():
            with self.subTest(text):
                self.assertRefused(self.post(MICRO, body), 400, text)
        self.assertRefused(self.post(MICRO, envelope([good], "sqlite_master")), 404, "no such table")

    def test_an_empty_batch_is_acknowledged(self) -> None:
        for data in ([], {}, {"title": []}):
            self.assertEqual(self.post(MICRO, envelope(data)), (200, b'{"accepted":0,"duplicates":0}'))

    def test_what_is_stored_is_for_the_owner_alone(self) -> None:
        self.assertEqual(self.database.stat().st_mode & 0o077, 0)


class FormTests(ReceiverTestCase):
    options = ["--study", "1", "--study-key-file", "FOLDER/study.key"]

    def test_text_of_all_kinds_comes_through_a_form(self) -> None:
        text = "a+b & c=d 100% %2B %00 \"'\\ \n 日本 👩‍👩‍👧"
        self.assertEqual(self.post(f"{PHP}/insert", form([v1_row(1, body=text)]), {"Content-Type": FORM}), (200, b""))
        self.assertEqual(self.query("SELECT body FROM ios_notification"), [(text,)])

    def test_a_plus_in_a_form_is_a_space(self) -> None:
        body = f"device_id={DEVICE}&data=[{{%22title%22:%22a+b%22}}]".encode()
        self.post(f"{PHP}/insert", body, {"Content-Type": FORM})
        self.assertEqual(self.query("SELECT title FROM ios_notification"), [("a b",)])

    def test_a_wrong_study_key_is_answered_as_the_public_server_does(self) -> None:
        path = PHP.replace("study-key", "other")
        status, answer = self.post(f"{path}/insert", form([v1_row(1)]), {"Content-Type": FORM})
        self.assertEqual((status, json.loads(answer)), (200, [{"message": "The study key is invalid."}]))
        self.assertEqual(self.count(), 0)

    def test_create_table(self) -> None:
        body = urllib.parse.urlencode({"device_id": DEVICE, "fields": "_id integer primary key"}).encode()
        self.assertEqual(self.post(f"{PHP}/create_table", body, {"Content-Type": FORM}), (200, b""))
        status, _ = self.post(PHP.replace("ios_notification", "esm") + "/create_table", body, {"Content-Type": FORM})
        self.assertEqual(status, 404)

    def test_bad_forms(self) -> None:
        for body in (b"", b"device_id=a", b"device_id=a&data=%FF", b"device_id=a&data=[]&data=[]", b"\xff=1"):
            with self.subTest(body):
                self.assertRefused(self.post(f"{PHP}/insert", body, {"Content-Type": FORM}), 400, "")

    def test_forms_are_acknowledged_on_request(self) -> None:
        self.end(self.process)
        self.start("--acknowledge-forms")
        answer = self.post(f"{PHP}/insert", form([v1_row(1)]), {"Content-Type": FORM})
        self.assertEqual(answer, (200, b'{"accepted":1,"duplicates":0}'))


class StudyTests(ReceiverTestCase):
    options = ["--study", "1", "--study-key-file", "FOLDER/study.key", "--log", "FOLDER/log"]

    def test_only_the_study_and_its_key_are_taken(self) -> None:
        for path in ("/api/1/other/insert/", "/api/2/study-key/insert/", "/api/1/study-key%0A/insert/"):
            with self.subTest(path):
                self.assertRefused(self.post(path, envelope([row(1)])), 401, "wrong")
        self.assertEqual(self.post("/api/1/study%2Dkey/insert/", envelope([row(1)]))[0], 200)

    def test_the_log_has_no_content_and_no_keys(self) -> None:
        self.post(MICRO, envelope([row(1)]))
        self.post(MICRO, envelope([row(1, Mia=1)]))
        self.post("/api/1/study-key/other/", envelope([row(1)]))
        self.post(f"{PHP}/insert", form([v1_row(1)]), {"Content-Type": FORM})
        log = (self.folder / "log").read_text()
        lines = [json.loads(line) for line in log.splitlines()]
        self.assertEqual([line["status"] for line in lines], [200, 400, 404, 200])
        self.assertEqual((lines[0]["accepted"], lines[0]["table"]), (1, "ios_notification"))
        self.assertEqual(lines[0]["path"], "/api/1/***/insert/")
        for secret in ("study-key", "Mia", "Saturday", DEVICE):
            self.assertNotIn(secret, log)


class SignatureTests(ReceiverTestCase):
    options = ["--signing-key", "device=FOLDER/signing.key", "--require-signature"]

    def test_a_signed_batch_is_taken(self) -> None:
        body = envelope([row(1)])
        self.assertEqual(self.post(MICRO, body, self.signed(MICRO, body)), (200, b'{"accepted":1,"duplicates":0}'))
        self.assertEqual(self.query("SELECT keyId FROM batch"), [("device",)])
        # Again, signed anew, and by a clock that is somewhat fast.
        headers = self.signed(MICRO, body, age=-200)
        self.assertEqual(self.post(MICRO, body, headers), (200, b'{"accepted":1,"duplicates":0}'))
        self.assertEqual(self.count(), 1)

    def test_a_signed_form_is_taken(self) -> None:
        body, path = form([v1_row(1)]), f"{PHP}/insert"
        self.assertEqual(self.post(path, body, self.signed(path, body, FORM)), (200, b""))
        self.assertEqual(self.count(), 1)

    def test_signatures_that_do_not_hold(self) -> None:
        body = envelope([row(1)])
        without = tuple(name for name in COVERED if name != "idempotency-key")
        cases = {
            "unknown keyid": self.signed(MICRO, body, key_id="other"),
            "not made with this key": self.signed(MICRO, body, secret=KEY[::-1]),
            "too old": self.signed(MICRO, body, age=400),
            "future": self.signed(MICRO, body, age=-400),
            "tag": self.signed(MICRO, body, tag="other"),
            "signature's tag": self.signed(MICRO, body, tag="aware-receipt"),
            "over this request": self.signed("/api/1/other/insert/", body),
            "this request": self.signed(MICRO, body, port=self.port + 1),
            "made with this key": self.signed(MICRO, body, method="PUT"),
            "cover exactly": self.signed(MICRO, body, covered=without),
            "exactly": self.signed(MICRO, body, covered=()),
            "created is missing": self.signed(MICRO, body, parameters=';keyid="device";tag="aware-batch"'),
            "for something else": self.signed(MICRO, body, parameters=f';created={int(time.time())};keyid="device"'),
            "malformed": self.signed(MICRO, body) | {"Signature": "batch=:AAAA:"},
            "or not made": self.signed(MICRO, body) | {"Idempotency-Key": '"other"'},
            "signature is missing": self.headers(body),
            "does not hold": {
                name: value for name, value in self.signed(MICRO, body).items() if name != "Signature-Input"
            },
            "a covered field is missing": {
                name: value for name, value in self.signed(MICRO, body).items() if name != "Content-Digest"
            },
        }
        for text, headers in cases.items():
            with self.subTest(text):
                self.assertRefused(self.post(MICRO, body, headers), 401, text)

    def test_each_covered_component_must_be_there(self) -> None:
        body = envelope([row(1)])
        for missing in COVERED:
            with self.subTest(missing):
                covered = tuple(name for name in COVERED if name != missing)
                headers = self.signed(MICRO, body, covered=covered)
                self.assertRefused(self.post(MICRO, body, headers), 401, "cover exactly")

    def test_the_digest_is_over_the_bytes_received(self) -> None:
        body = envelope([row(1)])
        changed = body.replace(b"Saturday", b"Thursday")
        self.assertRefused(self.post(MICRO, changed, self.signed(MICRO, body)), 400, "not that of the body")
        for field in ("sha-512=:AAAA:", "sha-256=AAAA", "sha-256=:AAAA:", "nonsense :", ""):
            with self.subTest(field):
                headers = self.signed(MICRO, body) | {"Content-Digest": field}
                self.assertRefused(self.post(MICRO, body, headers), 400, "Content-Digest")

    def test_a_query_is_refused(self) -> None:
        body = envelope([row(1)])
        self.assertRefused(self.post(MICRO + "?a=b", body, self.signed(MICRO, body)), 400, "query")

    def test_a_repeated_field_is_refused(self) -> None:
        body = envelope([row(1)])
        connection = self.connect()
        connection.putrequest("POST", MICRO)
        for name, value in self.signed(MICRO, body).items():
            connection.putheader(name, value)
        connection.putheader("idempotency-key", '"other"')
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        self.assertRefused((answer.status, answer.read()), 400, "idempotency-key is repeated")

    def test_a_signature_for_another_receiver_is_refused(self) -> None:
        self.end(self.process)
        self.start("--authority", "uploads.example")
        body = envelope([row(1)])
        self.assertRefused(self.post(MICRO, body, self.signed(MICRO, body)), 421, "name")

    def test_receipts(self) -> None:
        body = json.dumps(
            {"notificationId": "n", "recordId": "r", "receivedAt": 1764460861000, "deviceId": DEVICE}
        ).encode()
        for tag in ("aware-receipt", "aware-batch"):
            self.assertEqual(self.post("/receipt/", body, self.signed("/receipt/", body, tag=tag)), (204, b""))
        self.assertEqual(self.query("SELECT * FROM delivery_receipt"), [("r", "n", 1764460861000, DEVICE, "device")])
        self.assertEqual(self.post("/receipt/", body, self.signed("/receipt/", body, tag="other"))[0], 401)
        self.assertEqual(self.post("/receipt/", b"{}", self.signed("/receipt/", b"{}"))[0], 400)

    def test_bad_idempotency_keys(self) -> None:
        self.end(self.process)
        self.options = []
        self.start()
        body = envelope([row(1)])
        for key in ("unquoted", '""', '"unclosed', "5", '"' + "k" * 256 + '"'):
            with self.subTest(key):
                headers = self.headers(body) | {"Idempotency-Key": key}
                self.assertRefused(self.post(MICRO, body, headers), 400, "Idempotency-Key")


class DocumentTests(unittest.TestCase):
    def test_the_example_of_the_protocol_verifies(self) -> None:
        text = (ROOT / "Examples/receiver/PROTOCOL.md").read_text()
        head, body = re.findall(r"```http\n(.*?)\n\n(.*?)\n```", text, re.DOTALL)[0]
        base = re.findall(r"```text\n(.*?)\n```", text, re.DOTALL)[0]
        line, *fields = head.splitlines()
        headers = [(name, value) for name, _, value in (field.partition(": ") for field in fields)]
        signature = base64.b64encode(hmac.new(KEY, base.encode(), hashlib.sha256).digest()).decode()
        self.assertIn(("Signature", f"batch=:{signature}:"), headers)
        self.assertIn(("Content-Digest", digest_field(body.encode())), headers)
        self.assertIn(("Content-Length", str(len(body))), headers)
        self.assertIn(KEY.decode(), text)

        sys.path.insert(0, str(ROOT / "Examples/receiver"))
        import protocol
        import verification

        verifier = verification.Verifier({"phone-7": KEY}, True, timedelta(days=36500))
        method, path, _ = line.split()
        request = protocol.Request(method, path, headers, body.encode())
        self.assertEqual(verifier.check(request, {"aware-batch"}).key_id, "phone-7")


class KeyFileTests(ReceiverTestCase):
    options = ["--signing-key", "phone-7=FOLDER/vector.key", "--require-signature", "--max-age", "3e9"]

    def start(self, *more: str) -> subprocess.Popen[str]:
        if not (self.folder / "vector.key").exists():
            (self.folder / "vector.key").write_bytes(KEY)
        return super().start(*more)

    def test_key_files_are_read_as_the_protocol_says(self) -> None:
        text = (ROOT / "Examples/receiver/PROTOCOL.md").read_text()
        head, body = re.findall(r"```http\n(.*?)\n\n(.*?)\n```", text, re.DOTALL)[0]
        line, *fields = head.splitlines()
        headers = dict(field.split(": ", 1) for field in fields)
        digits = re.findall(r"```key\n([0-9a-f]{64})\n```", text)[0]
        vectors = re.findall(r"^\| (`[\\rn]+`|none) \| the digits.* \| `(batch=:.*:)` \|$", text, re.MULTILINE)
        self.assertEqual(len(vectors), 5)
        for end, signature in vectors:
            with self.subTest(end):
                ending = "" if end == "none" else end.strip("`").replace("\\r", "\r").replace("\\n", "\n")
                self.end(self.process)
                (self.folder / "vector.key").write_bytes((digits + ending).encode())
                self.start()
                for _, other in vectors:
                    status, answer = self.post(line.split()[1], body.encode(), headers | {"Signature": other})
                    self.assertEqual(status, 200 if other == signature else 401, answer)


class ConnectionTests(ReceiverTestCase):
    options = [
        "--max-body",
        "1000000",
        "--raw-log",
        "FOLDER/raw",
        "--misbehave",
        "FOLDER/misbehave",
        "--log",
        "FOLDER/log",
    ]

    def setUp(self) -> None:
        self.lines: list[dict[str, Any]] = []
        super().setUp()

    def start(self, *more: str) -> subprocess.Popen[str]:
        (self.folder / "misbehave").write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        return super().start(*more)

    def misbehave(self, *lines: dict[str, Any]) -> None:
        self.end(self.process)
        self.lines = list(lines)
        self.start()

    def test_an_over_long_body_is_refused(self) -> None:
        self.assertRefused(self.post(MICRO, b" " * 3_000_000), 413, "1000000 bytes")
        # With an expectation nothing of it needs to be sent.
        connection = self.connect()
        connection.putrequest("POST", MICRO)
        connection.putheader("Expect", "100-continue")
        connection.putheader("Content-Length", "3000000")
        connection.endheaders()
        self.assertEqual(connection.getresponse().status, 413)

    def test_requests_of_other_kinds(self) -> None:
        self.assertRefused(self.post("/other", b"{}"), 404, "no such path")
        self.assertRefused(self.post(MICRO, b"{}", {"Content-Type": "text/plain"}), 415, "content type")
        headers = {"Content-Type": JSON, "Content-Encoding": "gzip"}
        self.assertRefused(self.post(MICRO, b"{}", headers), 415, "coding")
        connection = self.connect()
        connection.putrequest("POST", MICRO)
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()
        self.assertEqual(connection.getresponse().status, 411)
        connection = self.connect()
        connection.request("GET", "/insert/")
        self.assertEqual(connection.getresponse().status, 405)

    def test_one_connection_serves_many_requests(self) -> None:
        self.post(MICRO, envelope([row(1)]))
        assert self.connection
        stream = self.connection.sock
        self.post(MICRO, b"nonsense")
        self.post(MICRO, envelope([row(2)]))
        self.assertIs(self.connection.sock, stream)

    def test_older_tls_and_plain_http_are_refused(self) -> None:
        tls = ssl.create_default_context(cafile=str(self.folder / "tls.pem"))
        tls.set_ciphers("ALL:@SECLEVEL=0")
        tls.minimum_version = ssl.TLSVersion.TLSv1
        tls.maximum_version = ssl.TLSVersion.TLSv1_1
        with socket.create_connection(("localhost", self.port)) as stream, self.assertRaises(ssl.SSLError):
            tls.wrap_socket(stream, server_hostname="localhost")
        connection = http.client.HTTPConnection("localhost", self.port, timeout=10)
        with self.assertRaises((http.client.HTTPException, OSError)):
            connection.request("POST", "/insert/", b"{}")
            connection.getresponse()
        connection.close()
        self.assertEqual(self.post(MICRO, envelope([row(1)]))[0], 200)

    def test_the_raw_log_keeps_the_bytes(self) -> None:
        body = envelope([row(1)])
        self.post(MICRO, body)
        self.post(MICRO, b"nonsense")
        self.assertEqual((self.folder / "raw/000001.body").read_bytes(), body)
        self.assertEqual((self.folder / "raw/000002.body").read_bytes(), b"nonsense")
        head = (self.folder / "raw/000001.head").read_bytes()
        self.assertTrue(head.startswith(f"POST {MICRO} HTTP/1.1\r\n".encode()), head)
        self.assertIn(f"\r\nContent-Length: {len(body)}\r\n", head.decode())

    def test_a_status_in_the_place_of_storing(self) -> None:
        self.misbehave(
            {"status": 503, "headers": {"Retry-After": "7"}, "body": "later", "table": "ios_silent_push"},
            {"redirect": "https://elsewhere.example/"},
        )
        self.assertEqual(self.post(MICRO, envelope([row(1)]))[0], 307)
        self.assertEqual(self.answer_headers["Location"], "https://elsewhere.example/")
        self.assertEqual(self.post(MICRO, envelope([row(1)]))[0], 200)
        self.assertEqual(self.post(MICRO, envelope([{"payload": "{}"}], "ios_silent_push")), (503, b"later"))
        self.assertEqual(self.answer_headers["Retry-After"], "7")
        self.assertEqual(self.post(MICRO, envelope([{"payload": "{}"}], "ios_silent_push"))[0], 200)

    def test_stored_but_not_answered(self) -> None:
        self.misbehave({"store": True, "close": True}, {"close": True}, {"reset": "mid-body", "store": True})
        body = envelope([row(1)])
        with self.assertRaises(http.client.RemoteDisconnected):
            self.post(MICRO, body, self.headers(body))
        self.assertEqual(self.count(), 1)
        other = envelope([row(2)])
        with self.assertRaises(http.client.RemoteDisconnected):
            self.post(MICRO, other, self.headers(other, key="b"))
        self.assertEqual(self.count(), 1)
        with self.assertRaises((http.client.IncompleteRead, ConnectionResetError)):
            self.post(MICRO, other, self.headers(other, key="b"))
        self.assertEqual(self.count(), 2)
        statuses = [json.loads(line)["status"] for line in (self.folder / "log").read_text().splitlines()]
        self.assertEqual(statuses, [None, None, None])
        for batch, key in ((body, "batch-1"), (other, "b")):
            self.assertEqual(self.post(MICRO, batch, self.headers(batch, key=key))[1], b'{"accepted":1,"duplicates":0}')

    def test_a_request_under_way_is_answered_before_the_end(self) -> None:
        self.misbehave({"delay": 1})
        answers: list[Any] = []
        waiting = threading.Thread(target=lambda: answers.append(self.post(MICRO, envelope([row(1)]))))
        waiting.start()
        while not (self.folder / "raw/000001.body").exists():
            time.sleep(0.01)
        os.kill(self.process.pid, signal.SIGTERM)
        waiting.join()
        self.assertEqual(answers, [(200, b'{"accepted":1,"duplicates":0}')])
        self.assertEqual(self.process.wait(timeout=30), 0)
        self.assertFalse(Path(f"{self.database}-wal").exists())


class ProcessTests(ReceiverTestCase):
    def test_processes_share_one_store(self) -> None:
        self.end(self.process)
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.database}{suffix}").unlink(missing_ok=True)
        ports: list[int] = []
        # At once, so that all of them make the store.
        starting = [threading.Thread(target=lambda: ports.append(self.start_another()[1])) for _ in range(4)]
        for thread in starting:
            thread.start()
        for thread in starting:
            thread.join()
        self.assertEqual(len(ports), 4)

        answers: list[tuple[int, bytes]] = []

        def send(place: int) -> None:
            port = ports[place % len(ports)]
            for number in range(10):
                # Each batch goes to every process under one key, and its rows to each under another.
                body = envelope([row(10 * number + n) for n in range(10)])
                answers.append(self.post(MICRO, body, self.headers(body, key=f"shared-{number}"), port))
                answers.append(self.post(MICRO, body, self.headers(body, key=f"{place}-{number}"), port))

        threads = [threading.Thread(target=send, args=(place,)) for place in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(answers), 8 * 20)
        for status, answer in answers:
            self.assertEqual(status, 200, answer)
            self.assertEqual(sum(json.loads(answer).values()), 10)
        self.assertEqual(self.count(), 100)
        self.assertEqual(self.count("batch"), 10 + 8 * 10)
        self.assertEqual(self.query("SELECT sum(accepted) FROM batch"), [(100,)])

    def test_a_killed_receiver_keeps_what_it_acknowledged(self) -> None:
        body = envelope([row(1)])
        self.post(MICRO, body, self.headers(body))
        self.end(self.process)
        self.start()
        self.assertEqual(self.post(MICRO, body, self.headers(body)), (200, b'{"accepted":1,"duplicates":0}'))
        self.assertEqual(self.count(), 1)

    def test_usage(self) -> None:
        (self.folder / "short.key").write_bytes(KEY[:31] + b"\n")
        for options in (
            ["--signing-key", f"a={self.folder}/short.key"],
            ["--require-signature"],
            ["--study", "1"],
            ["--signing-key", "a"],
        ):
            result = subprocess.run(
                [sys.executable, str(ROOT / "Examples/receiver"), "--certificate", "x", "--key", "x"]
                + ["--database", str(self.folder / "other.db"), *options],
                capture_output=True,
            )
            self.assertEqual(result.returncode, 2, result.stderr)
        self.assertFalse((self.folder / "other.db").exists())


if __name__ == "__main__":
    unittest.main()
