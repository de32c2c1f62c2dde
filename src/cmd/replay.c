/* SPDX-License-Identifier: ISC
 *
 * replay: messages in files are delivered just like those from Postfix. */
#include <limits.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "replay/replay_files.h"
#include "replay/replay_run.h"

static bool parse_replay(struct cmd *cmd, struct replay_setup *setup, struct replay_envelope *envelope)
{
    const char *jobs = NULL;
    bool verify = false, force = false;
    const struct cmd_option words[] = {
        {"d", .list = envelope->recipients},
        {"f", .text = &envelope->sender},
        {"j", .text = &jobs},
        {"dry-run", .flag = &setup->dry_run},
        {"verify", .flag = &verify},
        {"force", .flag = &force},
        {"json", .flag = &setup->json},
        {.name = NULL},
    };
    if (!cmd_parse(cmd, words, 1, INT_MAX, "PATH") || !cmd_parse_jobs(cmd, jobs, &setup->jobs))
        return false;
    if (verify && force)
        return cmd_wrong(cmd, "give only one of --verify and --force");
    setup->again = verify ? AGAIN_VERIFY : force ? AGAIN_FORCE : AGAIN_NO;
    if (force)
        setup->hint = "to continue, run it again with only the messages listed here: --force delivers everything again";
    return true;
}

int cmd_replay(struct cmd *cmd)
{
    struct replay_files *files OD_CLEANUP(replay_files_free) = replay_files_new();
    struct replay_setup setup = {
        .command = "replay",
        .hint = "to continue, run it again: messages in place are not delivered twice",
        .next = replay_files_next,
        .load = replay_files_load,
        .context = files,
    };
    if (!parse_replay(cmd, &setup, &files->envelope))
        return CMD_USAGE;
    for (char **path = cmd->operands; *path != NULL; path++)
        if (!replay_files_add(files, *path, &cmd->fault))
            return cmd_fault(EX_NOINPUT, cmd);
    int status = cmd_open_as_service(cmd, true);
    if (status != 0)
        return status;
    setup.config = cmd->config;
    setup.total = files->items->len;
    return replay_run(&setup, &cmd->fault);
}
