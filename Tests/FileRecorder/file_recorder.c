// Loaded into a program with LD_PRELOAD: writes down what the program does to the files of one folder, so that a test can
// work out what a power cut would have left of them. It can also end the program, or fail it, at a chosen operation.
//
//   RECORD_FOLDER    the folder, without links in its path; files in folders below it have names with a slash
//   RECORD_TO        the record's file, elsewhere
//   RECORD_KILL_AT   the operation, counted from 1, in whose stead the program gets SIGKILL
//   RECORD_FULL_AT   the operation from which on nothing can be written any more, as on a full disk
//   RECORD_FAIL_AT   the operation from which on all fail, as on a broken disk
//   RECORD_FAIL_SYNCS_AT, RECORD_FAIL_SYNCS   the operation from which on that many syncs fail, and nothing else
//
// A failure ends when the program writes to its standard output. The record is a sequence of `struct entry`, each
// followed by its two names and its bytes. It goes past libc, with the system's calls, so that it needs nothing of it.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// As in FileRecording.swift.
enum kind { CREATE = 1, OPEN, WRITE, TRUNCATE, SYNC, SYNC_FOLDER, UNLINK, RENAME, LINK, FAILED, SAID, MAKE_FOLDER };

struct entry {
  uint32_t kind;
  uint32_t name, other_name;  // lengths
  uint32_t reserved;
  uint64_t inode;
  uint64_t offset;  // of a write; the new size of a truncation
  uint64_t size;    // of the bytes that follow
};

enum { MOST_FILES = 1024, FOLDER = 1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static size_t folder_length;
static int record = -1;
static long operations, kill_at, full_at, fail_at, fail_syncs_at, fail_syncs;
// By descriptor: the inode of a file in the folder, FOLDER for the folder or one below it, else 0.
static uint64_t inodes[MOST_FILES];
// By descriptor: the name of a folder, "" for the folder itself.
static char names[MOST_FILES][256];

static long number(const char *name) {
  const char *text = getenv(name);
  return text ? atol(text) : 0;
}

__attribute__((constructor)) static void begin(void) {
  const char *to = getenv("RECORD_TO");
  folder = getenv("RECORD_FOLDER");
  if (!to || !folder) return;
  folder_length = strlen(folder);
  kill_at = number("RECORD_KILL_AT");
  full_at = number("RECORD_FULL_AT");
  fail_at = number("RECORD_FAIL_AT");
  fail_syncs_at = number("RECORD_FAIL_SYNCS_AT");
  fail_syncs = number("RECORD_FAIL_SYNCS");
  int descriptor = (int)syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) abort();
  // Where no descriptor of the program's will be.
  record = fcntl(descriptor, F_DUPFD_CLOEXEC, MOST_FILES - 1);
  if (record < 0) abort();
  syscall(SYS_close, descriptor);
}

static void put(const void *bytes, size_t size) {
  while (size > 0) {
    long written = syscall(SYS_write, record, bytes, size);
    if (written < 0) abort();
    bytes = (const char *)bytes + written;
    size -= (size_t)written;
  }
}

static void note(
    enum kind kind, uint64_t inode, uint64_t offset, const char *name, const char *other, const void *bytes,
    size_t size) {
  struct entry entry = {
      .kind = kind,
      .name = name ? (uint32_t)strlen(name) : 0,
      .other_name = other ? (uint32_t)strlen(other) : 0,
      .inode = inode,
      .offset = offset,
      .size = size};
  put(&entry, sizeof entry);
  put(name, entry.name);
  put(other, entry.other_name);
  put(bytes, size);
}

// The name of a file in the folder, else NULL.
static const char *name_in_folder(const char *path) {
  if (record < 0 || !path || strncmp(path, folder, folder_length) != 0 || path[folder_length] != '/') return NULL;
  const char *name = path + folder_length + 1;
  return *name ? name : NULL;
}

// The path that `path` means relative to a descriptor.
static const char *absolute(int at, const char *path, char *buffer) {
  if (at == AT_FDCWD || at < 0 || at >= MOST_FILES || inodes[at] != FOLDER || path[0] == '/') return path;
  const char *below = names[at];
  snprintf(buffer, PATH_MAX, "%s%s%s/%s", folder, *below ? "/" : "", below, path);
  return buffer;
}

static uint64_t watched(int descriptor) {
  return record >= 0 && descriptor >= 0 && descriptor < MOST_FILES ? inodes[descriptor] : 0;
}

