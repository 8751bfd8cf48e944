// An app imports the sensor's module alone. Single types, not whole modules, so that nothing else comes with them.
@_exported import struct EncryptedSQLite.BackupReport
@_exported import struct EncryptedSQLite.DatabaseError
@_exported import struct EncryptedSQLite.EncryptionKey
@_exported import protocol EncryptedSQLite.EncryptionKeyStore
@_exported import struct EncryptedSQLite.FileKeyStore
@_exported import struct EncryptedSQLite.RotationReport
@_exported import struct EncryptedSQLite.StoredKeys
@_exported import struct NotificationStore.NotificationData
@_exported import enum NotificationStore.NotificationSource
@_exported import struct NotificationStore.NotificationTokenData
@_exported import struct NotificationStore.Repository
@_exported import struct NotificationStore.SilentPushData
@_exported import protocol NotificationStore.StoredRecord
@_exported import enum NotificationSync.ServerType
@_exported import struct NotificationSync.SyncReport
@_exported import struct NotificationSync.TLSPolicy
