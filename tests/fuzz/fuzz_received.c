/* SPDX-License-Identifier: ISC
 *
 * The login and the queue id in the topmost Received field. A reference first removes what a client could
 * have chosen, comments and quoted strings, and searches the rest with a regular expression. */
#include "fuzz.h"

#include <glib.h>

#include "../message_bytes.h"
#include "delivery/received.h"

#define COMMENT "\001"       /* stands for a comment */
#define BROKEN '\002'        /* for all behind one that does not end */
#define BROKEN_STRING '\003' /* for all behind a quoted string that does not end: the word is broken, too */
#define BLANK "[ \t\r\n]"
#define WORD "[^ \t\r\n;()\001\002\003]+"

/* The end of the comment or quoted string at `at`, one behind its last character; NULL: it has none. */
static const char *closed(const char *at)
{
    int depth = 0;
    bool string = *at == '"';

    for (; *at; at++) {
        if (*at == '\\' && at[1])
            at++;
        else if (string ? *at == '"' && depth++ > 0 : *at == ')' && --depth == 0)
            return at + 1;
        else
            depth += !string && *at == '(';
    }
    return NULL;
}

/* The field without its comments, which are added to the array, and without what stands in quotes. */
static char *skeleton(const char *field, GPtrArray *comments)
{
    GString *out = g_string_new(NULL);

    for (const char *at = field; *at;) {
        const char *end = *at == '(' || *at == '"' ? closed(at) : at + 1;

        if (end == NULL) {
            g_string_append_c(out, *at == '(' ? BROKEN : BROKEN_STRING);
            break;
        }
        if (*at == '(')
            g_ptr_array_add(comments, g_strndup(at + 1, (gsize)(end - at - 2)));
        g_string_append_c(out, *at == '(' ? *COMMENT : *at == '"' ? '&' : *at > 0 && *at <= BROKEN_STRING ? '?' : *at);
        at = end;
    }
    return g_string_free(out, FALSE);
}

/* The comment before "by", when the field has the form that Postfix gives it for a client that logged in. */
static const char *reference_login(const char *bones, const GPtrArray *comments)
{
    static const char mark[] = "Authenticated sender: ";
    static GRegex *form;
    GMatchInfo *match;
    const char *comment = NULL;

    if (form == NULL)
        form = g_regex_new("^" BLANK "*from" BLANK "+" WORD BLANK "*((?:" COMMENT BLANK "*)+)by" BLANK "+" WORD BLANK
                           "*" COMMENT BLANK "*with" BLANK "+(?:ESMTPS?A|UTF8SMTPS?A)" BLANK "+id" BLANK
                           "+[0-9A-Za-z]+(?:" BLANK "+for" BLANK "+" WORD ")?" BLANK "*;",
                           G_REGEX_CASELESS | G_REGEX_RAW, 0, NULL);
    if (g_regex_match(form, bones, 0, &match)) {
        char *before = g_match_info_fetch(match, 1);
        guint count = 0;

        for (const char *at = before; *at; at++)
            count += *at == *COMMENT;
        comment = comments->pdata[count - 1];
        g_free(before);
    }
    g_match_info_free(match);
    if (comment == NULL || !g_str_has_prefix(comment, mark) || comment[strlen(mark)] == '\0')
        return NULL;
    for (const char *at = comment += strlen(mark); *at; at++)
        if (*at <= ' ' || *at > '~' || strchr("()\\?", *at) != NULL)
            return NULL;
    return comment;
}

/* Whether the word stands behind the keyword "id", with nothing but blanks and comments between them. */
static bool has_id(const char *bones, const char *id)
{
    static const char blanks[] = " \t\r\n" COMMENT, between[] = " \t\r\n;()\001\002";

    for (const char *at = bones; (at = strstr(at, id)) != NULL; at++) {
        const char *before = at;

        while (before > bones && strchr(blanks, before[-1]) != NULL)
            before--;
        if (before < at && before - bones >= 2 && strncasecmp(before - 2, "id", 2) == 0 &&
            strchr(between, at[strlen(id)]) != NULL && (before - bones == 2 || strchr(between, before[-3]) != NULL))
            return id[strspn(id, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS)] == '\0';
    }
    return false;
}

static void check_field(const struct message *message, const char *field)
{
    char *login OD_CLEANUP(base_free) = received_login(message, NULL);
    int64_t when = 0;
    char *id OD_CLEANUP(base_free) = NULL;
    received_queue(message, &id, &when);
    char *ours OD_CLEANUP(base_free) = received_login(message, id != NULL ? id : "");
    char *other OD_CLEANUP(base_free) = received_login(message, "no-queue-id");
    GPtrArray *comments = g_ptr_array_new_with_free_func(g_free);
    char *bones = skeleton(field, comments);
    const char *expected = reference_login(bones, comments);

    FUZZ_CHECK((login == NULL) == (expected == NULL) && (login == NULL || strcmp(login, expected) == 0));
    FUZZ_CHECK(id == NULL || has_id(bones, id));
    FUZZ_CHECK(ours == NULL || (login != NULL && id != NULL && strcmp(ours, login) == 0));
    FUZZ_CHECK(other == NULL || strstr(field, "no-queue-id") != NULL);
    g_free(bones);
    g_ptr_array_unref(comments);
}

/* The input is the field's value, or a message. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    GString *text = g_string_new(size > 8 && memmem(bytes, size, "Received:", 9) != NULL ? "" : "Received: ");
    struct message *message OD_CLEANUP(message_free) = NULL;
    char *field OD_CLEANUP(base_free) = NULL;
    struct error error;

    g_string_append_len(text, (const char *)bytes, (gssize)size);
    if (message_from_bytes(text->str, text->len, 0, &message, &error) == MESSAGE_OK)
        field = message_header(message, "Received");
    if (field != NULL)
        check_field(message, field);
    g_string_free(text, TRUE);
    return 0;
}
