"""The requests there are, and the rows in their bodies. PROTOCOL.md says the same in words."""

import json
import re
import urllib.parse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

Value = str | int | float | None
Headers = list[tuple[str, str]]

_COMMON = {
    "id": "INTEGER",
    "timestamp": "INTEGER",
    "deviceId": "TEXT",
    "label": "TEXT",
    "timezone": "INTEGER",
    "os": "TEXT",
    "jsonVersion": "INTEGER",
    "recordId": "TEXT",
    "timezoneOffset": "INTEGER",
}
# The sensor's tables: what a row may have, with SQLite's type for it.
TABLES = {
    "ios_notification": _COMMON
    | {
        "notificationId": "TEXT",
        "title": "TEXT",
        "body": "TEXT",
        "categoryIdentifier": "TEXT",
        "bundleIdentifier": "TEXT",
        "sound": "TEXT",
        "badge": "INTEGER",
        "threadIdentifier": "TEXT",
        "interruptionLevel": "INTEGER",
        "source": "TEXT",
    },
    "ios_notification_token": _COMMON | {"token": "TEXT"},
    "ios_silent_push": _COMMON | {"payload": "TEXT", "pushId": "TEXT"},
}


class Refusal(Exception):
    """Why a request is not taken. `detail` goes into the answer alone, for it may quote the request."""

    def __init__(self, status: int, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.detail = detail


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: Headers
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for field, value in self.headers if field.lower() == name), None)


@dataclass(frozen=True)
class Route:
    """What a path asks for."""

    kind: str  # aware_micro, aware_light, aware, create_table or receipt
    study: tuple[str, str] | None = None  # number and key
    table: str | None = None  # where the path has it
    safe_path: str = ""  # without the study's key

    @property
    def content_type(self) -> str:
        return "application/x-www-form-urlencoded" if self.is_form else "application/json"

    @property
    def is_form(self) -> bool:
        return self.kind in ("aware", "create_table")


@dataclass(frozen=True)
class Batch:
    """Rows for one table: the values of each in the order of `columns`."""

    table: str
    device: str
    columns: Sequence[str]
    rows: list[tuple[Value, ...]]


@dataclass(frozen=True)
class Receipt:
    """A device has shown a notification."""

    record: str
    notification: str
    received: int  # Unix milliseconds
    device: str


_MICRO = re.compile(r"/api/([^/]+)/([^/]+)/insert/?")
_PHP = re.compile(r"/index\.php/webservice/index/([^/]+)/([^/]+)/([^/]+)/(insert|create_table)/?")


def route(path: str) -> Route:
    """The route of a path. Queries are refused, since no signature covers them."""
    if "?" in path:
        raise Refusal(400, "a query in the path")
    if re.fullmatch(r"/insert/?", path):
        return Route("aware_light", safe_path=path)
    if re.fullmatch(r"/receipt/?", path):
        return Route("receipt", safe_path=path)
    if match := _MICRO.fullmatch(path):
        number, key = map(urllib.parse.unquote, match.groups())
        return Route("aware_micro", (number, key), safe_path=f"/api/{match[1]}/***/insert/")
    if match := _PHP.fullmatch(path):
        number, key, table = map(urllib.parse.unquote, match.group(1, 2, 3))
        kind = "aware" if match[4] == "insert" else "create_table"
        return Route(kind, (number, key), table, f"/index.php/webservice/index/{match[1]}/***/{match[3]}/{match[4]}")
    raise Refusal(404, "no such path")


def batch(route: Route, body: bytes) -> Batch:
    """The rows of an insert. A body is taken whole or not at all."""
    if route.is_form:
        form = _form(body)
        return _rows(route.table, form.get("device_id"), _parse(form.get("data", "")))
    envelope = _object(body)
    data = envelope.get("data")
    return _rows(envelope.get("tableName"), envelope.get("deviceId"), _parse(data) if isinstance(data, str) else data)


def table_to_create(route: Route, body: bytes) -> str:
    """The table of a `create_table`. The ones there are exist already, so that nothing needs to be made."""
    form = _form(body)
    if not form.get("device_id") or "fields" not in form:
        raise Refusal(400, "the form lacks device_id or fields")
    return _known(route.table)


def receipt(body: bytes) -> Receipt:
    value = _object(body)
    record, notification, received, device = map(value.get, ("recordId", "notificationId", "receivedAt", "deviceId"))
    if not (isinstance(record, str) and record and isinstance(device, str) and device):
        raise Refusal(400, "a receipt lacks recordId or deviceId")
    if not isinstance(notification, str) or type(received) is not int or abs(received) >= 1 << 63:
        raise Refusal(400, "a receipt lacks notificationId or receivedAt")
    return Receipt(record, notification, received, device)


def _rows(table: Any, device: Any, data: Any) -> Batch:
    table = _known(table)
    if not isinstance(device, str) or not device:
        raise Refusal(400, "no device id")
    if isinstance(data, dict):
        columns, rows = _by_column(data)
    elif isinstance(data, list):
        columns, rows = _by_row(data)
    else:
        raise Refusal(400, "data is neither an array of rows nor an object of columns")
    if unknown := [column for column in columns if column not in TABLES[table]]:
        raise Refusal(400, "unknown columns", ", ".join(sorted(unknown)))
    return Batch(table, device, columns, rows)


def _by_row(data: list[Any]) -> tuple[Sequence[str], list[tuple[Value, ...]]]:
    if not all(isinstance(row, dict) for row in data):
        raise Refusal(400, "a row is not an object")
    columns = sorted(set().union(*data))
    return columns, [tuple(map(row.get, columns)) for row in data]


def _by_column(data: dict[str, Any]) -> tuple[Sequence[str], list[tuple[Value, ...]]]:
    columns: Iterable[Any] = data.values()
    if not all(isinstance(column, list) for column in columns):
        raise Refusal(400, "a column is not an array")
    if len({len(column) for column in columns}) > 1:
        raise Refusal(400, "columns of unequal length")
    return list(data), list(zip(*columns))


def _known(table: Any) -> str:
    if not isinstance(table, str) or table not in TABLES:
        raise Refusal(404, "no such table")
    return table


def _form(body: bytes) -> dict[str, str]:
    try:
        fields = urllib.parse.parse_qsl(
            body.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=16
        )
    except ValueError:
        raise Refusal(400, "the body is not a form in UTF-8") from None
    if len(dict(fields)) != len(fields):
        raise Refusal(400, "a field of the form is repeated")
    return dict(fields)


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = _parse(body.decode())
    except UnicodeDecodeError:
        raise Refusal(400, "the body is not UTF-8") from None
    if not isinstance(value, dict):
        raise Refusal(400, "the body is not a JSON object")
    return value


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Refusal(400, "not JSON") from None


def _no_constant(_: str) -> NoReturn:
    raise ValueError  # NaN and Infinity, which Python would take
