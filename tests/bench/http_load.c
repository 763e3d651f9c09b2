/* Asks a web server as fast as it answers, on four connections, for so many milliseconds; says how many answers a second,
   and how many answers.

     http_load PORT PATH MILLISECONDS */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 4 };

static struct sockaddr_in server;
static char request[512];
static double end;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int dial(void) {
  int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ >= 0 && connect(socket_, (struct sockaddr *)&server, sizeof server) == 0) return socket_;
  perror("http_load: connect");
  exit(1);
}

/* Reads one answer; true when the connection can be used again. */
static int answered(int connection) {
  static __thread char buffer[1 << 16];
  size_t have = 0;
  char *body = NULL;
  long length = -1;
  for (;;) {
    ssize_t got = read(connection, buffer + have, sizeof buffer - 1 - have);
    if (got <= 0) return 0;
    have += (size_t)got;
    buffer[have] = 0;
    if (!body && (body = strstr(buffer, "\r\n\r\n"))) {
      body += 4;
      char *field = strcasestr(buffer, "\r\ncontent-length:");
      if (field && field < body) length = atol(field + 17);
    }
    if (body && length >= 0 && buffer + have >= body + length) return strncmp(buffer, "HTTP/1.1", 8) == 0;
    if (have == sizeof buffer - 1) return 0;
  }
}

static void *ask(void *count) {
  int connection = dial();
  while (now() < end) {
    if (send(connection, request, strlen(request), MSG_NOSIGNAL) < 0 || !answered(connection)) {
      close(connection);
      connection = dial();
    }
    ++*(long *)count;
  }
  close(connection);
  return NULL;
}

int main(int arguments, char **argument) {
  if (arguments != 4) return 2;
  server.sin_family = AF_INET;
  server.sin_port = htons((unsigned short)atoi(argument[1]));
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", argument[2]);
  pthread_t threads[CONNECTIONS];
  long counts[CONNECTIONS] = {0}, sum = 0;
  double begin = now();
  end = begin + atof(argument[3]) / 1000;
  for (int i = 0; i < CONNECTIONS; i++) pthread_create(&threads[i], NULL, ask, &counts[i]);
  for (int i = 0; i < CONNECTIONS; i++) {
    pthread_join(threads[i], NULL);
    sum += counts[i];
  }
  printf("%.1f %ld\n", (double)sum / (now() - begin), sum);
  return 0;
}
