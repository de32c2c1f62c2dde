/* SPDX-License-Identifier: ISC
 *
 * Reads results. Rows are copied as they arrive, and their size is limited. */
#include <string.h>

#include "mariadb/maria.h"

static enum sql_type type_of_field(const MYSQL_FIELD *field, char kind)
{
    if (kind == 't')
        return SQL_TYPE_BOOL;
    if (kind == 'j')
        return SQL_TYPE_JSON;
    return kind == 'n' || IS_NUM(field->type) ? SQL_TYPE_NUMBER : SQL_TYPE_TEXT;
}

/* Reads the next row; *ret is NULL after the last. */
static bool fetch(struct sql_session *maria, MYSQL_RES *result, MYSQL_ROW *ret, struct error *error)
{
    int64_t until = base_now_ms() + maria->timeout_ms;
    int status = mysql_fetch_row_start(ret, result);
    while (status != 0) {
        int ready = maria_wait(maria, status, until);
        if (ready == 0)
            return maria_lose(maria, error, SQL_TIMED_OUT);
        status = mysql_fetch_row_cont(ret, result, ready);
    }
    return *ret != NULL || mysql_errno(maria->mysql) == 0 || maria_statement_failed(maria, error);
}

static bool count_received(struct sql_session *maria, int64_t size, struct error *error)
{
    maria->received += size;
    if (maria->received <= maria->receive_max)
        return true;
    maria_hang_up(maria);
    return error_set(error, SQL_TOO_LARGE, (long long)(maria->receive_max >> 20));
}

static char kind_of(const char *column_kinds, size_t column)
{
    return column < strlen(column_kinds) ? column_kinds[column] : '-';
}

/* Returns whether the row is not too large. */
static bool add_row(struct sql_session *maria, struct sql_rows *rows, MYSQL_ROW row, const unsigned long *sizes,
                    const char *column_kinds, struct error *error)
{
    size_t size = 0;
    for (size_t column = 0; column < rows->columns; column++) {
        size += sizes[column] + 2;
        if (row[column] != NULL && kind_of(column_kinds, column) == 't')
            sql_rows_add(rows, row[column][0] != '0' ? "t" : "f", 1);
        else
            sql_rows_add(rows, row[column], sizes[column]);
    }
    return count_received(maria, (int64_t)size, error);
}

static bool fetch_all(struct sql_session *maria, MYSQL_RES *result, const char *column_kinds, struct sql_rows *rows,
                      struct error *error)
{
    for (MYSQL_ROW row; fetch(maria, result, &row, error);)
        if (row == NULL)
            return true;
        else if (!add_row(maria, rows, row, mysql_fetch_lengths(result), column_kinds, error))
            return false;
    return false;
}

static struct sql_rows *read_rows(struct sql_session *maria, const char *column_kinds, struct error *error)
{
    MYSQL_RES *result = mysql_use_result(maria->mysql);
    if (result == NULL) {
        maria_lose(maria, error, SQL_LOST);
        return NULL;
    }
    const MYSQL_FIELD *fields = mysql_fetch_fields(result);
    struct sql_rows *rows = sql_rows_new(mysql_num_fields(result));
    for (size_t column = 0; column < rows->columns; column++)
        sql_rows_name(rows, column, fields[column].name, type_of_field(&fields[column], kind_of(column_kinds, column)));
    if (fetch_all(maria, result, column_kinds, rows, error))
        rows->changed = (int64_t)rows->count;
    else
        sql_rows_free(&rows);
    mysql_free_result(result);
    return rows;
}

static bool begin_result(struct sql_session *maria, bool first, struct error *error)
{
    int64_t until = base_now_ms() + maria->timeout_ms;
    my_bool refused = 0;
    int failed = 0, status;
    if (!first && !mysql_more_results(maria->mysql)) /* results match no statements */
        return maria_lose(maria, error, "results are missing");
    status = first ? mysql_read_query_result_start(&refused, maria->mysql)
                   : mysql_next_result_start(&failed, maria->mysql);
    while (status != 0) {
        int ready = maria_wait(maria, status, until);
        if (ready == 0)
            return maria_lose(maria, error, SQL_TIMED_OUT);
        status = first ? mysql_read_query_result_cont(&refused, maria->mysql, ready)
                       : mysql_next_result_cont(&failed, maria->mysql, ready);
    }
    return (refused == 0 && failed == 0) || maria_statement_failed(maria, error);
}

struct sql_rows *maria_read(struct sql_session *maria, bool first, const char *column_kinds, struct error *error)
{
    if (maria->lost) {
        maria_lose(maria, error, SQL_LOST);
        return NULL;
    }
    if (!begin_result(maria, first, error))
        return NULL;
    if (mysql_field_count(maria->mysql) > 0)
        return read_rows(maria, column_kinds, error);
    struct sql_rows *rows = sql_rows_new(0);
    rows->changed = (int64_t)mysql_affected_rows(maria->mysql);
    return rows;
}
