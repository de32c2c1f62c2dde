/* SPDX-License-Identifier: ISC
 *
 * The engine. */
#include <stddef.h>
#include <string.h>

#include "mariadb/maria.h"
#include "mariadb_schema.h"
#include "mariadb_steps.h"
#include "module_build.h"

/* Read by module.c. */
extern const struct sql_engine mariadb_engine;
extern const char mariadb_engine_build[];
extern char *mariadb_engine_libraries(void);
const char mariadb_engine_build[] = MODULE_BUILD;
char *mariadb_engine_libraries(void)
{
    return base_printf("libmariadb %s", mysql_get_client_info());
}

static void maria_engine_set_timeout(struct sql_session *maria, int64_t ms)
{
    maria->timeout_ms = ms;
}

static void maria_engine_unlimit_result(struct sql_session *maria)
{
    maria->receive_max = INT64_MAX;
}

/* WRITES: its rows are not read. COUNTED: but its number of changed rows is. OF_MESSAGE: uses @message, the id of
 * the message whose identity and digest are its first values. OF_DELIVERY: also @delivery, of that message to its
 * recipient. OFTEN: none of these. All are prepared, since each delivery executes them. Lock steps are not: their
 * names must always be equal. */
enum { WRITES = 1, COUNTED = 2, OF_MESSAGE = 4, OF_DELIVERY = 8, OFTEN = 16 };
static const unsigned char kinds[SQL_STEPS] = {
    [SQL_STEP_begin] = WRITES,
    [SQL_STEP_state_message] = OFTEN,
    [SQL_STEP_record_message] = WRITES, /* sets @message */
    [SQL_STEP_record_addresses] = WRITES | OF_MESSAGE,
    [SQL_STEP_record_part] = WRITES | OF_MESSAGE,
    [SQL_STEP_record_raw] = WRITES | OF_MESSAGE,
    [SQL_STEP_reply] = WRITES | OF_MESSAGE | OF_DELIVERY, /* sets @delivery */
    [SQL_STEP_claim_copy] = WRITES | OF_MESSAGE | OF_DELIVERY,
    [SQL_STEP_hold_copies] = OF_MESSAGE,
    [SQL_STEP_settle_copy] = WRITES | COUNTED | OF_MESSAGE,
    [SQL_STEP_settle_variants] = WRITES,
    [SQL_STEP_give_known] = WRITES | OF_MESSAGE,
    [SQL_STEP_give_copy] = WRITES | COUNTED | OF_MESSAGE, /* apart from what settle_copy changes */
    [SQL_STEP_settle_reply] = WRITES | OF_MESSAGE | OF_DELIVERY,
    [SQL_STEP_event] = WRITES,
};

static const struct sql_value *recipient_of(enum sql_step step, const struct sql_value *values)
{
    const size_t size = sizeof(struct sql_value);
    return &values[step == SQL_STEP_reply        ? offsetof(struct sql_params_reply, recipient) / size
                   : step == SQL_STEP_claim_copy ? offsetof(struct sql_params_claim_copy, recipient) / size
                                                 : offsetof(struct sql_params_settle_reply, recipient) / size];
}

/* Sets the message of @message; returns whether it already was. recorded: this step records it. */
static bool record_message(struct sql_session *maria, const struct sql_value *values, bool recorded)
{
    unsigned char message[sizeof(maria->message)] = {0};
    memcpy(message, values[0].bytes, MIN(values[0].size, sizeof(message) / 2));
    memcpy(message + sizeof(message) / 2, values[1].bytes, MIN(values[1].size, sizeof(message) / 2));
    bool same = maria->named && memcmp(maria->message, message, sizeof(message)) == 0;
    memcpy(maria->message, message, sizeof(message));
    maria->named = true;
    maria->recorded = recorded || (same && maria->recorded);
    if (!same)
        g_string_truncate(maria->recipient, 0);
    return same;
}

/* Like record_message(), for @delivery. */
static bool record_delivery(struct sql_session *maria, const struct sql_value *recipient, bool recorded)
{
    bool same = strcmp(maria->recipient->str, recipient->text) == 0;
    g_string_assign(maria->recipient, recipient->text);
    maria->replied_it = recorded || (same && maria->replied_it);
    return same;
}

static char *text_of(struct sql_session *maria, enum sql_step step, const struct sql_value *values)
{
    static const char name_message[] =
        "SET @message = (SELECT id FROM message WHERE identity = \00100 AND digest = \00101)";
    static const char name_delivery[] =
        "SET @delivery = (SELECT id FROM delivery WHERE message = @message AND recipient = \00100)";
    bool records = step == SQL_STEP_record_message, replies = step == SQL_STEP_reply;
    bool of_message = records || (kinds[step] & OF_MESSAGE) != 0;
    if (kinds[step] == 0)
        return maria_text(steps[step].text, values, NULL);
    GString *all = g_string_new(NULL);
    if (of_message && !record_message(maria, values, records) && !records)
        maria_append_prepared(maria, all, name_message, values);
    const struct sql_value *recipient = kinds[step] & OF_DELIVERY ? recipient_of(step, values) : NULL;
    if (recipient != NULL && !record_delivery(maria, recipient, replies) && !replies)
        maria_append_prepared(maria, all, name_delivery, recipient);
    maria_append_prepared(maria, all, steps[step].text, values);
    return g_string_free(all, FALSE);
}

