/* SPDX-License-Identifier: ISC
 *
 * Names as written, as sent, and as looked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "imap/imap_internal.h"
#include "mailbox/mailbox_folder.c"

static void names_are_mapped(void **state)
{
    static const struct {
        const char *told, *name, *mapped;
    } cases[] = {
        {"* NAMESPACE ((\"\" \"/\")) NIL NIL", "a/b", "a/b"},
        {"* NAMESPACE ((\"\" \".\")) NIL NIL", "a/b", "a.b"},
        {"* NAMESPACE ((\"INBOX.\" \".\")) NIL NIL", "Sent", "INBOX.Sent"},
        {"* NAMESPACE ((\"INBOX.\" \".\")) NIL NIL", "inbox/Sent", "inbox.Sent"},
        {"* NAMESPACE ((\"INBOX.\" \".\")) NIL NIL", "INBOX.", "INBOX."},
        {"* NAMESPACE ((\"INBOX.\" \".\")) NIL NIL", "INBO", "INBOX.INBO"},
        {"* NAMESPACE ((\"INBOX.mail.\" \".\")) NIL NIL", "INBOX.MAIL.x", "INBOX.mail.INBOX.MAIL.x"},
        {"* NAMESPACE ((\"INBOX.\" \".\")) ((\"user.\" \".\")) ((\"\" \".\"))", "user/fred", "user.fred"},
        {"* NAMESPACE ((\"INBOX.\" \".\")) ((\"user.\" \".\")) ((\"\" \".\"))", "User/fred", "INBOX.User.fred"},
        {"* NAMESPACE ((\"INBOX.\" \".\")(\"\" \"/\")) NIL NIL", "a/b", "a/b"},
        {"* NAMESPACE NIL NIL ((\"\" \".\"))", "a/b", "a/b"},
        {"* NAMESPACE ((\"\" NIL)) NIL NIL", "a/b", "a/b"},
        {"* OK nothing", "a/b", "a/b"},
        {"* NAMESPACE ((\"INBOX.", "a/b", "a/b"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct mailbox_namespaces namespaces = {.asked = false};
        struct imap_reply reply;
        char *bytes = base_strdup(cases[i].told);
        imap_reply_parse(bytes, strlen(bytes), "A1", &reply);
        record_namespaces(&namespaces, &reply);
        free(bytes); /* nothing of it is kept */
        char *mapped = apply_namespace(&namespaces, cases[i].name);
        assert_string_equal(mapped, cases[i].mapped);
        free(mapped);
        mailbox_namespace_clear(&namespaces);
        mailbox_namespace_clear(&namespaces);
    }
}

static void patterns_match_the_name(void **state)
{
    static const struct {
        const char *name;
        bool ascii;
        const char *pattern;
    } cases[] = {
        {"\"Sent\"", false, "\"Sent\""},
        {"\"50%\"", false, "\"50*\""},
        {"\"{3}\"", false, "\"*3*\""},
        {"\"a\\\"b\\\\c\"", false, "\"a\\\"b\\\\c\""},
        {"\"&2D3eAA-x\"", false, "\"&2D3eAA-x\""},
        {"\"&2D3eAA-x\"", true, "\"*x\""},
        {"\"a&-b\"", true, "\"a&-b\""},
        {"\"a&AOk\"", true, "\"a*\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *pattern = make_pattern(cases[i].name, cases[i].ascii);
        assert_string_equal(pattern, cases[i].pattern);
        free(pattern);
    }
}

static void only_the_name_is_listed(void **state)
{
    static const struct {
        const char *listed, *name;
        bool selectable, is;
    } cases[] = {
        {"Sent", "\"Sent\"", true, true}, {"Sent", "\"Sent\"", false, false}, {"50%", "\"50%\"", true, true},
        {"505", "\"50%\"", true, false},  {"INBOX", "\"Inbox\"", true, true}, {"a{", "\"a|\"", true, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *name = base_strdup(cases[i].listed);
        const struct reply_list list = {.selectable = cases[i].selectable, .name = name, .name_size = strlen(name)};
        assert_int_equal(is_listed(&list, cases[i].name, false), cases[i].is);
        free(name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_mapped),
        cmocka_unit_test(patterns_match_the_name),
        cmocka_unit_test(only_the_name_is_listed),
    };
    return cmocka_run_group_tests_name("mailbox_namespace", tests, NULL, NULL);
}
