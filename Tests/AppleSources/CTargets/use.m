// What Swift's importer does with the shim: it reads it as Objective-C, and finds these.
@import CSQLCipher;

int use(sqlite3 **database, const char *path, const void *key, int count) {
  int status = sqlite3_open_v2(path, database, SQLITE_OPEN_READWRITE, 0);
  status |= sqlite3_key_v2(*database, "main", key, count);
  status |= sqlite3_rekey_v2(*database, "main", key, count);
  return status | csqlcipher_disable_triggers(*database);
}
