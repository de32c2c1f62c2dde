/* SPDX-License-Identifier: ISC
 *
 * A session with the site's file, reopened if rename(2) has replaced the file. */
#include <sys/stat.h>

#include "sqlite/lite.h"

struct lite_accounts {
    char *path;
    struct sql_session *session; /* NULL: not open */
    dev_t device;                /* of the open file */
    ino_t node;
};

struct lite_accounts *lite_accounts_new(const struct config *config)
{
    if (config->route.account_file == NULL || config->route.account_file[0] == '\0')
        return NULL;
    struct lite_accounts *accounts = base_alloc(sizeof(*accounts));
    accounts->path = base_strdup(config->route.account_file);
    return accounts;
}

static void end_session(struct lite_accounts *accounts)
{
    if (accounts->session != NULL)
        lite_session_free(accounts->session);
    accounts->session = NULL;
}

void lite_accounts_free(struct lite_accounts **accounts)
{
    if (*accounts == NULL)
        return;
    end_session(*accounts);
    base_free(&(*accounts)->path);
    base_free(accounts);
}

/* Opens the file read-only, as schema site: its writer recovers it after a crash. */
static bool begin(struct lite_accounts *accounts, struct error *error)
{
    struct sql_session *session = lite_session_new(accounts->path);
    accounts->session = session;
    int rc = sqlite3_open_v2(session->path, &session->db,
                             SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_db_config(session->db, SQLITE_DBCONFIG_MAINDBNAME, "site");
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(session->db, SQL_TIMEOUT_MS);
    if (rc == SQLITE_OK)
        return true;
    lite_fail(session, rc, error);
    end_session(accounts);
    return false;
}

struct sql_session *lite_accounts_open(struct lite_accounts *accounts, struct error *error)
{
    struct stat status;
    if (stat(accounts->path, &status) != 0) {
        error_set(error, "route.account_file = %s: %m", accounts->path);
        return NULL;
    }
    if (status.st_mode & S_IWOTH) {
        error_set(error, "route.account_file: others may write to it; run: chmod o-w %s", accounts->path);
        return NULL;
    }
    if (accounts->session != NULL &&
        (accounts->session->lost || status.st_dev != accounts->device || status.st_ino != accounts->node))
        end_session(accounts);
    if (accounts->session == NULL && !begin(accounts, error))
        return NULL;
    accounts->device = status.st_dev;
    accounts->node = status.st_ino;
    return accounts->session;
}
