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

enum { DOMAIN, WAY, ACCOUNTS, CONNINFO, POSTMASTER, ROOT, TEXTS };
enum { SENT_COPIES, DRY_RUN, UNDO, FLAGS };

/* words: the script's name and arguments. */
static bool parse(struct cmd *cmd, GPtrArray *words)
{
    const char *texts[TEXTS] = {NULL};
    bool flags[FLAGS] = {false};
    const struct cmd_option options[] = {{"domain", .text = &texts[DOMAIN]},
                                         {"transport", .text = &texts[WAY]},
                                         {"accounts", .text = &texts[ACCOUNTS]},
                                         {"conninfo", .text = &texts[CONNINFO]},
                                         {"postmaster", .text = &texts[POSTMASTER]},
                                         {"root", .text = &texts[ROOT]},
                                         {"sent-copies", .flag = &flags[SENT_COPIES]},
                                         {"dry-run", .flag = &flags[DRY_RUN]},
                                         {"undo", .flag = &flags[UNDO]},
                                         {.name = NULL}};
    if (!cmd_parse(cmd, options, 0, 0, NULL))
        return false;
    if (texts[DOMAIN] == NULL && !flags[UNDO])
        return cmd_wrong(cmd, "which domain has its mail here? --domain example.org");
    for (const struct cmd_option *option = options; option->name != NULL; option++) {
        if (option->text != NULL && *option->text != NULL)
            g_ptr_array_add(words, base_printf("--%s=%s", option->name, *option->text));
        else if (option->flag != NULL && *option->flag)
            g_ptr_array_add(words, base_printf("--%s", option->name));
    }
    g_ptr_array_add(words, NULL);
    return true;
}

int cmd_setup(struct cmd *cmd)
{
    static const char *const kept[] = {"LANG", "TERM", "TMPDIR", NULL};
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    char *script = module_path("oncedrop-setup");
    struct stat status;
    g_ptr_array_add(words, script);
    if (!parse(cmd, words))
        return CMD_USAGE;
    if (stat(script, &status) == 0 && (status.st_mode & S_IWOTH) != 0)
        return cmd_fail(EX_NOPERM, "setup: everybody may write %s", script);
    privilege_clear_environment(kept);
    execv(script, (char **)words->pdata);
    return cmd_fail(EX_UNAVAILABLE, "setup: cannot execute %s: %m; it comes with make install", script);
}
