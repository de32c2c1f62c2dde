/* SPDX-License-Identifier: ISC
 *
 * decode.h: header fields, addresses, and text that must be valid UTF-8. */
#include "message_fixture.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glib.h>

#include "../decoded_same.h"
#include "decode/decode_internal.h"

static struct decoded *decoded_of(const char *bytes, size_t size, enum record_level level)
{
    struct message *message = message_of(bytes, size);
    struct decoded *decoded = decode_message(message, level, NULL, NULL);

    message_free(&message);
    assert_non_null(decoded);
    assert_non_null(decoded->references);
    return decoded;
}

static bool same(const char *one, const char *other)
{
    return one != NULL && other != NULL ? strcmp(one, other) == 0 : one == other;
}

static void test_subject(void **state)
{
    static const struct {
        const char *header;
        const char *subject;
    } cases[] = {
        {"Subject: plain\n", "plain"},
        {"subject:plain\n", "plain"},
        {"X: y\n", NULL},
        {"Subject:\n", NULL},
        {"Subject:  \n", NULL},
        {"Subject: first\nSubject: second\n", "first"},
        {"Subject: folded\n\tonce\n", "folded\tonce"},
        {"Subject: =?utf-8?q?caf=C3=A9?=\n", "caf\u00e9"},
        {"Subject: =?utf-8?b?Y2Fmw6k=?= =?utf-8?q?!?=\n", "caf\u00e9!"},
        {"Subject: =?iso-8859-1?q?caf=E9?= au lait\n", "caf\u00e9 au lait"},
        {"Subject: caf\xc3\xa9\n", "caf\u00e9"},
        {"Subject: caf\xe9\n", "caf\u00e9"},
        {"Subject: \x93quoted\x94\n", "\u201cquoted\u201d"},
        {"Subject: =?utf-8?q?a=00b?=\n", "a?b"},
        {"Subject: =?nonsense?q?abc?=\n", "abc"},
        {"Subject: =?utf-8?q?cut\n", "=?utf-8?q?cut"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct decoded *decoded = decoded_of(cases[i].header, strlen(cases[i].header), RECORD_ENVELOPE);

        if (!same(decoded->subject, cases[i].subject))
            fail_msg("%s: \"%s\"", cases[i].header, decoded->subject != NULL ? decoded->subject : "none");
        decoded_free(&decoded);
        assert_null(decoded);
    }
}

static void test_date(void **state)
{
    static const struct {
        const char *date;
        bool has;
        int64_t seconds;
    } cases[] = {
        {"Thu, 01 Jan 1970 00:00:00 +0000", true, 0},
        {"Fri, 1 Aug 2025 10:00:00 +0200", true, 1754035200},
        {"1 Aug 2025 10:00:00 +0200", true, 1754035200},
        {"Fri, 1 Aug 2025 10:00:00 +0200 (CEST)", true, 1754035200},
        {"Fri,\n 1 Aug 2025\n 10:00:00 +0200", true, 1754035200},
        {"Fri, 1 Aug 2025 08:00 GMT", true, 1754035200},
        {"Fri, 1 Aug 2025 10:00:00 GMT (a) (b\\)c(d))+0200", true, 1754035200},
        {"Friday, 01-Aug-25 08:00:00 GMT", true, 1754035200},
        {"Fri, 1 Aug 25 03:00:00 EST", true, 1754035200},
        {"Fri Aug  1 08:00:00 2025", true, 1754035200},
        {"Fri Aug  1 04:00:00 EDT 2025", true, 1754035200},
        {"Fri Aug 01 2025 10:00:00 GMT+0200", true, 1754035200},
        {"Aug 1, 2025 10:00:00.123 +02:00", true, 1754035200},
        {"2025-08-01T08:00:00Z", true, 1754035200},
        {"2025-08-01 10:00:00 +0200", true, 1754035200},
        {"Fri, 1 Aug 2025 08(comment):   00  :  00 (c(d)) -0600 (e)", true, 1754056800},
        {"Fri (a), 1 (b) Aug (c) 2025 (d) 10 :00: 00.5 +0200", true, 1754035200},
        {"Fri, 1 Aug 2025 08 (: 11", true, 1754006400},
        {"1 Jan 1999 00:00:00 +0000", true, 915148800},
        {"1 Jan 99 00:00:00 +0000", true, 915148800},
        {"1 Jan 099 00:00:00 +0000", true, 915148800},
        {"1 Aug 2025", true, 1754006400},
        {"30 Jun 2015 23:59:60 +0000", true, 1435708799},
        {"Fri, 1 Aug 2025 25:00:00 +0200", false, 0},
        {"Fri, 31 Feb 2025 10:00:00 +0200", false, 0},
        {"Fri, 1 Aug 0000 10:00:00 +0200", false, 0},
        {"(((((1 Aug 2025", false, 0},
        {"Aug 2025", false, 0},
        {"Wed, 31 Dec 1969 23:59:59 +0000", true, -1},
        {"", false, 0},
        {"yesterday", false, 0},
        {"Fri, 99 Aug 2025 10:00:00 +0200", false, 0},
        {"Fri, 1 Aug 99999 10:00:00 +0200", false, 0},
        {"Fri, 31 Dec 9999 23:59:59 -1200", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *header OD_CLEANUP(base_free) =
            base_printf("Date: %s\nDate: 1 Jan 2000 00:00:00 +0000\n\n", cases[i].date);
        struct decoded *decoded = decoded_of(header, strlen(header), RECORD_ENVELOPE);

        if (decoded->has_date != cases[i].has || decoded->date != cases[i].seconds)
            fail_msg("%s: %d %lld", cases[i].date, decoded->has_date, (long long)decoded->date);
        decoded_free(&decoded);
    }
}

static void test_ids(void **state)
{
    static const struct {
        const char *header;
        const char *in_reply_to;
        const char *references[4];
    } cases[] = {
        {"X: y\n", NULL, {NULL}},
        {"In-Reply-To: <a@b>\nReferences: <c@d> <e@f>\n", "a@b", {"c@d", "e@f", NULL}},
        {"In-Reply-To: your mail of <today> <a@b>\n", "today", {NULL}},
        {"In-Reply-To: none\nReferences: none <\n", NULL, {NULL}},
        {"References: <a@b><c@d>,<e@f>\n", NULL, {"a@b", "c@d", "e@f", NULL}},
        {"References: <a@b>\n <c@d>\n\t<e@f>\n", NULL, {"a@b", "c@d", "e@f", NULL}},
        {"References: <a@b@c> <\"x y\"@d>\n", NULL, {"a@b@c", "\"x y\"@d", NULL}},
        {"References: <> > <a@b> <cut\n", NULL, {"a@b", NULL}},
        {"References: <cut <a@b>\n", NULL, {"a@b", NULL}},
        {"References: <a\xff@b>\nReferences: <c@d>\n", NULL, {"a\ufffd@b", NULL}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct decoded *decoded = decoded_of(cases[i].header, strlen(cases[i].header), RECORD_ENVELOPE);
        size_t n = 0;

        if (!same(decoded->in_reply_to, cases[i].in_reply_to))
            fail_msg("%s: in reply to %s", cases[i].header, decoded->in_reply_to);
        for (; cases[i].references[n] != NULL; n++)
            if (!same(decoded->references[n], cases[i].references[n]))
                fail_msg("%s: %zu. %s", cases[i].header, n, decoded->references[n]);
        assert_null(decoded->references[n]);
        decoded_free(&decoded);
    }
}

struct expected_address {
    const char *role;
    int position;
    const char *group, *name, *address;
};

static const struct {
    const char *header;
    const char *from;
    struct expected_address addresses[5];
} address_cases[] = {
    {"From: a@b\n", "a@b", {{"from", 1, NULL, NULL, "a@b"}}},
    {"To: A B <a@b>, c@d\n", NULL, {{"to", 1, NULL, "A B", "a@b"}, {"to", 2, NULL, NULL, "c@d"}}},
    {"Cc: c@c\nFrom: f@f\nBcc: b@b\nSender: s@s\nReply-To: r@r\n",
     "f@f",
     {{"from", 1, NULL, NULL, "f@f"},
      {"sender", 1, NULL, NULL, "s@s"},
      {"reply-to", 1, NULL, NULL, "r@r"},
      {"cc", 1, NULL, NULL, "c@c"},
      {"bcc", 1, NULL, NULL, "b@b"}}},
    {"From: Mixed@Example.ORG\n", "Mixed@example.org", {{"from", 1, NULL, NULL, "Mixed@example.org"}}},
    {"From: a@b, c@d\nFrom: e@f\n", "a@b", {{"from", 1, NULL, NULL, "a@b"}, {"from", 2, NULL, NULL, "c@d"}}},
    {"To: \"B, A\" <a@b>\n", NULL, {{"to", 1, NULL, "B, A", "a@b"}}},
    {"To: \"A \\\"B\\\" C\" <a@b>\n", NULL, {{"to", 1, NULL, "A \"B\" C", "a@b"}}},
    {"To: a@b (a, comment), c@d\n", NULL, {{"to", 1, NULL, "a, comment", "a@b"}, {"to", 2, NULL, NULL, "c@d"}}},
    {"To: =?utf-8?q?J=C3=BCrgen?= <a@b>\n", NULL, {{"to", 1, NULL, "J\u00fcrgen", "a@b"}}},
    {"To: J\xfcrgen <a@b>\n", NULL, {{"to", 1, NULL, "J\u00fcrgen", "a@b"}}},
    {"To: \xc3\xbc@b\n", NULL, {{"to", 1, NULL, NULL, "\u00fc@b"}}},
    {"To: Friends: a@b, C <c@d>;, e@f\n",
     NULL,
     {{"to", 1, "Friends", NULL, "a@b"}, {"to", 2, "Friends", "C", "c@d"}, {"to", 3, NULL, NULL, "e@f"}}},
    {"To: \"My, friends\": a@b;\n", NULL, {{"to", 1, "My, friends", NULL, "a@b"}}},
    {"To: =?utf-8?q?Fr=C3=A4unde?=: a@b;\n", NULL, {{"to", 1, "Fr\u00e4unde", NULL, "a@b"}}},
    {"To: undisclosed-recipients:;\n", NULL, {{NULL, 0, NULL, NULL, NULL}}},
    {"To: a: b@c\n", NULL, {{"to", 1, "a", NULL, "b@c"}}},
    {"To: a: b: c@d;, e@f;\n", NULL, {{"to", 1, "b", NULL, "c@d"}, {"to", 2, NULL, NULL, "e@f"}}},
    {"To: a@[IPv6:::1], b@c\n", NULL, {{"to", 1, NULL, NULL, "a@[ipv6:::1]"}, {"to", 2, NULL, NULL, "b@c"}}},
    {"From: root\n", "root", {{"from", 1, NULL, NULL, "root"}}},
    {"From: <>\nTo: ,, <> , a@b ,\n", NULL, {{"to", 1, NULL, NULL, "a@b"}}},
    {"From:\nTo: <a@b\n", NULL, {{"to", 1, NULL, NULL, "a@b"}}},
    {"To:\n a@b,\n c@d\n", NULL, {{"to", 1, NULL, NULL, "a@b"}, {"to", 2, NULL, NULL, "c@d"}}},
};

static void test_addresses(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(address_cases); i++) {
        const char *header = address_cases[i].header;
        struct message *message = message_of(header, strlen(header));
        struct decoded *decoded = decode_message(message, RECORD_HEADERS, NULL, NULL);
        size_t n = 0;

        if (!same(decoded->from, address_cases[i].from))
            fail_msg("%s: from %s", header, decoded->from);
        for (; n < decoded->address_count && n < COUNT(address_cases[i].addresses); n++) {
            const struct decoded_address *got = &decoded->addresses[n];
            const struct expected_address *expected = &address_cases[i].addresses[n];

            if (!same(got->role, expected->role) || got->position != expected->position ||
                !same(got->group, expected->group) || !same(got->name, expected->name) ||
                !same(got->address, expected->address))
                fail_msg("%s: %zu. %s %d [%s] %s <%s>", header, n, got->role, got->position, got->group, got->name,
                         got->address);
        }
        if (n < COUNT(address_cases[i].addresses) && address_cases[i].addresses[n].role != NULL)
            fail_msg("%s: only %zu addresses", header, n);
        assert_int_equal(decoded->address_count, n);
        decoded_free(&decoded);
        message_free(&message);
    }
}

/* Local parts and domains as mail has them: all obsolete syntax (RFC 5322, 4.4), and what MTAs deliver to although it is no
 * syntax. What is recorded, as "group: name <address>". */
static const struct {
    const char *value, *recorded;
} odd_addresses[] = {
    {"s..palmer@y.example", "<s..palmer@y.example>"},
    {"b.@y.example", "<b.@y.example>"},
    {".c@y.example", "<.c@y.example>"},
    {"...@y.example", "<...@y.example>"},
    {".@y.example", "<.@y.example>"},
    {"a...b@y.example", "<a...b@y.example>"},
    {"X <s..palmer@y.example>", "X <s..palmer@y.example>"},
    {"<s..palmer@y.example>", "<s..palmer@y.example>"},
    {"s..palmer@y.example (Sam)", "Sam <s..palmer@y.example>"},
    {"\"Sam\" <b.@y.example>", "Sam <b.@y.example>"},
    {"\"s..palmer\"@y.example", "<\"s..palmer\"@y.example>"},
    {"\"a b\"@y.example", "<\"a b\"@y.example>"},
    {"\"a@b\"@y.example", "<\"a@b\"@y.example>"},
    {"\"a\\\"b\"@y.example", "<\"a\\\"b\"@y.example>"},
    {"\"\"@y.example", "<\"\"@y.example>"},
    {"\"a\".b@y.example", "<\"a\".b@y.example>"},
    {"a.\"b c\".d@y.example", "<a.\"b c\".d@y.example>"},
    {"\"a\" . \"b\"@y.example", "<\"a\".\"b\"@y.example>"},
    {"a . b@y.example", "<a.b@y.example>"},
    {"a(c).(d)b@y.example", "<a.b@y.example>"},
    {"a @ y.example", "<a@y.example>"},
    {"a@ y.example", "<a@y.example>"},
    {"a@y . example", "<a@y.example>"},
    {"(c)a@y.example", "<a@y.example>"},
    {"a@(c)y.example", "<a@y.example>"},
    {"<a(c)@y.example>", "<a@y.example>"},
    {"< a@y.example >", "<a@y.example>"},
    {"\xc3\xbc@y.example", "<\u00fc@y.example>"},
    {"\xfc@y.example", "<\ufffd@y.example>"},
    {"X <\xfc@y.example>", "X <\ufffd@y.example>"},
    {"\xc3\xbc..x@y.example", "<\u00fc..x@y.example>"},
    {"a@b\xc3\xbc"
     "cher.example",
     "<a@b\u00fccher.example>"},
    {"a@b\xfc"
     "cher.example",
     "<a@b\ufffdcher.example>"},
    {"a!b!c", "<a!b!c>"},
    {"a!b@y.example", "<a!b@y.example>"},
    {"a%b@y.example", "<a%b@y.example>"},
    {"<@a.example,@b.example:c@d.example>", "<c@d.example>"},
    {"<@a.example:c@d.example>", "<c@d.example>"},
    {"@a.example:c@d.example", "<c@d.example>"},
    {"a@y.example.", "<a@y.example>"},
    {"a@y..example", "<a@y..example>"},
    {"a@.example", "<a@.example>"},
    {"a@[127.0.0.1]", "<a@[127.0.0.1]>"},
    {"a@[IPv6:::1]", "<a@[ipv6:::1]>"},
    {"a@[bad", "<a@[bad>"},
    {"@y.example", ""},
    {"<@y.example>", ""},
    {"<>", ""},
    {"a@", "<a@>"},
    {"a", "<a>"},
    {"root", "<root>"},
    {"Root User", ""},
    {"Root User <root>", "Root User <root>"},
    {"a@b@c.example", "<a@b@c.example>"},
    {"X <a@b@c.example>", "X <a@b@c.example>"},
    {"/G=Jane/S=Doe/O=x/@y.example", "</G=Jane/S=Doe/O=x/@y.example>"},
    {"X </G=Jane/S=Doe/O=x/ADMD=\"A B\"/@y.example>", "X </G=Jane/S=Doe/O=x/ADMD=\"A B\"/@y.example>"},
    {"a+b@y.example", "<a+b@y.example>"},
    {"'quoted'@y.example", "<'quoted'@y.example>"},
    {"'a@y.example'", "<'a@y.example'>"},
    {"'a' <a@y.example>", "'a' <a@y.example>"},
    {"'Name' a@y.example", "'Name' <a@y.example>"},
    {"CN=Jane Doe/OU=x/O=y@y.example", "<CN=Jane Doe/OU=x/O=y@y.example>"},
    {"CN=Jane/O=y@y.example", "<CN=Jane/O=y@y.example>"},
    {"<CN=Jane Doe/O=y@y.example>", "<CN=Jane Doe/O=y@y.example>"},
    {"a#b@y.example", "<a#b@y.example>"},
    {"a?b@y.example", "<a?b@y.example>"},
    {"a=b@y.example", "<a=b@y.example>"},
    {"a`b@y.example", "<a`b@y.example>"},
    {"a{b}@y.example", "<a{b}@y.example>"},
    {"a~b@y.example", "<a~b@y.example>"},
    {"a|b@y.example", "<a|b@y.example>"},
    {"a$b@y.example", "<a$b@y.example>"},
    {"a*b@y.example", "<a*b@y.example>"},
    {"a&b@y.example", "<a&b@y.example>"},
    {"a^b@y.example", "<a^b@y.example>"},
    {"a;b@y.example", "<a>; <b@y.example>"},
    {"a@y.example;b@y.example", "<a@y.example>; <b@y.example>"},
    {"a@y.example; b@y.example", "<a@y.example>; <b@y.example>"},
    {"\"D, J\" <a@y.example>; X <b@y.example>", "D, J <a@y.example>; X <b@y.example>"},
    {"J. Doe <j@y.example>", "J. Doe <j@y.example>"},
    {"J.D. Doe <j..d@y.example>", "J.D. Doe <j..d@y.example>"},
    {"Doe, Jane <j@y.example>", "<Doe>; Jane <j@y.example>"},
    {"Jane [x] <j@y.example>", "Jane [x] <j@y.example>"},
    {"j@y.example <j@y.example>", "j@y.example <j@y.example>"},
    {"j@y.example <other..x@y.example>", "j@y.example <other..x@y.example>"},
    {"Jane <j@y.example> (x)", "Jane <j@y.example>"},
    {"Jane j@y.example", "Jane <j@y.example>"},
    {"mailto:j@y.example", "mailto: <j@y.example>"},
    {"<mailto:j@y.example>", "<mailto:j@y.example>"},
    {"<j@y.example", "<j@y.example>"},
    {"j@y.example>", "<j@y.example>"},
    {"<<j@y.example>>", "<j@y.example>"},
    {"\"j@y.example\"", "<\"j@y.example\">"},
    {"<\"j@y.example\">", "<\"j@y.example\">"},
    {"\"J\" j..d@y.example", "J <j..d@y.example>"},
    {"a\\b@y.example", "<a\\b@y.example>"},
    {"a\\@b@y.example", "<a\\@b@y.example>"},
    {"a:b@y.example", "a: <b@y.example>"},
    {"a,b@y.example", "<a>; <b@y.example>"},
    {"a b@y.example", "a <b@y.example>"},
    {"<a b@y.example>", "<a b@y.example>"},
    {"X <a b@y.example>", "X <a b@y.example>"},
    {"a..b @y.example", "<a..b@y.example>"},
    {"a@y_z.example", "<a@y_z.example>"},
    {"a@-y.example", "<a@-y.example>"},
    {"a@y.example:25", "<a@y.example:25>"},
    {"=?utf-8?q?a?=@y.example", "<=?utf-8?q?a?=@y.example>"},
    {"=?utf-8?q?J?= <j..d@y.example>", "J <j..d@y.example>"},
    {"=?utf-8?q?J..x=40y.example?=", "<=?utf-8?q?J..x=40y.example?=>"},
    {"a@xn--bcher-kva.example", "<a@b\u00fccher.example>"},
    {"a..b@xn--bcher-kva.example", "<a..b@b\u00fccher.example>"},
    {"A.B.@Y.Example", "<A.B.@y.example>"},
    {"a(x@y.example", "<a(x@y.example>"},
    {"a)b@y.example", "<a)b@y.example>"},
    {"a]b@y.example", "<a]b@y.example>"},
    {"a[b@y.example", "<a[b@y.example>"},
    {"a<b@y.example", "a <b@y.example>"},
    {"a@y.example a..b@y.example", "<a@y.example>; <a..b@y.example>"},
    {"a@y.example b@y.example", "<a@y.example>; <b@y.example>"},
    {"\"x y\" z <a..b@y.example>", "x y z <a..b@y.example>"},
    {"G: a..b@y.example, c.@y.example;", "G: <a..b@y.example>; G: <c.@y.example>"},
    {"\"a..b\" <a..b@y.example>", "a..b <a..b@y.example>"},
    {"a\tb@y.example", "a <b@y.example>"},
    {"a@y.example (c1) (c2)", "c1 <a@y.example>"},
    {"a@y.example.,b@y", "<a@y.example>; <b@y>"},
    {"a@1.2.3.4", "<a@1.2.3.4>"},
    {"a@#123", "<a@#123>"},
    {"*@y.example", "<*@y.example>"},
    {"a.b.@y.example, .c.@y.example", "<a.b.@y.example>; <.c.@y.example>"},
    {"a/b@y.example", "<a/b@y.example>"},
    {"\x01@y.example", "<\001@y.example>"},
    {"a\x01@y.example", "<a\001@y.example>"},
    {"_@y.example", "<_@y.example>"},
    {"-a@y.example", "<-a@y.example>"},
    {"-@y.example", "<-@y.example>"},
    {"a-@y.example", "<a-@y.example>"},
    {"a@y.example\x80", "<a@y.example\ufffd>"},
    {"\"\xfc\"@y.example", "<\"\ufffd\"@y.example>"},
    {"\"a\\\\b\"@y.example", "<\"a\\\\b\"@y.example>"},
    {"X <\"a b\"@y.example>", "X <\"a b\"@y.example>"},
    {"X <@y.example>", ""},
    {"@", ""},
    {"@@", ""},
    {".", ""},
    {"..", ""},
    {"\"\"", ""},
    {"( )", ""},
    {"X <x.>", "X <x.>"},
    {"x..y", "<x..y>"},
    {".x", "<.x>"},
    {"x.", "<x.>"},
    {"<x..y>", "<x..y>"},
    {"%u@y.example", "<%u@y.example>"},
    {"\xe6\x97\xa5..\xe6\x9c\xac@\xe4\xbe\x8b.jp", "<\u65e5..\u672c@\u4f8b.jp>"},
    {"O\"Brien@y.example, b@y.example", "<O\"Brien@y.example>; <b@y.example>"},
    {"<a@y.example, b@y.example", "<a@y.example>; <b@y.example>"},
    {"a@y.example (x, b@y.example", "<a@y.example>; <b@y.example>"},
    {"Fr\xe4unde: a@y.example;", "Fr\u00e4unde: <a@y.example>"},
    {"X <a@y.example>, <@y.example>, b..@y.example", "X <a@y.example>; <b..@y.example>"},
    {"/G=Jane/S=van Doe/@y.example", "</G=Jane/S=van Doe/@y.example>"},
    {"undisclosed-recipients:;", ""},
    {"a@y.example (x) b@y.example", "<a@y.example>; <b@y.example>"},
    {"((((a@y.example", "<((((a@y.example>"},
    {"<a..b@y.example> (Jane)", "Jane <a..b@y.example>"},
};

static GString *recorded_addresses(const struct decoded *decoded, size_t count)
{
    GString *text = g_string_new(NULL);

    for (size_t i = 0; i < count; i++) {
        const struct decoded_address *it = &decoded->addresses[i];

        g_string_append_printf(text, "%s%s%s%s%s<%s>", i > 0 ? "; " : "", it->group != NULL ? it->group : "",
                               it->group != NULL ? ": " : "", it->name != NULL ? it->name : "",
                               it->name != NULL ? " " : "", it->address);
    }
    return text;
}

static void test_odd_addresses(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(odd_addresses); i++) {
        char *header OD_CLEANUP(base_free) = base_printf("From: %s\nTo: x@y.example\n\n", odd_addresses[i].value);
        struct message *message = message_of(header, strlen(header));
        struct decoded *decoded = decode_message(message, RECORD_HEADERS, NULL, NULL);
        struct decoded *plain = decode_plain(message, RECORD_HEADERS);
        const char *author = decoded->address_count > 1 ? decoded->addresses[0].address : NULL;

        assert_string_equal(decoded->addresses[decoded->address_count - 1].address, "x@y.example");
        if (!same(decoded->from, author))
            fail_msg("%s: from %s", odd_addresses[i].value, decoded->from);
        if (plain != NULL && !same_decoded(plain, decoded))
            fail_msg("%s: read as something else without gmime", odd_addresses[i].value);
        GString *text = recorded_addresses(decoded, decoded->address_count - 1);
        if (strcmp(text->str, odd_addresses[i].recorded) != 0)
            fail_msg("%s: %s", odd_addresses[i].value, text->str);
        g_string_free(text, TRUE);
        decoded_free(&plain);
        decoded_free(&decoded);
        message_free(&message);
    }
}

/* Time is in proportion to the size: 1 MiB of each thing that is not closed. */
static void test_addresses_that_do_not_close(void **state)
{
    static const char *const units[] = {"(", "((((((((,", "<", "\"",     "[", "\\",  "()((((((,", "[[[[\\],",
                                        "@", "a@b(",      ".", "\"\\\"", ":", "a@:", "\t"};

    (void)state;
    for (size_t i = 0; i < COUNT(units); i++) {
        for (int closed = 0; closed < 2; closed++) {
            size_t size;
            char *bytes OD_CLEANUP(base_free) = repeated("To: ", units[i], ((size_t)1 << 20) / strlen(units[i]),
                                                         closed ? ")>\"], a@b\n\n" : "\n\n", &size);
            struct decoded *decoded = decoded_of(bytes, size, RECORD_HEADERS);

            decoded_free(&decoded);
        }
    }
}

static void test_limits(void **state)
{
    size_t size;
    char *to OD_CLEANUP(base_free) = repeated("To: ", "a@b,\n ", 100000, "c@d\n\n", &size);
    struct decoded *decoded = decoded_of(to, size, RECORD_TEXT);

    (void)state;
    assert_int_equal(decoded->address_count, 2000);
    decoded_free(&decoded);

    char *references OD_CLEANUP(base_free) = repeated("References: ", "<a@b>\n ", 100000, "\n\n", &size);

    decoded = decoded_of(references, size, RECORD_ENVELOPE);
    for (size_t i = 0; i < 1000; i++)
        assert_string_equal(decoded->references[i], "a@b");
    assert_null(decoded->references[1000]);
    decoded_free(&decoded);

    /* what stands behind the first MiB of a header is not looked at */
    char *header OD_CLEANUP(base_free) =
        repeated("Subject: near\n", "X: 0123456789\n", 100000, "From: far@b\n\n", &size);

    decoded = decoded_of(header, size, RECORD_HEADERS);
    assert_string_equal(decoded->subject, "near");
    assert_null(decoded->from);
    decoded_free(&decoded);
}

static void test_levels(void **state)
{
    static const char bytes[] = "From: a@b\nSubject: s\n\nbody\n";
    struct decoded *envelope = decoded_of(BYTES(bytes), RECORD_ENVELOPE);
    struct decoded *headers = decoded_of(BYTES(bytes), RECORD_HEADERS);
    struct decoded *text = decoded_of(BYTES(bytes), RECORD_TEXT);
    struct decoded *raw = decoded_of(BYTES(bytes), RECORD_RAW);

    (void)state;
    assert_string_equal(envelope->from, "a@b");
    assert_string_equal(envelope->subject, "s");
    assert_int_equal(envelope->address_count, 0);
    assert_int_equal(headers->address_count, 1);
    assert_int_equal(headers->part_count, 0);
    assert_int_equal(text->part_count, 1);
    assert_string_equal(text->parts[0].text, "body\r\n");
    assert_int_equal(raw->part_count, 1);
    decoded_free(&envelope);
    decoded_free(&headers);
    decoded_free(&text);
    decoded_free(&raw);
    decoded_free(&raw);
}

static void test_scrub(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *text;
    } cases[] = {
        {NULL, 0, ""}, /* an empty part has no bytes: for clang's -fsanitize=pointer-overflow */
        {BYTES(""), ""},
        {BYTES("abc"), "abc"},
        {BYTES("\u00e9\u20ac\U0001f600"), "\u00e9\u20ac\U0001f600"},
        {BYTES("a\0b"), "a\ufffdb"},
        {BYTES("\0"), "\ufffd"},
        {BYTES("\xff\xfe"), "\ufffd\ufffd"},
        {BYTES("a\xc3"), "a\ufffd"},
        {BYTES("a\xe2\x82"), "a\ufffd\ufffd"},
        {BYTES("\xc0\x80"), "\ufffd\ufffd"},
        {BYTES("\xed\xa0\x80z"), "\ufffd\ufffd\ufffdz"},
        {BYTES("\xf4\x90\x80\x80"), "\ufffd\ufffd\ufffd\ufffd"},
        {BYTES("\x01\x7f\r\n"), "\x01\x7f\r\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *exact OD_CLEANUP(base_free) = base_alloc(cases[i].size + (cases[i].size == 0));
        char *text OD_CLEANUP(base_free) = NULL;

        if (cases[i].size > 0)
            memcpy(exact, cases[i].bytes, cases[i].size);
        text = g_utf8_make_valid(exact, (gssize)cases[i].size);
        if (strcmp(text, cases[i].text) != 0)
            fail_msg("%zu: %s", i, text);
    }
}

static void test_charsets(void **state)
{
    static const struct {
        const char *label;
        const char *charset;
        const char *bytes;
        size_t size;
        const char *text;
    } cases[] = {
        {"none, ASCII", NULL, BYTES("abc"), "abc"},
        {"none, UTF-8", NULL, BYTES("\u00e9"), "\u00e9"},
        {"none, UTF-8 with NUL", NULL, BYTES("\0\u00e9\0"), "\ufffd\u00e9\ufffd"},
        {"none, not quite UTF-8", NULL, BYTES("\u00e9\xe2\x82"), "\u00c3\u00a9\u00e2\u201a"},
        {"none, 8 bit", NULL, BYTES("\xe9\x80 z"), "\u00e9\u20ac z"},
        {"ASCII, 8 bit", "US-ASCII", BYTES("\xe9"), "\u00e9"},
        {"unknown, UTF-8", "x-nonsense", BYTES("\u00e9"), "\u00e9"},
        {"unknown, 8 bit", "x-nonsense", BYTES("\xe9"), "\u00e9"},
        {"impossible name", "utf-16//IGNORE", BYTES("\u00e9"), "\u00e9"},
        {"path", "../../x", BYTES("\u00e9"), "\u00e9"},
        {"empty name", "", BYTES("\u00e9"), "\u00e9"},
        {"UTF-8", "utf-8", BYTES("\u00e9"), "\u00e9"},
        {"UTF-8 with a bad byte", "UTF-8", BYTES("a\xe9z\u00e9"), "a\ufffdz\u00e9"},
        {"Latin 1 that is Windows", "iso-8859-1", BYTES("\xe9\x93"), "\u00e9\u201c"},
        {"Latin 9", "iso-8859-15", BYTES("\xa4"), "\u20ac"},
        {"Windows, undefined byte", "windows-1252", BYTES("a\x81z"), "a\ufffdz"},
        {"Cyrillic", "koi8-r", BYTES("\xf0\xd2\xc9"), "\u041f\u0440\u0438"},
        {"Japanese", "iso-2022-jp", BYTES("\x1b$B$\"\x1b(B!"), "\u3042!"},
        {"Shift JIS with a bad byte", "shift_jis", BYTES("\x82\xa0\xff!"), "\u3042\ufffd!"},
        {"Shift JIS cut", "shift_jis", BYTES("\x82\xa0\x82"), "\u3042\ufffd"},
        {"UTF-16", "utf-16be", BYTES("\0a\x20\xac\0"), "a\u20ac\ufffd"},
        {"UTF-16 with NUL", "utf-16le", BYTES("\0\0a\0"), "\ufffda"},
        {"nothing", "koi8-r", BYTES(""), ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *text OD_CLEANUP(base_free) =
            decode_to_utf8(cases[i].bytes, cases[i].size, cases[i].charset, DECODE_TEXT_MAX);

        if (strcmp(text, cases[i].text) != 0)
            fail_msg("%s: %s", cases[i].label, text);
    }
}

static void test_cut(void **state)
{
    static const char *const charsets[] = {"utf-8", NULL, "nonsense"};
    static const struct {
        size_t max;
        const char *text;
    } cases[] = {
        {0, ""}, {1, ""}, {2, "\u00e9"}, {3, "\u00e9"}, {4, "\u00e9"}, {5, "\u00e9\u20ac"}, {6, "\u00e9\u20acx"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (size_t c = 0; c < COUNT(charsets); c++) {
            char *text OD_CLEANUP(base_free) = decode_to_utf8(BYTES("\u00e9\u20acx"), charsets[c], cases[i].max);

            assert_string_equal(text, cases[i].text);
        }
        char *converted OD_CLEANUP(base_free) = decode_to_utf8(BYTES("\xe9\x80x"), "windows-1252", cases[i].max);

        assert_string_equal(converted, cases[i].text);
    }
}

/* Replaces gmime's function, to print messages as libraries do on unexpected input. */
static bool talks;

char *g_mime_utils_header_decode_text(GMimeParserOptions *options, const char *text)
{
    static char *(*real)(GMimeParserOptions *, const char *);

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "g_mime_utils_header_decode_text");
    if (talks) {
        g_warning("a library talks");
        g_critical("and talks");
    }
    return real(options, text);
}

/* Messages of libraries must not reach stderr, where Postfix reads our answer. */
static void test_silence(void **state)
{
    char name[] = "/tmp/oncedrop-test.XXXXXX";
    int file OD_CLEANUP(base_close) = mkstemp(name);
    int kept OD_CLEANUP(base_close) = dup(STDERR_FILENO);
    struct decoded *decoded;
    off_t before, after;

    (void)state;
    unlink(name);
    fflush(stderr);
    dup2(file, STDERR_FILENO);
    talks = true;
    decoded = decoded_of(BYTES("Subject: x\n\n"), RECORD_TEXT);
    talks = false;
    fflush(stderr);
    before = lseek(file, 0, SEEK_END);
    /* and the handler is back */
    g_warning("heard again");
    fflush(stderr);
    after = lseek(file, 0, SEEK_END);
    dup2(kept, STDERR_FILENO);
    assert_string_equal(decoded->subject, "x");
    decoded_free(&decoded);
    assert_int_equal(before, 0);
    assert_true(after > 0);
}

int main(void)
{
    must_end_soon();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_subject),       cmocka_unit_test(test_date),
        cmocka_unit_test(test_ids),           cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_odd_addresses), cmocka_unit_test(test_addresses_that_do_not_close),
        cmocka_unit_test(test_limits),        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_scrub),         cmocka_unit_test(test_charsets),
        cmocka_unit_test(test_cut),           cmocka_unit_test(test_silence),
    };
    return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
