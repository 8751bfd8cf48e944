// swift-format-ignore-file
// Made from Migrations/ by Scripts/embed-migrations: edit the SQL there, then run `make embed`.

extension Migration {
  /// The steps to the current jsonVersion, in order.
  public static let all: [Migration] = [
    Migration(
      version: 1, name: "public_layout",
      sql: #"""
        -- jsonVersion 1: the layout of the public AWARE notification sensor, name for name.
        CREATE TABLE IF NOT EXISTS "ios_notification" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "timestamp" INTEGER NOT NULL, "deviceId" TEXT NOT NULL, "label" TEXT, "timezone" INTEGER NOT NULL, "os" TEXT NOT NULL, "jsonVersion" INTEGER NOT NULL, "notificationId" TEXT NOT NULL, "title" TEXT NOT NULL, "body" TEXT NOT NULL, "categoryIdentifier" TEXT NOT NULL, "bundleIdentifier" TEXT NOT NULL, "sound" TEXT NOT NULL, "badge" INTEGER NOT NULL, "threadIdentifier" TEXT NOT NULL, "interruptionLevel" INTEGER NOT NULL);
        CREATE TABLE IF NOT EXISTS "ios_notification_token" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "timestamp" INTEGER NOT NULL, "deviceId" TEXT NOT NULL, "label" TEXT, "timezone" INTEGER NOT NULL, "os" TEXT NOT NULL, "jsonVersion" INTEGER NOT NULL, "token" TEXT NOT NULL);
        CREATE TABLE IF NOT EXISTS "ios_silent_push" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "timestamp" INTEGER NOT NULL, "deviceId" TEXT NOT NULL, "label" TEXT, "timezone" INTEGER NOT NULL, "os" TEXT NOT NULL, "jsonVersion" INTEGER NOT NULL, "payload" TEXT NOT NULL);

        """#),
    Migration(
      version: 2, name: "record_identity_and_upload_ledger",
      sql: #"""
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

        -- Silent pushes: the identifier that the push itself brings, '' where it has none.
        ALTER TABLE ios_silent_push ADD COLUMN pushId TEXT NOT NULL DEFAULT '';

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
        -- Finds the row of a push that arrives a second time. The day is first, so that inserts touch the index's last pages
        -- only. The division truncates towards zero: the two days around 1970 are one, and a later time never has a lower day.
        CREATE INDEX ios_notification_push ON ios_notification (timestamp / 86400000, contentDigest, notificationId)
          WHERE notificationId <> '' AND contentDigest IS NOT NULL;
        CREATE INDEX ios_notification_token_timestamp ON ios_notification_token (timestamp);
        CREATE INDEX ios_silent_push_timestamp ON ios_silent_push (timestamp);

        -- Rows that another program inserts with the columns of version 1: they get an identity of their own, a version 4 UUID,
        -- as the migration gives one to stored rows. This library's connections have triggers off, and insert complete rows.
        CREATE TRIGGER ios_notification_complete AFTER INSERT ON ios_notification WHEN NEW.recordId = '' BEGIN
          UPDATE ios_notification SET
            jsonVersion = 2,
            timezoneOffset = CASE NEW.timezoneOffset WHEN 0 THEN NEW.timezone * 60 ELSE NEW.timezoneOffset END,
            source = 'import',
            contentDigest = NULL,
            recordId = lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-'
              || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))
          WHERE id = NEW.id;
        END;
        CREATE TRIGGER ios_notification_token_complete AFTER INSERT ON ios_notification_token WHEN NEW.recordId = '' BEGIN
          UPDATE ios_notification_token SET
            jsonVersion = 2,
            timezoneOffset = CASE NEW.timezoneOffset WHEN 0 THEN NEW.timezone * 60 ELSE NEW.timezoneOffset END,
            recordId = lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-'
              || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))
          WHERE id = NEW.id;
        END;
        CREATE TRIGGER ios_silent_push_complete AFTER INSERT ON ios_silent_push WHEN NEW.recordId = '' BEGIN
          UPDATE ios_silent_push SET
            jsonVersion = 2,
            timezoneOffset = CASE NEW.timezoneOffset WHEN 0 THEN NEW.timezone * 60 ELSE NEW.timezoneOffset END,
            recordId = lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-'
              || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))
          WHERE id = NEW.id;
        END;

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

        """#),
  ]
}
