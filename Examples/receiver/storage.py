"""The store: one SQLite file, which any number of receivers may share.

Two unique keys keep every row single: the batch's idempotency key and the row's `recordId`. Rows without a `recordId`
are known by a digest of all their values instead.
"""

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from protocol import TABLES, Batch, Receipt, Refusal, Value
from verification import Sender

_SCHEMA = """
CREATE TABLE IF NOT EXISTS batch (
  id INTEGER PRIMARY KEY,
  idempotencyKey TEXT UNIQUE,
  digest BLOB NOT NULL,
  tableName TEXT NOT NULL,
  deviceId TEXT NOT NULL,
  keyId TEXT,
  receivedAt INTEGER NOT NULL,
  accepted INTEGER NOT NULL DEFAULT 0,
  duplicates INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS delivery_receipt (
  recordId TEXT NOT NULL PRIMARY KEY,
  notificationId TEXT NOT NULL,
  receivedAt INTEGER NOT NULL,
  deviceId TEXT NOT NULL,
  keyId TEXT
) WITHOUT ROWID;
"""
# What binding a value says that SQLite cannot hold.
_VALUE_FAULTS = (
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    sqlite3.DataError,
    OverflowError,
    UnicodeEncodeError,
)


def _table_sql(table: str) -> str:
    columns = ", ".join(f"{name} {kind}" for name, kind in TABLES[table].items())
    return (
        f"CREATE TABLE IF NOT EXISTS {table} (_id INTEGER PRIMARY KEY, {columns}, rowDigest BLOB, "
        "batch INTEGER NOT NULL REFERENCES batch (id));"
        f"CREATE UNIQUE INDEX IF NOT EXISTS {table}_recordId ON {table} (recordId) WHERE recordId <> '';"
        f"CREATE UNIQUE INDEX IF NOT EXISTS {table}_rowDigest ON {table} (rowDigest) WHERE rowDigest IS NOT NULL;"
    )


@dataclass(frozen=True)
class Acknowledgement:
    accepted: int
    duplicates: int

    def json(self) -> bytes:
        return b'{"accepted":%d,"duplicates":%d}' % (self.accepted, self.duplicates)


class Store:
    def __init__(self, path: str) -> None:
        # Autocommit, so that transactions begin where this file says so.
        self._connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        self._lock = threading.Lock()
        self._set_wal()
        # FULL: an acknowledged row survives a power cut, for the device may delete it.
        self._connection.execute("PRAGMA synchronous = FULL")
        # Folded in every 32 MB: rows come by random ids, so that each folding writes pages all over the file.
        self._connection.execute("PRAGMA wal_autocheckpoint = 8000")
        with self._transaction():
            for statement in (_SCHEMA + "".join(map(_table_sql, TABLES))).split(";"):
                self._connection.execute(statement)

    def add(self, batch: Batch, sender: Sender) -> Acknowledgement:
        """Stores the rows that are new. A batch that came before gets the answer it got then."""
        with self._transaction():
            # Never equal to null: a batch without a key is always a new one.
            stored = self._connection.execute(
                "SELECT digest, tableName, accepted, duplicates FROM batch WHERE idempotencyKey = ?",
                (sender.idempotency_key,),
            ).fetchone()
            if stored and stored[:2] != (sender.digest, batch.table):
                raise Refusal(422, "the idempotency key came before with another body")
            if stored:
                return Acknowledgement(*stored[2:])
            number = self._connection.execute(
                "INSERT INTO batch (idempotencyKey, digest, tableName, deviceId, keyId, receivedAt) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (
                    sender.idempotency_key,
                    sender.digest,
                    batch.table,
                    batch.device,
                    sender.key_id,
                    time.time_ns() // 1_000_000,
                ),
            ).lastrowid
            accepted = self._insert(batch, number)
            result = Acknowledgement(accepted, len(batch.rows) - accepted)
            self._connection.execute(
                "UPDATE batch SET accepted = ?, duplicates = ? WHERE id = ?",
                (result.accepted, result.duplicates, number),
            )
            return result

    def add_receipt(self, receipt: Receipt, sender: Sender) -> None:
        """Stores it, unless one for the same record is there."""
        with self._transaction():
            self._connection.execute(
                "INSERT INTO delivery_receipt (recordId, notificationId, receivedAt, deviceId, keyId) "
                "VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (receipt.record, receipt.notification, receipt.received, receipt.device, sender.key_id),
            )

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _insert(self, batch: Batch, number: int | None) -> int:
        if not batch.rows:
            return 0
        columns, rows = _with_device(batch)
        names = ", ".join([*columns, "rowDigest", "batch"])
        marks = ", ".join("?" * (len(columns) + 2))
        before = self._connection.total_changes
        # Not OR IGNORE, which would pass over any other fault of a row too.
        self._connection.executemany(
            f"INSERT INTO {batch.table} ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING",
            ((*row, digest, number) for row, digest in zip(rows, _digests(columns, rows))),
        )
        return self._connection.total_changes - before

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                self._connection.execute("COMMIT")
            except _VALUE_FAULTS:
                raise Refusal(400, "a value is not text, a number of 64 bits, or null") from None
            except sqlite3.Error as error:
                raise Refusal(503, f"the store failed: {error.sqlite_errorname}") from None
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def _set_wal(self) -> None:
        # While another process makes the change SQLite answers "locked" at once, whatever the timeout.
        for attempt in range(300):
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError:
                if attempt == 299:
                    raise
                time.sleep(0.1)


def _with_device(batch: Batch) -> tuple[list[str], list[tuple[Value, ...]]]:
    """Rows that do not name their device are from the sender's."""
    columns = list(batch.columns)
    if "deviceId" not in columns:
        return [*columns, "deviceId"], [(*row, batch.device) for row in batch.rows]
    place = columns.index("deviceId")
    if all(row[place] for row in batch.rows):
        return columns, batch.rows
    return columns, [row if row[place] else (*row[:place], batch.device, *row[place + 1 :]) for row in batch.rows]


def _digests(columns: list[str], rows: list[tuple[Value, ...]]) -> Iterator[bytes | None]:
    """For each row without a `recordId` the digest of its values; absent ones count as null."""
    place = columns.index("recordId") if "recordId" in columns else None
    for row in rows:
        if place is not None and row[place]:
            yield None
            continue
        values = {name: value for name, value in zip(columns, row) if value is not None and name != "recordId"}
        yield hashlib.sha256(json.dumps(values, sort_keys=True).encode()).digest()
