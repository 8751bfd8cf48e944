#include "CCommandLine.h"

#include <signal.h>
#include <sys/resource.h>
#include <termios.h>

void command_line_forbid_core_dumps(void) {
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

void command_line_forbid_crash_reports(void) {
  // The Swift runtime's handlers run a program that prints registers and what they point to.
  static const int crashes[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGQUIT};
  for (unsigned i = 0; i < sizeof crashes / sizeof *crashes; i++) {
    // What a parent has switched off stays off.
    if (signal(crashes[i], SIG_DFL) == SIG_IGN) signal(crashes[i], SIG_IGN);
  }
}

static volatile sig_atomic_t received = 0;

static void note(int number) { received = number; }

/// A parent may have left a signal blocked, as one with worker threads does.
static void unblock(int number) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, number);
  sigprocmask(SIG_UNBLOCK, &signals, 0);
}

void command_line_catch_interrupts(void) {
  struct sigaction action = {0};
  action.sa_handler = note;
  // The second signal is not caught.
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, 0);
  sigaction(SIGTERM, &action, 0);
  unblock(SIGINT);
  unblock(SIGTERM);
}

int command_line_interrupt(void) { return received; }

static int terminal;
static struct termios shown;
static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
enum { ending_count = sizeof ending / sizeof *ending };
static struct sigaction before[ending_count];

static void show_and_end(int number) {
  // What was typed so far is not left to whoever reads the terminal next.
  tcflush(terminal, TCIFLUSH);
  tcsetattr(terminal, TCSANOW, &shown);
  // Its default action is back (SA_RESETHAND), and is taken when this handler returns.
  raise(number);
}

bool command_line_hide_input(int descriptor) {
  if (tcgetattr(descriptor, &shown) != 0) return false;
  terminal = descriptor;
  struct sigaction action = {0};
  action.sa_handler = show_and_end;
  action.sa_flags = SA_RESETHAND;
  for (int i = 0; i < ending_count; i++) {
    sigaction(ending[i], 0, &before[i]);
    // What a parent has switched off (nohup) stays off.
    if (before[i].sa_handler != SIG_IGN) sigaction(ending[i], &action, 0);
    unblock(ending[i]);
  }
  struct termios silent = shown;
  silent.c_lflag &= ~(tcflag_t)ECHO;
  if (tcsetattr(descriptor, TCSAFLUSH, &silent) == 0) return true;
  command_line_show_input();
  return false;
}

void command_line_show_input(void) {
  tcsetattr(terminal, TCSAFLUSH, &shown);
  for (int i = 0; i < ending_count; i++) sigaction(ending[i], &before[i], 0);
}
