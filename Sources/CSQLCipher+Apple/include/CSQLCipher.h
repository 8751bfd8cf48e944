// SQLCipher.swift's framework under the name that the Linux system library has.
#ifndef CSQLCIPHER_H
#define CSQLCIPHER_H

#include <SQLCipher/sqlite3.h>

// The framework's module is compiled without SQLITE_HAS_CODEC, which hides these two.
int sqlite3_key_v2(sqlite3 *db, const char *zDbName, const void *pKey, int nKey);
int sqlite3_rekey_v2(sqlite3 *db, const char *zDbName, const void *pKey, int nKey);

// Variadic, which Swift cannot call.
static inline int csqlcipher_disable_triggers(sqlite3 *database) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)0);
}

#endif
