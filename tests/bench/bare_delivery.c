/* SPDX-License-Identifier: ISC
 *
 * The least that keeps oncedrop's promise with a ledger in a file. It shows what of a delivery's time belongs to SQLite, to
 * IMAP and to the disk. It writes the same rows in two durable transactions. Between them is an APPEND, whose last byte
 * waits for the first COMMIT. It decodes, locks, searches and verifies nothing, and ends with the first error.
 *
 *     bare_delivery lmtp LEDGER PORT MASTER PASSWORD SOCKET WORKERS    keeps IMAP sessions
 *     bare_delivery hand-over ACCOUNT SOCKET                           gives a message from standard input to that
 *     bare_delivery deliver LEDGER PORT MASTER PASSWORD ACCOUNT        delivers one by itself */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE_MAX 1000000
#define SESSIONS 64
#define LOG_PAGES 150       /* before a checkpoint, as in src/sqlite/lite_batch.c */
#define LOG_PAGES_KEPT 1000 /* by a session that is reused */

struct stream {
    int fd;
    size_t size; /* of what was read and not taken yet */
    char bytes[MESSAGE_MAX];
};

struct session {
    char account[256];
    struct stream stream;
};

enum statement {
    BEGIN,
    STATE,
    MESSAGE,
    ADDRESS,
    PART,
    DELIVERY,
    ATTEMPT,
    COPY,
    COPY_STORED,
    DELIVERY_STORED,
    ATTEMPT_STORED,
    COMMIT,
    STATEMENTS
};

/* One line each, in that order. */
static const char *const texts[STATEMENTS] = {
    "BEGIN IMMEDIATE",
    "SELECT id FROM message WHERE identity = ?",
    "INSERT INTO message (identity, digest, lock_key, message_id, sender, \"from\", subject, date, size, received_at)"
    " VALUES (?1, ?1, ?2, ?3, ?4, '', 'Message', 0, ?5, ?6)",
    "INSERT INTO address (message, role, position, address) VALUES (?1, ?2, 1, ?3)",
    "INSERT INTO part (message, path, type, size, sha256, text) VALUES (?1, '1', 'text/plain', ?2, ?3, ?4)",
    "INSERT INTO delivery (message, recipient, account, mailbox, host, outcome, first_at, last_at)"
    " VALUES (?1, ?2, ?2, 'INBOX', 'host', 'claimed', ?3, ?3)",
    "INSERT INTO attempt (delivery, claim, started_at, host, pid, outcome, read_ms, lock_ms, database_ms, imap_ms)"
    " VALUES (?1, ?2, ?3, 'host', ?4, 'claimed', 0, 0, 0, 0)",
    "INSERT INTO copy (message, account, mailbox, role, state, claimed_at, claim, claimed_by, host, pid, first_at, boot,"
    " boot_us, host_us) VALUES (?1, ?2, 'INBOX', 'inbox', 'appending', ?3, ?4, ?5, 'host', ?6, ?3, ?4, ?3, 0)",
    "UPDATE copy SET state = 'stored', stored_at = ?2, uidvalidity = ?3, uid = ?4 WHERE id = ?1",
    "UPDATE delivery SET outcome = 'stored', reason = 'stored uid=1 mailbox=INBOX', last_at = ?2, finished_at = ?2,"
    " complete = 1 WHERE id = ?1",
    "UPDATE attempt SET outcome = 'stored', reason = 'stored uid=1 mailbox=INBOX', ended_at = ?3 WHERE delivery = ?1"
    " AND claim = ?2",
    "COMMIT",
};

enum word { LEDGER = 2, PORT, MASTER, PASSWORD };

static sqlite3 *ledger;
static sqlite3_stmt *statements[STATEMENTS];
static int log_pages, log_pages_max = LOG_PAGES;
static struct session *sessions[SESSIONS];

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* Values by type: i int64_t, t text, h 32 bytes; s the size and start of a text. Returns the new row's id. */
static int64_t run(enum statement number, const char *types, ...)
{
    sqlite3_stmt *statement = statements[number];
    va_list values;
    va_start(values, types);
    for (int at = 1; types[at - 1] != '\0'; at++) {
        if (types[at - 1] == 'i') {
            sqlite3_bind_int64(statement, at, va_arg(values, int64_t));
        } else if (types[at - 1] == 't') {
            sqlite3_bind_text(statement, at, va_arg(values, const char *), -1, SQLITE_STATIC);
        } else if (types[at - 1] == 'h') {
            sqlite3_bind_blob(statement, at, va_arg(values, const char *), 32, SQLITE_STATIC);
        } else {
            int size = va_arg(values, int);
            sqlite3_bind_text(statement, at, va_arg(values, const char *), size, SQLITE_STATIC);
        }
    }
    va_end(values);
    int rc = sqlite3_step(statement);
    if ((rc != SQLITE_DONE && rc != SQLITE_ROW) || sqlite3_reset(statement) != SQLITE_OK)
        errx(1, "%s: %s", texts[number], sqlite3_errmsg(ledger));
    return sqlite3_last_insert_rowid(ledger);
}

