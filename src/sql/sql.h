/* SPDX-License-Identifier: ISC
 *
 * A session with the database, whatever its engine: steps are added to a batch, sent together, and their results taken
 * by mark. Every wait has a limit.
 *
 * A step is a statement with a name. Its text, what it takes and what it gives stand in a .sql file of the engine
 * (steps.awk). SQL_STEP names it and its values:
 *
 *    sql_add(sql, SQL_STEP(server_read, .server = SQL_TEXT(name), .honoured_ms = SQL_NUMBER(1000), ...)) */
#ifndef ONCEDROP_SQL_H
#define ONCEDROP_SQL_H

#include "base/config.h"
#include "sql/sql_rows.h"
#include "sql/sql_value.h"
#include "sql_steps.h"

#define SQL_TIMEOUT_MS 30000 /* for connecting, and for each wait for the server */

/* The two arguments of a function that takes a step. */
#define SQL_STEP(step_, ...) SQL_STEP_##step_, SQL_VALUES(step_, __VA_ARGS__)
#define SQL_VALUES(step_, ...) ((const struct sql_value *)(const void *)&(const struct sql_takes_##step_){__VA_ARGS__})

/* The roles that the schema creates, by the ends of their names: one for deliveries and replay; one with more rights,
 * for operators. */
#define SQL_DELIVERY "delivery"
#define SQL_OPERATOR "operator"

struct sql;

/* Connects to database.conninfo. application: what the session is called there. NULL with the fault set, and a remedy
 * added to it. */
struct sql *sql_open(const struct config *config, const char *application, struct fault *fault) OD_MUST;

/* Closes without waiting; an open transaction is rolled back. */
void sql_close(struct sql **sql);

/* False if there is no session (NULL), or once it was lost or an answer did not come in time: it cannot be used any
 * more. */
bool sql_usable(const struct sql *sql) OD_MUST;

/* Whether a transaction was open, or had failed and not ended, when the last batch ended. */
bool sql_in_transaction(const struct sql *sql) OD_MUST;

/* For a session that was idle: checks whether it still exists, without sending anything. */
void sql_look(struct sql *sql);

/* Sets the limit of each wait for the server, instead of SQL_TIMEOUT_MS, until the end of the batch: longer for
 * statements that wait for a lock, shorter if no answer is itself an answer. */
void sql_set_timeout(struct sql *sql, int64_t ms);

/* Lifts the size limit from the results of the next batch: for queries for people. */
void sql_receive_any(struct sql *sql);

/* For an administrator: how the connection is secured, a phrase. *ret_good: there is nothing to improve. */
const char *sql_secured(const struct sql *sql, bool *ret_good) OD_MUST;

/* Adds a step to the batch, starting one if necessary; it may be sent before sql_send. If the session is lost, sql_send
 * says so. */
void sql_add(struct sql *sql, enum sql_step step, const struct sql_value *values);

/* Adds a statement of the site's own, with $1 for the value. */
void sql_add_text(struct sql *sql, const char *text, struct sql_value value);

/* Ends the batch and sends it without waiting for results. False with the fault set if the session is lost, or was when
 * a step was added. */
bool sql_send(struct sql *sql, struct fault *fault) OD_MUST;

/* The mark of the step that will be added next, by which to take its result. */
size_t sql_mark(const struct sql *sql) OD_MUST;

/* The result of the step with this mark; results before it that were not taken are dropped. NULL with the fault set if
 * this step or an earlier one failed, the session is lost, or the answer has other columns than the step gives. The
 * fault is that of the first failure; it is set only once. */
struct sql_rows *sql_take(struct sql *sql, size_t mark, struct fault *fault) OD_MUST;

/* Whether all steps before this mark succeeded; drops their results. */
bool sql_passed(struct sql *sql, size_t mark, struct fault *fault) OD_MUST;

/* Whether the step with this mark, a commit, committed. */
bool sql_committed(struct sql *sql, size_t mark, struct fault *fault) OD_MUST;

/* Drops the remaining results of the batch and ends it; false if the session is lost. */
bool sql_finish(struct sql *sql);

/* Runs several statements, separated by semicolons, in one transaction. */
bool sql_script(struct sql *sql, const char *text, struct fault *fault) OD_MUST;

#endif
