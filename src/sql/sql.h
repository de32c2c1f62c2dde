/* SPDX-License-Identifier: ISC
 *
 * A session with the database, of any engine. Steps are added to a batch, sent together, and their results taken by
 * mark. Every wait has a timeout. A function that fails sets *error.
 *
 * A step is a named statement, in sql/steps (steps.awk). SQL_STEP names a step and its parameters:
 *
 *    sql_add(sql, SQL_STEP(server_read, .server = SQL_TEXT(name), .verified_ms = SQL_NUMBER(1000), ...)) */
#ifndef ONCEDROP_SQL_H
#define ONCEDROP_SQL_H

#include "base/config.h"
#include "sql/sql_value.h"
#include "sql_steps.h"

#define SQL_TIMEOUT_MS 30000 /* for connecting, and per wait */

/* Two arguments, step and values. */
#define SQL_STEP(step_, ...) SQL_STEP_##step_, SQL_VALUES(step_, __VA_ARGS__)
#define SQL_VALUES(step_, ...) ((const struct sql_value *)(const void *)&(const struct sql_params_##step_){__VA_ARGS__})

/* Suffixes of the schema's roles: for deliveries and replay; with more rights, for operators. */
#define SQL_DELIVERY "delivery"
#define SQL_OPERATOR "operator"

struct sql;

/* Connects to database.conninfo. application: the session's name there. An error comes with a hint. */
struct sql *sql_open(const struct config *config, const char *application, struct error *error) OD_MUST;

/* Closes without waiting; rolls back an open transaction. */
void sql_close(struct sql **sql);

/* False: no session (NULL), connection lost, or a timeout. */
bool sql_usable(const struct sql *sql) OD_MUST;

/* Returns whether the last batch left a transaction open, even a failed one. */
bool sql_in_transaction(const struct sql *sql) OD_MUST;

/* Checks an idle session's connection without sending anything. */
void sql_check_connection(struct sql *sql);

/* Sets the timeout per wait, until the batch ends. */
void sql_set_timeout(struct sql *sql, int64_t ms);

/* Lifts the next batch's limit on result sizes, for interactive queries. */
void sql_unlimit_result(struct sql *sql);

/* Describes the connection's security for administrators. *ret_ok: nothing to improve. */
const char *sql_tls_summary(const struct sql *sql, bool *ret_ok) OD_MUST;

/* Waits until another session may have committed, fd is readable, or 10 s are over; 1 s if the engine does not notice
 * commits. */
void sql_wait(struct sql *sql, const struct config *config, int fd);

/* Adds a step to the batch. It may be sent before sql_send(), which reports a lost session. */
void sql_add(struct sql *sql, enum sql_step step, const struct sql_value *values);

/* Adds a statement configured by the site; $1 is the value. */
void sql_add_text(struct sql *sql, const char *text, struct sql_value value);

/* Ends the batch and sends it, without waiting for results. False: the session is lost. */
bool sql_send(struct sql *sql, struct error *error) OD_MUST;

/* Returns the mark of the step added next. */
size_t sql_mark(const struct sql *sql) OD_MUST;

/* Returns the result of the step with this mark, and drops earlier ones. NULL: this step or an earlier one failed, the
 * session is lost, or the columns are wrong. Only the first failure of a batch sets the error. */
struct sql_rows *sql_get_result(struct sql *sql, size_t mark, struct error *error) OD_MUST;

/* Returns whether all steps before this mark succeeded; drops their results. */
bool sql_succeeded(struct sql *sql, size_t mark, struct error *error) OD_MUST;

/* Returns whether this COMMIT committed. */
bool sql_committed(struct sql *sql, size_t mark, struct error *error) OD_MUST;

/* Drops the batch's remaining results, and ends it; false: the session is lost. */
bool sql_finish(struct sql *sql);

/* Runs statements, separated by semicolons, in one transaction. */
bool sql_script(struct sql *sql, const char *text, struct error *error) OD_MUST;

#endif
