/* SPDX-License-Identifier: ISC
 *
 * The steps in the debug log: "sql: NAME (PARAMETER VALUE, ...)" when a step is added; "sql: NAME: RESULT" when its result
 * is used. Long values are cut; of bytes and of a message's content there is only the size. Callers test debug_sql. */
#ifndef ONCEDROP_SQL_DEBUG_H
#define ONCEDROP_SQL_DEBUG_H

#include "base/config.h"
#include "sql/sql_engine.h"

/* A session was opened, or with opened false, could not be: the fault says why. */
void sql_debug_opened(const struct sql_engine *engine, const struct config *config, bool opened,
                      const struct fault *fault);

/* A step is added to a batch. */
void sql_debug_added(const struct sql_step_text *step, const struct sql_value *values);

/* A statement of the site's own is added. */
void sql_debug_added_text(const struct sql_value *value);

/* The result of a step.
 *
 * name    of the step
 * rows    NULL: it succeeded, and its rows are not used
 * us      how long the process waited for it, or executed it, in microseconds; -1: not known */
void sql_debug_result(const char *name, const struct sql_rows *rows, int64_t us);

/* A step, or one before it in the batch, failed. */
void sql_debug_failed(const char *name, const struct fault *fault);

/* The clock for `us` of sql_debug_result. */
int64_t sql_debug_now_us(void) OD_MUST;

#endif
