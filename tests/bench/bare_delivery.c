/* SPDX-License-Identifier: ISC
 *
 * The least that keeps oncedrop's promise. It shows what of a delivery's time belongs to the database, to IMAP and to the
 * disk. It writes the same rows in two durable transactions (bare_sqlite.c, bare_postgres.c). Between them is an APPEND,
 * whose last byte waits for the first COMMIT. It decodes, searches and verifies nothing, and ends with the first error.
 *
 *     bare_delivery lmtp LEDGER PORT MASTER PASSWORD SOCKET WORKERS        keeps IMAP sessions
 *     bare_delivery hand-over ACCOUNT SOCKET                               gives a message from standard input to that
 *     bare_delivery deliver LEDGER PORT MASTER PASSWORD ACCOUNT            delivers one by itself
 *     bare_delivery replay LEDGER PORT MASTER PASSWORD DIRECTORY WORKERS   delivers files; the first line: Delivered-To */
#include <arpa/inet.h>
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bare_ledger.h"

#define MESSAGE_MAX 1000000
#define SESSIONS 64

struct stream {
    int fd;
    size_t size; /* of what was read and not taken yet */
    char bytes[MESSAGE_MAX];
};

struct session {
    char account[256];
    struct stream stream;
};

enum word { LEDGER = 2, PORT, MASTER, PASSWORD };

static struct session *sessions[SESSIONS];

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

/* Replaces the oldest if there is no room. */
static struct session *session_of(const char *account, char **words)
{
    static size_t next;
    for (size_t i = 0; i < SESSIONS; i++)
        if (sessions[i] != NULL && strcmp(sessions[i]->account, account) == 0)
            return sessions[i];
    struct session **place = &sessions[next++ % SESSIONS];
    if (*place != NULL) {
        close((*place)->stream.fd);
        free(*place);
    }
    return *place = log_in(account, words);
}

static void deliver(const char *message, size_t size, const char *account, char **words)
{
    static int count;
    char id[64], line[2048];
    unsigned validity, uid;
    struct session *session = session_of(account, words);
    const char *text = memmem(message, size, "\r\n\r\n", 4) + 4;
    struct bare_message it = {.message_id = id,
                              .account = account,
                              .text = text,
                              .size = (int64_t)size,
                              .text_size = (int)(message + size - text)};
    if (getrandom(it.hash, sizeof(it.hash), 0) != sizeof(it.hash) || getrandom(&it.claim, sizeof(it.claim), 0) < 0)
        err(1, "getrandom");
    snprintf(id, sizeof(id), "%d.%d@bare.example", (int)getpid(), ++count);

    int length = snprintf(line, sizeof(line), "b APPEND INBOX {%zu+}\r\n", size);
    send_all(session->stream.fd, line, (size_t)length);
    send_all(session->stream.fd, message, size - 1);
    ledger_claim(&it);
    send_all(session->stream.fd, "\n\r\n", 3);
    expect(&session->stream, "b OK", line, sizeof(line));
    if (sscanf(line, "b OK [APPENDUID %u %u]", &validity, &uid) != 2)
        errx(1, "no APPENDUID: %s", line);
    ledger_settle(validity, uid);
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
    for (int i = 0; i < workers; i++)
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            ledger_open(words[LEDGER], 1);
            for (;;)
                serve(accept(listening, NULL, NULL), words);
        }
    while (wait(NULL) > 0)
        continue;
}

/* Reads all of it, with CRLF. Returns its size. */
static size_t read_message(int fd, char *ret)
{
    static struct stream in;
    size_t size = 0;
    in.fd = fd;
    in.size = 0;
    while (read_more(&in))
        continue;
    for (size_t i = 0; i < in.size; i++) {
        if (in.bytes[i] == '\n')
            ret[size++] = '\r';
        ret[size++] = in.bytes[i];
    }
    return size;
}

/* Delivers one file. */
static void replay_file(const char *directory, const char *name, char **words)
{
    static char message[2 * MESSAGE_MAX];
    char path[4096], account[256];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        err(1, "%s", path);
    size_t size = read_message(fd, message);
    close(fd);
    if (sscanf(message, "Delivered-To: %255[^\r]", account) != 1)
        errx(1, "%s: no Delivered-To", path);
    size_t start = (size_t)((char *)memmem(message, size, "\r\n", 2) - message) + 2;
    deliver(message + start, size - start, account, words);
}

/* Each worker delivers every n-th file. */
static void replay(const char *directory, int workers, char **words)
{
    struct dirent **files;
    int status, count = scandir(directory, &files, NULL, alphasort);
    if (count < 0)
        err(1, "%s", directory);
    for (int i = 0; i < workers; i++)
        if (fork() == 0) {
            ledger_open(words[LEDGER], 1);
            for (int file = i; file < count; file += workers)
                if (files[file]->d_name[0] != '.')
                    replay_file(directory, files[file]->d_name, words);
            exit(0);
        }
    while (wait(&status) > 0)
        if (status != 0)
            errx(1, "a worker has failed");
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
        hand_over(message, read_message(0, message), words[2], words[3]);
    } else if (count == 8 && strcmp(way, "replay") == 0) {
        replay(words[6], atoi(words[7]), words);
    } else if (count == 7 && strcmp(way, "deliver") == 0) {
        ledger_open(words[LEDGER], 0);
        deliver(message, read_message(0, message), words[6], words);
        ledger_close();
    } else {
        errx(64, "unknown command");
    }
    return 0;
}