static void add_one(struct sql_session *maria, enum sql_step step, const struct sql_value *values)
{
    char *text OD_CLEANUP(base_free) = text_of(maria, step, values);
    if (kinds[step] & WRITES)
        maria_add_write(maria, text, (kinds[step] & COUNTED) != 0);
    else
        maria_add(maria, text, maria_statements(text), steps[step].column_kinds);
}

/* Sends settings only if they change. So a delivery's transactions have the same limits; a statement with a shorter
 * one says so (lock.sql). */
static void add_settings(struct sql_session *maria, const struct sql_value *values)
{
    const struct sql_value least[] = {
        values[0],
        SQL_NUMBER(MAX(values[1].number, INT64_C(2) * SQL_TIMEOUT_MS)),
        SQL_NUMBER(MAX(values[2].number, SQL_TIMEOUT_MS)),
    };
    char *text OD_CLEANUP(base_free) = maria_text(steps[SQL_STEP_settings].text, least, NULL);
    bool same = strcmp(maria->settings->str, text) == 0;
    if (!maria->failed)
        g_string_assign(maria->settings, text);
    if (same)
        maria_add(maria, MARIA_NOTHING, 1, "");
    else
        maria_add_write(maria, text, false);
}

static void add_release(struct sql_session *maria, const struct sql_step_text *it, const struct sql_value *values)
{
    char *text OD_CLEANUP(base_free) = maria_text(it->text, values, NULL);
    maria_add_released(maria, text);
}

static void add_guard(struct sql_session *maria, const struct sql_value *values)
{
    char *text OD_CLEANUP(base_free) = maria_text(steps[SQL_STEP_claim_guard].text, values, NULL);
    maria_add_guard(maria, text, steps[SQL_STEP_claim_guard].column_kinds);
}

static void maria_engine_add(struct sql_session *maria, enum sql_step step, const struct sql_value *values)
{
    if (step == SQL_STEP_rollback)
        maria->named = false; /* the message may be rolled back */
    bool begins = step == SQL_STEP_begin || step == SQL_STEP_begin_read || step == SQL_STEP_settings_as_is;
    if (begins)
        maria->without = step == SQL_STEP_begin_read && maria->method == LOCK_METHOD_SESSION;
    if ((step == SQL_STEP_begin_read || step == SQL_STEP_commit) && maria->without)
        maria_add(maria, MARIA_NOTHING, 1, "");
    else if (step == SQL_STEP_settings)
        add_settings(maria, values);
    else if (step == SQL_STEP_commit)
        maria_add_commit(maria);
    else if (step == SQL_STEP_claim_guard)
        add_guard(maria, values);
    else if (step == SQL_STEP_release_session || step == SQL_STEP_release_sessions)
        add_release(maria, &steps[step], values);
    else
        add_one(maria, step, values);
}

static void maria_engine_add_text(struct sql_session *maria, const char *text, struct sql_value value)
{
    char *site OD_CLEANUP(base_free) = maria_site_text(text, &value);
    maria_add_site(maria, site);
}

static const struct sql_schema_mark schema_marks[] = {{"@schema@.", ""}, {NULL, NULL}};

#define INSTALLER_LOCK "concat('oncedrop.schema.', DATABASE())"

const struct sql_engine mariadb_engine = {
    .name = "MariaDB",
    .steps = steps,
    .pool_hint = "",
    .open = maria_open,
    .close = maria_close,
    .usable = maria_usable,
    .in_transaction = maria_in_transaction,
    .check_connection = maria_check_connection,
    .set_timeout = maria_engine_set_timeout,
    .unlimit_result = maria_engine_unlimit_result,
    .tls_summary = maria_tls_summary,
    .add = maria_engine_add,
    .add_text = maria_engine_add_text,
    .send = maria_send,
    .next = maria_next,
    .finish = maria_finish,
    .script = maria_script,
    .nth_host = maria_nth_host,
    .login_is_service = maria_login_is_service,
    .hint = maria_hint,
    .failures = maria_failures,
    .self_tests = maria_self_tests,
    .holders_hint =
        "MariaDB does not show this database user the sessions of others that hold a lock; to see them:"
        " GRANT PROCESS ON *.* TO the user",
    /* DDL commits, so each file is idempotent, and its version is written last. */
    .schema = schema_files,
    .schema_marks = schema_marks,
    .schema_begin =
        "SET SESSION sql_mode = 'ANSI,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', lock_wait_timeout = 2;\n"
        "SET @refuse = CASE WHEN GET_LOCK(" INSTALLER_LOCK
        ", 20) THEN 'DO 0' ELSE 'SIGNAL SQLSTATE ''45000'' SET"
        " MESSAGE_TEXT = ''another process is installing or upgrading the ledger''' END;\n"
        "EXECUTE IMMEDIATE @refuse;\n",
    .schema_end = "DO RELEASE_LOCK(" INSTALLER_LOCK ")",
    .schema_again = " ON DUPLICATE KEY UPDATE version = schema_version.version",
};
