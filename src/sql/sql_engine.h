/* SPDX-License-Identifier: ISC
 *
 * An engine: its texts of the steps, and its implementation of sql.h. */
#ifndef ONCEDROP_SQL_ENGINE_H
#define ONCEDROP_SQL_ENGINE_H

#include "base/config.h"
#include "sql/sql_rows.h"
#include "sql/sql_value.h"
#include "sql_steps.h"

struct sql_step_text {
    const char *name;
    unsigned params;          /* number of parameters */
    const char *names;        /* of parameters, separated by blanks; ":content" marks message content */
    const char *column_kinds; /* per column: t boolean, n number, j JSON, b bytes, - the value's own */
    const char *text;         /* NULL: only other engines have it (steps.awk) */
};

struct sql_session;

enum sql_self_test { SQL_SELF_TEST_END, SQL_SELF_TEST_OK, SQL_SELF_TEST_WARNING, SQL_SELF_TEST_FAILED };

/* Why a step failed, where callers need to know. */
enum sql_failure {
    SQL_FAILURE_OTHER,
    SQL_FAILURE_LOCK_TIMEOUT, /* waiting for a lock */
    SQL_FAILURE_CONFLICT,     /* another transaction won; this one is rolled back, even at COMMIT */
    SQL_FAILURE_NO_LOCK,      /* the engine has no such lock */
    SQL_FAILURE_NO_USER,      /* the process's user is unknown */
    SQL_FAILURE_REFUSED,      /* the user lacks a right */
    SQL_FAILURE_OTHER_HOST,   /* conninfo excludes this host from deliveries */
};

struct sql_engine {
    const char *name;
    const struct sql_step_text *steps; /* [SQL_STEPS] */
    const char *pool_hint;             /* " (...)": how to enlarge its pools, or "" */
    bool in_process;                   /* in-process: executes a step when it is added */

    struct sql_session *(*open)(const struct config *config, const char *application, struct error *error);
    void (*close)(struct sql_session *session);
    bool (*usable)(const struct sql_session *session);
    bool (*in_transaction)(const struct sql_session *session);
    void (*check_connection)(struct sql_session *session);
    void (*set_timeout)(struct sql_session *session, int64_t ms);
    void (*unlimit_result)(struct sql_session *session);
    const char *(*tls_summary)(const struct sql_session *session, bool *ret_ok);

    void (*add)(struct sql_session *session, enum sql_step step, const struct sql_value *values);
    void (*add_text)(struct sql_session *session, const char *text, struct sql_value value);
    bool (*send)(struct sql_session *session, struct error *error);
    size_t (*mark)(const struct sql_session *session);
    struct sql_rows *(*take)(struct sql_session *session, size_t mark, struct error *error);
    bool (*passed)(struct sql_session *session, size_t mark, struct error *error);
    bool (*committed)(struct sql_session *session, size_t mark, struct error *error);
    bool (*finish)(struct sql_session *session);
    bool (*script)(struct sql_session *session, const char *text, struct error *error);

    /* Without a session: */

    /* Creates what a session needs, if missing, so that the schema can be installed. */
    bool (*create)(const struct config *config, struct error *error);

    /* Copies the ledger, online, to a new file. NULL: the engine has its own programs for that. */
    bool (*backup)(const struct config *config, const char *file, struct error *error);

    /* Returns conninfo for only its n-th host, and *ret_name (may be NULL): new strings. NULL: it has fewer hosts. */
    char *(*nth_host)(const struct config *config, size_t n, char **ret_name);

    /* Returns whether service.user would log in under its own name, as no other is configured. */
    bool (*login_is_service)(const struct config *config);

    /* Adds a hint, if known, to a step's error. role: that the step needs. */
    void (*add_hint)(const struct config *config, const char *role, struct error *error);

    /* Runs the n-th self-test, of what no step can show. Precondition: the process has no session. Takes milliseconds,
     * or as long as another process writes. connects: a session can be opened; else only tests without one run.
     * *ret_name: a word; ret: what was observed, with a hint unless it is good. SQL_SELF_TEST_END: none left. */
    enum sql_self_test (*self_test)(const struct config *config, bool connects, size_t n, const char **ret_name,
                                    struct error *ret);

    enum sql_failure (*failure)(const struct error *error);

    /* Returns a new string: how an administrator sees who holds locks, and since when. */
    char *(*holders_hint)(const struct config *config);

    /* The schema: newest version; SQL of all versions after `from`, a new string; transaction. alone: other installers
     * wait. */
    int (*schema_needed)(void);
    char *(*schema_sql)(const struct config *config, int from);
    const char *(*schema_begin)(bool alone);
    const char *schema_end;
};

#endif
