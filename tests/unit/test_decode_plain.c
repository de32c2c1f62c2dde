/* SPDX-License-Identifier: ISC
 *
 * What is decoded without a child: what is plain, and that gmime makes the same of it. */
#include "message_fixture.h"

#include <glib.h>

#include "../decoded_same.h"
#include "decode/decode_internal.h"

#define HEAD "From: Lisa Doe <lisa@mail.example>\nTo: scuba@mail.example\nSubject: hello\n"

static const struct {
    const char *label, *text;
    bool is_plain;
} cases[] = {
    {"a letter", HEAD "Date: Wed, 25 Nov 2026 10:00:00 +0100\nMessage-ID: <1@mail.example>\n\nHello.\n", true},
    {"no body", HEAD, true},
    {"an empty body", HEAD "\n", true},
    {"no fields but one", "X: y\n\nHello.\n", true},
    {"empty values", "From:\nTo: \nSubject:\nCc:\n\nHello.\n", true},
    {"continued", "Subject: a\n b\nReferences: <1@x.example>\n\t<2@x.example>\nIn-Reply-To: <2@x.example>\n\nHello.\n",
     true},
    {"a domain in capitals", "From: Lisa@Mail.EXAMPLE\n\nHello.\n", true},
    {"brackets alone", "From: <lisa@mail.example>\n\nHello.\n", true},
    {"a name in quotes",
     "To: \"Doe, J. (x)\" <j@mail.example>,\"Lisa\" <lisa@mail.example>,  k@mail.example\n\nHello.\n", true},
    {"signs in a local part", "From: a.b-c+d_e=f/g@mail.example\n\nHello.\n", true},
    {"two authors", "From: a@mail.example, B <b@mail.example>\n\nHello.\n", true},
    {"two fields From", "From: a@mail.example\nSubject: one\nFrom: b@mail.example\nSubject: two\n\nHello.\n", true},
    {"two fields of a name", "To: a@mail.example\nTo: b@mail.example\n\nHello.\n", true},
    {"a comment", "From: lisa@mail.example (Lisa)\n\nHello.\n", true},
    {"a group", "To: undisclosed-recipients:;\n\nHello.\n", true},
    {"a route", "From: <@a.example:lisa@mail.example>\n\nHello.\n", true},
    {"a quoted local part", "From: \"lisa\"@mail.example\n\nHello.\n", true},
    {"dots", "From: lisa..doe@mail.example\n\nHello.\n", true},
    {"no domain", "From: lisa\n\nHello.\n", true},
    {"a comma too many", "To: lisa@mail.example,\n\nHello.\n", true},
    {"two addresses without a comma", "To: a@mail.example b@mail.example\n\nHello.\n", true},
    {"a type", HEAD "Content-Type: text/plain\n\nHello.\n", true},
    {"a character set", HEAD "Content-Type: Text/Plain; Charset=\"US-ASCII\" ; format=flowed;delsp=yes\n\nHello.\n",
     true},
    {"an encoding", HEAD "Content-Transfer-Encoding: 7BIT\n\nHello.\n", true},

    {"UTF-8 in the body", HEAD "\nH\xc3\xa9llo.\n", false},
    {"UTF-8 in the header", "Subject: H\xc3\xa9llo\n\nHello.\n", false},
    {"an escape in the body", HEAD "\n\x1b$B\x1b(B\n", false},
    {"a CR in a line", HEAD "\nHello.\rHello.\n", false},
    {"a line that is no field", HEAD "no field\n\nHello.\n", false},
    {"a first line that is no field", "no field\n\nHello.\n", false},
    {"a tab in the subject", "Subject: a\tb\n\nHello.\n", false},
    {"an encoded word", "Subject: =?utf-8?q?H=C3=A9llo?=\n\nHello.\n", false},
    {"an encoded name", "From: =?utf-8?q?H=C3=A9llo?= <lisa@mail.example>\n\nHello.\n", false},
    {"an encoded name in quotes", "From: \"=?utf-8?q?H=C3=A9llo?=\" <lisa@mail.example>\n\nHello.\n", false},
    {"a tab in a name in quotes", "From: \"Lisa\tDoe\" <lisa@mail.example>\n\nHello.\n", false},
    {"a quoted pair", "From: \"Li\\sa\" <lisa@mail.example>\n\nHello.\n", false},
    {"a comment with a quoted pair", "From: lisa@mail.example (Li\\)sa)\n\nHello.\n", false},
    {"an encoded name in a comment", "From: lisa@mail.example (=?utf-8?q?H=C3=A9llo?=)\n\nHello.\n", false},
    {"an encoded group", "To: =?utf-8?q?H=C3=A9llo?=: lisa@mail.example;\n\nHello.\n", false},
    {"a group with a dot", "To: the board, inc.: lisa@mail.example;\n\nHello.\n", false},
    {"a dot in a name", "From: J. Doe <j@mail.example>\n\nHello.\n", false},
    {"a domain of other letters", "From: lisa@xn--bcher-kva.example\n\nHello.\n", false},
    {"another type", HEAD "Content-Type: text/html\n\nHello.\n", false},
    {"several parts", HEAD "Content-Type: multipart/mixed; boundary=x\n\n--x\n\nHello.\n--x--\n", false},
    {"a type that begins alike", HEAD "Content-Type: text/plainer\n\nHello.\n", false},
    {"a character set that hides characters in ASCII", HEAD "Content-Type: text/plain; charset=utf-7\n\n+AOk-\n",
     false},
    {"two character sets", HEAD "Content-Type: text/plain; charset=utf-8; charset=utf-8\n\nHello.\n", false},
    {"a file's name", HEAD "Content-Type: text/plain; name=x\n\nHello.\n", false},
    {"a disposition", HEAD "Content-Disposition: attachment; filename=x\n\nHello.\n", false},
    {"base64", HEAD "Content-Transfer-Encoding: base64\n\nSGVsbG8=\n", false},
};

static void test_plain(void **state)
{
    static const enum record_level levels[] = {RECORD_ENVELOPE, RECORD_HEADERS, RECORD_TEXT, RECORD_RAW};
    (void)state;

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct message *message = message_of(cases[i].text, strlen(cases[i].text));
        for (size_t j = 0; j < G_N_ELEMENTS(levels); j++) {
            struct decoded *plain = decode_plain(message, levels[j]);
            struct decoded *decoded = decode_message(message, levels[j], NULL, NULL);
            if (levels[j] == RECORD_TEXT && (plain != NULL) != cases[i].is_plain)
                fail_msg("%s: %s", cases[i].label, plain != NULL ? "plain" : "not plain");
            if (plain != NULL && !same_decoded(plain, decoded))
                fail_msg("%s: gmime reads something else", cases[i].label);
            decoded_free(&plain);
            decoded_free(&decoded);
        }
        message_free(&message);
    }
}

/* What is too long for it is left to the child. */
static void test_limits(void **state)
{
    (void)state;

    for (size_t size = 65400; size < 65600; size += 199) {
        GString *text = g_string_new("Subject: hello\n\n");
        while (text->len < size)
            g_string_append_c(text, 'x');
        struct message *message = message_of(text->str, text->len);
        struct decoded *plain = decode_plain(message, RECORD_TEXT);
        assert_int_equal(plain != NULL, message->size <= 65536);
        decoded_free(&plain);
        message_free(&message);
        g_string_free(text, TRUE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
