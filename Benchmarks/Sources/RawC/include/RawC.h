// The store's work as one would write it by hand in C on the same libraries: the yardstick.
#ifndef RAWC_H
#define RAWC_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  const char *bytes;
  int count;
} raw_text;

// The columns of ios_notification that are written, in their order; the digest is computed from them.
typedef struct {
  int64_t timestamp;
  raw_text device_id;
  raw_text label;
  int64_t timezone;
  raw_text os;
  int64_t json_version;
  raw_text notification_id;
  raw_text title;
  raw_text body;
  raw_text category_identifier;
  raw_text bundle_identifier;
  raw_text sound;
  int64_t badge;
  raw_text thread_identifier;
  int64_t interruption_level;
  raw_text record_id;
  int64_t timezone_offset;
  raw_text source;
} raw_row;

typedef struct raw_store raw_store;

// A fault ends the program: there is nothing to measure then.

// Opens an existing store with the settings that the library gives its own connection.
raw_store *raw_open(const char *path, const char *key, int key_size, bool synchronous_full);
void raw_close(raw_store *store);
// Prepares the statements that the work below uses, once.
void raw_prepare(raw_store *store);

// Inserts all rows in one transaction.
void raw_insert(raw_store *store, const raw_row *rows, int count);
// Inserts each row in a transaction of its own.
void raw_insert_singly(raw_store *store, const raw_row *rows, int count);
// Inserts in one transaction those rows that are no second delivery of a push; gives the number of the others.
int raw_record(raw_store *store, const raw_row *rows, int count);
// Reads every column of every row, in pages by id; gives the number of rows.
int raw_scan(raw_store *store, int page_size);

// Leaves the write-ahead log's mode.
void raw_use_journal(raw_store *store);
// Gives the store another key in place, durable on return, in the journal mode that it has.
void raw_rekey(raw_store *store, const char *key, int key_size);
// Copies the store by sqlcipher_export to a new file under another key, durable on return.
void raw_export(raw_store *store, const char *path, const char *key, int key_size);
// Copies the store by the backup API, likewise.
void raw_backup(raw_store *store, const char *path, const char *key, int key_size);

// Whether both stores hold the same notifications, byte for byte.
bool raw_equal(raw_store *left, raw_store *right);

#endif
