// stop GRACE_MS FILE stops the processes whose pids the file holds: a pidfd of each, SIGTERM to all, one deadline for
// all exits, SIGKILL to those that are left. Exit status 0: all have exited.
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4096 };

static int handles[MOST], count;

static long milliseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void send_all(int signal) {
  for (int i = 0; i < count; i++)
    if (handles[i] >= 0) syscall(SYS_pidfd_send_signal, handles[i], signal, 0, 0);
}

// Waits on one handle after the other, which lasts as long as the longest exit, and closes those of what has exited.
static int await_all(long limit) {
  int left = 0;
  long until = milliseconds() + limit;
  for (int i = 0; i < count; i++) {
    if (handles[i] < 0) continue;
    long rest = until - milliseconds();
    struct pollfd p = {.fd = handles[i], .events = POLLIN};
    if (poll(&p, 1, rest > 0 ? rest : 0) > 0) {
      close(handles[i]);
      handles[i] = -1;
    } else {
      left++;
    }
  }
  return left;
}

int main(int argc, char **argv) {
  FILE *list = argc == 3 ? fopen(argv[2], "r") : 0;
  if (!list) return 2;
  for (int pid; count < MOST && fscanf(list, "%d", &pid) == 1; count++) {
    handles[count] = syscall(SYS_pidfd_open, pid, 0);
    if (handles[count] < 0) return perror("pidfd_open"), 1;
  }
  send_all(SIGTERM);
  if (!await_all(atol(argv[1]))) return 0;
  send_all(SIGKILL);
  return await_all(10000) > 0;
}
