// Darwin's declarations, as far as the sources use them (setrlimit(2)).
typedef unsigned long long rlim_t;

struct rlimit {
  rlim_t rlim_cur, rlim_max;
};

#define RLIMIT_CORE 4

int setrlimit(int, const struct rlimit *);