// Counts an operation. False when it is to fail, with errno set.
static int may_go_on(int needs_room) {
  operations++;
  if (operations == kill_at) kill(getpid(), SIGKILL);
  if (fail_at && operations >= fail_at) {
    errno = EIO;
    return 0;
  }
  if (needs_room && full_at && operations >= full_at) {
    errno = ENOSPC;
    return 0;
  }
  return 1;
}

// Ends an operation, `result` being that of the system's call.
static long done(
    long result, enum kind kind, uint64_t inode, uint64_t offset, const char *name, const char *other,
    const void *bytes) {
  int reason = errno;
  if (result < 0)
    note(FAILED, 0, 0, NULL, NULL, NULL, 0);
  else
    note(kind, inode, offset, name, other, bytes, bytes ? (size_t)result : 0);
  pthread_mutex_unlock(&lock);
  errno = reason;
  return result;
}

static int open_at(const char *path, int flags, mode_t mode) {
  const char *name = name_in_folder(path);
  int is_folder = record >= 0 && path && strcmp(path, folder) == 0;
  if (!name && !is_folder) return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  pthread_mutex_lock(&lock);
  struct stat status;
  int is_new = name && (flags & O_CREAT) && lstat(path, &status) != 0;
  if (name && !is_new && stat(path, &status) == 0 && S_ISDIR(status.st_mode)) is_folder = 1;
  long result = -1;
  if (!is_new || may_go_on(1)) result = syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  if (result >= 0 && result < MOST_FILES) {
    inodes[result] = is_folder ? FOLDER : fstat((int)result, &status) == 0 ? status.st_ino : 0;
    snprintf(names[result], sizeof names[result], "%s", is_folder && name ? name : "");
  }
  if (is_new) return (int)done(result, CREATE, result >= 0 ? status.st_ino : 0, 0, name, NULL, NULL);
  if (result >= 0 && name && !is_folder) {
    int reason = errno;
    note(OPEN, status.st_ino, 0, name, NULL, NULL, 0);
    if (flags & O_TRUNC) note(TRUNCATE, status.st_ino, 0, NULL, NULL, NULL, 0);
    errno = reason;
  }
  pthread_mutex_unlock(&lock);
  return (int)result;
}

#define OPENING(function)                          \
  int function(const char *path, int flags, ...) { \
    mode_t mode = 0;                               \
    if (flags & (O_CREAT | O_TMPFILE)) {           \
      va_list rest;                                \
      va_start(rest, flags);                       \
      mode = va_arg(rest, mode_t);                 \
      va_end(rest);                                \
    }                                              \
    return open_at(path, flags, mode);             \
  }

OPENING(open)
OPENING(open64)

#define OPENING_AT(function)                               \
  int function(int at, const char *path, int flags, ...) { \
    mode_t mode = 0;                                       \
    if (flags & (O_CREAT | O_TMPFILE)) {                   \
      va_list rest;                                        \
      va_start(rest, flags);                               \
      mode = va_arg(rest, mode_t);                         \
      va_end(rest);                                        \
    }                                                      \
    char buffer[PATH_MAX];                                 \
    const char *whole = absolute(at, path, buffer);        \
    if (whole != buffer && at != AT_FDCWD && path[0] != '/') return (int)syscall(SYS_openat, at, path, flags, mode); \
    return open_at(whole, flags, mode);                    \
  }

OPENING_AT(openat)
OPENING_AT(openat64)

int close(int descriptor) {
  if (watched(descriptor)) inodes[descriptor] = 0;
  return (int)syscall(SYS_close, descriptor);
}

static ssize_t write_at(int descriptor, const void *bytes, size_t size, off_t offset, int is_positioned) {
  uint64_t inode = watched(descriptor);
  if (!inode) {
    if (record >= 0 && descriptor == STDOUT_FILENO) {
      pthread_mutex_lock(&lock);
      note(SAID, 0, 0, NULL, NULL, bytes, size);
      full_at = fail_at = 0;
      pthread_mutex_unlock(&lock);
    }
    return is_positioned ? syscall(SYS_pwrite64, descriptor, bytes, size, offset)
                         : syscall(SYS_write, descriptor, bytes, size);
  }
  pthread_mutex_lock(&lock);
  if (!is_positioned) offset = lseek(descriptor, 0, SEEK_CUR);
  long result = -1;
  if (may_go_on(1))
    result = is_positioned ? syscall(SYS_pwrite64, descriptor, bytes, size, offset)
                           : syscall(SYS_write, descriptor, bytes, size);
  return done(result, WRITE, inode, (uint64_t)offset, NULL, NULL, bytes);
}

