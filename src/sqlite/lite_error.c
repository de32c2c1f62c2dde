/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "sqlite/lite.h"

/* sqlite3_errstr returns descriptions, not names. */
const char *lite_error_name(int rc)
{
    static const struct {
        int rc;
        const char *name;
    } names[] = {
        {SQLITE_PERM, "PERM"},       {SQLITE_BUSY, "BUSY"},     {SQLITE_READONLY, "READONLY"},
        {SQLITE_IOERR, "IOERR"},     {SQLITE_FULL, "FULL"},     {SQLITE_CANTOPEN, "CANTOPEN"},
        {SQLITE_CORRUPT, "CORRUPT"}, {SQLITE_NOTADB, "NOTADB"}, {SQLITE_AUTH, "AUTH"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (names[i].rc == (rc & 0xff))
            return names[i].name;
    return "";
}

bool lite_fail(struct sql_session *lite, int rc, struct error *error)
{
    int system = lite->db != NULL ? sqlite3_system_errno(lite->db) : 0;
    const char *name = lite_error_name(rc);
    error_set(error, "database: %s: %s%s%s", lite->path,
              lite->db != NULL ? sqlite3_errmsg(lite->db) : sqlite3_errstr(rc), system != 0 ? ": " : "",
              system != 0 ? strerror(system) : "");
    g_strlcpy(error->code, name, sizeof(error->code));
    lite->lost = lite->lost || strcmp(name, "IOERR") == 0 || strcmp(name, "CORRUPT") == 0 ||
                 strcmp(name, "NOTADB") == 0;
    return false;
}
