/* SPDX-License-Identifier: ISC
 *
 * decoding.c: no matter what the decoding process does, its parent has a result that can be recorded. Seen to fail: a test
 * here fails without the reset of signals, any of the limits, PR_SET_PDEATHSIG or close_range. */
#include "message_fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "decode/decode_internal.h"
/* what is behind decode.h, too */
#include "decode/decoding.c"

static const char letter[] =
    "From: =?utf-8?q?J=C3=BCrgen?= <juergen@EXAMPLE.net>\n"
    "To: Family: Lisa <lisa@example.org>, doug@example.org;, scuba@example.org\n"
    "Subject: =?utf-8?q?f=C3=BCr?=\n"
    "Date: Fri, 1 Aug 2025 10:00:00 +0200\n"
    "In-Reply-To: <parent@example.org>\n"
    "References: <root@example.org> <parent@example.org>\n"
    "Content-Type: multipart/mixed; boundary=b\n"
    "\n--b\n"
    "Content-Type: text/plain; charset=iso-8859-1\n"
    "\nGr\xfc\xdf\x65\n--b\n"
    "Content-Disposition: attachment; filename*=utf-8''R%C3%A4tsel\n"
    "Content-Transfer-Encoding: base64\n"
    "\nAAECAwQ=\n--b--\n";

struct limits {
    int64_t processor_s;
    int64_t clock_ms;
    size_t memory; /* bytes on top of ours */
};

static const struct limits generous = {60, 60000, (size_t)256 << 20};

/* Memory shared between us and the child's children. */
struct shared {
    pid_t child;
    int handled;
    int confined;
    int forbidden[32];
};

static struct shared *shared;

/* Like decoding_start, with another decoder and other limits. */
static struct decoding *start(decoder_work work, struct limits limits)
{
    struct error error = {.text = ""};
    struct message *message = message_of(letter, sizeof(letter) - 1);
    struct decoder_request request = {message->size, message->header_size, RECORD_TEXT, limits.processor_s};
    struct decoding *decoding = base_alloc(sizeof(*decoding));

    decoding->decoder = decoder_new(work, message, request, limits.memory, false, &error);
    decoding->until_ms = base_now_ms() + limits.clock_ms;
    if (decoding->decoder == NULL)
        fail_msg("%s", error.text);
    message_free(&message);
    return decoding;
}

/* In any case the result can be recorded. */
static void check_result(const struct decoded *decoded)
{
    assert_non_null(decoded);
    assert_non_null(decoded->references);
    assert_true(decoded->address_count <= DECODE_ADDRESSES_MAX);
    assert_true(decoded->part_count <= DECODE_PARTS_MAX);
    for (size_t i = 0; i < decoded->part_count; i++)
        assert_true(decoded->parts[i].path != NULL && decoded->parts[i].type != NULL);
    for (size_t i = 0; i < decoded->address_count; i++)
        assert_true(decoded->addresses[i].role != NULL && decoded->addresses[i].address != NULL);
}

/* The result must be incomplete, and the reason for the log must contain these words. */
static void check_error(struct decoding *decoding, const char *words)
{
    check_result(decoding_result(decoding));
    assert_non_null(decoding_error(decoding));
    if (strstr(decoding_error(decoding), words) == NULL)
        fail_msg("%s: %s", words, decoding_error(decoding));
}

static void assert_same(const char *one, const char *other)
{
    assert_true((one == NULL) == (other == NULL));
    if (one != NULL)
        assert_string_equal(one, other);
}

