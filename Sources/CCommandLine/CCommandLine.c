#include "CCommandLine.h"

#include <signal.h>

static volatile sig_atomic_t received = 0;

static void note(int number) { received = number; }

void command_line_catch_interrupts(void) {
  struct sigaction action = {0};
  action.sa_handler = note;
  // The second signal is not caught.
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, 0);
  sigaction(SIGTERM, &action, 0);
  // A parent may have left them blocked, as one with worker threads does.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_UNBLOCK, &signals, 0);
}

int command_line_interrupt(void) { return received; }
