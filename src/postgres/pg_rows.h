/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_PG_ROWS_H
#define ONCEDROP_PG_ROWS_H

#include <libpq-fe.h>

#include "sql/sql_rows.h"

/* Takes ownership of the result, which may be NULL. */
struct sql_rows *pg_rows(PGresult *result) OD_MUST;

#endif
