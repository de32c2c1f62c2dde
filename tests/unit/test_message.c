/* SPDX-License-Identifier: ISC
 *
 * message.h: reading from descriptors, into memory and files, with every possible failure; fields and pieces. */
#include "message_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "message/message.h"

#define MIB ((size_t)1 << 20)

/* Replaces the C library's write, to fail on request. */
static int write_error;
static size_t write_max;

ssize_t write(int fd, const void *bytes, size_t size)
{
    if (write_error != 0) {
        errno = write_error;
        return -1;
    }
    return syscall(SYS_write, fd, bytes, write_max > 0 && size > write_max ? write_max : size);
}

/* Also replaces read: when disturbed, two of three calls return nothing, and the third one byte. */
static bool disturbed;
static size_t reads;

ssize_t read(int fd, void *bytes, size_t size)
{
    if (disturbed && reads++ % 3 < 2) {
        errno = reads % 3 == 1 ? EINTR : EAGAIN;
        return -1;
    }
    return syscall(SYS_read, fd, bytes, disturbed && size > 1 ? 1 : size);
}

/* And open(2), as on a file system without unnamed temporary files. */
static bool no_tmpfile;

int open(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode;

    va_start(arguments, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static char directory[] = "/tmp/oncedrop-test.XXXXXX";

static size_t entries(void)
{
    DIR *dir = opendir(directory);
    size_t n = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n - 2;
}

static void write_slowly(int fd, const char *bytes, size_t size, size_t chunk)
{
    for (size_t at = 0; at < size; at += chunk) {
        size_t part = size - at < chunk ? size - at : chunk;

        if (syscall(SYS_write, fd, bytes + at, part) != (long)part)
            _exit(1);
        if (chunk < 100)
            usleep(2000);
    }
    _exit(0);
}

/* A pipe that a child writes to; the child's status says whether everything was read. */
static int pipe_of(const char *bytes, size_t size, size_t chunk, pid_t *ret_child)
{
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    *ret_child = fork();
    assert_true(*ret_child >= 0);
    if (*ret_child == 0) {
        signal(SIGPIPE, SIG_IGN);
        close(fds[0]);
        write_slowly(fds[1], bytes, size, chunk);
    }
    close(fds[1]);
    return fds[0];
}

static int exit_of(pid_t child)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static enum message_result read_pipe(const char *bytes, size_t size, size_t limit, struct message **ret,
                                     struct error *error)
{
    pid_t child;
    int fd OD_CLEANUP(base_close) = pipe_of(bytes, size, 65536, &child);
    enum message_result result = message_read(fd, limit, NULL, ret, error);

    /* a child that is still writing fails now */
    base_close(&fd);
    assert_int_equal(exit_of(child), 0);
    return result;
}

static void test_results(void **state)
{
    static const struct {
        const char *label;
        const char *bytes;
        size_t limit;
        enum message_result result;
        const char *data;
    } cases[] = {
        {"message", "A: b\n\nc\n", 0, MESSAGE_OK, "A: b\r\n\r\nc\r\n"},
        {"no header", "c", 0, MESSAGE_OK, "c"},
        {"empty line", "\n", 0, MESSAGE_OK, "\r\n"},
        {"held back", "Fro", 0, MESSAGE_OK, "Fro"},
        {"nothing", "", 0, MESSAGE_EMPTY, NULL},
        {"only From_", "From x\n", 0, MESSAGE_EMPTY, NULL},
        {"nothing, with a limit", "", 1, MESSAGE_EMPTY, NULL},
        {"at the limit", "a\n\n", 5, MESSAGE_OK, "a\r\n\r\n"},
        {"over the limit by its CR", "a\n\n", 4, MESSAGE_TOO_LARGE, NULL},
        {"held back over the limit", "Fro", 2, MESSAGE_TOO_LARGE, NULL},
        {"From_ does not count", "From x\nab", 2, MESSAGE_OK, "ab"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct message *message = NULL, *same = NULL;
        struct error error = {.text = ""};
        size_t size = strlen(cases[i].bytes);
        enum message_result result = read_pipe(cases[i].bytes, size, cases[i].limit, &message, &error);

        if (result != cases[i].result || (message != NULL) != (cases[i].data != NULL))
            fail_msg("%s: %d %s", cases[i].label, result, error.text);
        assert_int_equal(message_from_bytes(cases[i].bytes, size, cases[i].limit, &same, &error), result);
        if (message == NULL) {
            assert_string_not_equal(error.text, "");
            continue;
        }
        assert_int_equal(message->size, strlen(cases[i].data));
        assert_memory_equal(message->data, cases[i].data, message->size);
        assert_int_equal(message->received_size, size);
        assert_memory_equal(same->digest, message->digest, sizeof(same->digest));
        message_free(&message);
        message_free(&same);
    }
}

static void test_header_size(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        {"A: b\n\nc\n", 8},   {"\nA: b\n\n", 2},          {"A: b\nB: c\n", 12},      {"A: b", 4},
        {"A: b\n \n\nc", 11}, {"nonsense\n\nA: b\n", 12}, {"A: b\r\r\n\r\r\nc", 10},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct message *message = message_of(cases[i].bytes, strlen(cases[i].bytes));

        if (message->header_size != cases[i].size)
            fail_msg("%zu: %zu", i, message->header_size);
        message_free(&message);
    }
}

static void check_large(size_t size)
{
    char *bytes OD_CLEANUP(base_free) = base_alloc(size);
    char *expected OD_CLEANUP(base_free) = base_alloc(2 * size);
    struct message *message = NULL;
    struct error error = {.text = ""};
    uint64_t seed = size;
    size_t n = 0;

    for (size_t i = 0; i < size; i++)
        bytes[i] = "\nabcdefghijklmnopqrstuvwxyz 1234"[next_random(&seed) % 32];
    if (read_pipe(bytes, size, 0, &message, &error) != MESSAGE_OK)
        fail_msg("%zu: %s", size, error.text);
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n')
            expected[n++] = '\r';
        expected[n++] = bytes[i];
    }
    assert_int_equal(message->size, n);
    if (memcmp(message->data, expected, n) != 0)
        fail_msg("size %zu: other bytes", size);
    message_free(&message);
}

static void test_sizes(void **state)
{
    (void)state;
    check_large(1);
    check_large(65535);
    check_large(65536);
    check_large(65537);
    check_large(1000000);
    check_large(MIB);
    check_large(MIB + 1);
    check_large(3 * MIB + 17);
    write_max = 1000;
    check_large(2 * MIB);
    write_max = 0;
    no_tmpfile = true;
    check_large(2 * MIB);
    no_tmpfile = false;
    assert_int_equal(entries(), 0);
}

static void test_memory(void **state)
{
    size_t size;
    char *bytes = repeated("A: b\n\n", "0123456789\n", 3 * MIB, "", &size);
    pid_t child;
    int fd OD_CLEANUP(base_close) = pipe_of(bytes, size, 65536, &child);
    struct message *message = NULL;
    struct error error = {.text = ""};
    struct mallinfo2 before, after;

    (void)state;
    base_free(&bytes);
    before = mallinfo2();
    assert_int_equal(message_read(fd, 0, NULL, &message, &error), MESSAGE_OK);
    after = mallinfo2();
    assert_true(message->size > 36 * MIB);
    /* the chunks are freed by now, the message is in the file */
    assert_true(after.uordblks + after.hblkhd < before.uordblks + before.hblkhd + MIB);
    assert_int_equal(exit_of(child), 0);
    message_free(&message);
}

static void test_too_large_is_read_to_its_end(void **state)
{
    size_t size;
    char *bytes OD_CLEANUP(base_free) = repeated("A: b\n\n", "0123456789\n", MIB, "", &size);
    struct message *message = NULL;
    struct error error = {.text = ""};

    (void)state;
    assert_int_equal(read_pipe(bytes, size, 2 * MIB, &message, &error), MESSAGE_TOO_LARGE);
    assert_null(message);
    assert_non_null(strstr(error.text, "2097152"));
}

static void check_trouble(const char *expected)
{
    size_t size;
    char *bytes OD_CLEANUP(base_free) = repeated("", "0123456789\n", MIB / 8, "", &size);
    struct message *message = NULL;
    struct error error = {.text = ""};

    assert_int_equal(message_from_bytes(bytes, size, 0, &message, &error), MESSAGE_ERROR);
    assert_null(message);
    if (strstr(error.text, expected) == NULL || strstr(error.text, getenv("TMPDIR")) == NULL)
        fail_msg("%s: %s", expected, error.text);
}

static void test_disk_trouble(void **state)
{
    struct rlimit old, small = {.rlim_cur = 1000000, .rlim_max = RLIM_INFINITY};

    (void)state;
    write_error = ENOSPC;
    check_trouble("No space left on device; make room there or set TMPDIR");
    write_error = EIO;
    check_trouble("Input/output error");
    write_error = 0;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    check_trouble("mailbox_size_limit");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(entries(), 0);

    setenv("TMPDIR", "/nonexistent/directory", 1);
    check_trouble("No such file or directory; set TMPDIR");
    setenv("TMPDIR", directory, 1);
}

static void test_default_directory(void **state)
{
    size_t size;
    char *bytes OD_CLEANUP(base_free) = repeated("", "0123456789\n", MIB / 8, "", &size);
    struct message *message = NULL;
    struct error error = {.text = ""};

    (void)state;
    write_error = ENOSPC;
    setenv("TMPDIR", "", 1);
    assert_int_equal(message_from_bytes(bytes, size, 0, &message, &error), MESSAGE_ERROR);
    assert_non_null(strstr(error.text, " in /tmp: "));
    write_error = 0;
    setenv("TMPDIR", directory, 1);
}

static void test_read_trouble(void **state)
{
    int fd OD_CLEANUP(base_close) = open(directory, O_RDONLY | O_DIRECTORY);
    struct message *message = NULL;
    struct error error = {.text = ""};

    (void)state;
    assert_int_equal(message_read(fd, 0, NULL, &message, &error), MESSAGE_ERROR);
    assert_non_null(strstr(error.text, strerror(EISDIR)));
    assert_int_equal(message_read(-1, 0, NULL, &message, &error), MESSAGE_ERROR);
    assert_non_null(strstr(error.text, strerror(EBADF)));
    assert_null(message);
}

/* Between two bytes each read is interrupted once, and once has no data; for a blocking and a non-blocking
 * descriptor. */
static void check_disturbed(int flags)
{
    static const char bytes[] = "From x\nMessage-ID: <a@b>\r\n\nbody\n";
    struct message *message = NULL;
    struct error error = {.text = ""};
    pid_t child;
    int fd OD_CLEANUP(base_close) = pipe_of(bytes, sizeof(bytes) - 1, 1, &child);

    assert_int_equal(fcntl(fd, F_SETFL, flags), 0);
    disturbed = true;
    reads = 0;
    assert_int_equal(message_read(fd, 0, NULL, &message, &error), MESSAGE_OK);
    disturbed = false;
    assert_true(reads > 3 * (sizeof(bytes) - 1));
    assert_int_equal(message->size, strlen("Message-ID: <a@b>\r\n\r\nbody\r\n"));
    assert_string_equal(message->message_id, "a@b");
    assert_int_equal(exit_of(child), 0);
    message_free(&message);
}

static void test_disturbed(void **state)
{
    (void)state;
    check_disturbed(0);
    check_disturbed(O_NONBLOCK);
}

static void test_file(void **state)
{
    int fd OD_CLEANUP(base_close) = open(directory, O_TMPFILE | O_RDWR, 0600);
    struct message *message = NULL;
    struct error error = {.text = ""};

    (void)state;
    assert_int_equal(write(fd, BYTES("A: b\n\nc\n")), 8);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(message_read(fd, 0, NULL, &message, &error), MESSAGE_OK);
    assert_int_equal(message->size, 11);
    message_free(&message);
}

static void test_header(void **state)
{
    static const struct {
        const char *name;
        const char *value;
    } cases[] = {
        {"Subject", "one two  three"},
        {"SUBJECT", "one two  three"},
        {"Empty", ""},
        {"Blank", ""},
        {"First", "1"},
        {"Obsolete", "x"},
        {"Body", NULL},
        {"Subj", NULL},
        {"Bare", "a\rb"},
        {"Folded-First", "value"},
        {"", NULL},
        {"nonsense", NULL},
    };
    struct message *message =
        message_of(BYTES("Subject: \t one\n two\n  three \n\t\nEmpty:\nBlank: \t\nFirst:1\n"
                         "First: 2\nObsolete : x\nBare: a\rb\nnonsense\nFolded-First:\n value\n"
                         "\nBody: x\n"));

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *value OD_CLEANUP(base_free) = message_header(message, cases[i].name);

        if ((value != NULL) != (cases[i].value != NULL) || (value != NULL && strcmp(value, cases[i].value) != 0))
            fail_msg("%s: \"%s\"", cases[i].name, value != NULL ? value : "none");
    }
    message_free(&message);
}

