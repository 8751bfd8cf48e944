// Darwin's declarations, as far as the sources use them (termios(4), tcsetattr(3)).
typedef unsigned long tcflag_t;

struct termios {
  tcflag_t c_iflag, c_oflag, c_cflag, c_lflag;
  unsigned char c_cc[20];
  unsigned long c_ispeed, c_ospeed;
};

#define ECHO 0x00000008
#define TCSANOW 0
#define TCSAFLUSH 2
#define TCIFLUSH 1

int tcgetattr(int, struct termios *);
int tcsetattr(int, int, const struct termios *);
int tcflush(int, int);