static int note_log(void *unused, sqlite3 *db, const char *name, int pages)
{
    (void)unused, (void)db, (void)name;
    log_pages = pages;
    return SQLITE_OK;
}

static void commit(void)
{
    run(COMMIT, "");
    if (log_pages > log_pages_max)
        sqlite3_wal_checkpoint_v2(ledger, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

static void open_ledger(const char *path)
{
    if (sqlite3_open_v2(path, &ledger, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite3_busy_timeout(ledger, 60000) != SQLITE_OK ||
        sqlite3_exec(ledger, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON", NULL, NULL, NULL) != SQLITE_OK)
        errx(1, "%s: %s", path, sqlite3_errmsg(ledger));
    sqlite3_wal_hook(ledger, note_log, NULL);
    for (int i = 0; i < STATEMENTS; i++)
        if (sqlite3_prepare_v3(ledger, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &statements[i], NULL) != SQLITE_OK)
            errx(1, "%s: %s", texts[i], sqlite3_errmsg(ledger));
}

static void send_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = write(fd, bytes, size);
        if (sent < 0)
            err(1, "write");
        bytes += sent;
        size -= (size_t)sent;
    }
}

/* Returns false at the end. */
static bool read_more(struct stream *stream)
{
    ssize_t size = read(stream->fd, stream->bytes + stream->size, sizeof(stream->bytes) - stream->size);
    if (size < 0)
        err(1, "read");
    stream->size += (size_t)size;
    return size > 0;
}

/* Reads up to and with `end`. Returns the size; 0: there is no more. */
static size_t read_to(struct stream *stream, const char *end)
{
    char *found;
    while ((found = memmem(stream->bytes, stream->size, end, strlen(end))) == NULL)
        if (!read_more(stream))
            return 0;
    return (size_t)(found - stream->bytes) + strlen(end);
}

static void drop(struct stream *stream, size_t size)
{
    stream->size -= size;
    memmove(stream->bytes, stream->bytes + size, stream->size);
}

/* Reads lines up to the one that starts with `start`, and copies that. */
static void expect(struct stream *stream, const char *start, char *ret, size_t room)
{
    for (;;) {
        size_t size = read_to(stream, "\r\n");
        bool good = size > 0 && strncmp(stream->bytes, start, strlen(start)) == 0;
        if (!good && (size == 0 || stream->bytes[0] != '*'))
            errx(1, "\"%.*s\" instead of \"%s\"", (int)size, stream->bytes, start);
        snprintf(ret, room, "%.*s", (int)size, stream->bytes);
        drop(stream, size);
        if (good)
            return;
    }
}

static void base64(const unsigned char *in, size_t size, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        uint32_t bits = (uint32_t)in[i] << 16 | (i + 1 < size ? (uint32_t)in[i + 1] << 8 : 0) |
                        (i + 2 < size ? in[i + 2] : 0);
        for (int j = 0; j < 4; j++)
            *out++ = i + (size_t)j > size ? '=' : digits[bits >> (18 - 6 * j) & 63];
    }
    *out = '\0';
}

static struct session *log_in(const char *account, char **words)
{
    unsigned char plain[512];
    char encoded[1024], line[2048];
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(words[PORT])),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct session *session = calloc(1, sizeof(*session));
    int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    if (session == NULL || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        err(1, "IMAP");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    session->stream.fd = fd;
    snprintf(session->account, sizeof(session->account), "%s", account);
    expect(&session->stream, "* OK", line, sizeof(line));
    int size = snprintf((char *)plain, sizeof(plain), "%s%c%s%c%s", account, 0, words[MASTER], 0, words[PASSWORD]);
    base64(plain, (size_t)size, encoded);
    size = snprintf(line, sizeof(line), "a AUTHENTICATE PLAIN %s\r\n", encoded);
    send_all(fd, line, (size_t)size);
    expect(&session->stream, "a OK", line, sizeof(line));
    return session;
}

static struct session *session_of(const char *account, char **words)
{
    size_t i = 0;
    while (i < SESSIONS && sessions[i] != NULL && strcmp(sessions[i]->account, account) != 0)
        i++;
    if (i == SESSIONS)
        errx(1, "more than %d accounts", SESSIONS);
    if (sessions[i] == NULL)
        sessions[i] = log_in(account, words);
    return sessions[i];
}

static void deliver(const char *message, size_t size, const char *account, char **words)
{
    static int64_t count;
    char hash[32] = "", line[2048];
    int64_t claim, row, delivery, copy;
    unsigned validity, uid;
    struct session *session = session_of(account, words);
    const char *text = memmem(message, size, "\r\n\r\n", 4) + 4;
    sqlite3_randomness(sizeof(hash), hash);
    memcpy(&claim, hash, sizeof(claim));
    snprintf(line, sizeof(line), "%d.%lld@bare.example", (int)getpid(), (long long)++count);

    char command[64];
    int length = snprintf(command, sizeof(command), "b APPEND INBOX {%zu+}\r\n", size);
    send_all(session->stream.fd, command, (size_t)length);
    send_all(session->stream.fd, message, size - 1);

    run(BEGIN, "");
    run(STATE, "h", hash);
    row = run(MESSAGE, "hittii", hash, claim, line, "lisa@elsewhere.example", (int64_t)size, now());
    run(ADDRESS, "itt", row, "from", "lisa@elsewhere.example");
    run(ADDRESS, "itt", row, "to", account);
    run(PART, "iihs", row, (int64_t)size, hash, (int)(message + size - text), text);
    delivery = run(DELIVERY, "iti", row, account, now());
    run(ATTEMPT, "iiii", delivery, claim, now(), (int64_t)getpid());
    copy = run(COPY, "itiiii", row, account, now(), claim, delivery, (int64_t)getpid());
    commit();

    send_all(session->stream.fd, "\n\r\n", 3);
    expect(&session->stream, "b OK", line, sizeof(line));
    if (sscanf(line, "b OK [APPENDUID %u %u]", &validity, &uid) != 2)
        errx(1, "no APPENDUID: %s", line);

    run(BEGIN, "");
    run(COPY_STORED, "iiii", copy, now(), (int64_t)validity, (int64_t)uid);
    run(DELIVERY_STORED, "ii", delivery, now());
    run(ATTEMPT_STORED, "iii", delivery, claim, now());
    commit();
}

static void answer(const struct stream *stream, const char *text)
{
    send_all(stream->fd, text, strlen(text));
}

/* Removes the dots that were added, and the last line. Returns the message's size. */
static size_t unstuff(char *bytes, size_t size)
{
    char *dot = bytes, *end = bytes + size - 3;
    while ((dot = memmem(dot, (size_t)(end - dot), "\r\n.", 3)) != NULL) {
        memmove(dot + 2, dot + 3, (size_t)(end - dot) - 3);
        end--;
        dot += 2;
    }
    return (size_t)(end - bytes);
}

static void serve(int fd, char **words)
{
    static struct stream stream;
    char account[256] = "";
    size_t size;
    stream.fd = fd;
    stream.size = 0;
    answer(&stream, "220 bare\r\n");
    while ((size = read_to(&stream, "\r\n")) > 0) {
        bool data = strncmp(stream.bytes, "DATA", 4) == 0, quit = strncmp(stream.bytes, "QUIT", 4) == 0;
        (void)sscanf(stream.bytes, "RCPT TO:<%255[^>]>", account);
        drop(&stream, size);
        answer(&stream, data ? "354 go on\r\n" : quit ? "221 bye\r\n" : "250 yes\r\n");
        if (quit)
            break;
        if (!data)
            continue;
        if ((size = read_to(&stream, "\r\n.\r\n")) == 0)
            errx(1, "LMTP: no end");
        static char message[MESSAGE_MAX];
        memcpy(message, stream.bytes, size);
        drop(&stream, size);
        deliver(message, unstuff(message, size), account, words);
        answer(&stream, "250 stored\r\n");
    }
    close(fd);
}

static void run_workers(const char *path, int workers, char **words)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    int listening = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listening, (struct sockaddr *)&address, sizeof(address)) < 0 || chmod(path, 0666) < 0 ||
        listen(listening, 100) < 0)
        err(1, "%s", path);
    log_pages_max = LOG_PAGES_KEPT;
    for (int i = 0; i < workers; i++)
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            open_ledger(words[LEDGER]);
            for (;;)
                serve(accept(listening, NULL, NULL), words);
        }
    while (wait(NULL) > 0)
        continue;
}

