-- A store as the public AWARE notification sensor leaves it: its three tables, user_version 0, jsonVersion 1.
-- The ids have gaps, one label is null, one row came twice, and the last notification was deleted.
CREATE TABLE IF NOT EXISTS "ios_notification" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "timestamp" INTEGER NOT NULL, "deviceId" TEXT NOT NULL, "label" TEXT, "timezone" INTEGER NOT NULL, "os" TEXT NOT NULL, "jsonVersion" INTEGER NOT NULL, "notificationId" TEXT NOT NULL, "title" TEXT NOT NULL, "body" TEXT NOT NULL, "categoryIdentifier" TEXT NOT NULL, "bundleIdentifier" TEXT NOT NULL, "sound" TEXT NOT NULL, "badge" INTEGER NOT NULL, "threadIdentifier" TEXT NOT NULL, "interruptionLevel" INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS "ios_notification_token" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "timestamp" INTEGER NOT NULL, "deviceId" TEXT NOT NULL, "label" TEXT, "timezone" INTEGER NOT NULL, "os" TEXT NOT NULL, "jsonVersion" INTEGER NOT NULL, "token" TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS "ios_silent_push" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "timestamp" INTEGER NOT NULL, "deviceId" TEXT NOT NULL, "label" TEXT, "timezone" INTEGER NOT NULL, "os" TEXT NOT NULL, "jsonVersion" INTEGER NOT NULL, "payload" TEXT NOT NULL);
INSERT INTO ios_notification VALUES
  (1, 1764460861000, '5B3E0F9C-6D0A-4E0B-9F63-1B7A4C2D9E11', '', 9, 'iOS', 1, 'req-1', 'Mia', 'Are we still on for Saturday? 🥾', 'MESSAGE', 'org.example.study', 'default', 3, 'chat-4711', 1),
  (2, 1764460922000, '5B3E0F9C-6D0A-4E0B-9F63-1B7A4C2D9E11', 'pilot', 9, 'iOS', 1, 'req-2', '速報', '東京で震度4の地震がありました。', '', 'org.example.study', '', 0, '', 0),
  (5, 1764461022000, '5B3E0F9C-6D0A-4E0B-9F63-1B7A4C2D9E11', NULL, 9, 'iOS', 1, 'req-2', '速報', '東京で震度4の地震がありました。', '', 'org.example.study', '', 0, '', 0),
  (9, 1764461100000, '5B3E0F9C-6D0A-4E0B-9F63-1B7A4C2D9E11', '', -4, 'iOS', 1, '', 'It''s "quoted"', '', '', 'org.example.study', '', 0, '', 3),
  (12, 1764461200000, '5B3E0F9C-6D0A-4E0B-9F63-1B7A4C2D9E11', '', 9, 'iOS', 1, 'gone', '', '', '', '', '', 0, '', 0);
DELETE FROM ios_notification WHERE id = 12;
INSERT INTO ios_notification_token VALUES
  (1, 1764460800000, '5B3E0F9C-6D0A-4E0B-9F63-1B7A4C2D9E11', '', 9, 'iOS', 1, '00ff10deadbeef00112233445566778899aabbccddeeff00112233445566778899');
INSERT INTO ios_silent_push VALUES
  (1, 1764460990000, '5B3E0F9C-6D0A-4E0B-9F63-1B7A4C2D9E11', '', 9, 'iOS', 1, '{"aps":{"content-available":1},"aware_command":"sync"}');
