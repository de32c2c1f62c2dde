/* SPDX-License-Identifier: ISC */
#include "base/log_internal.h"

static const struct log_field_row rows[LOG_FIELD_NAMES] = {
    [LOG_FIELD_MESSAGE_ID] = {"message-id", LOG_ENCLOSED, false},
    [LOG_FIELD_TO] = {"to", LOG_ENCLOSED, false},
    [LOG_FIELD_FROM] = {"from", LOG_ENCLOSED, false},
    [LOG_FIELD_ACCOUNT] = {"account", LOG_WORD, false},
    [LOG_FIELD_MAILBOX] = {"mailbox", LOG_WORD, true}, /* "stored uid=17 mailbox=INBOX" */
    [LOG_FIELD_UID] = {"uid", LOG_NUMBER, true},       /* the same */
    [LOG_FIELD_SIZE] = {"size", LOG_NUMBER, false},
    [LOG_FIELD_DELAY] = {"delay", LOG_NUMBER, false},
    [LOG_FIELD_DELAYS] = {"delays", LOG_WORD, false},
    [LOG_FIELD_DSN] = {"dsn", LOG_WORD, false},
    [LOG_FIELD_STATUS] = {"status", LOG_WORD, false},
    [LOG_FIELD_ORIG_TO] = {"orig_to", LOG_ENCLOSED, false},
    [LOG_FIELD_RELAY] = {"relay", LOG_WORD, false},
};

const struct log_field_row *log_field_row(enum log_field_name name)
{
    return &rows[name];
}
