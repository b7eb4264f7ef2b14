/* A disk that is full from the Nth change on: preloaded, it counts changes below a folder and refuses later ones.

   DRILL_UNDER: the folder. DRILL_AT: the first change that fails, from 1; 0 for none. DRILL_ERRNO: how.
   DRILL_COUNT: a file to which the number of changes is written at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long changes;

static int refuse(const char *path) {
    const char *under = getenv("DRILL_UNDER"), *at = getenv("DRILL_AT"), *number = getenv("DRILL_ERRNO");
    if (!under || !path || strncmp(path, under, strlen(under))) return 0;
    long count = atomic_fetch_add(&changes, 1) + 1, first = at ? atol(at) : 0;
    if (!first || count < first) return 0;
    errno = number ? atoi(number) : ENOSPC;
    return 1;
}

/* What a path is that is given relative to an open folder; an empty one names the descriptor itself. */
static const char *absolute(int fd, const char *path, char *found) {
    char name[64];
    if (!path || *path == '/' || fd == AT_FDCWD) return path;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(name, found, PATH_MAX - 1);
    if (length < 0) return NULL;
    snprintf(found + length, PATH_MAX - length, *path ? "/%s" : "%s", path);
    return found;
}

static int refuse_descriptor(int fd) {
    char found[PATH_MAX];
    return refuse(absolute(fd, "", found));
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size) {
    return refuse_descriptor(fd) ? -1 : REAL(write)(fd, data, size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    return refuse_descriptor(fd) ? -1 : REAL(pwrite)(fd, data, size, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    return refuse_descriptor(fd) ? -1 : REAL(pwrite64)(fd, data, size, offset);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    return refuse_descriptor(fd) ? -1 : REAL(writev)(fd, parts, count);
}
int mkdir(const char *path, mode_t mode) { return refuse(path) ? -1 : REAL(mkdir)(path, mode); }
int mkdirat(int folder, const char *path, mode_t mode) {
    char found[PATH_MAX];
    return refuse(absolute(folder, path, found)) ? -1 : REAL(mkdirat)(folder, path, mode);
}

static int refuse_new(int folder, const char *path, int flags) {
    char found[PATH_MAX];
    return (flags & O_CREAT) && faccessat(folder, path, F_OK, 0) && refuse(absolute(folder, path, found));
}

#define MODE(mode, flags)                                                            \
    mode_t mode = 0;                                                                 \
    if (flags & (O_CREAT | O_TMPFILE)) {                                             \
        va_list rest;                                                                \
        va_start(rest, flags);                                                       \
        mode = va_arg(rest, mode_t);                                                 \
        va_end(rest);                                                                \
    }
#define OPEN(name)                                                                   \
    int name(const char *path, int flags, ...) {                                     \
        MODE(mode, flags)                                                            \
        return refuse_new(AT_FDCWD, path, flags) ? -1 : REAL(name)(path, flags, mode); \
    }
#define OPEN_AT(name)                                                                \
    int name(int folder, const char *path, int flags, ...) {                         \
        MODE(mode, flags)                                                            \
        return refuse_new(folder, path, flags) ? -1 : REAL(name)(folder, path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
OPEN_AT(openat)
OPEN_AT(openat64)

__attribute__((destructor)) static void tell(void) {
    const char *name = getenv("DRILL_COUNT");
    FILE *file = name ? fopen(name, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", (long)changes);
        fclose(file);
    }
}

/* Without destructors: by which a process ends that has told all that it had to tell. */
void _exit(int code) {
    tell();
    REAL(_exit)(code);
    __builtin_unreachable();
}
