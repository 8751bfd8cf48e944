#define SQLITE_HAS_CODEC 1
#include "RawC.h"

#include <openssl/evp.h>
#include <sqlite3.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct raw_store {
  sqlite3 *database;
  sqlite3_stmt *begin;
  sqlite3_stmt *commit;
  sqlite3_stmt *insert;
  sqlite3_stmt *find;
  sqlite3_stmt *page;
  EVP_MD *sha256;
  unsigned char *input;
  size_t input_capacity;
};

enum { digest_size = 16 };

static void check(raw_store *store, int status) {
  if (status == SQLITE_OK || status == SQLITE_DONE || status == SQLITE_ROW) return;
  fprintf(stderr, "store-benchmark: the C side failed: %s\n", sqlite3_errmsg(store->database));
  exit(1);
}

// Opening

raw_store *raw_open(const char *path, const char *key, int key_size, bool synchronous_full) {
  raw_store *store = calloc(1, sizeof *store);
  if (!store) abort();
  check(store, sqlite3_open_v2(path, &store->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL));
  sqlite3_busy_timeout(store->database, 5000);
  // As the library does: the schema's triggers are for other programs.
  sqlite3_db_config(store->database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)0);
  check(store, sqlite3_key_v2(store->database, "main", key, key_size));
  check(store, sqlite3_exec(store->database,
      "SELECT count(*) FROM sqlite_master;"
      "PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF;"
      "PRAGMA journal_size_limit = 4194304; PRAGMA journal_mode = WAL", NULL, NULL, NULL));
  check(store, sqlite3_exec(store->database,
      synchronous_full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", NULL, NULL, NULL));
  return store;
}

void raw_close(raw_store *store) {
  sqlite3_finalize(store->begin);
  sqlite3_finalize(store->commit);
  sqlite3_finalize(store->insert);
  sqlite3_finalize(store->find);
  sqlite3_finalize(store->page);
  check(store, sqlite3_close(store->database));
  EVP_MD_free(store->sha256);
  free(store->input);
  free(store);
}

static sqlite3_stmt *prepare(raw_store *store, const char *sql) {
  sqlite3_stmt *statement = NULL;
  check(store, sqlite3_prepare_v2(store->database, sql, -1, &statement, NULL));
  return statement;
}

void raw_prepare(raw_store *store) {
  store->begin = prepare(store, "BEGIN IMMEDIATE");
  store->commit = prepare(store, "COMMIT");
  store->insert = prepare(store,
      "INSERT INTO ios_notification (timestamp, deviceId, label, timezone, os, jsonVersion, notificationId, title,"
      " body, categoryIdentifier, bundleIdentifier, sound, badge, threadIdentifier, interruptionLevel, recordId,"
      " timezoneOffset, source, contentDigest)"
      " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  store->find = prepare(store,
      "SELECT id FROM ios_notification WHERE timestamp / 86400000 IN (?3 / 86400000, ?5 / 86400000, ?4 / 86400000)"
      " AND contentDigest = ?2 AND notificationId = ?1 AND notificationId <> '' AND contentDigest IS NOT NULL"
      " AND timestamp BETWEEN ?3 AND ?4 AND source IN ('foreground', 'extension')"
      " ORDER BY id LIMIT 1");
  store->page = prepare(store,
      "SELECT id, timestamp, deviceId, label, timezone, os, jsonVersion, notificationId, title, body,"
      " categoryIdentifier, bundleIdentifier, sound, badge, threadIdentifier, interruptionLevel, recordId,"
      " timezoneOffset, source FROM ios_notification WHERE id > ? ORDER BY id LIMIT ?");
  store->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
  if (!store->sha256) abort();
}

static void run(raw_store *store, sqlite3_stmt *statement) {
  check(store, sqlite3_step(statement));
  sqlite3_reset(statement);
}

// The digest, in the encoding of ContentDigest.swift

static unsigned char *append_number(unsigned char *target, uint64_t number) {
  for (int index = 0; index < 8; index++) target[index] = (unsigned char)(number >> (8 * index));
  return target + 8;
}

static unsigned char *append_text(unsigned char *target, raw_text text) {
  *target = 't';
  target = append_number(target + 1, (uint64_t)text.count);
  memcpy(target, text.bytes, (size_t)text.count);
  return target + text.count;
}

static unsigned char *append_integer(unsigned char *target, int64_t number) {
  *target = 'i';
  return append_number(append_number(target + 1, 8), (uint64_t)number);
}

// Writes 32 bytes, of which the store keeps the first `digest_size`.
static void compute_digest(raw_store *store, const raw_row *row, unsigned char *digest) {
  size_t needed = (size_t)row->bundle_identifier.count + (size_t)row->title.count + (size_t)row->body.count +
                  (size_t)row->category_identifier.count + (size_t)row->thread_identifier.count +
                  (size_t)row->sound.count + 6 * 9 + 2 * 17;
  if (needed > store->input_capacity) {
    free(store->input);
    store->input = malloc(2 * needed);
    if (!store->input) abort();
    store->input_capacity = 2 * needed;
  }
  unsigned char *end = store->input;
  end = append_text(end, row->bundle_identifier);
  end = append_text(end, row->title);
  end = append_text(end, row->body);
  end = append_text(end, row->category_identifier);
  end = append_text(end, row->thread_identifier);
  end = append_text(end, row->sound);
  end = append_integer(end, row->badge);
  end = append_integer(end, row->interruption_level);
  if (EVP_Digest(store->input, (size_t)(end - store->input), digest, NULL, store->sha256, NULL) != 1) abort();
}

// Writing

static void bind_text(raw_store *store, sqlite3_stmt *statement, int index, raw_text text) {
  check(store, sqlite3_bind_text(statement, index, text.bytes, text.count, SQLITE_STATIC));
}

static void insert_row(raw_store *store, const raw_row *row, const unsigned char *digest) {
  sqlite3_stmt *insert = store->insert;
  check(store, sqlite3_bind_int64(insert, 1, row->timestamp));
  bind_text(store, insert, 2, row->device_id);
  bind_text(store, insert, 3, row->label);
  check(store, sqlite3_bind_int64(insert, 4, row->timezone));
  bind_text(store, insert, 5, row->os);
  check(store, sqlite3_bind_int64(insert, 6, row->json_version));
  bind_text(store, insert, 7, row->notification_id);
  bind_text(store, insert, 8, row->title);
  bind_text(store, insert, 9, row->body);
  bind_text(store, insert, 10, row->category_identifier);
  bind_text(store, insert, 11, row->bundle_identifier);
  bind_text(store, insert, 12, row->sound);
  check(store, sqlite3_bind_int64(insert, 13, row->badge));
  bind_text(store, insert, 14, row->thread_identifier);
  check(store, sqlite3_bind_int64(insert, 15, row->interruption_level));
  bind_text(store, insert, 16, row->record_id);
  check(store, sqlite3_bind_int64(insert, 17, row->timezone_offset));
  bind_text(store, insert, 18, row->source);
  check(store, sqlite3_bind_blob(insert, 19, digest, digest_size, SQLITE_STATIC));
  run(store, insert);
}

void raw_insert(raw_store *store, const raw_row *rows, int count) {
  unsigned char digest[32];
  run(store, store->begin);
  for (int index = 0; index < count; index++) {
    compute_digest(store, &rows[index], digest);
    insert_row(store, &rows[index], digest);
  }
  run(store, store->commit);
}

void raw_insert_singly(raw_store *store, const raw_row *rows, int count) {
  unsigned char digest[32];
  for (int index = 0; index < count; index++) {
    compute_digest(store, &rows[index], digest);
    insert_row(store, &rows[index], digest);
  }
}

int raw_record(raw_store *store, const raw_row *rows, int count) {
  const int64_t one_day = 86400000;
  unsigned char digest[32];
  int merged = 0;
  run(store, store->begin);
  for (int index = 0; index < count; index++) {
    const raw_row *row = &rows[index];
    compute_digest(store, row, digest);
    bind_text(store, store->find, 1, row->notification_id);
    check(store, sqlite3_bind_blob(store->find, 2, digest, digest_size, SQLITE_STATIC));
    check(store, sqlite3_bind_int64(store->find, 3, row->timestamp - one_day));
    check(store, sqlite3_bind_int64(store->find, 4, row->timestamp + one_day));
    check(store, sqlite3_bind_int64(store->find, 5, row->timestamp));
    int status = sqlite3_step(store->find);
    check(store, status);
    sqlite3_reset(store->find);
    if (status == SQLITE_ROW) {
      merged++;
    } else {
      insert_row(store, row, digest);
    }
  }
  run(store, store->commit);
  return merged;
}

// Reading

// Where what was read goes, so that the compiler cannot leave the reading out.
static volatile int64_t sink;

static void touch_text(sqlite3_stmt *statement, int column) {
  const unsigned char *text = sqlite3_column_text(statement, column);
  int count = sqlite3_column_bytes(statement, column);
  if (count > 0) sink = text[count - 1];
}

static void touch_integer(sqlite3_stmt *statement, int column) { sink = sqlite3_column_int64(statement, column); }

int raw_scan(raw_store *store, int page_size) {
  sqlite3_stmt *page = store->page;
  int64_t last_id = 0;
  int total = 0;
  int read;
  do {
    read = 0;
    check(store, sqlite3_bind_int64(page, 1, last_id));
    check(store, sqlite3_bind_int64(page, 2, page_size));
    int status;
    while ((status = sqlite3_step(page)) == SQLITE_ROW) {
      last_id = sqlite3_column_int64(page, 0);
      touch_integer(page, 1);
      touch_text(page, 2);
      touch_text(page, 3);
      touch_integer(page, 4);
      touch_text(page, 5);
      touch_integer(page, 6);
      for (int column = 7; column <= 12; column++) touch_text(page, column);
      touch_integer(page, 13);
      touch_text(page, 14);
      touch_integer(page, 15);
      touch_text(page, 16);
      touch_integer(page, 17);
      touch_text(page, 18);
      read++;
    }
    check(store, status);
    sqlite3_reset(page);
    total += read;
  } while (read == page_size);
  return total;
}

// Comparing

static bool is_equal(sqlite3_stmt *left, sqlite3_stmt *right, int column) {
  if (sqlite3_column_type(left, column) != sqlite3_column_type(right, column)) return false;
  if (sqlite3_column_type(left, column) == SQLITE_INTEGER) {
    return sqlite3_column_int64(left, column) == sqlite3_column_int64(right, column);
  }
  const void *left_bytes = sqlite3_column_blob(left, column);
  const void *right_bytes = sqlite3_column_blob(right, column);
  int count = sqlite3_column_bytes(left, column);
  return count == sqlite3_column_bytes(right, column) &&
         (count == 0 || memcmp(left_bytes, right_bytes, (size_t)count) == 0);
}

bool raw_equal(raw_store *left, raw_store *right) {
  const char *sql = "SELECT * FROM ios_notification ORDER BY id";
  sqlite3_stmt *of_left = prepare(left, sql);
  sqlite3_stmt *of_right = prepare(right, sql);
  bool equal = sqlite3_column_count(of_left) == sqlite3_column_count(of_right);
  bool more = true;
  while (equal && more) {
    more = sqlite3_step(of_left) == SQLITE_ROW;
    equal = more == (sqlite3_step(of_right) == SQLITE_ROW);
    for (int column = 0; more && equal && column < sqlite3_column_count(of_left); column++) {
      equal = is_equal(of_left, of_right, column);
    }
  }
  sqlite3_finalize(of_left);
  sqlite3_finalize(of_right);
  return equal;
}

// Keys

void raw_use_journal(raw_store *store) {
  check(store, sqlite3_exec(store->database, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL));
}

void raw_rekey(raw_store *store, const char *key, int key_size) {
  check(store, sqlite3_exec(store->database, "PRAGMA synchronous = EXTRA", NULL, NULL, NULL));
  check(store, sqlite3_rekey_v2(store->database, "main", key, key_size));
  check(store, sqlite3_wal_checkpoint_v2(store->database, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL));
}

static void sync_file(const char *path) {
  int descriptor = open(path, O_RDONLY);
  if (descriptor < 0 || fsync(descriptor) != 0) abort();
  close(descriptor);
}

void raw_export(raw_store *store, const char *path, const char *key, int key_size) {
  close(open(path, O_WRONLY | O_CREAT, 0600));
  sqlite3_stmt *attach = prepare(store, "ATTACH DATABASE ? AS target KEY ?");
  check(store, sqlite3_bind_text(attach, 1, path, -1, SQLITE_STATIC));
  check(store, sqlite3_bind_blob(attach, 2, key, key_size, SQLITE_STATIC));
  check(store, sqlite3_step(attach));
  sqlite3_finalize(attach);
  check(store, sqlite3_exec(store->database,
      "PRAGMA target.journal_mode = OFF; PRAGMA target.synchronous = OFF; SELECT sqlcipher_export('target');"
      "DETACH target", NULL, NULL, NULL));
  sync_file(path);
}

void raw_backup(raw_store *store, const char *path, const char *key, int key_size) {
  raw_store target = {0};
  check(store, sqlite3_open_v2(path, &target.database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL));
  check(&target, sqlite3_key_v2(target.database, "main", key, key_size));
  check(&target, sqlite3_exec(target.database, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL, NULL, NULL));
  sqlite3_backup *backup = sqlite3_backup_init(target.database, "main", store->database, "main");
  if (!backup) check(&target, SQLITE_ERROR);
  check(&target, sqlite3_backup_step(backup, -1));
  check(&target, sqlite3_backup_finish(backup));
  check(&target, sqlite3_close(target.database));
  sync_file(path);
}