static void test_same(void **state)
{
    struct error error = {.text = ""};
    struct message *message = message_of(letter, sizeof(letter) - 1);

    (void)state;
    for (int level = RECORD_ENVELOPE; level <= RECORD_RAW; level++) {
        struct decoded *here = decode_message(message, (enum record_level)level, NULL, NULL);
        struct decoding *decoding = decoding_start(message, (enum record_level)level, &error);
        const struct decoded *there = decoding_result(decoding);

        assert_null(decoding_error(decoding));
        assert_ptr_equal(there, decoding_result(decoding));
        assert_same(here->subject, there->subject);
        assert_same(here->from, there->from);
        assert_true(there->has_date);
        assert_int_equal(here->date, there->date);
        assert_same(here->in_reply_to, there->in_reply_to);
        assert_int_equal(g_strv_length(there->references), 2);
        assert_true(g_strv_equal((const char *const *)here->references, (const char *const *)there->references));
        assert_int_equal(here->address_count, there->address_count);
        assert_int_equal(here->address_count, level == RECORD_ENVELOPE ? 0 : 4);
        for (size_t i = 0; i < here->address_count; i++) {
            assert_string_equal(here->addresses[i].role, there->addresses[i].role);
            assert_int_equal(here->addresses[i].position, there->addresses[i].position);
            assert_same(here->addresses[i].group, there->addresses[i].group);
            assert_same(here->addresses[i].name, there->addresses[i].name);
            assert_same(here->addresses[i].address, there->addresses[i].address);
        }
        assert_int_equal(here->part_count, there->part_count);
        assert_int_equal(here->part_count, level >= RECORD_TEXT ? 2 : 0);
        for (size_t i = 0; i < here->part_count; i++) {
            assert_same(here->parts[i].path, there->parts[i].path);
            assert_same(here->parts[i].type, there->parts[i].type);
            assert_same(here->parts[i].charset, there->parts[i].charset);
            assert_same(here->parts[i].disposition, there->parts[i].disposition);
            assert_same(here->parts[i].filename, there->parts[i].filename);
            assert_same(here->parts[i].text, there->parts[i].text);
            assert_int_equal(here->parts[i].size, there->parts[i].size);
            assert_memory_equal(here->parts[i].sha256, there->parts[i].sha256, 32);
        }
        decoding_free(&decoding);
        assert_null(decoding);
        decoded_free(&here);
    }
    decoding_end();
    message_free(&message);
}

