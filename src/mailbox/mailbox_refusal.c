/* SPDX-License-Identifier: ISC
 *
 * The meaning of a refused APPEND or CREATE. This file lists what certainly refers to this message or this mailbox. Any other
 * refusal is trouble of the server's: a full disk, an upgrade or a lock is no reason to return mail. */
#include "mailbox/mailbox_refusal.h"

#include <string.h>

static const struct {
    const char *code;
    enum append_result result;
} codes[] = {
    {"TRYCREATE", APPEND_NO_MAILBOX}, {"OVERQUOTA", APPEND_OVERQUOTA}, {"TOOBIG", APPEND_TOOBIG},
    {"NOPERM", APPEND_NOPERM},        {"LIMIT", APPEND_LIMIT},
};

/* Cyrus checks messages, but has no response codes for what it finds. */
static const char *const content_texts[] = {
    "Message contains NUL characters",      "Message contains bare newlines",
    "Message contains invalid header",      "Message contains non-ASCII characters in headers",
    "Message has no header/body separator",
};

static bool speaks_of_content(const struct imap_reply *reply)
{
    for (size_t i = 0; i < sizeof(content_texts) / sizeof(*content_texts); i++) {
        if (reply->code[0] == '\0' && strcasecmp(reply->text, content_texts[i]) == 0)
            return true;
    }
    return false;
}

/* A quota that may not be this mailbox's. Courier has no code for it ("[ALERT] You exceeded your mail quota."), and
 * says the same if it cannot count. Dovecot's OVERQUOTA with "Not enough disk quota" means the file system's quota,
 * which others may have used up. */
static bool speaks_of_some_quota(const struct imap_reply *reply)
{
    if (strcmp(reply->code, "OVERQUOTA") == 0)
        return strcasestr(reply->text, "disk") != NULL;
    return (reply->code[0] == '\0' || strcmp(reply->code, "ALERT") == 0) && strcasestr(reply->text, "quota") != NULL;
}

enum append_result mailbox_refusal(const struct imap_reply *reply, bool literal_sent)
{
    enum append_result unknown = literal_sent ? APPEND_TROUBLE : APPEND_UNAVAILABLE;
    if (reply->status != STATUS_NO)
        return unknown;
    if (speaks_of_some_quota(reply))
        return literal_sent ? APPEND_PERHAPS_OVERQUOTA : APPEND_UNAVAILABLE;
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
        if (strcmp(reply->code, codes[i].code) == 0)
            return codes[i].result;
    }
    return literal_sent && speaks_of_content(reply) ? APPEND_REFUSED : unknown;
}

/* Dovecot says CANNOT of a name that it does not accept. */
bool mailbox_refusal_perhaps_missing(const struct imap_reply *reply)
{
    static const char *const missing[] = {"", "TRYCREATE", "NONEXISTENT", "CANNOT"};
    if (reply->kind != REPLY_TAGGED) /* it was not refused: there is no answer */
        return false;
    for (size_t i = 0; i < sizeof(missing) / sizeof(*missing); i++) {
        if (strcmp(reply->code, missing[i]) == 0)
            return true;
    }
    return false;
}

/* What certainly refers to the name, or to our rights; any other refusal is trouble of the server's, such as a full disk. */
static const char *const never_codes[] = {"CANNOT", "NOPERM"}; /* RFC 5530 */

/* Without a code: Cyrus and Courier; Cyrus; Dovecot. */
static const char *const never_texts[] = {"Invalid mailbox name", "Permission denied",
                                          "Client tried to access nonexistent namespace"};

bool mailbox_refusal_is_never(const struct imap_reply *reply)
{
    bool is = false;
    if (reply->status != STATUS_NO)
        return false;
    for (size_t i = 0; i < sizeof(never_codes) / sizeof(*never_codes); i++)
        is |= strcmp(reply->code, never_codes[i]) == 0;
    for (size_t i = 0; i < sizeof(never_texts) / sizeof(*never_texts); i++)
        is |= reply->code[0] == '\0' && strncasecmp(reply->text, never_texts[i], strlen(never_texts[i])) == 0;
    return is;
}
