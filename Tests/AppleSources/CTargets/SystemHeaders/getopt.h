// Darwin's declarations, as far as the sources use them (getopt_long(3)).
extern char *optarg;
extern int optind, opterr, optopt, optreset;

struct option {
  const char *name;
  int has_arg;
  int *flag;
  int val;
};

int getopt_long(int argc, char *const *argv, const char *optstring, const struct option *longopts, int *longindex);
