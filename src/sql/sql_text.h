/* SPDX-License-Identifier: ISC
 *
 * The text of a step, as steps.awk writes it for an engine: values stand in it as SQL_TEXT_VALUE and two digits; a line
 * that begins with SQL_TEXT_IF and two digits is only there if that value is. */
#ifndef ONCEDROP_SQL_TEXT_H
#define ONCEDROP_SQL_TEXT_H

#include "sql/sql_value.h"

#define SQL_TEXT_VALUE '\1'
#define SQL_TEXT_IF '\2'
#define SQL_VALUES_MAX 24

/* The statement for these values, a new string: without the lines of values that are none, and with $1, $2 ... for the
 * values that are left. ret_order[SQL_VALUES_MAX], *ret_count: which value each of these is; one stands there once. */
char *sql_text_render(const char *text, const struct sql_value *values, size_t ret_order[SQL_VALUES_MAX],
                      size_t *ret_count) OD_MUST;

#endif
