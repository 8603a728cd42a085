/* What is written under $DISK_FOLDER, in order, noted in $DISK_JOURNAL: power_loss.py makes of it what a disk
 * may hold after the power failed. A write is noted when it is done, a sync before it returns: whatever stands
 * before a sync in the journal was written before it. Syncs themselves are not done. Memory that is mapped is
 * not seen: SQLite and PostgreSQL keep nothing there that must last. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int journal = -1;
static const char *folder;
static size_t folder_length;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("DISK_JOURNAL");
    folder = getenv("DISK_FOLDER");
    if (path == NULL || folder == NULL) return;
    folder = strdup(folder); /* PostgreSQL writes titles of processes where the environment was */
    folder_length = strlen(folder);
    journal = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

static int inside(const char *path) {
    return journal >= 0 && strncmp(path, folder, folder_length) == 0
        && (path[folder_length] == '/' || path[folder_length] == '\0');
}

/* The path of an open file, if it is in the folder. */
static int path_of(int file, char *path) {
    char link[64];
    if (journal < 0 || file == journal) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t n = syscall(SYS_readlink, link, path, PATH_MAX - 1);
    if (n <= 0) return 0;
    path[n] = '\0';
    if (n > 10 && strcmp(path + n - 10, " (deleted)") == 0) return 0;
    return inside(path);
}

