/* Threads that wait in system calls, each in its own, over and over until they are told to stop. They count what they wait for, and
   each call that was cut short although there was nothing that could have done it. Another thread allocates meanwhile.

     waits_in_every_way PAGE

   Prints how many calls were cut short, and how many sleeps were shorter than they should have been, and about the last of these which
   way of waiting it was, how it ended, and when, by the clock of this program and by the time of day. */
#define _GNU_SOURCE
#include "page.h"
#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The limits of sockets are counted in ticks of the kernel, the first of which has begun: so it may be a tick less, of 10 ms at most. */
enum { WAYS = 17, NAP_MS = 20, TICK_MS = 10 };

static uint64_t cut, early;
static char last[128];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t empty;

static uint64_t day_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct timespec in_a_while(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_nsec += NAP_MS * 1000000;
  if (time.tv_nsec >= 1000000000) time.tv_nsec -= 1000000000, time.tv_sec++;
  return time;
}

/* Waits for completions of which there are none; sleeps where there are no such rings. */
static int wait_at_ring(int ring, struct timespec *nap) {
  if (ring < 0) return nanosleep(nap, NULL);
  struct __kernel_timespec time = {0, nap->tv_nsec};
  struct io_uring_getevents_arg argument = {.ts = (uint64_t)(uintptr_t)&time};
  unsigned flags = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;
  return (int)syscall(SYS_io_uring_enter, ring, 0, 1, flags, &argument, sizeof argument);
}

static int wait_by(uintptr_t way, int ends[2], int epoll, int semaphore, int full, int ring) {
  struct timespec nap = {0, NAP_MS * 1000000}, then;
  struct timeval span = {0, NAP_MS * 1000};
  struct epoll_event event;
  struct sembuf take = {0, -1, 0};
  struct pollfd readable = {ends[0], POLLIN, 0};
  fd_set set;
  sigset_t signals;
  char byte = 0;
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  struct mmsghdr messages = {.msg_hdr = message};
  switch (way) {
    case 0: return epoll_wait(epoll, &event, 1, NAP_MS);
    case 1: return poll(&readable, 1, NAP_MS);
    case 2: return nanosleep(&nap, NULL);
    case 3:
      sigemptyset(&signals);
      sigaddset(&signals, SIGUSR2);
      return sigtimedwait(&signals, NULL, &nap);
    case 4: return semtimedop(semaphore, &take, 1, &nap);
    case 5: return (int)recv(ends[0], &byte, 1, 0);
    case 6:
      FD_ZERO(&set);
      FD_SET(ends[0], &set);
      return select(ends[0] + 1, &set, NULL, NULL, &span);
    case 7:
      pthread_mutex_lock(&lock);
      then = in_a_while(CLOCK_REALTIME);
      errno = pthread_cond_timedwait(&never, &lock, &then);
      pthread_mutex_unlock(&lock);
      return -1;
    case 8:
      then = in_a_while(CLOCK_REALTIME);
      return sem_timedwait(&empty, &then);
    case 9: return (int)readv(ends[0], &part, 1);
    case 10: return recvmmsg(ends[0], &messages, 1, 0, NULL);
    case 11: return (int)send(full, &byte, 1, 0);
    case 12: return (int)write(full, &byte, 1);
    case 13: return (int)writev(full, &part, 1);
    case 14: return (int)sendmsg(full, &message, 0);
    case 15: return wait_at_ring(ring, &nap);
    default:
      then = in_a_while(CLOCK_MONOTONIC);
      errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL);
      return -1;
  }
}

/* The least time that a wait takes. */
static uint64_t least_ns(uintptr_t way) {
  int is_at_socket = way == 5 || (way >= 9 && way <= 14);
  return (uint64_t)(NAP_MS - (is_at_socket ? TICK_MS : 1)) * 1000000;
}

/* A socket into which nothing fits any more. */
static int fill(void) {
  int ends[2];
  char bytes[4096] = {0};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) exit(3);
  struct timeval patience = {0, NAP_MS * 1000};
  if (setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience)) exit(3);
  while (send(ends[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0) {}
  while (send(ends[0], bytes, 1, MSG_DONTWAIT) > 0) {}
  return ends[0];
}

static void *wait_again(void *number) {
  uintptr_t way = (uintptr_t)number;
  int ends[2], epoll = epoll_create1(EPOLL_CLOEXEC);
  int semaphore = semget(IPC_PRIVATE, 1, 0600);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) || epoll < 0 || semaphore < 0) exit(3);
  struct timeval patience = {0, NAP_MS * 1000};
  if (setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience)) exit(3);
  struct io_uring_params parameters = {0};
  int full = fill(), ring = (int)syscall(SYS_io_uring_setup, 4, &parameters);
  while (!get(&page->stop)) {
    uint64_t before = now_ns(), day = day_ns();
    errno = 0;
    int result = wait_by(way, ends, epoll, semaphore, full, ring), error = errno;
    uint64_t took = now_ns() - before;
    if (result < 0 && error == EINTR) __atomic_fetch_add(&cut, 1, __ATOMIC_SEQ_CST);
    else if (took < least_ns(way)) {
      __atomic_fetch_add(&early, 1, __ATOMIC_SEQ_CST);
      snprintf(last, sizeof last, ": way %d ended with %d, error %d, after %d us, %d of the day", (int)way, result, error,
               (int)(took / 1000), (int)((day_ns() - day) / 1000));
    }
  }
  semctl(semaphore, 0, IPC_RMID);
  return NULL;
}

static void *allocate(void *unused) {
  for (uint64_t calls = 0; !get(&page->stop); calls++) {
    set(&page->threads[0].mallocs_begun, calls + 1);
    void *block = malloc(1100 + calls % 7);
    __asm__ volatile("" ::"r"(block) : "memory");
    set(&page->threads[0].mallocs_done, calls + 1);
    free(block);
    if (calls % 1000 == 0) usleep(2000);
  }
  return unused;
}

int main(int count, char **arguments) {
  if (count < 2) return 1;
  map_page(arguments[1]);
  sem_init(&empty, 0, 0);
  pthread_t threads[WAYS + 1];
  for (uintptr_t way = 0; way < WAYS; way++) pthread_create(&threads[way], NULL, wait_again, (void *)way);
  pthread_create(&threads[WAYS], NULL, allocate, NULL);
  for (int i = 0; i <= WAYS; i++) pthread_join(threads[i], NULL);
  printf("%d cut short, %d too early%s\n", (int)cut, (int)early, last);
  set(&page->done, 1);
  return 5;
}
