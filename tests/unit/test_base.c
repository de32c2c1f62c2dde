/* SPDX-License-Identifier: ISC
 *
 * base.h, log.h. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/log.h"

/* The C library's syslog is replaced, under both names that it has. */
static char sys_line[4096];
static int sys_priority;
static unsigned sys_count;

static void take_syslog(int priority, const char *format, va_list arguments) OD_PRINTF(2, 0);

static void take_syslog(int priority, const char *format, va_list arguments)
{
    sys_priority = priority;
    sys_count++;
    (void)vsnprintf(sys_line, sizeof(sys_line), format, arguments);
    errno = EIO;
}

void syslog(int priority, const char *format, ...) OD_PRINTF(2, 3);
void __syslog_chk(int priority, int flag, const char *format, ...) OD_PRINTF(3, 4);

void syslog(int priority, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    take_syslog(priority, format, arguments);
    va_end(arguments);
}

void __syslog_chk(int priority, int flag, const char *format, ...)
{
    (void)flag;
    va_list arguments;
    va_start(arguments, format);
    take_syslog(priority, format, arguments);
    va_end(arguments);
}

enum { MAIL_ERR = 2 << 3 | 3, MAIL_WARNING = 2 << 3 | 4, MAIL_INFO = 2 << 3 | 6, MAIL_DEBUG = 2 << 3 | 7 };

static void test_memory(void **state)
{
    (void)state;
    unsigned char *zeroed = base_alloc(3);
    assert_memory_equal(zeroed, "\0\0\0", 3);
    zeroed = base_realloc(zeroed, 0);
    assert_non_null(zeroed);
    base_free(&zeroed);
    assert_null(zeroed);

    char *text = base_alloc(0);
    assert_non_null(text);
    base_free(&text);
    assert_null(base_strdup(NULL));
    assert_null(base_strndup(NULL, 3));
    text = base_strndup("abc", 2);
    assert_string_equal(text, "ab");
    base_free(&text);
    text = base_printf("%d-%s", 7, "x");
    assert_string_equal(text, "7-x");
    base_free(&text);
}

static void test_no_memory_never_returns(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        volatile size_t huge = SIZE_MAX - 4096;
        close(STDERR_FILENO);
        void *memory = base_alloc(huge);
        (void)memory;
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    /* A sanitizer's allocator may end the process before abort(3) does. */
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}

