/* SPDX-License-Identifier: ISC
 *
 * The group, the environment and the caller's name. */
#include "base/privilege.h"

#include <paths.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

bool privilege_drop(void)
{
    gid_t group = getgid();
    if (!base_is_privileged())
        return true;
    /* Secrets may be in memory already: nobody but root may look into this process (core, ptrace, /proc). */
    return setresgid(group, group, group) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0;
}

void privilege_clear_environment(const char *const *keep)
{
    size_t count = 0;
    while (keep[count] != NULL)
        count++;
    char **values OD_CLEANUP(base_free) = base_alloc((count + 1) * sizeof(char *));
    for (size_t i = 0; i < count; i++)
        values[i] = base_strdup(getenv(keep[i]));
    clearenv();
    setenv("PATH", _PATH_STDPATH, 1);
    if (base_is_privileged()) {
        /* Else libpq asks the user database, and the caller's ~/.pg_service.conf says who gets our password. */
        setenv("HOME", "/nonexistent", 1);
        setenv("PGSERVICEFILE", "/dev/null", 1); /* libpq before 15 does not know HOME */
    }
    for (size_t i = 0; i < count; i++) {
        if (values[i] != NULL)
            setenv(keep[i], values[i], 1);
        base_free(&values[i]);
    }
}

char *privilege_only_login(void)
{
    if (!base_is_privileged() || getuid() == 0)
        return NULL;
    const struct passwd *user = getpwuid(getuid());
    return base_strdup(user != NULL ? user->pw_name : "");
}
