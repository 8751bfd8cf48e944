-- jsonVersion 2: rows that can be told apart anywhere, the time zone to the minute, one row a push, the upload ledger.
--
-- derived_uuid(…) gives a UUID that depends on its arguments alone (README.md here).

-- Every record: its own identity, whatever copy of the store it is read from, and the minutes east of Greenwich.
ALTER TABLE ios_notification ADD COLUMN recordId TEXT NOT NULL DEFAULT '';
ALTER TABLE ios_notification ADD COLUMN timezoneOffset INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ios_notification_token ADD COLUMN recordId TEXT NOT NULL DEFAULT '';
ALTER TABLE ios_notification_token ADD COLUMN timezoneOffset INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ios_silent_push ADD COLUMN recordId TEXT NOT NULL DEFAULT '';
ALTER TABLE ios_silent_push ADD COLUMN timezoneOffset INTEGER NOT NULL DEFAULT 0;

-- Notifications: how the row came here, and a digest of the content as the system delivered it. The digest is null on
-- rows of version 1, which are never merged with a later push.
ALTER TABLE ios_notification ADD COLUMN source TEXT NOT NULL DEFAULT 'import'
  CHECK (source IN ('foreground', 'response', 'extension', 'import'));
ALTER TABLE ios_notification ADD COLUMN contentDigest BLOB;

UPDATE ios_notification SET
  jsonVersion = 2,
  timezoneOffset = timezone * 60,
  recordId = derived_uuid('ios_notification', deviceId, id, timestamp, notificationId, title, body, categoryIdentifier,
    bundleIdentifier, sound, badge, threadIdentifier, interruptionLevel);
UPDATE ios_notification_token SET
  jsonVersion = 2,
  timezoneOffset = timezone * 60,
  recordId = derived_uuid('ios_notification_token', deviceId, id, timestamp, token);
UPDATE ios_silent_push SET
  jsonVersion = 2,
  timezoneOffset = timezone * 60,
  recordId = derived_uuid('ios_silent_push', deviceId, id, timestamp, payload);

CREATE UNIQUE INDEX ios_notification_recordId ON ios_notification (recordId);
CREATE UNIQUE INDEX ios_notification_token_recordId ON ios_notification_token (recordId);
CREATE UNIQUE INDEX ios_silent_push_recordId ON ios_silent_push (recordId);
-- Finds the row of a push that comes a second time.
CREATE INDEX ios_notification_push ON ios_notification (notificationId, contentDigest)
  WHERE notificationId <> '' AND contentDigest IS NOT NULL;

-- What has been sent of each table, and the one batch that may be on its way. Times are Unix milliseconds.
CREATE TABLE upload_ledger (
  tableName TEXT NOT NULL PRIMARY KEY,
  sentThroughId INTEGER NOT NULL DEFAULT 0,
  idempotencyKey TEXT,
  firstId INTEGER,
  lastId INTEGER,
  rowCount INTEGER,
  digest BLOB,
  envelopeTime INTEGER,
  encoderVersion INTEGER,
  serverType TEXT,
  destination TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  notBefore INTEGER NOT NULL DEFAULT 0,
  rowLimit INTEGER,
  lastSent INTEGER,
  lastError TEXT,
  lastErrorTime INTEGER
) WITHOUT ROWID;
INSERT INTO upload_ledger (tableName) VALUES ('ios_notification'), ('ios_notification_token'), ('ios_silent_push');

-- Rows that no batch takes along: too large for the server, or not to be written as JSON. They stay until they are sent
-- after all, once somebody asked for it.
CREATE TABLE upload_quarantine (
  tableName TEXT NOT NULL,
  rowId INTEGER NOT NULL,
  reason TEXT NOT NULL,
  since INTEGER NOT NULL,
  isRequeued INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tableName, rowId)
) WITHOUT ROWID;

-- Who sends from this store now, so that two processes do not do it at once.
CREATE TABLE upload_lease (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  holder TEXT NOT NULL,
  expires INTEGER NOT NULL
);

-- Delivery receipts that wait to be sent.
CREATE TABLE delivery_receipt (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  recordId TEXT NOT NULL UNIQUE,
  notificationId TEXT NOT NULL,
  receivedAt INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  notBefore INTEGER NOT NULL DEFAULT 0
);

-- Settings that belong to this store, such as its device id.
CREATE TABLE store_property (
  name TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;
