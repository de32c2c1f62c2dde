/* SPDX-License-Identifier: ISC
 *
 * Which refusals of an APPEND may ever return a message, and which are trouble of ours: each code, before and after the
 * literal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mailbox/mailbox_internal.h"

static enum append_result refusal(const char *reply, bool literal_sent)
{
    char line[200];
    struct imap_reply reply_line;
    int length = snprintf(line, sizeof(line), "A1 %s", reply);
    imap_reply_parse(line, (size_t)length, "A1", &reply_line);
    assert_int_equal(reply_line.kind, REPLY_TAGGED);
    return mailbox_refusal(&reply_line, literal_sent);
}

static void what_speaks_of_the_message_or_the_mailbox(void **state)
{
    static const struct {
        const char *reply;
        enum append_result before, after;
    } cases[] = {
        {"NO [TRYCREATE] no such mailbox", APPEND_NO_MAILBOX, APPEND_NO_MAILBOX},
        {"NO [OVERQUOTA] Quota exceeded (mailbox for user is full)", APPEND_OVERQUOTA, APPEND_OVERQUOTA},
        {"NO [OVERQUOTA]", APPEND_OVERQUOTA, APPEND_OVERQUOTA},
        {"no [overquota] Over quota", APPEND_OVERQUOTA, APPEND_OVERQUOTA},
        {"NO [TOOBIG] Message size exceeds fixed limit", APPEND_TOOBIG, APPEND_TOOBIG},
        {"NO [NOPERM] Permission denied", APPEND_NOPERM, APPEND_NOPERM},
        {"NO [LIMIT] Too many identical emails", APPEND_LIMIT, APPEND_LIMIT},
        {"NO Message contains NUL characters", APPEND_UNAVAILABLE, APPEND_REFUSED},
        {"NO Message contains bare newlines", APPEND_UNAVAILABLE, APPEND_REFUSED},
        {"NO Message contains invalid header", APPEND_UNAVAILABLE, APPEND_REFUSED},
        {"NO Message contains non-ASCII characters in headers", APPEND_UNAVAILABLE, APPEND_REFUSED},
        {"NO Message has no header/body separator", APPEND_UNAVAILABLE, APPEND_REFUSED},
        /* may be another user's quota: never returned */
        {"NO [ALERT] You exceeded your mail quota.", APPEND_UNAVAILABLE, APPEND_MAYBE_OVERQUOTA},
        {"NO cannot update quota", APPEND_UNAVAILABLE, APPEND_MAYBE_OVERQUOTA},
        {"NO [OVERQUOTA] Not enough disk quota", APPEND_UNAVAILABLE, APPEND_MAYBE_OVERQUOTA},
        {"NO [OVERQUOTA] Not enough disk space", APPEND_UNAVAILABLE, APPEND_MAYBE_OVERQUOTA},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (refusal(cases[i].reply, false) != cases[i].before || refusal(cases[i].reply, true) != cases[i].after)
            fail_msg("%s: %d, %d", cases[i].reply, refusal(cases[i].reply, false), refusal(cases[i].reply, true));
    }
}

