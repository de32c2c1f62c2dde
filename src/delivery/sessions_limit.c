/* SPDX-License-Identifier: ISC */
#include "delivery/sessions.h"

#include <sys/param.h>
#include <sys/resource.h>

#define OTHER_FILES 64 /* descriptors for other purposes */

static struct descriptors max_descriptors(const struct config *config)
{
    struct descriptors max = mailbox_descriptors(config);
    for (size_t i = 0; i < config_server_count(config); i++) {
        const struct descriptors other = mailbox_descriptors(config->servers[i]);
        max.count = MAX(max.count, other.count);
        max.below = MIN(max.below, other.below);
    }
    return max;
}

size_t sessions_limit(const struct config *config, size_t processes)
{
    const struct descriptors each = max_descriptors(config);
    const rlim_t share = MAX((rlim_t)config->imap.sessions / processes, 1), below = (rlim_t)each.below;
    const rlim_t wanted = MIN(share * each.count + OTHER_FILES, below);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return share;
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = MIN(limit.rlim_max, wanted);
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    const rlim_t usable = MIN(limit.rlim_cur, below);
    const rlim_t possible = usable > OTHER_FILES ? (usable - OTHER_FILES) / each.count : 0;
    return MAX(MIN(share, possible), 1);
}

bool sessions_suffice(const struct config *config, size_t *ret_limit, struct error *error)
{
    const struct descriptors each = max_descriptors(config);
    const size_t max = sessions_limit(config, 1);
    struct rlimit limit = {0};
    if (max >= (size_t)config->imap.sessions)
        return true;
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    *ret_limit = max;
    if (limit.rlim_cur >= (rlim_t)each.below)
        return error_set(error, "with TLS each opens %zu files, and their numbers must be below %d", each.count,
                         each.below);
    return error_set(error, "each opens %zu file%s, and this process may have %llu (systemd's LimitNOFILE, ulimit -n)",
                     each.count, each.count == 1 ? "" : "s", (unsigned long long)limit.rlim_cur);
}
