/* SPDX-License-Identifier: ISC
 *
 * A step's text as steps.awk writes it. SQL_TEXT_VALUE and two digits stand for a value. A line that begins with
 * SQL_TEXT_IF and two digits is dropped if that value is NULL. */
#ifndef ONCEDROP_SQL_TEXT_H
#define ONCEDROP_SQL_TEXT_H

#include "sql/sql_value.h"

#define SQL_TEXT_VALUE '\1'
#define SQL_TEXT_IF '\2'
#define SQL_VALUES_MAX 24

/* Returns the statement as a new string, with $1, $2, ... for the values used. ret[SQL_VALUES_MAX], *ret_count: these
 * values, each once. */
char *sql_text_render(const char *text, const struct sql_value *values, struct sql_value ret[SQL_VALUES_MAX],
                      size_t *ret_count) OD_MUST;

#endif