static void everything_else_is_trouble(void **state)
{
    /* clang-format off */
    static const char *const codes[] = {
        "ALERT", "ALREADYEXISTS", "AUTHENTICATIONFAILED", "AUTHORIZATIONFAILED", "BADCHARSET", "BADURL", "CANNOT",
        "CLIENTBUG", "CLOSED", "CONTACTADMIN", "CORRUPTION", "EXPIRED", "EXPUNGEISSUED", "HASCHILDREN", "INUSE",
        "NONEXISTENT", "NOTSAVED", "OVERQUOTAX", "PARSE", "PRIVACYREQUIRED", "READ-ONLY", "SERVERBUG", "TOOBIGGER",
        "UNAVAILABLE", "UNKNOWN-CTE", "USEATTR", "X-MOON",
    };
    /* clang-format on */
    static const char *const texts[] = {
        "NO",
        "NO Internal error",
        "NO invalid message",
        "NO System I/O error",
        "NO Mailbox does not exist",
        "NO mail system storage has been exceeded",
        "NO Cannot scan: Message contains invalid header?",
        "NO [SERVERBUG] Message contains NUL characters",
        "NO [SERVERBUG] cannot read quota",
        "NO [UNAVAILABLE] quota service is down",
        "NO [TOOBIG too big",
        "NO No [TOOBIG]",
        "BAD what?",
        "NO [ALERT] Cannot create message - no write permission or out of disk space.",
        "BAD [OVERQUOTA] full",
        "BAD [TOOBIG] too big",
        "BAD [LIMIT] too many",
        "BAD [TRYCREATE] none",
        "BAD [NOPERM] not you",
        "BAD Message contains invalid header",
        "BAD over quota",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
        char reply[100];
        snprintf(reply, sizeof(reply), "NO [%s] Message contains something too big", codes[i]);
        assert_int_equal(refusal(reply, false), APPEND_UNAVAILABLE);
        assert_int_equal(refusal(reply, true), APPEND_ERROR);
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        if (refusal(texts[i], false) != APPEND_UNAVAILABLE || refusal(texts[i], true) != APPEND_ERROR)
            fail_msg("%s: %d, %d", texts[i], refusal(texts[i], false), refusal(texts[i], true));
    }
}

static void what_may_mean_a_missing_mailbox(void **state)
{
    static const struct {
        const char *reply;
        bool maybe_missing, never;
    } rows[] = {
        {"NO no such mailbox", true, false},
        {"BAD no such mailbox", true, false},
        {"NO [TRYCREATE] none", true, false},
        {"NO [NONEXISTENT] none", true, false},
        {"NO System I/O error", true, false},
        {"NO [CANNOT] Invalid mailbox name: Begins with '~'", true, true},
        {"BAD [CANNOT] what?", true, false},
        {"NO Invalid mailbox name.", true, true},
        {"NO Permission denied", true, true},
        {"NO Client tried to access nonexistent namespace. (Mailbox name should ...)", true, true},
        {"BAD Permission denied", true, false},
        {"NO [NOPERM] not you", false, true},
        {"NO [SERVERBUG] Permission denied", false, false},
        {"NO [UNAVAILABLE] later", false, false},
        {"NO [OVERQUOTA] full", false, false},
        {"NO [INUSE] later", false, false},
        {"NO [CONTACTADMIN] broken", false, false},
        {"NO [ALERT] Cannot create message - no write permission or out of disk space.", false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char line[200];
        struct imap_reply reply_line;
        snprintf(line, sizeof(line), "A1 %s", rows[i].reply);
        imap_reply_parse(line, strlen(line), "A1", &reply_line);
        if (mailbox_refusal_maybe_missing(&reply_line) != rows[i].maybe_missing ||
            mailbox_refusal_is_permanent(&reply_line) != rows[i].never)
            fail_msg("%s", rows[i].reply);
    }
}

/* The connection was lost, or the server is unresponsive. */
static void no_reply_is_no_refusal(void **state)
{
    const struct imap_reply reply_line = imap_reply_none();
    (void)state;
    assert_string_equal(reply_line.code, "");
    assert_string_equal(reply_line.text, "");
    assert_string_equal(reply_line.data, "");
    assert_false(mailbox_refusal_is_permanent(&reply_line));
    assert_false(mailbox_refusal_maybe_missing(&reply_line));
    assert_int_equal(mailbox_refusal(&reply_line, false), APPEND_UNAVAILABLE);
    assert_int_equal(mailbox_refusal(&reply_line, true), APPEND_ERROR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_speaks_of_the_message_or_the_mailbox),
        cmocka_unit_test(everything_else_is_trouble),
        cmocka_unit_test(what_may_mean_a_missing_mailbox),
        cmocka_unit_test(no_reply_is_no_refusal),
    };
    return cmocka_run_group_tests_name("mailbox_refusal", tests, NULL, NULL);
}