static void test_pieces(void **state)
{
    static const struct {
        const char *label;
        const char *bytes;
        const char *sent;
        size_t count;
    } cases[] = {
        {"nothing to leave out", "A: b\r\n\r\nc\r\n", "A: b\r\n\r\nc\r\n", 1},
        {"first", "Return-Path: x\r\nA: b\r\n\r\nc\r\n", "A: b\r\n\r\nc\r\n", 1},
        {"all three", "Return-Path: x\r\nX-Original-To: x\r\nDelivered-To: x\r\nA: b\r\n\r\n", "A: b\r\n\r\n", 1},
        {"between", "A: b\r\nDelivered-To: x\r\n y\r\nC: d\r\n\r\ne", "A: b\r\nC: d\r\n\r\ne", 2},
        {"twice", "A: b\r\nDELIVERED-TO: x\r\nC: d\r\nE: f\r\nReturn-Path : x\r\n\r\n", "A: b\r\nC: d\r\nE: f\r\n\r\n",
         3},
        {"Received stays", "Received: x\r\nEnvelope-To: y\r\n\r\n", "Received: x\r\nEnvelope-To: y\r\n\r\n", 1},
        {"body", "A: b\r\n\r\nReturn-Path: x\r\n", "A: b\r\n\r\nReturn-Path: x\r\n", 1},
        {"nothing left", "Return-Path: x\r\n y", "", 0},
        {"without an empty line", "A: b\r\nReturn-Path: x\r\n", "A: b\r\n", 1},
        {"nonsense", "Delivered-To\r\nReturn Path: x\r\n\r\n", "Delivered-To\r\nReturn Path: x\r\n\r\n", 1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct message *message = message_of(cases[i].bytes, strlen(cases[i].bytes));
        size_t count, size, sum = 0;
        struct iovec *pieces = message_pieces(message, MESSAGE_NO_ENVELOPE, &count, &size);

        if (count != cases[i].count || size != strlen(cases[i].sent))
            fail_msg("%s: %zu pieces of %zu bytes", cases[i].label, count, size);
        for (size_t piece = 0; piece < count; sum += pieces[piece++].iov_len)
            assert_memory_equal(pieces[piece].iov_base, cases[i].sent + sum, pieces[piece].iov_len);
        assert_int_equal(sum, size);
        base_free(&pieces);

        pieces = message_pieces(message, MESSAGE_ALL_FIELDS, &count, &size);
        assert_int_equal(count, 1);
        assert_int_equal(size, message->size);
        assert_ptr_equal(pieces[0].iov_base, message->data);
        assert_int_equal(pieces[0].iov_len, size);
        base_free(&pieces);
        message_free(&message);
    }
}

/* Memory for a message's fields does not grow with the message. */
static void test_many_pieces(void **state)
{
    static const struct {
        size_t fields, pieces;
    } cases[] = {{60000, 60001}, {65535, 65536}, {65536, 65537}, {65537, 65537}, {300000, 65537}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t bytes_size, count, size, left = cases[i].fields - cases[i].pieces + 1;
        char *bytes OD_CLEANUP(base_free) =
            repeated("", "A: b\r\nReturn-Path: x\r\n", cases[i].fields, "\r\n", &bytes_size);
        struct message *message = message_of(bytes, bytes_size);
        struct iovec *pieces = message_pieces(message, MESSAGE_NO_ENVELOPE, &count, &size);

        assert_int_equal(count, cases[i].pieces);
        assert_int_equal(size, bytes_size - (cases[i].fields - left) * strlen("Return-Path: x\r\n"));
        base_free(&pieces);
        message_free(&message);
    }
}

static void test_long_value(void **state)
{
    size_t size;
    char *bytes OD_CLEANUP(base_free) = repeated("X: ", "y", 3 * MIB, "\r\n\r\n", &size);
    struct message *message = message_of(bytes, size);
    char *value OD_CLEANUP(base_free) = message_header(message, "X");

    (void)state;
    assert_int_equal(strlen(value), MIB);
    message_free(&message);
}

/* A message in pieces, as from LMTP. */
static void test_builder(void **state)
{
    static const char bytes[] = "From x\nMessage-ID: <a@b>\n\nbody\n";
    struct message *whole = message_of(bytes, sizeof(bytes) - 1);

    (void)state;
    for (size_t chunk = 1; chunk < sizeof(bytes); chunk++) {
        struct message_builder *builder = message_builder_new(0, NULL);
        struct message *message = NULL;
        struct error error = {.text = ""};

        for (size_t at = 0; at < sizeof(bytes) - 1; at += chunk) {
            size_t part = sizeof(bytes) - 1 - at < chunk ? sizeof(bytes) - 1 - at : chunk;

            assert_true(message_builder_feed(builder, bytes + at, part, &error));
        }
        assert_int_equal(message_builder_end(builder, &message, &error), MESSAGE_OK);
        message_builder_free(&builder);
        assert_null(builder);
        assert_int_equal(message->size, whole->size);
        assert_memory_equal(message->data, whole->data, whole->size);
        assert_memory_equal(message->digest, whole->digest, sizeof(whole->digest));
        assert_int_equal(message->received_size, sizeof(bytes) - 1);
        message_free(&message);
    }
    message_free(&whole);
    message_free(&whole);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(directory) != NULL && setenv("TMPDIR", directory, 1) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(directory);
}

int main(void)
{
    must_end_soon();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_header_size),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_too_large_is_read_to_its_end),
        cmocka_unit_test(test_disk_trouble),
        cmocka_unit_test(test_default_directory),
        cmocka_unit_test(test_read_trouble),
        cmocka_unit_test(test_disturbed),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_many_pieces),
        cmocka_unit_test(test_long_value),
        cmocka_unit_test(test_builder),
    };
    return cmocka_run_group_tests_name("message", tests, set_up, tear_down);
}
