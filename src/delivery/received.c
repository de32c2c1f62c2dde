/* SPDX-License-Identifier: ISC */
#include "delivery/received.h"

#include <string.h>

/* The word after the mark, up to one of the stops, which must be there. */
static char *word_after(const struct message *message, const char *mark, const char *stops)
{
    char *received OD_CLEANUP(base_free) = message_header(message, "Received", NULL);
    const char *at = received != NULL ? strstr(received, mark) : NULL;
    if (at == NULL)
        return NULL;
    at += strlen(mark);
    size_t length = strcspn(at, stops);
    return at[length] != '\0' && length > 0 ? base_strndup(at, length) : NULL;
}

char *received_login(const struct message *message)
{
    return word_after(message, "(Authenticated sender: ", ")");
}

char *received_queue_id(const struct message *message)
{
    char *id = word_after(message, " id ", " \t;\r\n");
    if (id != NULL && strspn(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != strlen(id))
        base_free(&id);
    return id;
}
