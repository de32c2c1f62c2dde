/* SPDX-License-Identifier: ISC
 *
 * The statements of each method. */
#include "ledger/lock.h"

#include <string.h>

/* The lock is taken by a statement that does nothing else: in a larger one it could be taken after the snapshot that
 * other parts of the statement read from. No statement releases it: the end of the transaction does. */
static const struct {
    const char *acquire;
    const char *reassert;
} statements[LOCK_METHODS] = {
    [LOCK_METHOD_ADVISORY] = {.acquire = "SELECT pg_catalog.pg_try_advisory_xact_lock($1)",
                              .reassert = "SELECT pg_catalog.pg_advisory_xact_lock($1)"},
    [LOCK_METHOD_ROW] = {.acquire = NULL},
    [LOCK_METHOD_LEASE] = {.acquire = NULL},
};

static bool add_lock(struct pg *pg, const char *sql, int64_t key, struct fault *fault)
{
    char text[24];
    const struct pg_param param = {.data = pg_number(key, text)};
    return pg_add(pg, sql, 1, &param, fault);
}

bool lock_is_known(enum lock_method method)
{
    return method < LOCK_METHODS && statements[method].acquire != NULL;
}

bool lock_add_acquire(struct pg *pg, enum lock_method method, int64_t key, struct fault *fault)
{
    return add_lock(pg, statements[method].acquire, key, fault);
}

bool lock_add_reassert(struct pg *pg, enum lock_method method, int64_t key, struct fault *fault)
{
    return add_lock(pg, statements[method].reassert, key, fault);
}

bool lock_granted(const PGresult *result)
{
    return PQntuples(result) == 1 && pg_bool(result, 0, 0);
}

bool lock_is_timeout(const char *sqlstate)
{
    return strcmp(sqlstate, "55P03") == 0; /* lock_not_available */
}
