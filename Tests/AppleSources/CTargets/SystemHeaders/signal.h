// Darwin's declarations, as far as the sources use them (signal(3), sigaction(2)).
typedef int sig_atomic_t;
typedef unsigned int sigset_t;

struct sigaction {
  union {
    void (*__sa_handler)(int);
  } __sigaction_u;
  sigset_t sa_mask;
  int sa_flags;
};
#define sa_handler __sigaction_u.__sa_handler

#define SIG_DFL (void (*)(int))0
#define SIG_IGN (void (*)(int))1
#define SA_RESETHAND 0x0004
#define SIG_UNBLOCK 2

#define SIGHUP 1
#define SIGINT 2
#define SIGQUIT 3
#define SIGILL 4
#define SIGTRAP 5
#define SIGABRT 6
#define SIGFPE 8
#define SIGBUS 10
#define SIGSEGV 11
#define SIGTERM 15

void (*signal(int, void (*)(int)))(int);
int raise(int);
int sigaction(int, const struct sigaction *, struct sigaction *);
int sigemptyset(sigset_t *);
int sigaddset(sigset_t *, int);
int sigprocmask(int, const sigset_t *, sigset_t *);
