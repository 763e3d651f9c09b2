/* Becomes nobody, and connects to an abstract socket again and again without a word, until it is killed. It holds as many connections
   as it may. Ends with 77 where it cannot become nobody.

     knocks_in_vain NAME */
#include "say.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { HELD = 900 };

int main(int count, char **arguments) {
  if (count < 2) return 1;
  if (geteuid() != 0 || setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0) return 77;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(arguments[1]);
  memcpy(address.sun_path + 1, arguments[1], length);
  static int held[HELD];
  for (unsigned turn = 0;; turn++) {
    int *place = &held[turn % HELD];
    if (*place > 0) close(*place);
    *place = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
    socklen_t size = offsetof(struct sockaddr_un, sun_path) + 1 + length;
    if (connect(*place, (struct sockaddr *)&address, size) == 0 && turn == HELD) {
      puts("knocking");
      fflush(stdout);
    }
  }
}