/* A child is reused for the next message, until something unusual happens. */
static void test_kept(void **state)
{
    static const char other[] = "Subject: =?utf-8?q?other?=\n\n";
    struct error error = {.text = ""};
    size_t size;
    char *large OD_CLEANUP(base_free) = repeated("Subject: =?utf-8?q?large?=\n\n", "x\n", DECODER_KEPT_SIZE, "", &size);
    struct message *messages[] = {message_of(letter, sizeof(letter) - 1), message_of(other, sizeof(other) - 1),
                                  message_of(large, size)};

    (void)state;
    for (size_t i = 0; i < 350; i++) {
        const struct message *message = messages[i % 7 == 0 ? 2 : i % 2];
        struct decoding *decoding = decoding_start(message, RECORD_TEXT, &error);
        const struct decoded *result;

        if (i % 50 == 49) { /* not waited for */
            decoding_free(&decoding);
            continue;
        }
        result = decoding_result(decoding);
        assert_null(decoding_error(decoding));
        assert_string_equal(result->subject, i % 7 == 0 ? "large" : i % 2 ? "other" : "f\u00fcr");
        assert_int_equal(result->part_count, message == messages[0] ? 2 : 1);
        assert_int_equal(result->address_count, message == messages[0] ? 4 : 0);
        decoding_free(&decoding);
    }
    for (size_t i = 0; i < COUNT(messages); i++)
        message_free(&messages[i]);
    decoding_end();
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static pid_t only_child(void)
{
    char *path OD_CLEANUP(base_free) = base_printf("/proc/self/task/%d/children", (int)getpid());
    int fd OD_CLEANUP(base_close) = open(path, O_RDONLY);
    char text[64] = "";

    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    return (pid_t)strtol(text, NULL, 10);
}

/* Its output about the previous message is not part of this one's. */
static void test_kept_dies(void **state)
{
    static const char other[] = "X: \xff\n\n";
    struct error error = {.text = ""};
    struct message *first = message_of(letter, sizeof(letter) - 1), *second = message_of(other, sizeof(other) - 1);
    struct decoding *decoding = decoding_start(first, RECORD_TEXT, &error);
    pid_t child;

    (void)state;
    assert_non_null(decoding_result(decoding)->from);
    decoding_free(&decoding);
    child = only_child();
    kill(child, SIGSTOP);
    decoding = decoding_start(second, RECORD_TEXT, &error);
    kill(child, SIGKILL);
    check_error(decoding, "signal 9");
    assert_true(decoding_must_be_retried(decoding));
    assert_null(decoding_result(decoding)->from);
    assert_null(decoding_result(decoding)->subject);
    assert_int_equal(decoding_result(decoding)->part_count, 0);
    decoding_free(&decoding);
    message_free(&first);
    message_free(&second);
}

static void begin_well(struct decode_writer *writer)
{
    char *references[] = {(char[]){"a@b"}, NULL};
    struct decoded decoded = {.references = references, .from = (char[]){"juergen@example.net"}};

    decode_wire_write(writer, &decoded, DECODE_IDS);
    decode_wire_write(writer, &decoded, DECODE_FROM);
}

static void work_abort(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    (void)message, (void)level;
    begin_well(writer);
    abort();
}

static void work_killed(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    (void)message, (void)level;
    begin_well(writer);
    raise(SIGKILL);
}

/* Our own handlers would answer Postfix. */
static void work_terminated(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    (void)message, (void)level;
    begin_well(writer);
    raise(SIGTERM);
}

static void work_early(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    (void)message, (void)level;
    begin_well(writer);
}

static void work_hang(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    (void)message, (void)level;
    begin_well(writer);
    shared->child = getpid();
    for (;;)
        pause();
}

/* Its descriptors suggest that it has ended, but it has not. */
static void work_pretend(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    (void)message, (void)level;
    begin_well(writer);
    close_range(0, ~0U, 0);
    for (;;)
        pause();
}

static void work_spin(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    (void)message, (void)level;
    begin_well(writer);
    for (;;)
        ;
}

static void work_eat(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    (void)message, (void)level;
    begin_well(writer);
    for (int i = 0; i < 4096; i++) {
        char *memory = malloc((size_t)1 << 20);

        if (memory == NULL)
            abort();
        memset(memory, 'x', (size_t)1 << 20);
        __asm__ volatile("" : : "r"(memory) : "memory");
    }
    raise(SIGUSR1); /* there was no limit */
}

static void test_ends(void **state)
{
    const struct {
        decoder_work work;
        struct limits limits;
        const char *words;
    } cases[] = {
        {work_abort, generous, "signal 6"},
        {work_killed, generous, "signal 9"},
        {work_terminated, generous, "signal 15"},
        {work_early, generous, "ended early"},
        {work_hang, {60, 50, 1 << 28}, "too long"},
        {work_pretend, generous, "signal 9"},
        {work_spin, {1, 60000, 1 << 28}, "processor"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct decoding *decoding;

        shared->child = 0;
        decoding = start(cases[i].work, cases[i].limits);
        while (cases[i].work == work_hang && __atomic_load_n(&shared->child, __ATOMIC_SEQ_CST) == 0)
            sched_yield(); /* its time is short, and what it begins well is to be there */
        check_error(decoding, cases[i].words);
        assert_false(decoding_must_be_retried(decoding));
        assert_string_equal(decoding_result(decoding)->from, "juergen@example.net");
        assert_string_equal(decoding_result(decoding)->references[0], "a@b");
        assert_null(decoding_result(decoding)->subject);
        decoding_free(&decoding);
    }
    assert_int_equal(shared->handled, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* none is left */
}

static void work_abort_first(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    (void)writer, (void)message, (void)level;
    abort();
}

static void work_killed_first(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    (void)writer, (void)message, (void)level;
    raise(SIGKILL);
}

static void work_exit_first(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    (void)writer, (void)message, (void)level;
    _exit(1);
}

static void work_not_set_up(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    (void)writer, (void)message, (void)level;
    _exit(DECODER_NOT_SET_UP);
}

static void work_wait_first(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    (void)writer, (void)message, (void)level;
    for (;;)
        pause();
}

/* A failure of poll(2) is an error on our side for any message. */
static void test_not_waited_for(void **state)
{
    struct decoding *decoding = start(work_wait_first, generous);
    struct rlimit old, none;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0); /* EINVAL, for its one descriptor is more than that */
    assert_non_null(decoding_result(decoding));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    check_error(decoding, "could not be waited for");
    assert_true(decoding_must_be_retried(decoding));
    decoding_free(&decoding);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* A result that a message can cause is no reason to retry it. */
static void test_cut_off(void **state)
{
    static const struct {
        decoder_work work;
        bool cut_off;
    } cases[] = {{work_abort_first, false},
                 {work_killed_first, true},
                 {work_exit_first, false},
                 {work_not_set_up, true}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct decoding *decoding = start(cases[i].work, generous);

        assert_non_null(decoding_result(decoding));
        assert_int_equal(decoding_must_be_retried(decoding), cases[i].cut_off);
        decoding_free(&decoding);
    }
}

/* An emulated processor has neither limits of memory nor system call filters (qemu-user). */
static bool is_emulated(void)
{
    return prctl(PR_GET_SECCOMP) < 0;
}

static void test_memory(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    skip(); /* where memory ends, AddressSanitizer hangs in its own report */
#endif
    if (is_emulated())
        skip();
    struct decoding *decoding = start(work_eat, (struct limits){60, 60000, (size_t)64 << 20});

    (void)state;
    check_error(decoding, "the decoder ");
    assert_null(strstr(decoding_error(decoding), "signal 10"));
    assert_string_equal(decoding_result(decoding)->from, "juergen@example.net");
    decoding_free(&decoding);
}

/* Its parent does not wait for it, but it ends all the same. */
static void test_freed(void **state)
{
    struct decoding *decoding = start(work_hang, generous);

    (void)state;
    decoding_free(&decoding);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_parent_killed(void **state)
{
    int status;
    pid_t parent;

    (void)state;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        skip(); /* emulated */
    shared->child = 0;
    parent = fork();
    if (parent == 0) {
        struct decoding *decoding = start(work_hang, generous);

        decoding_result(decoding);
        _exit(0);
    }
    while (__atomic_load_n(&shared->child, __ATOMIC_SEQ_CST) == 0)
        sched_yield();
    kill(parent, SIGKILL);
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_int_equal(waitpid(shared->child, &status, 0), shared->child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Reports as the subject what is wrong with its environment. */
static void work_look(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    struct decoded decoded = {.references = (char *[]){NULL}};
    struct rlimit core, file;
    struct sigaction action;
    sigset_t blocked;
    int open = 0;

    (void)message, (void)level;
    for (int fd = 0; fd < 1000; fd++)
        open += fcntl(fd, F_GETFD) >= 0;
    getrlimit(RLIMIT_CORE, &core);
    getrlimit(RLIMIT_FSIZE, &file);
    sigaction(SIGPIPE, NULL, &action);
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    decoded.subject = base_printf("%d %d %d %d %d %d", open, (int)core.rlim_max, (int)file.rlim_max,
                                  prctl(PR_GET_DUMPABLE), action.sa_handler == SIG_DFL, sigismember(&blocked, SIGTERM));
    decode_wire_write(writer, &decoded, DECODE_IDS);
    decode_wire_write(writer, &decoded, DECODE_SUBJECT);
    decode_wire_write(writer, &decoded, DECODE_ALL);
}

static void test_surroundings(void **state)
{
    struct decoding *decoding = start(work_look, generous);

    (void)state;
#ifdef __SANITIZE_ADDRESS__
    assert_non_null(strstr(decoding_result(decoding)->subject, " 0 -1 0 1 0"));
#else
    assert_string_equal(decoding_result(decoding)->subject, "1 0 0 0 1 0");
#endif
    assert_null(decoding_error(decoding));
    decoding_free(&decoding);
}

static bool no_process;

pid_t fork(void)
{
    static pid_t (*real)(void);

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "fork");
    errno = EAGAIN;
    return no_process ? -1 : real();
}

static void test_no_process(void **state)
{
    struct error error = {.text = ""};
    struct message *message = message_of(letter, sizeof(letter) - 1);
    int before = dup(0), after;

    (void)state;
    no_process = true;
    assert_null(decoding_start(message, RECORD_TEXT, &error));
    no_process = false;
    assert_non_null(strstr(error.text, strerror(EAGAIN)));
    close(before);
    after = dup(0);
    assert_int_equal(before, after); /* no descriptor is left */
    close(after);
    message_free(&message);
}

/* Each of these would be of use to a hole in gmime; the results go to memory that the parent reads. */
static void try_forbidden(int *result)
{
    char *const none[] = {NULL};
    char byte;
    struct iovec piece = {&byte, 1};
    struct rlimit limit = {1 << 20, 1 << 20};
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const pid_t parent = getppid();

#define TRY(call) *result++ = (call) == -1 ? errno : 0
    TRY(open("/etc/passwd", O_RDONLY));
    TRY(syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", &(struct open_how){0}, sizeof(struct open_how)));
    TRY(unlink("/nonexistent"));
    TRY(socket(AF_UNIX, SOCK_STREAM, 0));
    TRY(socket(AF_INET, SOCK_STREAM, 0));
    TRY(socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){0}));
    TRY(execve("/bin/true", none, none));
    TRY(syscall(SYS_execveat, AT_FDCWD, "/bin/true", none, none, 0));
    TRY(kill(parent, 0));
    TRY(kill(-1, 0));
    TRY(kill(getpid(), 0));
    TRY(syscall(SYS_tgkill, parent, parent, SIGABRT));
    TRY(syscall(SYS_tgkill, getpid(), getpid(), SIGCONT));
    TRY(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
    TRY(ptrace(PTRACE_ATTACH, parent, NULL, NULL));
    TRY(process_vm_readv(parent, &piece, 1, &piece, 1, 0));
    TRY(syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0));
    TRY(syscall(SYS_pidfd_open, parent, 0));
    TRY(syscall(SYS_io_uring_setup, 1, NULL));
    TRY(prlimit(0, RLIMIT_FSIZE, &limit, NULL));
    TRY(prlimit(parent, RLIMIT_CPU, NULL, &limit));
    TRY(mprotect(page, 4096, PROT_READ | PROT_EXEC));
    TRY(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
    TRY(prctl(PR_SET_DUMPABLE, 1));
#undef TRY
}

#define FORBIDDEN 24

static void work_forbidden(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    struct decoded *decoded;

    memset(shared->forbidden, 0xff, sizeof(shared->forbidden));
    shared->confined = decode_sandbox(message);
    try_forbidden(shared->forbidden);
    decoded = decode_module.decode(message, level, decode_wire_write, writer);
    decoded_free(&decoded);
}

/* Its own limits and end remain, and it decodes. */
static void test_confined(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    if (is_emulated())
        skip();
    struct decoding *decoding = start(work_forbidden, generous);
    const struct decoded *result = decoding_result(decoding);

    (void)state;
    assert_int_equal(shared->confined, 0);
    for (size_t i = 0; i < FORBIDDEN; i++)
        if (shared->forbidden[i] != EPERM)
            fail_msg("call %zu: %d", i, shared->forbidden[i]);
    assert_int_equal(shared->forbidden[FORBIDDEN], -1);
    assert_string_equal(result->parts[0].text, "Gr\u00fc\u00dfe");
    assert_null(decoding_error(decoding));
    decoding_free(&decoding);
}

static void work_confined_abort(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    (void)level;
    begin_well(writer);
    if (decode_sandbox(message) == 0)
        abort();
}

static void work_confined_spin(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    if (decode_sandbox(message) == 0)
        work_spin(writer, message, level);
}

/* The reason of its end can still be reported. */
static void test_confined_ends(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    if (is_emulated())
        skip();
    struct decoding *decoding = start(work_confined_abort, generous);

    (void)state;
    check_error(decoding, "signal 6");
    decoding_free(&decoding);
    decoding = start(work_confined_spin, (struct limits){1, 60000, 1 << 28});
    check_error(decoding, "processor");
    decoding_free(&decoding);
}

/* The process that decodes has the filter: "Seccomp: 2" (proc(5)). */
static void test_filtered(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    if (is_emulated())
        skip();
    struct error error = {.text = ""};
    struct message *message = message_of(letter, sizeof(letter) - 1);
    struct decoding *decoding = decoding_start(message, RECORD_TEXT, &error);
    char text[4096] = "";

    (void)state;
    assert_null(decoding_error(decoding));
    assert_non_null(decoding_result(decoding)->from);
    assert_int_equal(decoding_without_sandbox(decoding), 0);
    decoding_free(&decoding);

    char *path OD_CLEANUP(base_free) = base_printf("/proc/%d/status", (int)only_child());
    int fd OD_CLEANUP(base_close) = open(path, O_RDONLY);

    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    assert_non_null(strstr(text, "\nSeccomp:\t2\n"));
    assert_non_null(strstr(text, "\nNoNewPrivs:\t1\n"));
    decoding_end();
    message_free(&message);
}

/* Text in a character set that the child could not foresee: its name is in pieces, or the message is not the first. */
static void test_charsets(void **state)
{
    static const char *const texts[] = {
        "Content-Type: text/plain; charset=us-ascii\n\n\xd4",
        "Content-Type: text/plain; charset*0=koi; charset*1=8-r\n\n\xd4",
        "Content-Type: text/plain; charset=\"KOI8-R\"\n\n\xd4",
        "Content-Type: text/plain; charset=iso-8859-5\n\n\xe2",
        "Subject: =?koi8-r?q?=D4?=\nContent-Type: text/plain; charset=koi8-r\n\n\xd4",
    };
    struct error error = {.text = ""};

    (void)state;
    decoding_end();
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct message *message = message_of(texts[i], strlen(texts[i]));
        struct decoding *decoding = decoding_start(message, RECORD_TEXT, &error);
        const struct decoded *result = decoding_result(decoding);

        assert_null(decoding_error(decoding));
        assert_string_equal(result->parts[0].text, i == 0 ? "\u00d4" : "\u0442");
        decoding_free(&decoding);
        message_free(&message);
    }
    decoding_end();
}

/* If no second child can be started, what the first has decoded is kept. */
static void test_charset_without_process(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    static const char text[] = "From: a@b\nContent-Type: text/plain; charset*0=koi; charset*1=8-r\n\n\xd4";
    struct error error = {.text = ""};
    struct message *message = message_of(text, sizeof(text) - 1);
    struct decoding *decoding = decoding_start(message, RECORD_TEXT, &error);

    (void)state;
    no_process = true;
    check_result(decoding_result(decoding));
    no_process = false;
    check_error(decoding, "could not be started again");
    assert_string_equal(decoding_result(decoding)->from, "a@b");
    assert_false(decoding_must_be_retried(decoding));
    decoding_free(&decoding);
    message_free(&message);
}

static void handle(int number)
{
    shared->handled = number;
}

int main(void)
{
    must_end_soon();
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    signal(SIGTERM, handle);
    signal(SIGXCPU, handle);
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_kept_dies),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_not_waited_for),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_freed),
        cmocka_unit_test(test_parent_killed),
        cmocka_unit_test(test_surroundings),
        cmocka_unit_test(test_no_process),
        cmocka_unit_test(test_confined),
        cmocka_unit_test(test_confined_ends),
        cmocka_unit_test(test_filtered),
        cmocka_unit_test(test_charset_without_process),
        cmocka_unit_test(test_charsets),
    };
    return cmocka_run_group_tests_name("decoding", tests, NULL, NULL);
}
