/* SPDX-License-Identifier: ISC */
#include "front/front_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <gnu/lib-names.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "oncedrop" /* as ld.so(8) begins its messages */

struct place {
    int length; /* of the directory, with the slash; 0: unknown */
    char path[PATH_MAX];
    int errnum;             /* errno for `path`; 0: none */
    struct elf_names names; /* first those of this process */
};

static int add_loaded(struct dl_phdr_info *object, size_t size, void *data)
{
    (void)size;
    struct place *place = data;
    const char *slash = strrchr(object->dlpi_name, '/');
    if (slash == NULL)
        return 0;
    if (strcmp(slash + 1, LIBC_SO) == 0 && (size_t)(slash - object->dlpi_name) < sizeof(place->path) - 1) {
        place->length = (int)(slash + 1 - object->dlpi_name);
        memcpy(place->path, object->dlpi_name, (size_t)place->length);
    }
    return elf_names_add(&place->names, slash + 1) ? 0 : 1;
}

/* Returns false, with place->path the first that is not where expected, or the program. */
static bool are_in_place(const char *program, struct place *place)
{
    (void)dl_iterate_phdr(add_loaded, place);
    if (place->length == 0)
        return true;
    size_t at = place->names.count;
    if (!elf_file_add_needed(program, &place->names)) {
        snprintf(place->path, sizeof(place->path), "%s", program);
        return false;
    }
    for (; at < place->names.count; at++) {
        snprintf(place->path + place->length, sizeof(place->path) - (size_t)place->length, "%s", place->names.name[at]);
        if (!elf_file_add_needed(place->path, &place->names)) {
            place->errnum = errno;
            return false;
        }
    }
    return true;
}

/* Runs `version`, with stderr to `error`. Returns 0 or an errno. */
static int start(const char *program, int errnum, pid_t *ret_child)
{
    char name[] = NAME, command[] = "version", *words[] = {name, command, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, errnum, STDERR_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    int failed = posix_spawn(ret_child, program, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* Reads until end of file, and keeps the beginning; false: timeout. */
static bool read_said(int fd, char *said, size_t size)
{
    int64_t until = base_now_ms() + FRONT_LIBRARIES_MS;
    struct pollfd waited = {.fd = fd, .events = POLLIN};
    char rest[256] = "";
    for (size_t length = 0;;) {
        bool fits = length < size - 1;
        if (base_poll(&waited, 1, until) <= 0)
            return false;
        ssize_t got =
            TEMP_FAILURE_RETRY(read(fd, fits ? said + length : rest, fits ? size - 1 - length : sizeof(rest)));
        if (got <= 0)
            return true;
        if (fits)
            said[length += (size_t)got] = '\0';
    }
}

/* Returns true if the program starts, or no trial is possible. said: its error message. */
static bool starts(const char *program, char *said, size_t size)
{
    int ends[2], status = 0;
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return true;
    int ours OD_CLEANUP(base_close) = ends[0];
    int theirs OD_CLEANUP(base_close) = ends[1];
    (void)signal(SIGCHLD, SIG_DFL); /* if ignored, there is no status */
    if (start(program, theirs, &child) != 0)
        return true;
    base_close(&theirs);
    if (!read_said(ours, said, size))
        (void)kill(child, SIGKILL);
    return TEMP_FAILURE_RETRY(waitpid(child, &status, 0)) != child || status == 0;
}

bool front_libraries_suffice(const char *program, struct error *error)
{
    static struct place place;
    char said[256] = "";
    if (are_in_place(program, &place) || starts(program, said, sizeof(said)))
        return true;
    if (place.errnum == EACCES)
        return error_set(error, "%s: %s; let user %d read it", place.path, strerror(EACCES), (int)geteuid());
    said[strcspn(said, "\n")] = '\0';
    const char *why = strncmp(said, NAME ": ", strlen(NAME ": ")) == 0 ? said + strlen(NAME ": ") : said;
    if (*why == '\0')
        return error_set(error, "%s is missing or cut short; install its package again", place.path);
    return error_set(error, "%s; install the library's package again", why);
}
