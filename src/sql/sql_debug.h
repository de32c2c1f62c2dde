/* SPDX-License-Identifier: ISC
 *
 * Steps in the debug log: "sql: NAME (PARAMETER VALUE, ...)" when added, "sql: NAME: RESULT" when the result is used.
 * Long values are truncated; of bytes and message content only the size is logged. Precondition: debug_sql. */
#ifndef ONCEDROP_SQL_DEBUG_H
#define ONCEDROP_SQL_DEBUG_H

#include "base/config.h"
#include "sql/sql_engine.h"

void sql_debug_opened(const struct sql_engine *engine, const struct config *config, bool opened,
                      const struct error *error);

void sql_debug_added(const struct sql_step_text *step, const struct sql_value *values);

void sql_debug_added_text(const struct sql_value *value);

/* rows: NULL: unused. us: microseconds of waiting or execution; -1: unknown. */
void sql_debug_result(const char *name, const struct sql_rows *rows, int64_t us);

void sql_debug_failed(const char *name, const struct error *error);

#endif
