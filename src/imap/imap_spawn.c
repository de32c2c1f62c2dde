/* SPDX-License-Identifier: ISC
 *
 * Runs imap.command and imap.password_command without a shell: splits the setting into words, then replaces %{account}
 * or %{user} in each. */
#include "imap/imap.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ACCOUNT "%{account}"
#define TOKEN_CACHE_MAX 10000 /* per process */

/* Returns the words with `variable` replaced by `name`; NULL with the error set, which begins with `setting`. */
static char **command_words(const char *setting, const char *command, const char *variable, const char *name,
                            struct error *error)
{
    char **words = NULL;
    g_autoptr(GError) gerror = NULL;
    if (name[0] == '-' && strstr(command, variable) != NULL) {
        error_set(error, "%s: %s would be taken for an option", setting, name);
        return NULL;
    }
    if (!g_shell_parse_argv(command, NULL, &words, &gerror)) {
        error_set(error, "%s: %s", setting, gerror->message);
        return NULL;
    }
    for (char **word = words; *word != NULL; word++) {
        g_auto(GStrv) pieces = g_strsplit(*word, variable, -1);
        g_free(*word);
        *word = g_strjoinv(name, pieces);
    }
    return words;
}

int imap_spawn(const struct config *config, const char *account, pid_t *ret_child, struct error *error)
{
    g_auto(GStrv) words = command_words("imap.command", config->imap.command, ACCOUNT, account, error);
    if (words == NULL)
        return -1;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        error_set(error, "socketpair: %s", strerror(errno));
        return -1;
    }
    int ours OD_CLEANUP(base_close) = pair[0];
    int theirs OD_CLEANUP(base_close) = pair[1];
    int gerror =
        spawn_command(words, environ, (struct spawn_channels){.in = theirs, .out = theirs, .err = -1}, ret_child);
    if (gerror != 0) {
        error_set(error, "imap.command: cannot run %s: %s", words[0], strerror(gerror));
        return -1;
    }
    int fd = ours;
    ours = -1;
    return fd;
}

int imap_spawn_reap(pid_t *child)
{
    int status = -1;
    pid_t done = 0;
    if (*child <= 0)
        return -1;
    for (long ms = 1; ms <= 512 && done == 0; ms *= 2) {
        done = waitpid(*child, &status, WNOHANG);
        if (done == 0)
            nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
    }
    if (done == 0)
        (void)base_kill(child);
    *child = 0;
    return done > 0 ? status : -1;
}

/* Fails if the output reaches `limit` bytes, or does not end before until_ms. */
static bool read_output(int fd, char *output, size_t limit, size_t *ret_size, int64_t until_ms, struct error *error)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    ssize_t got = 1;
    *ret_size = 0;
    while (got > 0 && *ret_size < limit) {
        if (base_poll(&readable, 1, until_ms) != 1)
            return error_set(error, "imap.password_command: it has not ended in time");
        got = TEMP_FAILURE_RETRY(read(fd, output + *ret_size, limit - *ret_size));
        *ret_size += got > 0 ? (size_t)got : 0;
    }
    return got == 0 || error_set(error, "imap.password_command: it printed more than %zu bytes", limit);
}

static bool check_status(int status, struct error *error)
{
    if (status < 0)
        return error_set(error, "imap.password_command: it has not ended after its output");
    return status == 0 ||
           error_set(error, "imap.password_command %s; run it as the same user to see why", base_status_text(status));
}

/* The deadline, or a signal that ends this process, also kills the command. Returns its output's descriptor; -1 with
 * the error set. */
