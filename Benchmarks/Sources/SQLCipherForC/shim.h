// Empty: only the flags of pkg-config are wanted, for the C code that includes <sqlite3.h> itself.