ssize_t write(int descriptor, const void *bytes, size_t size) { return write_at(descriptor, bytes, size, 0, 0); }

ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t offset) {
  return write_at(descriptor, bytes, size, offset, 1);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t size, off64_t offset) {
  return write_at(descriptor, bytes, size, offset, 1);
}

int ftruncate(int descriptor, off_t size) {
  uint64_t inode = watched(descriptor);
  if (!inode) return (int)syscall(SYS_ftruncate, descriptor, size);
  pthread_mutex_lock(&lock);
  long result = may_go_on(0) ? syscall(SYS_ftruncate, descriptor, size) : -1;
  return (int)done(result, TRUNCATE, inode, (uint64_t)size, NULL, NULL, NULL);
}

int ftruncate64(int descriptor, off64_t size) { return ftruncate(descriptor, size); }

static int sync_with(long call, int descriptor) {
  uint64_t inode = watched(descriptor);
  if (!inode) return (int)syscall(call, descriptor);
  pthread_mutex_lock(&lock);
  // The medium is the test's affair: the system need not wait for it.
  long result = may_go_on(0) ? 0 : -1;
  if (result == 0 && fail_syncs > 0 && operations >= fail_syncs_at) {
    fail_syncs--;
    errno = EIO;
    result = -1;
  }
  return (int)done(
      result, inode == FOLDER ? SYNC_FOLDER : SYNC, inode, 0, inode == FOLDER ? names[descriptor] : NULL, NULL, NULL);
}

int fsync(int descriptor) { return sync_with(SYS_fsync, descriptor); }
int fdatasync(int descriptor) { return sync_with(SYS_fdatasync, descriptor); }

static int unlink_at(int at, const char *path, int flags) {
  char buffer[PATH_MAX];
  const char *name = name_in_folder(absolute(at, path, buffer));
  if (!name) return (int)syscall(SYS_unlinkat, at, path, flags);
  pthread_mutex_lock(&lock);
  long result = may_go_on(0) ? syscall(SYS_unlinkat, at, path, flags) : -1;
  return (int)done(result, UNLINK, 0, 0, name, NULL, NULL);
}

int unlink(const char *path) { return unlink_at(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlink_at(AT_FDCWD, path, AT_REMOVEDIR); }
int unlinkat(int at, const char *path, int flags) { return unlink_at(at, path, flags); }

int renameat2(int at, const char *from, int to_at, const char *to, unsigned flags) {
  char buffer[PATH_MAX], other_buffer[PATH_MAX];
  const char *name = name_in_folder(absolute(at, from, buffer)), *other = name_in_folder(absolute(to_at, to, other_buffer));
  if (!name || !other) return (int)syscall(SYS_renameat2, at, from, to_at, to, flags);
  pthread_mutex_lock(&lock);
  long result = may_go_on(0) ? syscall(SYS_renameat2, at, from, to_at, to, flags) : -1;
  return (int)done(result, RENAME, 0, 0, name, other, NULL);
}

int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int linkat(int at, const char *from, int to_at, const char *to, int flags) {
  char buffer[PATH_MAX], other_buffer[PATH_MAX];
  const char *name = name_in_folder(absolute(at, from, buffer)), *other = name_in_folder(absolute(to_at, to, other_buffer));
  if (!name || !other) return (int)syscall(SYS_linkat, at, from, to_at, to, flags);
  pthread_mutex_lock(&lock);
  long result = may_go_on(1) ? syscall(SYS_linkat, at, from, to_at, to, flags) : -1;
  return (int)done(result, LINK, 0, 0, name, other, NULL);
}

int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int mkdirat(int at, const char *path, mode_t mode) {
  char buffer[PATH_MAX];
  const char *name = name_in_folder(absolute(at, path, buffer));
  if (!name) return (int)syscall(SYS_mkdirat, at, path, mode);
  pthread_mutex_lock(&lock);
  long result = may_go_on(1) ? syscall(SYS_mkdirat, at, path, mode) : -1;
  return (int)done(result, MAKE_FOLDER, 0, 0, name, NULL, NULL);
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
