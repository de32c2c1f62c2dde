/* SPDX-License-Identifier: ISC
 *
 * What an engine is: its texts of the steps, and its part of each function of sql.h, which says what they do. */
#ifndef ONCEDROP_SQL_ENGINE_H
#define ONCEDROP_SQL_ENGINE_H

#include "base/config.h"
#include "sql/sql_rows.h"
#include "sql/sql_value.h"
#include "sql_steps.h"

struct sql_step_text {
    const char *name;
    unsigned takes;    /* number of values */
    const char *names; /* of the values, separated by blanks; ":content" marks content of a message */
    const char *gives; /* for each column: t a truth, n a number, j JSON, b bytes, - as the value is */
    const char *text;  /* NULL: one that only others have (steps.awk) */
};

/* The engine's session, which each engine defines for itself. */
struct sql_session;

/* Whether something holds that deliveries rely on. */
enum sql_proof { SQL_PROOF_NONE, SQL_PROOF_GOOD, SQL_PROOF_DOUBTFUL, SQL_PROOF_BAD };

/* Why a step failed, as far as callers decide by it. */
enum sql_failure {
    SQL_FAILURE_OTHER,
    SQL_FAILURE_LOCK_TIMEOUT, /* it waited for a lock in vain */
    SQL_FAILURE_CONFLICT,     /* another transaction was first; its own is undone, also if this was its COMMIT */
    SQL_FAILURE_NO_LOCK,      /* the engine has no such lock */
    SQL_FAILURE_NO_USER,      /* it does not know the user of the process */
    SQL_FAILURE_REFUSED,      /* the user lacks a right */
    SQL_FAILURE_OTHER_HOST,   /* conninfo keeps deliveries away from this one of its hosts */
};

struct sql_engine {
    const char *name;                  /* for people */
    const struct sql_step_text *steps; /* [SQL_STEPS] */
    const char *pool_hint;             /* " (...)": how to give its poolers more connections, or "" */
    bool works_here;                   /* in this process: a step is executed when it is added */

    struct sql_session *(*open)(const struct config *config, const char *application, struct fault *fault);
    void (*close)(struct sql_session *session);
    bool (*usable)(const struct sql_session *session);
    bool (*in_transaction)(const struct sql_session *session);
    void (*look)(struct sql_session *session);
    void (*set_timeout)(struct sql_session *session, int64_t ms);
    void (*receive_any)(struct sql_session *session);
    const char *(*secured)(const struct sql_session *session, bool *ret_good);

    void (*add)(struct sql_session *session, enum sql_step step, const struct sql_value *values);
    void (*add_text)(struct sql_session *session, const char *text, struct sql_value value);
    bool (*send)(struct sql_session *session, struct fault *fault);
    size_t (*mark)(const struct sql_session *session);
    struct sql_rows *(*take)(struct sql_session *session, size_t mark, struct fault *fault);
    bool (*passed)(struct sql_session *session, size_t mark, struct fault *fault);
    bool (*committed)(struct sql_session *session, size_t mark, struct fault *fault);
    bool (*finish)(struct sql_session *session);
    bool (*script)(struct sql_session *session, const char *text, struct fault *fault);

    /* Without a session. */

    /* Creates what must be there before a session can be opened, and is not, for the schema to be installed in. */
    bool (*create)(const struct config *config, struct fault *fault);

    /* Writes a copy of the ledger into a new file, while others use it; NULL: the engine has programs of its own for that. */
    bool (*backup)(const struct config *config, const char *file, struct fault *fault);

    /* The configuration for only the n-th of the hosts that conninfo lists: its conninfo, a new string; NULL if it lists
     * fewer. ret_name (or NULL): receives what the host is called, a new string. */
    char *(*nth_host)(const struct config *config, size_t n, char **ret_name);

    /* Whether a process that runs as service.user would log in as that user, since no other user is configured. */
    bool (*login_is_service)(const struct config *config);

    /* Adds to the fault of a step what an administrator can do about it, if that is known. role: what the step needs. */
    void (*add_remedy)(const struct config *config, const char *role, struct fault *fault);

    /* Proves the n-th of those things that no session can show by its steps. To be called by a process that has no session;
     * takes milliseconds, or as long as another process writes. connects: a session can be opened; else only what needs
     * none is proved. *ret_name: what it is, a word; ret: what was seen, and unless that is good, what to do.
     * SQL_PROOF_NONE: there are no more. */
    enum sql_proof (*prove)(const struct config *config, bool connects, size_t n, const char **ret_name,
                            struct fault *ret);

    enum sql_failure (*failure)(const struct fault *fault);

    /* What an administrator can do to be shown since when others have held a lock: a new string. */
    char *(*show_holders)(const struct config *config);

    /* The schema: its newest version; the SQL of all versions after `from`, a new string; the beginning and the end of a
     * transaction in which it is installed. alone: others that install it wait. */
    int (*schema_needed)(void);
    char *(*schema_sql)(const struct config *config, int from);
    const char *(*schema_begin)(bool alone);
    const char *schema_end;
};

#endif
