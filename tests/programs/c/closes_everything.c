/* Closes every descriptor that it has not opened, in all ways, before and between allocations, and opens files of its
   own under the numbers that were freed; prints what lies in them in the end. */
#include "say.h"
#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/resource.h>

int main(void) {
  free(malloc(2501));
  struct rlimit limit = {1024, 1024};
  setrlimit(RLIMIT_NOFILE, &limit);
  for (int number = 3; number < 1024; number++) close(number);
  free(malloc(2502));
  closefrom(3);
  free(malloc(2503));
  close_range(3, ~0u, 0);
  free(malloc(2504));
  int files = 0;
  while (open("file", O_RDWR | O_CREAT, 0600) >= 0) files++;
  for (int i = 0; i < 1000; i++) free(malloc(2505));
  close_range(3, ~0u, 0);
  int file = open("file", O_RDWR);
  char bytes[16];
  printf("%d files, %zd bytes in them\n", files, read(file, bytes, sizeof bytes));
  return 0;
}
