/* SPDX-License-Identifier: ISC
 *
 * The texts that are sent to MariaDB: no value can leave its literal. The parts of a conninfo. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mariadb/maria.h"

extern const struct sql_engine mariadb_engine;

static void check_text(const char *text, const struct sql_value *values, const char *expected)
{
    char *sql OD_CLEANUP(base_free) = maria_text(text, values, NULL);
    assert_string_equal(sql, expected);
}

static void test_values(void **state)
{
    const char *texts[] = {"a b", NULL, "c'd"};
    const int64_t numbers[] = {1, -2};
    const struct {
        struct sql_value value;
        const char *expected;
    } cases[] = {
        {SQL_NULL, "f(NULL)"},
        {SQL_TEXT(NULL), "f(NULL)"},
        {SQL_NUMBER(INT64_MIN), "f(-9223372036854775808)"},
        {SQL_BOOL(true), "f(TRUE)"},
        {SQL_BOOL(false), "f(FALSE)"},
        {SQL_BYTES("\0'", 2), "f(X'0027')"},
        {SQL_BYTES("", 0), "f(X'')"},
        {SQL_TEXT(""), "f('')"},
        {SQL_TEXT("lisa+x@example.org"), "f('lisa+x@example.org')"},
        {SQL_TEXT("it's"), "f(_utf8mb4 X'69742773')"},
        {SQL_TEXT("\\"), "f(_utf8mb4 X'5c')"},
        {SQL_TEXT("a;b"), "f(_utf8mb4 X'613b62')"},
        {SQL_TEXT("a\nb"), "f(_utf8mb4 X'610a62')"},
        {SQL_TEXT("\xc3\xa4"), "f(_utf8mb4 X'c3a4')"},
        {SQL_TEXT("\xe4"), "f(_utf8mb4 X'efbfbd')"}, /* U+FFFD */
        {SQL_TEXT_CUT("a\xc3\xa4", 2), "f('a')"},
        {SQL_TEXTS(texts, 3), "f(_utf8mb4 X'5b22612062222c6e756c6c2c22632764225d')"}, /* ["a b",null,"c'd"] */
        {SQL_NUMBERS(numbers, 2), "f('[1,-2]')"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_text("f(\00100)", &cases[i].value, cases[i].expected);
}