/* A path that was given, as one from the root. */
static int absolute(int base, const char *given, char *path) {
    if (journal < 0) return 0;
    if (given[0] == '/') {
        snprintf(path, PATH_MAX, "%s", given);
    } else {
        char link[64], name[PATH_MAX];
        if (base == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
        else snprintf(link, sizeof link, "/proc/self/fd/%d", base);
        ssize_t n = syscall(SYS_readlink, link, name, PATH_MAX - 1);
        if (n <= 0) return 0;
        name[n] = '\0';
        snprintf(path, PATH_MAX, "%.2000s/%.2000s", name, strncmp(given, "./", 2) ? given : given + 2);
    }
    return inside(path);
}

struct head { uint32_t kind, path, other; uint32_t unused; uint64_t offset, length; };

static void note(char kind, const char *path, const char *other, uint64_t offset, const void *data, uint64_t length) {
    struct head head = {(uint32_t)kind, (uint32_t)strlen(path), (uint32_t)strlen(other), 0, offset, length};
    struct iovec parts[4] = {{&head, sizeof head}, {(void *)path, head.path}, {(void *)other, head.other},
                             {(void *)data, data == NULL ? 0 : length}};
    int before = errno;
    ssize_t n = syscall(SYS_writev, journal, parts, 4); /* one call, so that records stay whole */
    if (n != (ssize_t)(sizeof head + head.path + head.other + parts[3].iov_len)) abort();
    errno = before;
}

static ssize_t noted(int file, const void *data, ssize_t n, off_t offset) {
    char path[PATH_MAX];
    if (n > 0 && path_of(file, path)) note('w', path, "", (uint64_t)offset, data, (uint64_t)n);
    return n;
}

static off_t end_of(int file, ssize_t n) { return (off_t)syscall(SYS_lseek, file, 0, SEEK_CUR) - (n > 0 ? n : 0); }

ssize_t write(int file, const void *data, size_t n) {
    ssize_t done = syscall(SYS_write, file, data, n);
    return done > 0 ? noted(file, data, done, end_of(file, done)) : done;
}

ssize_t pwrite(int file, const void *data, size_t n, off_t offset) {
    return noted(file, data, syscall(SYS_pwrite64, file, data, n, offset), offset);
}
ssize_t pwrite64(int file, const void *data, size_t n, off_t offset) { return pwrite(file, data, n, offset); }

static ssize_t noted_parts(int file, const struct iovec *parts, int n_parts, ssize_t done, off_t offset) {
    ssize_t left = done;
    for (int i = 0; i < n_parts && left > 0; i++) {
        ssize_t n = (ssize_t)parts[i].iov_len < left ? (ssize_t)parts[i].iov_len : left;
        noted(file, parts[i].iov_base, n, offset);
        offset += n;
        left -= n;
    }
    return done;
}

ssize_t writev(int file, const struct iovec *parts, int n_parts) {
    ssize_t done = syscall(SYS_writev, file, parts, n_parts);
    return done > 0 ? noted_parts(file, parts, n_parts, done, end_of(file, done)) : done;
}

ssize_t pwritev(int file, const struct iovec *parts, int n_parts, off_t offset) {
    return noted_parts(file, parts, n_parts, syscall(SYS_pwritev, file, parts, n_parts, offset, 0L), offset);
}
ssize_t pwritev64(int file, const struct iovec *parts, int n_parts, off_t offset) {
    return pwritev(file, parts, n_parts, offset);
}

int ftruncate(int file, off_t length) {
    char path[PATH_MAX];
    int done = (int)syscall(SYS_ftruncate, file, length);
    if (done == 0 && path_of(file, path)) note('t', path, "", (uint64_t)length, NULL, 0);
    return done;
}
int ftruncate64(int file, off_t length) { return ftruncate(file, length); }

int truncate(const char *given, off_t length) {
    char path[PATH_MAX];
    int done = (int)syscall(SYS_truncate, given, length);
    if (done == 0 && absolute(AT_FDCWD, given, path)) note('t', path, "", (uint64_t)length, NULL, 0);
    return done;
}
int truncate64(const char *given, off_t length) { return truncate(given, length); }

/* Room that is made in advance reads as zeros. */
int fallocate(int file, int mode, off_t offset, off_t length) {
    char path[PATH_MAX];
    int done = (int)syscall(SYS_fallocate, file, mode, offset, length);
    if (done == 0 && mode == 0 && path_of(file, path)) note('a', path, "", (uint64_t)(offset + length), NULL, 0);
    return done;
}
int fallocate64(int file, int mode, off_t offset, off_t length) { return fallocate(file, mode, offset, length); }
int posix_fallocate(int file, off_t offset, off_t length) { return fallocate(file, 0, offset, length) ? errno : 0; }
int posix_fallocate64(int file, off_t offset, off_t length) { return posix_fallocate(file, offset, length); }

/* Copies inside the kernel are refused, so that they are made by writes. */
ssize_t copy_file_range(int a, off_t *b, int c, off_t *d, size_t e, unsigned f) {
    (void)a; (void)b; (void)c; (void)d; (void)e; (void)f;
    errno = ENOSYS;
    return -1;
}

static int synced(int file, long number) {
    char path[PATH_MAX];
    if (!path_of(file, path)) return (int)syscall(number, file);
    note('s', path, "", 0, NULL, 0);
    return 0;
}
int fsync(int file) { return synced(file, SYS_fsync); }
int fdatasync(int file) { return synced(file, SYS_fdatasync); }

static int opened(int base, const char *given, int flags, mode_t mode) {
    char path[PATH_MAX];
    int changes = flags & (O_CREAT | O_TRUNC) && absolute(base, given, path);
    int file = (int)syscall(SYS_openat, base, given, flags, mode);
    if (file >= 0 && changes && flags & O_CREAT) note('c', path, "", 0, NULL, 0);
    if (file >= 0 && changes && flags & O_TRUNC) note('t', path, "", 0, NULL, 0);
    return file;
}
#define WITH_MODE(name) va_list rest; va_start(rest, name); mode_t mode = va_arg(rest, mode_t); va_end(rest)
int open(const char *path, int flags, ...) { WITH_MODE(flags); return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { WITH_MODE(flags); return opened(AT_FDCWD, path, flags, mode); }
int openat(int base, const char *path, int flags, ...) { WITH_MODE(flags); return opened(base, path, flags, mode); }
int openat64(int base, const char *path, int flags, ...) { WITH_MODE(flags); return opened(base, path, flags, mode); }
int creat(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

int unlinkat(int base, const char *given, int flags) {
    char path[PATH_MAX];
    int is = absolute(base, given, path), done = (int)syscall(SYS_unlinkat, base, given, flags);
    if (done == 0 && is) note(flags & AT_REMOVEDIR ? 'R' : 'u', path, "", 0, NULL, 0);
    return done;
}
int unlink(const char *given) { return unlinkat(AT_FDCWD, given, 0); }
int rmdir(const char *given) { return unlinkat(AT_FDCWD, given, AT_REMOVEDIR); }

int mkdir(const char *given, mode_t mode) {
    char path[PATH_MAX];
    int is = absolute(AT_FDCWD, given, path), done = (int)syscall(SYS_mkdir, given, mode);
    if (done == 0 && is) note('m', path, "", 0, NULL, 0);
    return done;
}

int rename(const char *from, const char *to) {
    char path[PATH_MAX], other[PATH_MAX];
    int is = absolute(AT_FDCWD, from, path) && absolute(AT_FDCWD, to, other);
    int done = (int)syscall(SYS_rename, from, to);
    if (done == 0 && is) note('r', path, other, 0, NULL, 0);
    return done;
}
int link(const char *from, const char *to) {
    char path[PATH_MAX], other[PATH_MAX];
    int is = absolute(AT_FDCWD, from, path) && absolute(AT_FDCWD, to, other);
    int done = (int)syscall(SYS_link, from, to);
    if (done == 0 && is) note('l', path, other, 0, NULL, 0);
    return done;
}
