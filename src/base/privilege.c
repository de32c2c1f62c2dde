/* SPDX-License-Identifier: ISC */
#include "base/base.h"

#include <errno.h>
#include <glib.h>
#include <grp.h>
#include <linux/capability.h>
#include <paths.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Keeps only the capability to read any file. Two allow it; a container may lack the first. */
static bool keep_reading(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};
    const unsigned search = 1U << CAP_DAC_READ_SEARCH, override = 1U << CAP_DAC_OVERRIDE;
    if (syscall(SYS_capget, &header, sets) != 0)
        return false;
    unsigned kept = sets[0].permitted & (sets[0].permitted & search ? search : override);
    sets[0] = (struct __user_cap_data_struct){.effective = kept, .permitted = kept};
    sets[1] = (struct __user_cap_data_struct){.effective = 0};
    return syscall(SYS_capset, &header, sets) == 0;
}

static bool become(const struct passwd *user, bool reads_all)
{
    return (!reads_all || prctl(PR_SET_KEEPCAPS, 1) == 0) && setgroups(1, &user->pw_gid) == 0 &&
           setresgid(user->pw_gid, user->pw_gid, user->pw_gid) == 0 &&
           setresuid(user->pw_uid, user->pw_uid, user->pw_uid) == 0 && (!reads_all || keep_reading());
}

/* Returns the user that root becomes, or NULL. */
static const struct passwd *other_user(const char *user)
{
    const struct passwd *found = geteuid() == 0 && user[0] != '\0' ? getpwnam(user) : NULL;
    return found != NULL && found->pw_uid != 0 ? found : NULL;
}

bool privilege_would_change(const char *user)
{
    return other_user(user) != NULL;
}

bool privilege_become(const char *user, bool reads_all, struct error *error)
{
    const struct passwd *found = other_user(user);
    if (found == NULL)
        return true;
    int ends = 0; /* cleared by a change of user */
    pid_t parent = getppid();
    bool asked = prctl(PR_GET_PDEATHSIG, &ends) == 0 && ends != 0;
    if (!become(found, reads_all) || (asked && prctl(PR_SET_PDEATHSIG, ends) != 0))
        return error_set(error, "root cannot become user %s (service.user): %m", user);
    if (asked && getppid() != parent) /* the parent died meanwhile */
        (void)raise(ends);
    setenv("HOME", found->pw_dir, 1); /* libpq reads passwords there */
    return true;
}

bool privilege_must_become(const char *user, bool reads_all, struct error *error)
{
    errno = 0;
    if (geteuid() == 0 && user[0] != '\0' && getpwnam(user) == NULL)
        return error_set(error, "there is no user %s (service.user)%s%s; create it, or set service.user to another",
                         user, errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
    return privilege_become(user, reads_all, error);
}

void privilege_clear_environment(const char *const *keep)
{
    g_auto(GStrv) before = g_get_environ();
    clearenv();
    setenv("PATH", _PATH_STDPATH, 1);
    for (; *keep != NULL; keep++) {
        const char *value = g_environ_getenv(before, *keep);
        if (value != NULL)
            setenv(*keep, value, 1);
    }
}