/* Every byte but NUL, alone: what stands between quotes is letters, digits and a few signs. */
static void test_no_value_ends_its_literal(void **state)
{
    (void)state;
    for (int byte = 1; byte < 256; byte++) {
        const char text[] = {(char)byte, '\0'};
        const struct sql_value value = SQL_TEXT(text);
        char *sql OD_CLEANUP(base_free) = maria_text("\00100", &value, NULL);
        const char *quoted = strchr(sql, '\'');
        assert_non_null(quoted);
        assert_int_equal(strspn(quoted + 1,
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 @.,:<>()[]+-_/="),
                         strlen(quoted) - 2);
        assert_string_equal(quoted + strlen(quoted) - 1, "'");
    }
}

static void test_lists(void **state)
{
    const char *texts[] = {"a", NULL}, *others[] = {"b", "'"};
    const struct sql_value values[] = {SQL_TEXTS(texts, 2), SQL_TEXTS(others, 2)}, none = SQL_TEXTS(texts, 0);
    (void)state;
    check_text("x IN (\00100) AND", values, "x IN ('a', NULL) AND");
    check_text("x IN (\00100) AND", &none, "x IN (NULL) AND");
    check_text("(VALUES (\00100, \00101)) SELECT", values, "(VALUES ('a', 'b'), (NULL, _utf8mb4 X'27')) SELECT");
    check_text("VALUES (@message, \00100, \00101)", values,
               "VALUES (@message, 'a', 'b'), (@message, NULL, _utf8mb4 X'27')");
    check_text("VALUES (\00100)", &none, "VALUES ()"); /* no step has such a list */
}

static void test_conditions(void **state)
{
    const struct sql_value values[] = {SQL_NULL, SQL_NUMBER(1)};
    (void)state;
    check_text("a\n\00200b = \00100\n\00201c = \00101", values, "a\n\nc = 1");
    check_text("a;\n\00200b = \00100\n\00200c", values, "a");
    assert_int_equal(maria_statements("a"), 1);
    assert_int_equal(maria_statements("a; b;\nc"), 2);
}

/* The site's own statement is one string in another one: it cannot be followed by a second statement. */
static void check_site(const char *text, const char *query, const char *values)
{
    const struct sql_value value = SQL_TEXT("r'@x");
    char *hex OD_CLEANUP(base_free) = base_alloc(2 * strlen(query) + 1);
    base_hex((const unsigned char *)query, strlen(query), hex);
    char *expected OD_CLEANUP(base_free) = base_printf("EXECUTE IMMEDIATE _utf8mb4 X'%s'%s", hex, values);
    char *sql OD_CLEANUP(base_free) = maria_site_text(text, &value);
    assert_string_equal(sql, expected);
}

static void test_site_text(void **state)
{
    (void)state;
    check_site("SELECT 1; DROP TABLE copy", "SELECT 1; DROP TABLE copy", "");
    check_site("SELECT a WHERE b=$1", "SELECT a WHERE b=?", " USING _utf8mb4 X'72274078'");
    check_site("SELECT $1, $1", "SELECT ?, ?", " USING _utf8mb4 X'72274078', _utf8mb4 X'72274078'");
    check_site("SELECT '$1', \"$1\", `$1`, $12", "SELECT '$1', \"$1\", `$1`, $12", "");
    check_site("SELECT 'it''s $1', '\\'$1' /* $1 */ # $1", "SELECT 'it''s $1', '\\'$1' /* $1 */ # $1", "");
    check_site("SELECT 1 -- $1\n, $1", "SELECT 1 -- $1\n, ?", " USING _utf8mb4 X'72274078'");
    check_site("SELECT '$1", "SELECT '$1", "");
}

static void check_prepared(struct sql_session *maria, const char *text, const struct sql_value *values,
                           const char *expected)
{
    g_autoptr(GString) all = g_string_new(NULL);
    maria_append_prepared(maria, all, text, values);
    assert_string_equal(all->str, expected);
}

/* From the second time on; values, lists and conditions make the same text, or another. */
static void test_prepared(void **state)
{
    const struct config config = {.lock.method = LOCK_METHOD_SESSION};
    const char *texts[] = {"a", NULL};
    const struct sql_value one[] = {SQL_TEXT("it's"), SQL_NULL, SQL_TEXTS(texts, 2)};
    const struct sql_value other[] = {SQL_NUMBER(2), SQL_BOOL(true), SQL_TEXTS(texts, 1)};
    const char text[] = "START;\nUPDATE \00100 IN (\00102)\n\00201more;\n\00201SET \00101";
    struct sql_session *maria = maria_session_new(&config);
    (void)state;
    check_prepared(maria, text, one, "START;\nUPDATE _utf8mb4 X'69742773' IN ('a', NULL)");
    check_prepared(maria, text, one,
                   "START;\nPREPARE p0 FROM _utf8mb4 X'555044415445203f20494e20283f2c203f29';\n"
                   "EXECUTE p0 USING _utf8mb4 X'69742773', 'a', NULL");
    check_prepared(maria, text, one, "START;\nEXECUTE p0 USING _utf8mb4 X'69742773', 'a', NULL");
    check_prepared(maria, text, other, "START;\nUPDATE 2 IN ('a')\nmore;\nSET TRUE");
    maria_forget_prepared(maria);
    check_prepared(maria, "UPDATE \00100 IN (\00102)", one,
                   "PREPARE p0 FROM _utf8mb4 X'555044415445203f20494e20283f2c203f29';\n"
                   "EXECUTE p0 USING _utf8mb4 X'69742773', 'a', NULL");
    maria_session_free(maria);
}

/* What others may see first: a lock is released behind the COMMIT, in the same statement; what is counted ends its own. */
static void test_order_of_a_batch(void **state)
{
    const struct config config = {.lock.method = LOCK_METHOD_SESSION};
    struct sql_session *maria = maria_session_new(&config);
    (void)state;
    maria->set_up = true;
    maria_add_write(maria, "START", false);
    maria_add_write(maria, "COUNTED", true);
    maria_add_write(maria, "WRITE", false);
    maria_add_released(maria, "RELEASE");
    maria_add_commit(maria);
    assert_string_equal(maria->text->str,
                        "BEGIN NOT ATOMIC\nSTART;\nCOUNTED;\nEND;\n"
                        "BEGIN NOT ATOMIC\nWRITE;\nCOMMIT;\nRELEASE;\nEND");
    const enum maria_result_kind kinds[] = {MARIA_RESULT_STEP, MARIA_RESULT_NOTHING, MARIA_RESULT_COMMIT,
                                            MARIA_RESULT_NOTHING, MARIA_RESULT_NOTHING};
    assert_int_equal(maria->replies->len, G_N_ELEMENTS(kinds));
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        assert_int_equal(g_array_index(maria->replies, struct maria_result, i).kind, kinds[i]);
    maria_session_free(maria);
}

/* Between its guard and its COMMIT a batch writes only if the guard allows it; what it prepares, it prepares in any case. */
static void test_guard(void **state)
{
    const struct config config = {.lock.method = LOCK_METHOD_SESSION};
    const struct sql_value value = SQL_NUMBER(1);
    struct sql_session *maria = maria_session_new(&config);
    (void)state;
    check_prepared(maria, "WRITE \00100", &value, "WRITE 1");
    maria->set_up = true;
    maria_add_write(maria, "START", false);
    maria_add_guard(maria, "GUARD", "t");
    g_autoptr(GString) again = g_string_new(NULL);
    maria_append_prepared(maria, again, "WRITE \00100", &value);
    maria_add_write(maria, again->str, false);
    maria_add_write(maria, "COUNTED", true);
    maria_add_write(maria, "LAST", false);
    maria_add_commit(maria);
    maria_add_write(maria, "NEXT", true);
    assert_string_equal(maria->text->str,
                        "START;\nGUARD;\n"
                        "BEGIN NOT ATOMIC\nPREPARE p0 FROM _utf8mb4 X'5752495445203f';\n"
                        "IF @may_claim THEN\nEXECUTE p0 USING 1;\nCOUNTED;\nEND IF;\nEND;\n"
                        "BEGIN NOT ATOMIC\nIF @may_claim THEN\nLAST;\nEND IF;\nCOMMIT;\nEND;\n"
                        "NEXT");
    maria_session_free(maria);
}

/* The next batch, in which these steps of one message and recipient are; its text. The last one was sent. */
static char *next_batch(struct sql_session *maria, const enum sql_step *steps, size_t count)
{
    struct sql_value values[SQL_VALUES_MAX];
    for (size_t i = 0; i < SQL_VALUES_MAX; i++)
        values[i] = SQL_NUMBER(1);
    values[0] = values[1] = SQL_BYTES("12345678901234567890123456789012", 32);
    values[2] = SQL_TEXT("scuba@example.org");
    g_string_truncate(maria->text, 0);
    (void)maria_finish(maria);
    for (size_t i = 0; i < count; i++)
        mariadb_engine.add(maria, steps[i], values);
    mariadb_engine.add(maria, SQL_STEP_commit, values);
    return base_strdup(maria->text->str);
}

/* Numbers that were looked for, perhaps in vain, are looked for again by the next batch; those of rows that this session has
 * recorded are not. The last test, since from here on nothing is prepared. */
static void test_numbers_of_rows(void **state)
{
    static const enum sql_step record[] = {SQL_STEP_record_message, SQL_STEP_reply}, settle[] = {SQL_STEP_settle_reply};
    const struct config config = {.lock.method = LOCK_METHOD_SESSION};
    struct sql_session *maria = maria_session_new(&config);
    (void)state;
    maria->set_up = true;
    maria->lost = true;                /* it was never connected */
    strcpy(maria->error.code, "1461"); /* so that all texts are plain */
    maria_forget_prepared(maria);
    for (int i = 0; i < 2; i++) {
        char *looks OD_CLEANUP(base_free) = next_batch(maria, settle, 1);
        assert_non_null(strstr(looks, "@message = (SELECT id FROM message"));
        assert_non_null(strstr(looks, "@delivery = (SELECT id FROM delivery"));
    }
    const enum sql_step half[] = {SQL_STEP_record_message, SQL_STEP_settle_reply};
    for (int i = 0; i < 2; i++) {
        char *looks OD_CLEANUP(base_free) = next_batch(maria, i == 0 ? half : settle, i == 0 ? 2 : 1);
        assert_null(strstr(looks, "@message = (SELECT"));
        assert_non_null(strstr(looks, "@delivery = (SELECT id FROM delivery"));
    }
    char *records OD_CLEANUP(base_free) = next_batch(maria, record, 2);
    assert_null(strstr(records, "(SELECT id FROM"));
    char *knows OD_CLEANUP(base_free) = next_batch(maria, settle, 1);
    assert_null(strstr(knows, "(SELECT id FROM"));
    maria->refused = true; /* nothing was recorded */
    char *refused OD_CLEANUP(base_free) = next_batch(maria, settle, 1);
    assert_non_null(strstr(refused, "@message = (SELECT id FROM message"));
    assert_non_null(strstr(refused, "@delivery = (SELECT id FROM delivery"));
    char *recorded OD_CLEANUP(base_free) = next_batch(maria, record, 2);
    assert_null(strstr(recorded, "(SELECT id FROM"));
    maria->failed = true;
    char *forgot OD_CLEANUP(base_free) = next_batch(maria, settle, 1);
    assert_non_null(strstr(forgot, "@delivery = (SELECT id FROM delivery"));
    maria_session_free(maria);
}

static void check_conninfo(const char *conninfo, const char *expected)
{
    struct error error = {.text = ""};
    struct maria_conninfo *it OD_CLEANUP(maria_conninfo_free) = maria_conninfo_new(conninfo, &error);
    if (it == NULL) {
        assert_non_null(strstr(error.text, expected));
        return;
    }
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "%s %s %s %s %s", it->user != NULL ? it->user : "-",
                           it->password != NULL ? it->password : "-", it->database,
                           it->socket != NULL ? it->socket : "-", it->ssl_ca != NULL ? it->ssl_ca : "-");
    for (guint i = 0; i < it->hosts->len; i++) {
        const struct maria_host *host = &g_array_index(it->hosts, struct maria_host, i);
        g_string_append_printf(text, " %s:%u%s", host->name != NULL ? host->name : "-", host->port,
                               maria_is_local(host) ? "" : "!");
    }
    assert_string_equal(text->str, expected);
}

