// In the place of the header of SQLCipher.swift's framework: the distribution's, which hides the key functions as that one
// does (https://github.com/sqlcipher/SQLCipher.swift).
#include <sqlite3.h>
