// What a command-line program needs from C and Swift cannot import: getopt's variables (their header is in no
// module on Linux), limits, whose names have another type on each system, and what a signal handler may do.
#ifndef CCOMMANDLINE_H
#define CCOMMANDLINE_H

#include <getopt.h>
#include <stdbool.h>

static inline const char *command_line_argument(void) { return optarg; }
static inline int command_line_index(void) { return optind; }

/// Starts a new parse; the library's own messages are off.
static inline void command_line_restart(void) {
#ifdef __APPLE__
  optreset = 1;
  optind = 1;
#else
  optind = 0;
#endif
  opterr = 0;
}

/// No core file is written from now on.
void command_line_forbid_core_dumps(void);
/// A crash prints nothing from now on.
void command_line_forbid_crash_reports(void);

/// From now on SIGINT and SIGTERM set a flag. A second one ends the process.
void command_line_catch_interrupts(void);
/// The number of the signal that came, or 0.
int command_line_interrupt(void);

/// Switches a terminal's echo off; false when that cannot be done. A signal that ends the process switches it on again.
bool command_line_hide_input(int descriptor);
/// Switches the echo on again, and gives the signals back their meaning.
void command_line_show_input(void);

#endif