static void test_conninfo(void **state)
{
    static const char *const cases[][2] = {
        {"mariadb://", "- - oncedrop - - -:0"},
        {"mysql://localhost/x", "- - x - - -:0"},
        {"mariadb://u@/x", "u - x - - -:0"},
        {"mariadb://u:p@127.0.0.1:3307/x", "u p x - - 127.0.0.1:3307"},
        {"mariadb://u:p@s@a.example,[::1]:3308,10.0.0.1/x?ssl_ca=/ca",
         "u p@s x - /ca a.example:0! ::1:3308 10.0.0.1:0!"},
        {"mariadb://u:p%40%3a%2F@/x?socket=/a%20b", "u p@:/ x /a b - -:0"},
        {"mariadb://u:secret@h:x/", "a port is wrong"},
        {"mariadb://u:secret@h:65536/", "a port is wrong"},
        {"mariadb://[::1/", "a port is wrong"},
        {"mariadb://[::1]x/", "a host is wrong"},
        {"mariadb://u:%zz@h/", "begins no escape"},
        {"mariadb://u:%00@h/", "begins no escape"},
        {"mariadb://h/x?nothing=1", "an option is none of MariaDB's"},
        {"mariadb://h/x?socket=a", "socket must be an absolute path"},
        {"mariadb://h/x?socket", "an option is none of MariaDB's"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_conninfo(cases[i][0], cases[i][1]);
}

static void test_hosts(void **state)
{
    static char conninfo[] = "mariadb://u:p@a:1,[::2],localhost/x?ssl_ca=/c";
    static const char *const expected[][2] = {
        {"mariadb://u:p@a:1/x?ssl_ca=/c", "host a port 1"},
        {"mariadb://u:p@[::2]/x?ssl_ca=/c", "host ::2"},
        {"mariadb://u:p@localhost/x?ssl_ca=/c", "host localhost"},
    };
    const struct config config = {.database.conninfo = conninfo};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char *name OD_CLEANUP(base_free) = NULL;
        char *one OD_CLEANUP(base_free) = maria_nth_host(&config, i, &name);
        assert_string_equal(one, expected[i][0]);
        assert_string_equal(name, expected[i][1]);
    }
    assert_null(maria_nth_host(&config, 3, NULL));
}

static void test_failures(void **state)
{
    struct error error = {.code = "1205"};
    (void)state;
    assert_int_equal(sql_failure(maria_failures, &error), SQL_FAILURE_LOCK_TIMEOUT);
    strcpy(error.code, "1213");
    assert_int_equal(sql_failure(maria_failures, &error), SQL_FAILURE_CONFLICT);
    strcpy(error.code, "1142");
    assert_int_equal(sql_failure(maria_failures, &error), SQL_FAILURE_REFUSED);
    strcpy(error.code, "");
    assert_int_equal(sql_failure(maria_failures, &error), SQL_FAILURE_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),    cmocka_unit_test(test_no_value_ends_its_literal),
        cmocka_unit_test(test_lists),     cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_site_text), cmocka_unit_test(test_conninfo),
        cmocka_unit_test(test_hosts),     cmocka_unit_test(test_failures),
        cmocka_unit_test(test_prepared),  cmocka_unit_test(test_order_of_a_batch),
        cmocka_unit_test(test_guard),     cmocka_unit_test(test_numbers_of_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
