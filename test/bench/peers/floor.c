// floor WHAT NAME= [THREADS] reads the process table with the fewest system calls and prints how many processes it
// saw and how many have an environment entry that begins with NAME=.
// WHAT is "all" (stat and its owner, cmdline and environ of each process) or "environ" (nothing else).
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 1 << 16, BUFFER = 1 << 18, SHARE = 32, KERNEL_THREAD = 0x00200000 };

struct dirent_head {  // struct linux_dirent64 of getdents(2)
  uint64_t inode;
  int64_t offset;
  uint16_t size;
  uint8_t type;
  char name[];
};

struct row {
  unsigned owner, flags;
  int parent, group, session, threads;
  unsigned long long start;
};

static char pids[MOST][12];
static struct row rows[MOST];
static int proc, count, everything;
static const char *entry;
static atomic_int next, found;

static void list(void) {
  static _Alignas(8) char block[1 << 16];
  for (long n; (n = syscall(SYS_getdents64, proc, block, sizeof block)) > 0;)
    for (long at = 0; at < n;) {
      struct dirent_head *d = (void *)(block + at);
      at += d->size;
      if (d->name[0] > '0' && d->name[0] <= '9' && count < MOST) strcpy(pids[count++], d->name);
    }
}

// Reads a whole file of a process, and its owner where one is asked for. A read that does not fill the buffer has met
// the end.
static long whole(const char *pid, const char *file, char *buffer, unsigned *owner) {
  char path[32];
  stpcpy(stpcpy(stpcpy(path, pid), "/"), file);
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  struct stat st;
  if (owner) *owner = fstat(fd, &st) ? ~0u : st.st_uid;
  long size = 0, n;
  do {
    n = read(fd, buffer + size, BUFFER - size);
    if (n > 0) size += n;
  } while (n > 0 && size < BUFFER && n == BUFFER - size);
  close(fd);
  return size;
}

static void parse(const char *stat, long size, struct row *r) {
  const char *p = memrchr(stat, ')', size);
  if (!p) return;
  unsigned long long field[23];
  p += 4;
  for (int i = 4; i < 23; i++) {
    int negative = *p == '-';
    unsigned long long v = 0;
    for (p += negative; *p >= '0' && *p <= '9'; p++) v = 10 * v + (*p - '0');
    field[i] = negative ? -v : v;
    p++;
  }
  r->parent = field[4], r->group = field[5], r->session = field[6], r->flags = field[9];
  r->threads = field[20], r->start = field[22];
}

static int carries(const char *block, long size) {
  size_t length = strlen(entry);
  const char *end = block + size, *p = block;
  while ((p = memmem(p, end - p, entry, length))) {
    if (p == block || !p[-1]) return 1;
    p++;
  }
  return 0;
}

static void one(int i, char *buffer) {
  long n;
  if (everything) {
    n = whole(pids[i], "stat", buffer, &rows[i].owner);
    if (n <= 0) return;
    parse(buffer, n, &rows[i]);
    if (rows[i].flags & KERNEL_THREAD) return;
    whole(pids[i], "cmdline", buffer, 0);
  }
  n = whole(pids[i], "environ", buffer, 0);
  if (n > 0 && carries(buffer, n)) found++;
}

static void *work(void *none) {
  char *buffer = malloc(BUFFER);
  for (int from; buffer && (from = atomic_fetch_add(&next, SHARE)) < count;)
    for (int i = from; i < from + SHARE && i < count; i++) one(i, buffer);
  return none;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  everything = !strcmp(argv[1], "all");
  entry = argv[2];
  proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return perror("/proc"), 1;
  list();
  pthread_t others[16];
  int started = 0;
  for (int wanted = argc > 3 ? atoi(argv[3]) - 1 : 0; started < wanted && started < 16; started++)
    if (pthread_create(&others[started], 0, work, 0)) break;
  work(0);
  while (started > 0) pthread_join(others[--started], 0);
  printf("%d %d\n", count, found);
  return 0;
}