static void test_close(void **state)
{
    (void)state;
    int fd = dup(0);
    int none = -1;
    int copy = fd;

    errno = ENOENT;
    base_close(&fd);
    assert_int_equal(fd, -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(fcntl(copy, F_GETFD), -1);
    errno = ENOENT;
    base_close(&copy); /* fails */
    assert_int_equal(errno, ENOENT);
    base_close(&none);
    assert_int_equal(errno, ENOENT);
}

static void test_hex(void **state)
{
    (void)state;
    char text[9];

    base_hex((const unsigned char *)"\x00\x0f\xf0\xff", 4, text);
    assert_string_equal(text, "000ff0ff");
    base_hex(NULL, 0, text);
    assert_string_equal(text, "");
}

static void test_error_text(void **state)
{
    (void)state;
    struct error error;

    error_set(&error, "a\r\n\tb\x7f%s", "\x1b[1m c\n");
    assert_string_equal(error.text, "a   b  [1m c");
    error_prefix(&error, "%s %d", "step", 3);
    assert_string_equal(error.text, "step 3: a   b  [1m c");
    error_set(&error, "again: %s", error.text);
    assert_string_equal(error.text, "again: step 3: a   b  [1m c");
    errno = ENOENT;
    error_set(&error, "%m");
    assert_string_equal(error.text, "No such file or directory");
}

static void test_error_cut(void **state)
{
    (void)state;
    static const struct {
        const char *tail;
        size_t at;     /* where the tail begins */
        size_t length; /* of the result */
    } cases[] = {
        {"", 511, 511},
        {"\xc3", 510, 511}, /* fits, complete or not */
        {"x", 511, 511},
        {"\xc3\xa4", 509, 511}, /* fits */
        {"\xc3\xa4", 510, 510},
        {"\xe2\x82\xac", 508, 511},
        {"\xe2\x82\xac", 509, 509},
        {"\xe2\x82\xac", 510, 510},
        {"\xf0\x9f\x93\xa7", 507, 511},
        {"\xf0\x9f\x93\xa7", 508, 508},
        {"\xf0\x9f\x93\xa7", 510, 510},
        {"\xc3\xa4zz", 509, 511},               /* a whole character at the very end, cut after it */
        {"\x80\x80\x80\x80\x80\x80", 507, 511}, /* not UTF-8 */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct error error;
        char text[600];
        memset(text, 'a', sizeof(text));
        strcpy(text + cases[i].at, cases[i].tail);
        error_set(&error, "%s", text);
        if (strlen(error.text) != cases[i].length)
            fail_msg("case %zu: %zu bytes", i, strlen(error.text));
        assert_memory_equal(error.text, text, cases[i].length);
        error_prefix(&error, "p");
        assert_memory_equal(error.text, "p: aaa", 6);
    }
}

static void test_escape(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *want;
    } cases[] = {
        {"plain text", 64, "plain text"},
        {"a\nb\r\t\x7f\x01", 64, "a\\012b\\015\\011\\177\\001"},
        {"back\\slash", 64, "back\\\\slash"},
        {"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x93\xa7", 64, "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x93\xa7"},
        {"\xc2\x9b"
         "1m",
         64, "\\302\\2331m"}, /* CSI, as terminals take it */
        {"\xff\xc3", 64, "\\377\\303"},
        {"\xc0\xaf", 64, "\\300\\257"}, /* overlong */
        {"\xe0\x80\xaf", 64, "\\340\\200\\257"},
        {"\xed\xa0\x80", 64, "\\355\\240\\200"},          /* surrogate */
        {"\xf4\x90\x80\x80", 64, "\\364\\220\\200\\200"}, /* above U+10FFFF */
        {"\xf0\x8f\xbf\xbf", 64, "\\360\\217\\277\\277"},
        {"\xf5\x80\x80\x80", 64, "\\365\\200\\200\\200"},
        {"a\xe2\x80\xae"
         "b",
         64, "a\\342\\200\\256b"},                        /* U+202E: right to left from here */
        {"\xe2\x81\xa6", 64, "\\342\\201\\246"},          /* U+2066 */
        {"\xf3\xa0\x80\x81", 64, "\\363\\240\\200\\201"}, /* U+E0001, a tag */
        {"\xf3\xa0\x84\x80", 64, "\\363\\240\\204\\200"}, /* U+E0100, a variation selector */
        {"\xe2\x80\x8b", 64, "\\342\\200\\213"},          /* zero-width space */
        {"\xef\xbb\xbf", 64, "\\357\\273\\277"},          /* byte order mark */
        {"\xc2\xad", 64, "\\302\\255"},                   /* soft hyphen */
        {"\xe2\x80\xa8", 64, "\\342\\200\\250"},          /* line separator */
        {"\xee\x80\x80", 64, "\\356\\200\\200"},          /* private use */
        {"\xef\xbf\xbe", 64, "\\357\\277\\276"},          /* no character */
        {"\xe3\x85\xa4", 64, "\\343\\205\\244"},          /* Hangul filler */
        {"\xcd\x8f", 64, "\\315\\217"},                   /* grapheme joiner */
        {"a\xcc\x88 \xe2\x9d\xa4\xef\xb8\x8f \xe0\xa4\xa8\xe0\xa5\x80", 64,
         "a\xcc\x88 \xe2\x9d\xa4\xef\xb8\x8f \xe0\xa4\xa8\xe0\xa5\x80"}, /* marks are part of letters */
        {"a=b, status=c <d>", 64, "a=b, status=c <d>"},
        {"\xe2\x82z", 64, "\\342\\202z"},
        {"abc", 4, "abc"},
        {"abc", 3, "ab"},
        {"a\xc3\xa4", 3, "a"},
        {"a\n", 5, "a"},
        {"a\n", 6, "a\\012"},
        {"a\\", 3, "a"},
        {"abc", 1, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char out[64];
        assert_ptr_equal(log_escape(cases[i].text, out, cases[i].size), out);
        if (strcmp(out, cases[i].want) != 0)
            fail_msg("case %zu: %s", i, out);
    }
    char untouched = 'x';
    log_escape("abc", &untouched, 0);
    assert_int_equal(untouched, 'x');
}

/* Values of a log line: ordinary text is unchanged, nothing looks like another field. */
static void test_escape_field(void **state)
{
    static const struct {
        const char *value, *field, *text;
    } cases[] = {
        {"1.2@mail.example", NULL, NULL},
        {"bounce+lisa=mail.example@list.example", NULL, NULL},
        {"Sent Items", NULL, NULL},
        {"a,b@c", NULL, NULL},
        {"stored uid=17 mailbox=INBOX", "stored uid\\07517 mailbox\\075INBOX", "stored uid=17 mailbox=INBOX"},
        {"x>, status=stored, to=<y@z", "x\\076,\\040status\\075stored,\\040to\\075\\074y@z",
         "x>, status\\075stored, to\\075<y@z"},
        {"x,status=stored@y", "x,status\\075stored@y", "x,status\\075stored@y"},
        {"xstatus=stored, my-to=y", "xstatus=stored,\\040my-to=y", "xstatus=stored, my-to=y"},
        {"message <a@b> is elsewhere", "message \\074a@b\\076 is elsewhere", "message <a@b> is elsewhere"},
        {"status=", "status\\075", "status\\075"},
        {"a\\075b\n", "a\\\\075b\\012", "a\\\\075b\\012"},
        {"=", NULL, NULL},
        {" x", NULL, NULL},
        {"", NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char out[128];
        if (strcmp(log_escape_field(cases[i].value, out, sizeof(out)),
                   cases[i].field != NULL ? cases[i].field : cases[i].value) != 0)
            fail_msg("case %zu, field: %s", i, out);
        if (strcmp(log_escape_text(cases[i].value, out, sizeof(out)),
                   cases[i].text != NULL ? cases[i].text : cases[i].value) != 0)
            fail_msg("case %zu, text: %s", i, out);
    }
}

/* A stranger's text has no field of a line; our own text in parentheses may say the uid and the mailbox. */
static void test_escape_names(void **state)
{
    (void)state;
    for (enum log_field_name i = LOG_FIELD_NONE + 1; i < LOG_FIELD_NAMES; i++) {
        bool plain = i == LOG_FIELD_UID || i == LOG_FIELD_MAILBOX;
        char text[64], want[64], out[64];
        snprintf(text, sizeof(text), "%s=x", log_field_row(i)->name);
        snprintf(want, sizeof(want), "%s\\075x", log_field_row(i)->name);
        assert_string_equal(log_escape_field(text, out, sizeof(out)), want);
        assert_string_equal(log_escape_text(text, out, sizeof(out)), plain ? text : want);
    }
}

static void test_log_before_open(void **state)
{
    (void)state;
    sys_count = 0;
    log_info("not yet");
    assert_int_equal(sys_count, 0);
    errno = ENOENT;
    log_warning("early %m");
    assert_int_equal(errno, ENOENT);
    assert_int_equal(sys_count, 1);
    assert_int_equal(sys_priority, MAIL_WARNING);
    assert_string_equal(sys_line, "warning: early No such file or directory");
    log_error("x");
    assert_int_equal(sys_priority, MAIL_ERR);
    assert_string_equal(sys_line, "error: x");
}

/* What was written to a file since the last call. */
static const char *written(int fd)
{
    static char text[8192];
    ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

    assert_true(got >= 0);
    text[got] = '\0';
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return text;
}

static void test_log_targets(void **state)
{
    (void)state;
    static const struct {
        enum log_to to;
        enum log_level level;
        bool verbose;
        bool has_fd;
        unsigned syslog; /* how many of the three levels */
        unsigned copy;
    } cases[] = {
        {LOG_TO_SYSLOG, LOG_LEVEL_ERROR, false, true, 1, 0},   {LOG_TO_SYSLOG, LOG_LEVEL_INFO, false, true, 3, 0},
        {LOG_TO_SYSLOG, LOG_LEVEL_INFO, true, true, 3, 3},     {LOG_TO_SYSLOG, LOG_LEVEL_DEBUG, true, true, 3, 3},
        {LOG_TO_SYSLOG, LOG_LEVEL_WARNING, true, false, 3, 0}, {LOG_TO_STDERR, LOG_LEVEL_WARNING, false, true, 0, 2},
        {LOG_TO_STDERR, LOG_LEVEL_WARNING, true, true, 0, 3},  {LOG_TO_STDERR, LOG_LEVEL_DEBUG, false, false, 3, 0},
    };
    int fd = memfd_create("log", 0);

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        log_open(cases[i].to, LOG_FORMAT_TEXT, cases[i].level, cases[i].verbose, cases[i].has_fd ? fd : -1);
        sys_count = 0;
        errno = E2BIG;
        log_error("e");
        log_warning("w");
        log_info("i");
        assert_int_equal(errno, E2BIG);
        assert_int_equal(log_shows_debug(),
                         cases[i].level == LOG_LEVEL_DEBUG || (cases[i].level == LOG_LEVEL_INFO && cases[i].verbose));
        unsigned lines = 0;
        for (const char *at = written(fd); (at = strchr(at, '\n')) != NULL; at++)
            lines++;
        if (sys_count != cases[i].syslog || lines != cases[i].copy)
            fail_msg("case %zu: syslog %u, copy %u", i, sys_count, lines);
    }
    close(fd);
}

static void test_log_line(void **state)
{
    (void)state;
    int fd = memfd_create("log", 0);
    char want[64];
    char *text;

    log_open(LOG_TO_STDERR, LOG_FORMAT_TEXT, LOG_LEVEL_INFO, false, fd);
    log_info("to=<%s>, \\012", "a\n\xc3\xa4");
    snprintf(want, sizeof(want), "oncedrop[%d]: info: to=<a\\012\xc3\xa4>, \\012\n", (int)getpid());
    assert_string_equal(written(fd), want);

    log_open(LOG_TO_SYSLOG, LOG_FORMAT_TEXT, LOG_LEVEL_INFO, false, -1);
    log_info("%s", "status=stored");
    assert_int_equal(sys_priority, MAIL_INFO);
    assert_string_equal(sys_line, "status=stored");
    log_debug("%s", "whatever the level is");
    assert_int_equal(sys_priority, MAIL_DEBUG);
    assert_string_equal(sys_line, "debug: whatever the level is");

    text = base_alloc(5000);
    memset(text, 'a', 2000);
    log_info("%s", text);
    assert_string_equal(sys_line, text);
    text[2000] = 'a';
    log_info("%s", text);
    assert_int_equal(strlen(sys_line), 2000);
    assert_memory_equal(sys_line, text, 1997);
    assert_string_equal(sys_line + 1997, "...");
    memcpy(text + 1995, "\xf0\x9f\x93\xa7zzz", 7);
    log_info("%s", text);
    assert_string_equal(sys_line + 1994, "a...");
    memset(text, '\n', 4999);
    log_info("%s", text);
    assert_int_equal(strlen(sys_line), 1996 + 3); /* 499 whole escapes */
    base_free(&text);
    close(fd);
}

/* Runs body in a child whose signals are blocked, as a careless parent may leave them; returns the wait status. */
static int in_child(void (*body)(void))
{
    sigset_t all;
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        body();
        _exit(3);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void end_with_signal(int signal)
{
    sigset_t mask;

    /* The other signals are blocked while one ends the process. */
    sigprocmask(SIG_SETMASK, NULL, &mask);
    if (!sigismember(&mask, SIGTERM) || !sigismember(&mask, SIGALRM) || !sigismember(&mask, SIGXCPU))
        _exit(4);
    _exit(100 + signal);
}

static void pause_a_while(void)
{
    for (int i = 0; i < 1000; i++)
        usleep(10000);
}

static void deadline_runs_out(void)
{
    struct error error;

    deadline_install(end_with_signal);
    if (!deadline_arm(60000, &error) || !deadline_arm(30, &error))
        _exit(5);
    pause_a_while();
}

static void deadline_is_over_already(void)
{
    struct error error;

    deadline_install(end_with_signal);
    if (!deadline_arm(-5, &error))
        _exit(5);
    pause_a_while();
}

static void deadline_after_fork(void)
{
    struct error error;

    deadline_install(end_with_signal);
    if (!deadline_arm(60000, &error))
        _exit(5);
    pid_t child = fork();
    if (child == 0) {
        if (!deadline_arm(30, &error))
            _exit(6);
        pause_a_while();
        _exit(7);
    }
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
        _exit(8);
    _exit(WEXITSTATUS(status));
}

static void deadline_disarmed(void)
{
    struct error error;

    deadline_install(end_with_signal);
    deadline_disarm();
    if (deadline_left_ms() != INT64_MAX || !deadline_arm(1000, &error))
        _exit(5);
    int64_t left = deadline_left_ms();
    if (left < 1 || left > 1000)
        _exit(6);
    deadline_disarm();
    if (deadline_left_ms() != INT64_MAX)
        _exit(7);
    usleep(1200000);
    _exit(42);
}

static int raised;

static void raise_one(void)
{
    deadline_install(end_with_signal);
    raise(raised);
}

static void raise_ignored(void)
{
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    deadline_install(end_with_signal);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    raise(SIGHUP);
    raise(SIGINT);
    raise(SIGPIPE);
    _exit(42);
}

static void test_deadline(void **state)
{
    (void)state;
    static const int ending[] = {SIGALRM, SIGTERM, SIGINT, SIGHUP, SIGXCPU};
    int status;

    assert_int_equal(in_child(deadline_runs_out), W_EXITCODE(100 + SIGALRM, 0));
    assert_int_equal(in_child(deadline_is_over_already), W_EXITCODE(100 + SIGALRM, 0));
    assert_int_equal(in_child(deadline_after_fork), W_EXITCODE(100 + SIGALRM, 0));
    assert_int_equal(in_child(deadline_disarmed), W_EXITCODE(42, 0));
    for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++) {
        raised = ending[i];
        status = in_child(raise_one);
        assert_int_equal(status, W_EXITCODE(100 + raised, 0));
    }
    assert_int_equal(in_child(raise_ignored), W_EXITCODE(42, 0));
}

static void test_clock(void **state)
{
    (void)state;
    int64_t before = base_now_ms();

    usleep(20000);
    int64_t passed = base_now_ms() - before;
    assert_in_range(passed, 19, 5000);
    assert_null(base_excess_rights());
}

int main(void)
{
    /* A test that hangs fails: SIGALRM's default action ends it. */
    signal(SIGHUP, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),       cmocka_unit_test(test_no_memory_never_returns),
        cmocka_unit_test(test_close),        cmocka_unit_test(test_hex),
        cmocka_unit_test(test_error_text),   cmocka_unit_test(test_error_cut),
        cmocka_unit_test(test_escape),       cmocka_unit_test(test_escape_field),
        cmocka_unit_test(test_escape_names), cmocka_unit_test(test_log_before_open),
        cmocka_unit_test(test_log_targets),  cmocka_unit_test(test_log_line),
        cmocka_unit_test(test_deadline),     cmocka_unit_test(test_clock),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
