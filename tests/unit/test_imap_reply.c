/* SPDX-License-Identifier: ISC
 *
 * Responses of IMAP servers, including broken ones. */

#include "message_fixture.h"

#include "imap/imap_internal.h"

/* The response in memory of exactly its size, so that checkers detect every read beyond it. */
struct line {
    char *bytes;
    struct imap_reply reply;
};

static void free_line(struct line *line)
{
    free(line->bytes);
}

static struct line parse_bytes(const char *bytes, size_t size)
{
    struct line line = {.bytes = base_alloc(size + 1)};
    memcpy(line.bytes, bytes, size);
    imap_reply_parse(line.bytes, size, "A7", &line.reply);
    return line;
}

static struct line parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

static void responses_are_told_apart(void **state)
{
    static const struct {
        const char *line;
        enum reply_kind kind;
        enum reply_status status;
        const char *code;
        const char *text;
    } cases[] = {
        {"A7 OK done", REPLY_TAGGED, STATUS_OK, "", "done"},
        {"A7 ok", REPLY_TAGGED, STATUS_OK, "", ""},
        {"A7 NO [TRYCREATE] no such mailbox", REPLY_TAGGED, STATUS_NO, "TRYCREATE", "no such mailbox"},
        {"A7 no [overquota]", REPLY_TAGGED, STATUS_NO, "OVERQUOTA", ""},
        {"A7 BAD what?", REPLY_TAGGED, STATUS_BAD, "", "what?"},
        {"A7 NO [UNFINISHED x", REPLY_TAGGED, STATUS_NO, "", "[UNFINISHED x"},
        {"A7 NO []x", REPLY_TAGGED, STATUS_NO, "", "x"},
        {"A7 NO [ABCDEFGHIJKLMNOPQRSTUVWXYZ] x", REPLY_TAGGED, STATUS_NO, "ABCDEFGHIJKLMNOPQRSTUVW", "x"},
        {"A7 MAYBE", REPLY_GARBAGE, STATUS_NONE, "", "MAYBE"},
        {"A7 BYE x", REPLY_GARBAGE, STATUS_BYE, "", "x"},
        {"A7 PREAUTH x", REPLY_GARBAGE, STATUS_PREAUTH, "", "x"},
        {"A7", REPLY_GARBAGE, STATUS_NONE, "", "A7"},
        {"A71 OK done", REPLY_GARBAGE, STATUS_NONE, "", "A71 OK done"},
        {"a7 OK done", REPLY_GARBAGE, STATUS_NONE, "", "a7 OK done"},
        {"", REPLY_GARBAGE, STATUS_NONE, "", ""},
        {"*", REPLY_GARBAGE, STATUS_NONE, "", "*"},
        {"+", REPLY_CONTINUE, STATUS_NONE, "", ""},
        {"+ OK", REPLY_CONTINUE, STATUS_NONE, "", "OK"},
        {"+OK POP3", REPLY_GARBAGE, STATUS_NONE, "", "+OK POP3"},
        {"* OK [ALERT] hi", REPLY_UNTAGGED, STATUS_OK, "ALERT", "hi"},
        {"* PREAUTH hi", REPLY_UNTAGGED, STATUS_PREAUTH, "", "hi"},
        {"* BYE bye", REPLY_UNTAGGED, STATUS_BYE, "", "bye"},
        {"* 5 EXISTS", REPLY_UNTAGGED, STATUS_NONE, "", "5 EXISTS"},
        {"* OKAY", REPLY_UNTAGGED, STATUS_NONE, "", "OKAY"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct line line OD_CLEANUP(free_line) = parse(cases[i].line);
        assert_int_equal(line.reply.kind, cases[i].kind);
        assert_int_equal(line.reply.status, cases[i].status);
        assert_string_equal(line.reply.code, cases[i].code);
        assert_string_equal(line.reply.text, cases[i].text);
    }
}

static void no_tag_matches_no_line(void **state)
{
    struct imap_reply reply;
    char line[] = " OK x";
    (void)state;
    imap_reply_parse(line, strlen(line), "", &reply);
    assert_int_equal(reply.kind, REPLY_GARBAGE);
}

static void literals_are_announced_at_the_end(void **state)
{
    static const struct {
        const char *line;
        bool is_literal;
        size_t size;
        size_t start;
    } cases[] = {
        {"* 1 FETCH (BODY[] {123}", true, 123, 18},
        {"{0}", true, 0, 0},
        {"~{7}", true, 7, 1},
        {"{999999999999999}", true, SIZE_MAX < 999999999999999 ? SIZE_MAX : (size_t)999999999999999, 0},
        {"{1234567890123456}", false, 0, 0},
        {"{}", false, 0, 0},
        {"12}", false, 0, 0},
        {"{12} ", false, 0, 0},
        {"{123", false, 0, 0},
        {"x{}", false, 0, 0},
        {"{-1}", false, 0, 0},
        {"{1a}", false, 0, 0},
        {"}", false, 0, 0},
        {"", false, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        size_t size = 0, start = 0;
        assert_int_equal(imap_token_literal(cases[i].line, strlen(cases[i].line), &size, &start), cases[i].is_literal);
        assert_int_equal(size, cases[i].size);
        assert_int_equal(start, cases[i].start);
    }
}

static void capabilities_are_words(void **state)
{
    (void)state;
    assert_true(imap_reply_has_word("IMAP4rev1 SASL-IR auth=plain", "AUTH=PLAIN"));
    assert_true(imap_reply_has_word("  SASL-IR  ", "SASL-IR"));
    assert_false(imap_reply_has_word("AUTH=PLAINTEXT", "AUTH=PLAIN"));
    assert_false(imap_reply_has_word("XSASL-IR", "SASL-IR"));
    assert_false(imap_reply_has_word("", "SASL-IR"));
}

static void appenduid(void **state)
{
    static const struct {
        const char *line;
        uint32_t uidvalidity; /* 1: absent */
        uint32_t uid;
    } cases[] = {
        {"A7 OK [APPENDUID 38505 3955] done", 38505, 3955},
        {"A7 OK [appenduid 4294967295 4294967295]", 4294967295, 4294967295},
        {"A7 OK [APPENDUID 4294967296 1] x", 1, 1},
        {"A7 OK [APPENDUID 2 18446744073709551619] x", 1, 1},
        {"A7 OK [APPENDUID 5] x", 1, 1},
        {"A7 OK [APPENDUID 5 ] x", 1, 1},
        {"A7 OK [APPENDUID 5 6:7] x", 1, 1},
        {"A7 OK [APPENDUID] x", 1, 1},
        {"A7 OK [APPENDUID 5 6", 1, 1},
        {"A7 OK [UIDNEXT 5] x", 1, 1},
        {"A7 OK [COPYUID 5 6] x", 1, 1},
        {"A7 OK [APPENDUID 5,6] x", 1, 1},
        {"A7 OK APPENDUID 5 6", 1, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct line line OD_CLEANUP(free_line) = parse(cases[i].line);
        uint32_t uidvalidity = 1, uid = 1;
        assert_int_equal(imap_reply_appenduid(&line.reply, &uidvalidity, &uid), cases[i].uidvalidity != 1);
        assert_int_equal(uidvalidity, cases[i].uidvalidity);
        assert_int_equal(uid, cases[i].uid);
    }
}

static void examine_tells_size_and_validity(void **state)
{
    uint32_t number = 1;
    struct line validity OD_CLEANUP(free_line) = parse("* OK [UIDVALIDITY 77] x");
    struct line other OD_CLEANUP(free_line) = parse("* OK [UIDNEXT 78] x");
    struct line exists OD_CLEANUP(free_line) = parse("* 23 EXISTS");
    struct line recent OD_CLEANUP(free_line) = parse("* 24 RECENT");
    struct line none OD_CLEANUP(free_line) = parse("* EXISTS");
    (void)state;
    assert_true(imap_reply_code_number(&validity.reply, "UIDVALIDITY", &number));
    assert_int_equal(number, 77);
    assert_false(imap_reply_code_number(&other.reply, "UIDVALIDITY", &number));
    assert_true(imap_reply_exists(&exists.reply, &number));
    assert_int_equal(number, 23);
    assert_false(imap_reply_exists(&recent.reply, &number));
    assert_false(imap_reply_exists(&none.reply, &number));
    assert_int_equal(number, 23);
}

static void search_results_add_up(void **state)
{
    uint32_t *uids = NULL;
    size_t count = 0;
    struct line first OD_CLEANUP(free_line) = parse("* SEARCH 2 3  4294967295 ");
    struct line empty OD_CLEANUP(free_line) = parse("* search");
    struct line second OD_CLEANUP(free_line) = parse("* SEARCH 9 8 7 6 5 4");
    struct line damaged OD_CLEANUP(free_line) = parse("* SEARCH 1 x");
    struct line large OD_CLEANUP(free_line) = parse("* SEARCH 4294967296");
    struct line other OD_CLEANUP(free_line) = parse("* SEARCH5");
    (void)state;
    assert_true(imap_reply_search(&first.reply, &uids, &count));
    assert_true(imap_reply_search(&empty.reply, &uids, &count));
    assert_true(imap_reply_search(&second.reply, &uids, &count));
    assert_int_equal(count, 9);
    assert_int_equal(uids[2], 4294967295);
    assert_int_equal(uids[8], 4);
    assert_false(imap_reply_search(&damaged.reply, &uids, &count));
    assert_false(imap_reply_search(&large.reply, &uids, &count));
    assert_false(imap_reply_search(&other.reply, &uids, &count));
    free(uids);
}

static void lists(void **state)
{
    static const struct {
        const char *line;
        const char *name; /* NULL: not a list */
        bool sent;
        bool selectable;
    } cases[] = {
        {"* LIST (\\HasNoChildren \\Sent) \"/\" \"Sent Items\"", "Sent Items", true, true},
        {"* LIST (\\sent \\NoSelect) \"/\" Sent", "Sent", true, false},
        {"* list (\\nonexistent) NIL INBOX", "INBOX", false, false},
        {"* LIST (\\Noselect \\Sent \\Marked) NIL x", "x", true, false},
        {"* LIST () \"\\\\\" \"a\\\"b\\\\c\"", "a\"b\\c", false, true},
        {"* LIST () \".\" {5}\r\n{1}\r\n", "{1}\r\n", false, true},
        {"* LIST () \".\" {9}\r\nshort", NULL, false, false},
        {"* LIST () \".\" {1}x\nb", NULL, false, false},
        {"* LIST () \".\" \"open", NULL, false, false},
        {"* LIST (\\Sent \".\" x", NULL, false, false},
        {"* LIST (\\Sent \".\" \"/\" x", NULL, false, false},
        {"* LIST ((x)) \".\" x", NULL, false, false},
        {"* LIST () \".\"", NULL, false, false},
        {"* LIST", NULL, false, false},
        {"* LSUB () \".\" x", NULL, false, false},
        {"* OK LIST () \".\" x", NULL, false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct line line OD_CLEANUP(free_line) = parse(cases[i].line);
        struct reply_list list = {.name = NULL};
        assert_int_equal(imap_reply_list(&line.reply, &list), cases[i].name != NULL);
        if (cases[i].name == NULL)
            continue;
        assert_int_equal(list.name_size, strlen(cases[i].name));
        assert_memory_equal(list.name, cases[i].name, list.name_size);
        assert_int_equal(list.sent, cases[i].sent);
        assert_int_equal(list.selectable, cases[i].selectable);
    }
}

static void fetches(void **state)
{
    static const struct {
        const char *line;
        size_t size;
        bool is_fetch;
        uint32_t uid;
        const char *body; /* NULL: absent */
        size_t body_size;
    } cases[] = {
        {BYTES("* 3 FETCH (UID 7 BODY[] {5}\r\na\0)\r\n)"), true, 7, BYTES("a\0)\r\n")},
        {BYTES("* 3 FETCH (BODY[HEADER.FIELDS (MESSAGE-ID)] {2}\r\nxy UID 8)"), true, 8, BYTES("xy")},
        {BYTES("* 3 fetch (FLAGS (\\Seen (x)) body[] \"q\\\"\" UID 9)"), true, 9, BYTES("q\"")},
        {BYTES("* 3 FETCH (UID 7 BODY[] NIL)"), true, 7, NULL, 0},
        {BYTES("* 3 FETCH (UID 7 BODY (\"text\" NIL) RFC822.SIZE 5)"), true, 7, NULL, 0},
        {BYTES("* 3 FETCH ()"), true, 0, NULL, 0},
        {BYTES("* 3 FETCH (UID 7 BODY[] {9}\r\nshort)"), false, 0, NULL, 0},
        {BYTES("* 3 FETCH (UID 7 BODY[] {99999}\r\n)"), false, 0, NULL, 0},
        {BYTES("* 3 FETCH (UID seven)"), false, 0, NULL, 0},
        {BYTES("* 3 FETCH (UID 7"), false, 0, NULL, 0},
        {BYTES("* 3 FETCH (UID 7 BODY[ x"), false, 0, NULL, 0},
        {BYTES("* 3 FETCH (UID)"), false, 0, NULL, 0},
        {BYTES("* 3 FETCH (X) ()"), false, 0, NULL, 0},
        {BYTES("* 3 FETCH (UID \"7\")"), false, 0, NULL, 0},
        {BYTES("* 3 FETCH (UID 7 BODYSTRUCTURE NIL)"), true, 7, NULL, 0},
        {BYTES("* 3 FETCH (FLAGS (\\Seen)"), false, 0, NULL, 0},
        {BYTES("* 3 EXPUNGE"), false, 0, NULL, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct line line OD_CLEANUP(free_line) = parse_bytes(cases[i].line, cases[i].size);
        struct reply_fetch fetch = {.uid = 0};
        assert_int_equal(imap_reply_fetch(&line.reply, &fetch), cases[i].is_fetch);
        assert_int_equal(fetch.uid, cases[i].uid);
        assert_int_equal(fetch.body != NULL, cases[i].body != NULL);
        assert_int_equal(fetch.body_size, cases[i].body_size);
        if (fetch.body_size > 0)
            assert_memory_equal(fetch.body, cases[i].body, fetch.body_size);
    }
}

/* Every prefix of a response, and random bytes: nothing is read beyond the end. */
static void any_bytes_are_survived(void **state)
{
    static const char alphabet[] =
        "* + A7 OK NO [APPENDUID 1 2] LIST FETCH SEARCH (\"\\){1}~\r\n\0NIL BODY[] UID 5 EXISTS";
    uint32_t random = 1;
    (void)state;
    for (int round = 0; round < rounds(200000); round++) {
        char bytes[48] = "* 3 FETCH (UID 7 BODY[] {5}\r\n";
        size_t size = (size_t)round % sizeof(bytes);
        for (size_t i = round % 2 != 0 ? 0 : 10; i < size; i++) {
            random = random * 1103515245 + 12345;
            bytes[i] = alphabet[(random >> 16) % sizeof(alphabet)];
        }
        struct line line OD_CLEANUP(free_line) = parse_bytes(bytes, size);
        struct reply_list list;
        struct reply_fetch fetch;
        uint32_t a, b, *uids = NULL;
        size_t count = 0, literal, start;
        (void)!imap_token_literal(line.bytes, size, &literal, &start);
        (void)!imap_reply_appenduid(&line.reply, &a, &b);
        (void)!imap_reply_exists(&line.reply, &a);
        (void)!imap_reply_search(&line.reply, &uids, &count);
        free(uids);
        if (imap_reply_fetch(&line.reply, &fetch) && fetch.body != NULL)
            assert_true(fetch.body >= line.bytes && fetch.body + fetch.body_size <= line.bytes + size);
        if (imap_reply_list(&line.reply, &list))
            assert_true(list.name >= line.bytes && list.name + list.name_size <= line.bytes + size);
    }
}

static void record_namespace(void *context, const struct reply_namespace *namespace)
{
    char *told = context;
    size_t used = strlen(told);
    snprintf(told + used, 200 - used, "%s%.*s|%c;", namespace->personal ? "own " : "", (int)namespace->prefix_size,
             namespace->prefix, namespace->separator != '\0' ? namespace->separator : '-');
}

static void namespaces_are_read(void **state)
{
    static const struct {
        const char *line;
        bool whole;
        const char *told;
    } cases[] = {
        {"* NAMESPACE ((\"\" \"/\")) NIL NIL", true, "own |/;"},
        {"* NAMESPACE ((\"INBOX.\" \".\")) ((\"user.\" \".\")) ((\"\" \".\"))", true, "own INBOX.|.;user.|.;|.;"},
        {"* namespace ((\"a\" \"/\")(\"b\" nil)) nil ((\"c\" \"\\\\\"))", true, "own a|/;own b|-;c|\\;"},
        {"* NAMESPACE ((\"INBOX.\" \".\" \"X-P\" (\"a\" \"b\"))) NIL NIL", true, "own INBOX.|.;"},
        {"* NAMESPACE NIL NIL NIL", true, ""},
        {"* NAMESPACE () NIL NIL", true, ""},
        {"* NAMESPACE ((\"a\" \"/\")) NIL", false, "own a|/;"},
        {"* NAMESPACE ((\"a\"", false, ""},
        {"* NAMESPACE ((a \"/\")) NIL NIL", false, ""},
        {"* NAMESPACE", false, ""},
        {"* LIST () \"/\" INBOX", false, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char told[200] = "";
        struct line line OD_CLEANUP(free_line) = parse(cases[i].line);
        assert_int_equal(imap_reply_namespaces(&line.reply, record_namespace, told), cases[i].whole);
        assert_string_equal(told, cases[i].told);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(responses_are_told_apart),
        cmocka_unit_test(no_tag_matches_no_line),
        cmocka_unit_test(literals_are_announced_at_the_end),
        cmocka_unit_test(capabilities_are_words),
        cmocka_unit_test(appenduid),
        cmocka_unit_test(examine_tells_size_and_validity),
        cmocka_unit_test(search_results_add_up),
        cmocka_unit_test(lists),
        cmocka_unit_test(fetches),
        cmocka_unit_test(any_bytes_are_survived),
        cmocka_unit_test(namespaces_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
