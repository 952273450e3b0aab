/* Loaded before the C library, lets a call on files fail: GSUB_FAULT_BELOW=FOLDER GSUB_FAULT_CALL=N
   GSUB_FAULT_ERROR=NUMBER.

   Calls are counted over all threads and functions, those alone that name a file below the folder or a descriptor that
   was opened there. What a process starts inherits none of it. At the end the number of calls is written to
   GSUB_FAULT_COUNT. */
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
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static char below[PATH_MAX], count_file[PATH_MAX], failed_call[32] = "none";
static size_t below_length;
static long failing;
static int error_number;
static atomic_long calls;

__attribute__((constructor)) static void begin(void) {
    char const* folder = getenv("GSUB_FAULT_BELOW");
    char const* n = getenv("GSUB_FAULT_CALL");
    char const* number = getenv("GSUB_FAULT_ERROR");
    char const* counted = getenv("GSUB_FAULT_COUNT");
    if (!folder || !n || !number || !counted) return;
    snprintf(below, sizeof below, "%s", folder);
    snprintf(count_file, sizeof count_file, "%s", counted);
    below_length = strlen(below);
    failing = atol(n);
    error_number = atoi(number);
    unsetenv("LD_PRELOAD");
}
static void* next(char const* name) {
    return dlsym(RTLD_NEXT, name);
}
#define REAL(name) __typeof__(&name) const name##_real = (__typeof__(&name))next(#name)

static int lies_below(char const* path) {
    return below_length && path && strncmp(path, below, below_length) == 0 &&
           (path[below_length] == '/' || path[below_length] == 0);
}
static int descriptor_below(int fd) {
    char link[64], path[PATH_MAX];
    if (!below_length || fd < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t const length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return lies_below(path);
}
static int path_below(int at, char const* path) {
    return path && path[0] != '/' && at != AT_FDCWD ? descriptor_below(at) : lies_below(path);
}
/* Whether this call fails; errno is set then. */
static int fails(int counts, char const* name) {
    if (!counts || ++calls != failing) return 0;
    snprintf(failed_call, sizeof failed_call, "%s", name);
    errno = error_number;
    return 1;
}
__attribute__((destructor)) static void end(void) {
    if (!below_length) return;
    below_length = 0;
    FILE* out = fopen(count_file, "w");
    if (!out) return;
    fprintf(out, "%ld %s\n", atomic_load(&calls), failed_call);
    fclose(out);
}

#define MODE_OF(flags)                                                                                                 \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {                                                                           \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode = va_arg(more, mode_t);                                                                                   \
        va_end(more);                                                                                                  \
    }
#define OPEN(name)                                                                                                     \
    int name(char const* path, int flags, ...) {                                                                       \
        MODE_OF(flags)                                                                                                 \
        REAL(name);                                                                                                    \
        return fails(lies_below(path), #name) ? -1 : name##_real(path, flags, mode);                                   \
    }
#define OPENAT(name)                                                                                                   \
    int name(int at, char const* path, int flags, ...) {                                                               \
        MODE_OF(flags)                                                                                                 \
        REAL(name);                                                                                                    \
        return fails(path_below(at, path), #name) ? -1 : name##_real(at, path, flags, mode);                           \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

/* A function whose first parameter is a descriptor, or a path. */
#define ON(below_here, type, fault, name, parameters, ...)                                                             \
    type name parameters {                                                                                             \
        REAL(name);                                                                                                    \
        return fails(below_here, #name) ? (fault) : name##_real(__VA_ARGS__);                                          \
    }
ON(descriptor_below(fd), ssize_t, -1, read, (int fd, void* to, size_t n), fd, to, n)
ON(descriptor_below(fd), ssize_t, -1, pread, (int fd, void* to, size_t n, off_t at), fd, to, n, at)
ON(descriptor_below(fd), ssize_t, -1, pread64, (int fd, void* to, size_t n, off64_t at), fd, to, n, at)
ON(descriptor_below(fd), ssize_t, -1, write, (int fd, void const* from, size_t n), fd, from, n)
ON(descriptor_below(fd), ssize_t, -1, pwrite, (int fd, void const* from, size_t n, off_t at), fd, from, n, at)
ON(descriptor_below(fd), ssize_t, -1, pwrite64, (int fd, void const* from, size_t n, off64_t at), fd, from, n, at)
ON(descriptor_below(fd), int, -1, fsync, (int fd), fd)
ON(descriptor_below(fd), int, -1, fdatasync, (int fd), fd)
ON(descriptor_below(fd), int, -1, ftruncate, (int fd, off_t size), fd, size)
ON(descriptor_below(fd), int, -1, ftruncate64, (int fd, off64_t size), fd, size)
ON(descriptor_below(fd), void*, MAP_FAILED, mmap, (void* at, size_t n, int protection, int flags, int fd, off_t from),
   at, n, protection, flags, fd, from)
ON(descriptor_below(fd), void*, MAP_FAILED, mmap64,
   (void* at, size_t n, int protection, int flags, int fd, off64_t from), at, n, protection, flags, fd, from)
ON(lies_below(from), int, -1, rename, (char const* from, char const* to), from, to)
ON(path_below(a, from), int, -1, renameat, (int a, char const* from, int b, char const* to), a, from, b, to)
ON(path_below(a, from), int, -1, renameat2, (int a, char const* from, int b, char const* to, unsigned flags), a, from,
   b, to, flags)
ON(lies_below(path), int, -1, unlink, (char const* path), path)
ON(path_below(at, path), int, -1, unlinkat, (int at, char const* path, int flags), at, path, flags)
ON(lies_below(path), int, -1, mkdir, (char const* path, mode_t mode), path, mode)
ON(path_below(at, path), int, -1, mkdirat, (int at, char const* path, mode_t mode), at, path, mode)
ON(lies_below(pattern), char*, NULL, mkdtemp, (char* pattern), pattern)
ON(lies_below(pattern), int, -1, mkstemp, (char* pattern), pattern)
ON(lies_below(pattern), int, -1, mkstemp64, (char* pattern), pattern)
ON(lies_below(pattern), int, -1, mkostemp, (char* pattern, int flags), pattern, flags)
ON(lies_below(pattern), int, -1, mkostemp64, (char* pattern, int flags), pattern, flags)
