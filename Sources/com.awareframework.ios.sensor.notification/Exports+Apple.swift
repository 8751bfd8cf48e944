#if canImport(Security)
  @_exported import struct EncryptedSQLite.KeychainKeyStore
#endif