static int start_password_command(char **words, pid_t *ret_child, struct error *error)
{
    int ends[2], null OD_CLEANUP(base_close) = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        error_set(error, "imap.password_command: %s", strerror(errno));
        return -1;
    }
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    int gerror = spawn_command(words, environ, (struct spawn_channels){null, ends[1], null, true}, ret_child);
    if (gerror == 0)
        deadline_set_group(*ret_child);
    sigprocmask(SIG_SETMASK, &before, NULL);
    base_close(&ends[1]);
    if (gerror == 0)
        return ends[0];
    error_set(error, "imap.password_command: cannot run %s: %s", words[0], strerror(gerror));
    base_close(&ends[0]);
    return -1;
}

/* Runs imap.password_command for this login. Returns its output, *ret_size bytes and a NUL; NULL with the error set: it
 * cannot be run, timed out, failed, or printed too much. */
static char *run_password_command(const struct config *config, const char *login, int64_t ms, size_t *ret_size,
                                  struct error *error)
{
    int64_t until = base_now_ms() + ms;
    pid_t child = 0;
    g_auto(GStrv)
        words = command_words("imap.password_command", config->imap.password_command, CONFIG_USER, login, error);
    int output OD_CLEANUP(base_close) = words != NULL ? start_password_command(words, &child, error) : -1;
    if (output < 0)
        return NULL;
    char *text OD_CLEANUP(base_free_secret) = base_alloc(SECRET_FILE_MAX + 1);
    bool complete = read_output(output, text, SECRET_FILE_MAX, ret_size, until, error);
    if (!complete)
        (void)kill(-child, SIGKILL);
    int status = imap_spawn_reap(&child);
    deadline_set_group(0);
    return complete && check_status(status, error) ? g_steal_pointer(&text) : NULL;
}

static void free_secret(gpointer text)
{
    char *it = text;
    base_free_secret(&it);
}

static GHashTable *token_cache(void)
{
    static GHashTable *tokens;
    if (tokens == NULL)
        tokens = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_secret);
    return tokens;
}

bool imap_password_is_own(const struct config *config)
{
    return strstr(config->imap.password_command, CONFIG_USER) != NULL;
}

static char *token_key(const struct config *config, const char *login)
{
    return base_printf("%s\n%s", imap_password_is_own(config) ? login : "", config->imap.password_command);
}

/* Runs the command, and caches its output. */
static char *token_is_cached(const struct config *config, const char *login, int64_t ms, struct error *error)
{
    size_t size;
    char *output OD_CLEANUP(base_free_secret) = run_password_command(config, login, ms, &size, error);
    char *token = output != NULL ? secret_file_first_line("imap.password_command", output, size, error) : NULL;
    if (token == NULL)
        return NULL;
    if (g_hash_table_size(token_cache()) >= TOKEN_CACHE_MAX)
        g_hash_table_remove_all(token_cache());
    g_hash_table_insert(token_cache(), token_key(config, login), base_strdup(token));
    return token;
}

char *imap_password(const struct config *config, const char *login, int64_t ms, struct error *error)
{
    if (*config->imap.password_command == '\0' || *config->imap.command != '\0')
        return base_strdup(config->imap.password->text);
    char *key OD_CLEANUP(base_free) = token_key(config, login);
    const char *token = g_hash_table_lookup(token_cache(), key);
    return token != NULL ? base_strdup(token) : token_is_cached(config, login, ms, error);
}

static char *password_reread(const struct config *config, const char *login, int64_t ms, struct error *error)
{
    if (*config->imap.password_command != '\0' && *config->imap.command == '\0')
        return token_is_cached(config, login, ms, error);
    return config_renew_password(config, error) ? base_strdup(config->imap.password->text) : NULL;
}

char *imap_password_renew(const struct config *config, const char *login, const char *refused, int64_t ms,
                          struct error *error)
{
    struct error why;
    char *password = password_reread(config, login, ms, &why);
    if (password == NULL)
        error_set(error, "%s; then imap.password_%s: %s", error->text,
                  *config->imap.password_command != '\0' ? "command was run again" : "file was read again", why.text);
    else if (strcmp(password, refused) == 0)
        base_free_secret(&password);
    return password;
}
