// SQLCipher as the distribution ships it. `sqlite3_key_v2` and `sqlite3_rekey_v2` are declared only when
// SQLITE_HAS_CODEC is defined before the header is read.
#ifndef CSQLCIPHER_SHIM_H
#define CSQLCIPHER_SHIM_H

#ifndef SQLITE_HAS_CODEC
#define SQLITE_HAS_CODEC 1
#endif
// Found through pkg-config's -I, not as <sqlcipher/sqlite3.h>, so that a copy in another place is taken whole.
#include <sqlite3.h>

// Variadic, which Swift cannot call.
static inline int csqlcipher_disable_triggers(sqlite3 *database) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)0);
}

#endif
