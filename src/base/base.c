/* SPDX-License-Identifier: ISC */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void base_free(void *pointer)
{
    /* Copies a pointer of any type: accessing it as void * is undefined. */
    void *memory;
    memcpy(&memory, pointer, sizeof(memory));
    free(memory);
    memory = NULL;
    memcpy(pointer, &memory, sizeof(memory));
}

void base_free_secret(char **secret)
{
    if (*secret != NULL)
        explicit_bzero(*secret, strlen(*secret));
    base_free(secret);
}

void base_close(int *fd)
{
    int kept = errno;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    errno = kept;
}

static void *or_abort(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

void *base_alloc(size_t size)
{
    return or_abort(calloc(1, size > 0 ? size : 1));
}

void *base_realloc(void *old, size_t size)
{
    return or_abort(realloc(old, size > 0 ? size : 1));
}

char *base_strdup(const char *text)
{
    return text != NULL ? or_abort(strdup(text)) : NULL;
}

char *base_strndup(const char *text, size_t length)
{
    return text != NULL ? or_abort(strndup(text, length)) : NULL;
}

char *base_strip_brackets(const char *text)
{
    size_t length = strlen(text);
    bool enclosed = length >= 2 && text[0] == '<' && text[length - 1] == '>';
    return enclosed ? base_strndup(text + 1, length - 2) : base_strdup(text);
}

char *base_printf(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return or_abort(length < 0 ? NULL : text);
}

bool base_write(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t n = TEMP_FAILURE_RETRY(write(fd, at, size));
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

int base_poll(struct pollfd *waited, size_t count, int64_t until_ms)
{
    for (;;) {
        int64_t left = until_ms - base_now_ms();
        int ready = poll(waited, count, left <= 0 ? 0 : left < INT32_MAX ? (int)left : INT32_MAX);
        if (ready >= 0 || errno != EINTR)
            return ready;
    }
}

int base_wait(pid_t child)
{
    int status;
    return child > 0 && TEMP_FAILURE_RETRY(waitpid(child, &status, 0)) == child ? status : SIGKILL;
}

const char *base_status_text(int status)
{
    static char text[64];
    if (WIFSIGNALED(status))
        snprintf(text, sizeof(text), "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(text, sizeof(text), "ended with status %d", WEXITSTATUS(status));
    return text;
}

int base_kill(pid_t *child)
{
    if (*child > 0)
        (void)kill(*child, SIGKILL);
    int status = base_wait(*child);
    *child = 0;
    return status;
}

/* Returns `length` without an incomplete UTF-8 sequence at the end. */
static size_t complete_characters(const char *text, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char byte = (unsigned char)text[length - back];
        if (byte < 0x80)
            return length;
        if (byte >= 0xc0) {
            size_t need = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
            return need > back ? length - back : length;
        }
    }
    return length;
}

/* Stores text in the error. wanted: its length before truncation. */
static void settle_text(struct error *error, char text[sizeof(error->text)], int wanted)
{
    size_t length = strlen(text);
    if (wanted >= 0 && (size_t)wanted > length)
        length = complete_characters(text, length);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            text[i] = ' ';
    while (length > 0 && text[length - 1] == ' ')
        length--;
    text[length] = '\0';
    memcpy(error->text, text, length + 1);
}

bool error_set(struct error *error, const char *format, ...)
{
    char text[sizeof(error->text)] = ""; /* arguments may point into the error */
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    settle_text(error, text, wanted);
    error->code[0] = '\0';
    return false;
}

bool error_prefix(struct error *error, const char *format, ...)
{
    char prefix[sizeof(error->text)] = "";
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(prefix, sizeof(prefix), format, arguments);
    va_end(arguments);
    char code[sizeof(error->code)];
    memcpy(code, error->code, sizeof(code));
    error_set(error, "%s: %s", prefix, error->text);
    memcpy(error->code, code, sizeof(code));
    return false;
}

#ifdef __SANITIZE_ADDRESS__
/* AddressSanitizer's default keeps so much freed memory that some hundred messages would exceed delivery.memory. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "quarantine_size_mb=64";
}
#endif

size_t base_data_size(void)
{
    int fd OD_CLEANUP(base_close) = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    char text[128] = "";
    size_t pages = 0;
    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || sscanf(text, "%*s %*s %*s %*s %*s %zu", &pages) != 1)
        return 0;
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

void base_limit_memory(int64_t bytes)
{
    rlim_t max = (rlim_t)base_data_size() + (rlim_t)bytes;
    struct rlimit now;
    if (getrlimit(RLIMIT_DATA, &now) < 0 || now.rlim_cur <= max)
        return;
    now.rlim_cur = max;
    (void)setrlimit(RLIMIT_DATA, &now);
}

int64_t base_now_ms(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_BOOTTIME, &now) < 0)
        abort();
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t base_wall_us(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) < 0)
        abort();
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t base_boot(void)
{
    static int64_t boot;
    unsigned high, middle, low;
    char text[64] = "";
    if (boot != 0)
        return boot;
    int fd OD_CLEANUP(base_close) = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && sscanf(text, "%8x-%4x-%4x", &high, &middle, &low) == 3)
        boot = (int64_t)((uint64_t)high << 32 | middle << 16 | low);
    return boot;
}

bool base_random(int64_t *ret, struct error *error)
{
    if (getrandom(ret, sizeof(*ret), 0) == (ssize_t)sizeof(*ret))
        return true;
    return error_set(error, "cannot get a random number from the kernel: %m");
}

const char *base_excess_rights(void)
{
    /* Not AT_SECURE: AppArmor and SELinux set it for ordinary programs, too. */
    return getauxval(AT_UID) == getauxval(AT_EUID) && getauxval(AT_GID) == getauxval(AT_EGID)
               ? NULL
               : "the program must not be set-user-ID or set-group-ID; chmod ug-s ends that";
}

void base_hex(const unsigned char *bytes, size_t n, char *text)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * n] = '\0';
}

bool base_unhex(const char *text, unsigned char *bytes, size_t n)
{
    if (strlen(text) != 2 * n || strspn(text, "0123456789abcdefABCDEF") != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const char byte[] = {text[2 * i], text[2 * i + 1], '\0'};
        bytes[i] = (unsigned char)strtoul(byte, NULL, 16);
    }
    return true;
}