/* With CRLF. Returns its size. */
static size_t read_message(char *ret)
{
    static struct stream in;
    size_t size = 0;
    while (read_more(&in))
        continue;
    for (size_t i = 0; i < in.size; i++) {
        if (in.bytes[i] == '\n')
            ret[size++] = '\r';
        ret[size++] = in.bytes[i];
    }
    return size;
}

static void hand_over(const char *message, size_t size, const char *account, const char *path)
{
    static struct stream stream;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char line[1024];
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    stream.fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(stream.fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        err(1, "%s", path);
    int length = snprintf(line, sizeof(line), "RCPT TO:<%s>\r\nDATA\r\n", account);
    send_all(stream.fd, line, (size_t)length);
    send_all(stream.fd, message, size);
    send_all(stream.fd, ".\r\n", 3);
    expect(&stream, "220", line, sizeof(line));
    expect(&stream, "250", line, sizeof(line));
    expect(&stream, "354", line, sizeof(line));
    expect(&stream, "250 stored", line, sizeof(line));
}

int main(int count, char **words)
{
    static char message[2 * MESSAGE_MAX];
    const char *way = count > 1 ? words[1] : "";
    if (count == 8 && strcmp(way, "lmtp") == 0) {
        run_workers(words[6], atoi(words[7]), words);
        return 1;
    }
    if (count == 4 && strcmp(way, "hand-over") == 0) {
        hand_over(message, read_message(message), words[2], words[3]);
    } else if (count == 7 && strcmp(way, "deliver") == 0) {
        open_ledger(words[LEDGER]);
        deliver(message, read_message(message), words[6], words);
        sqlite3_db_config(ledger, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    } else {
        errx(64, "unknown command");
    }
    return 0;
}
