/* SPDX-License-Identifier: ISC
 *
 * Lists refusals that certainly concern this message or mailbox. Others are temporary failures (full disk, upgrade,
 * lock), and no reason to bounce. */
#include "mailbox/mailbox_internal.h"

#include <string.h>

static const struct {
    const char *code;
    enum append_result result;
} results[] = {
    {"TRYCREATE", APPEND_NO_MAILBOX}, {"OVERQUOTA", APPEND_OVERQUOTA}, {"TOOBIG", APPEND_TOOBIG},
    {"NOPERM", APPEND_NOPERM},        {"LIMIT", APPEND_LIMIT},
};

/* Cyrus has no response codes for these. */
static bool speaks_of_content(const struct imap_reply *reply)
{
    static const char *const texts[] = {
        "Message contains NUL characters",      "Message contains bare newlines",
        "Message contains invalid header",      "Message contains non-ASCII characters in headers",
        "Message has no header/body separator",
    };
    bool speaks = false;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        speaks |= reply->code[0] == '\0' && strcasecmp(reply->text, texts[i]) == 0;
    return speaks;
}

/* The quota may not be this mailbox's. Courier says "[ALERT] You exceeded your mail quota." also if it cannot count.
 * Dovecot's "Not enough disk quota" is the file system's, which others may fill. */
static bool speaks_of_some_quota(const struct imap_reply *reply)
{
    if (strcmp(reply->code, "OVERQUOTA") == 0)
        return strcasestr(reply->text, "disk") != NULL;
    return (reply->code[0] == '\0' || strcmp(reply->code, "ALERT") == 0) && strcasestr(reply->text, "quota") != NULL;
}

enum append_result mailbox_refusal(const struct imap_reply *reply, bool literal_sent)
{
    enum append_result unknown = literal_sent ? APPEND_ERROR : APPEND_UNAVAILABLE;
    if (reply->status != STATUS_NO)
        return unknown;
    if (speaks_of_some_quota(reply))
        return literal_sent ? APPEND_MAYBE_OVERQUOTA : APPEND_UNAVAILABLE;
    for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++) {
        if (strcmp(reply->code, results[i].code) == 0)
            return results[i].result;
    }
    return literal_sent && speaks_of_content(reply) ? APPEND_REFUSED : unknown;
}

/* CANNOT: Dovecot, for an invalid name. */
bool mailbox_refusal_maybe_missing(const struct imap_reply *reply)
{
    static const char *const codes[] = {"", "TRYCREATE", "NONEXISTENT", "CANNOT", NULL};
    return reply->kind == REPLY_TAGGED && g_strv_contains(codes, reply->code);
}

/* Without a code: Cyrus and Courier; Cyrus; Dovecot. */
static const char *const permanent_texts[] = {"Invalid mailbox name", "Permission denied",
                                              "Client tried to access nonexistent namespace"};

bool mailbox_refusal_is_permanent(const struct imap_reply *reply)
{
    bool is = strcmp(reply->code, "CANNOT") == 0 || strcmp(reply->code, "NOPERM") == 0; /* RFC 5530 */
    for (size_t i = 0; i < sizeof(permanent_texts) / sizeof(*permanent_texts); i++)
        is |= reply->code[0] == '\0' && strncasecmp(reply->text, permanent_texts[i], strlen(permanent_texts[i])) == 0;
    return is && reply->status == STATUS_NO;
}
