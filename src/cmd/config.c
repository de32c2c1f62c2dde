/* SPDX-License-Identifier: ISC
 *
 * config: prints the settings in force. */
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/table.h"
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
