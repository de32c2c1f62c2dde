/* SPDX-License-Identifier: ISC
 *
 * Small messages need no file, which saves a third of the system calls. */
#include "front/front_internal.h"

#include <errno.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <unistd.h>

static unsigned char buffer[FRONT_MESSAGE_SMALL];

/* Like read(2), but waits if the shared descriptor is non-blocking. */
static ssize_t read_input(void *bytes, size_t size)
{
    for (;;) {
        ssize_t n = read(STDIN_FILENO, bytes, size);
        if (n >= 0 || (errno != EINTR && errno != EAGAIN))
            return n;
        struct pollfd readable = {.fd = STDIN_FILENO, .events = POLLIN};
        if (errno == EAGAIN)
            (void)poll(&readable, 1, -1); /* the next read reports errors */
    }
}

static bool use_memory(struct front_message *message, struct error *error)
{
    message->fd = tempfile_memory();
    if (message->fd >= 0 && base_write(message->fd, message->bytes, message->size))
        return true;
    return error_set(error, "cannot keep the message in memory: %m");
}

static bool use_file(struct front_message *message, struct error *error)
{
    int memory OD_CLEANUP(base_close) = message->fd;
    off_t at = 0;
    message->fd = tempfile_open();
    if (message->fd < 0)
        return tempfile_error(error, "make a", errno);
    while ((size_t)at < message->size)
        if (sendfile(message->fd, memory, &at, message->size - (size_t)at) <= 0)
            return tempfile_error(error, "write the", errno);
    return true;
}

/* Appends the buffer, beyond a small message. */
static bool keep_more(struct front_message *message, size_t n, struct error *error)
{
    bool in_file = message->size >= FRONT_MESSAGE_FILE;
    if (message->fd < 0 && !use_memory(message, error))
        return false;
    if (!in_file && message->size + n >= FRONT_MESSAGE_FILE && !use_file(message, error))
        return false;
    if (!base_write(message->fd, buffer, n))
        return tempfile_error(error, "write the", errno);
    message->size += n;
    return true;
}

/* Fills the buffer; returns the last result of read(2). */
static ssize_t read_small(struct front_message *message)
{
    ssize_t n = 1;
    while (n > 0 && message->size < sizeof(buffer)) {
        n = read_input(buffer + message->size, sizeof(buffer) - message->size);
        message->size += n > 0 ? (size_t)n : 0;
    }
    return n;
}

enum front_read front_message_read(struct front_message *ret, struct error *error)
{
    *ret = (struct front_message){.fd = -1, .bytes = buffer};
    ssize_t n = read_small(ret);
    if (n > 0 && !use_memory(ret, error))
        return FRONT_READ_ERROR;
    while (n > 0) {
        n = read_input(buffer, sizeof(buffer));
        if (n > 0 && !keep_more(ret, (size_t)n, error))
            return FRONT_READ_ERROR;
    }
    if (n == 0)
        return FRONT_READ_OK;
    error_set(error, "cannot read the message: %m");
    return ret->size == 0 ? FRONT_READ_NOTHING : FRONT_READ_ERROR;
}

bool front_message_restore(struct front_message *message, struct error *error)
{
    if (message->fd < 0 && !use_memory(message, error))
        return false;
    if (lseek(message->fd, 0, SEEK_SET) == 0 && dup2(message->fd, STDIN_FILENO) == STDIN_FILENO)
        return true;
    return error_set(error, "cannot read the message again: %m");
}
