/* SPDX-License-Identifier: ISC
 *
 * replay: messages in files are delivered just like those from Postfix. */
#include <limits.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "replay/replay_files.h"
#include "replay/replay_run.h"

struct options {
    size_t jobs;
    enum delivery_again again;
    bool dry_run, json;
};

static bool parse_replay(struct cmd *cmd, struct options *options, struct replay_envelope *envelope)
{
    const char *jobs = NULL;
    bool verify = false, force = false;
    const struct cmd_option words[] = {
        {"d", .list = envelope->recipients},
        {"f", .text = &envelope->sender},
        {"j", .text = &jobs},
        {"dry-run", .flag = &options->dry_run},
        {"verify", .flag = &verify},
        {"force", .flag = &force},
        {"json", .flag = &options->json},
        {.name = NULL},
    };
    if (!cmd_parse(cmd, words, 1, INT_MAX, "PATH") || !cmd_parse_jobs(cmd, jobs, &options->jobs))
        return false;
    if (verify && force)
        return cmd_wrong(cmd, "give only one of --verify and --force");
    options->again = verify ? AGAIN_VERIFY : force ? AGAIN_FORCE : AGAIN_NO;
    return true;
}

static int replay_all(const struct config *config, const struct options *options, struct replay_files *files)
{
    const struct replay_setup setup = {
        .config = config,
        .next = replay_files_next,
        .load = replay_files_load,
        .context = files,
        .jobs = options->jobs,
        .again = options->again,
        .dry_run = options->dry_run,
    };
    struct replay_output *output = replay_output_new("replay", options->json, options->dry_run, files->items->len);
    int status = replay_run(&setup, output);
    const char *again = options->again == AGAIN_FORCE ? "to continue, run it again with only the messages listed here:"
                                                        " --force delivers everything again"
                                                      : "to continue, run it again: messages in place are not"
                                                        " delivered twice";
    replay_output_end(&output, status == EX_TEMPFAIL ? again : NULL, false);
    return status;
}

int cmd_replay(struct cmd *cmd)
{
    struct replay_files *files OD_CLEANUP(replay_files_free) = replay_files_new();
    struct options options = {.jobs = 1};
    if (!parse_replay(cmd, &options, &files->envelope))
        return CMD_USAGE;
    for (char **path = cmd->operands; *path != NULL; path++)
        if (!replay_files_add(files, *path, &cmd->fault))
            return cmd_fault(EX_NOINPUT, cmd);
    int status = cmd_open(cmd);
    if (status == 0)
        status = cmd_become_service(cmd, true);
    return status != 0 ? status : replay_all(cmd->config, &options, files);
}
