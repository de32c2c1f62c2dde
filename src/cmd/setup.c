/* SPDX-License-Identifier: ISC
 *
 * setup: runs a shell script. */
#include <glib.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/module.h"
#include "base/privilege.h"
#include "cmd/cmd.h"

int cmd_setup(struct cmd *cmd)
{
    static const char *const kept[] = {"LANG", "TERM", "TMPDIR", NULL};
    GPtrArray *words = cmd->options.given;
    struct stat status;
    if (cmd->options.domain == NULL && !cmd->options.undo) {
        (void)cmd_wrong(cmd, "which domain has its mail here? --domain example.org");
        return CMD_USAGE;
    }
    char *script = module_path("oncedrop-setup");
    g_ptr_array_insert(words, 0, script);
    g_ptr_array_add(words, NULL);
    if (stat(script, &status) == 0 && (status.st_mode & S_IWOTH) != 0)
        return cmd_fail(EX_NOPERM, "setup: everybody may write %s", script);
    privilege_clear_environment(kept);
    execv(script, (char **)words->pdata);
    return cmd_fail(EX_UNAVAILABLE, "setup: cannot execute %s: %m; it comes with make install", script);
}
