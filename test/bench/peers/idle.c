// idle [ARG...] does nothing; with --threads=N as its last argument in N threads.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *idle(void *none) {
  for (;;) pause();
  return none;
}

int main(int argc, char **argv) {
  int threads = 1;
  sscanf(argv[argc - 1], "--threads=%d", &threads);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 1 << 16);
  for (pthread_t t; threads > 1; threads--) pthread_create(&t, &small, idle, 0);
  idle(0);
}
