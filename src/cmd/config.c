/* SPDX-License-Identifier: ISC
 *
 * config: prints the settings in force. setup: runs a shell script. */
#include <glib.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "replay/replay.h"

static void add_setting(void *context, const char *name, const char *value)
{
    json_object_set_new(context, name, replay_json_text(value));
}

static void print_settings(const struct config *config, enum config_print which, bool json)
{
    json_t *object = json ? json_object() : NULL;
    if (object == NULL) {
        config_print(stdout, config, which);
        return;
    }
    config_visit(config, which, add_setting, object);
    table_print_json(object);
}

int cmd_config(struct cmd *cmd)
{
    const struct options *options = &cmd->options;
    int status = 0;
    if (options->defaults)
        cmd->config = config_defaults();
    else
        status = cmd_open(cmd, CMD_AS_CALLER);
    if (status == 0 && !options->test)
        print_settings(cmd->config,
                       options->defaults      ? CONFIG_PRINT_DEFAULTS
                       : options->non_default ? CONFIG_PRINT_NON_DEFAULT
                                              : CONFIG_PRINT_ALL,
                       options->json);
    return status;
}

int cmd_setup(struct cmd *cmd)
{
    static const char *const kept[] = {"LANG", "TERM", "TMPDIR", NULL};
    GPtrArray *words = cmd->options.given;
    struct stat status;
    if (cmd->options.domain == NULL && !cmd->options.undo)
        return cmd_wrong(cmd, "--domain is missing: the domain that has its mail here, as in --domain example.org");
    char *script = module_path("oncedrop-setup");
    g_ptr_array_insert(words, 0, script);
    g_ptr_array_add(words, NULL);
    if (stat(script, &status) == 0 && (status.st_mode & S_IWOTH) != 0)
        return cmd_fail(EX_NOPERM, "setup: everybody may write %s", script);
    privilege_clear_environment(kept);
    execv(script, (char **)words->pdata);
    return cmd_fail(EX_UNAVAILABLE, "setup: cannot execute %s: %m; it comes with make install", script);
}
