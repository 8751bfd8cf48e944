#include "CCommandLine.h"

#include <signal.h>

static volatile sig_atomic_t received = 0;

static void note(int number) { received = number; }

void command_line_catch_interrupts(void) {
  struct sigaction action = {0};
  action.sa_handler = note;
  // No SA_RESTART: a read that waits for input must return. RESETHAND: the second signal is not caught.
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, 0);
  sigaction(SIGTERM, &action, 0);
}

int command_line_interrupt(void) { return received; }
