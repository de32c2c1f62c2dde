/* SPDX-License-Identifier: ISC
 *
 * replay: delivers messages in files. resume: finishes recorded deliveries. restore: delivers what mailboxes have
 * lost. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "cmd/cmd.h"
#include "replay/replay.h"

static enum mbox_dialect dialect_of(const struct options *options)
{
    const char *name = options->mbox;
    return name == NULL || strcmp(name, "mboxrd") == 0 ? MBOX_RD : strcmp(name, "mboxo") == 0 ? MBOX_O : MBOX_CL2;
}

int cmd_replay(struct cmd *cmd)
{
    struct replay_files *files OD_CLEANUP(replay_files_free) = replay_files_new();
    const struct options *options = &cmd->options;
    struct replay_setup setup = {
        .command = "replay",
        .hint = options->force
                    ? "to continue, run it again with only the messages listed here: --force delivers everything again"
                    : "to continue, run it again: messages in place are not delivered twice",
        .jobs = (size_t)options->jobs,
        .dry_run = options->dry_run,
        .json = options->json,
        .redeliver = options->verify  ? REDELIVER_VERIFY
                     : options->force ? REDELIVER_FORCE
                                      : REDELIVER_NO,
        .next = replay_files_next,
        .load = replay_files_load,
        .context = files,
    };
    files->dialect = dialect_of(options);
    files->envelope.sender = options->sender;
    g_ptr_array_extend(files->envelope.recipients, options->recipients, NULL, NULL);
    for (char **path = cmd->operands; *path != NULL; path++)
        if (!replay_files_add(files, *path, &cmd->error))
            return cmd_error(EX_NOINPUT, cmd);
    int status = cmd_open(cmd, CMD_AS_READER);
    if (status != 0)
        return status;
    setup.config = cmd->config;
    setup.total = files->items->len;
    return replay_run(&setup, &cmd->error);
}

/* Reports what Postfix must finish, so that it does not count as done. */
static void report_others(struct cmd *cmd)
{
    int64_t others = 0;
    if (!ledger_unfinished_others(cmd->ledger, &others, &cmd->error))
        cmd_error(0, cmd);
    if (others > 0)
        fprintf(stderr,
                "%" PRId64
                " more unfinished: left to Postfix, because their bytes are not recorded"
                " (record.level = raw), or may be incomplete\n",
                others);
}

int cmd_resume(struct cmd *cmd)
{
    struct replay_ledger messages = {.ledger = cmd->ledger};
    struct replay_setup setup = {
        .command = "resume",
        .hint = "to continue, run it again",
        .config = cmd->config,
        .jobs = (size_t)cmd->options.jobs,
        .json = cmd->options.json,
        .next = replay_ledger_next,
        .load = replay_ledger_load,
        .context = &messages,
    };
    int status = replay_run(&setup, &cmd->error);
    if (cmd->error.text[0] != '\0')
        return cmd_error(EX_UNAVAILABLE, cmd);
    report_others(cmd);
    return status;
}

/* Makes an age a point in time: an age would change with each batch. */
static void fix_since(char since[FORMAT_TIME_SIZE])
{
    if (since[0] != '@' && since[0] != '\0')
        snprintf(since, FORMAT_TIME_SIZE, "@%" PRId64, (int64_t)(time(NULL) - strtoll(since, NULL, 10) / 1000));
}

/* Without the right to read, every message would fail. */
static bool may_read_recorded(struct cmd *cmd)
{
    struct ledger_recorded *none OD_CLEANUP(ledger_recorded_free) = NULL;
    return ledger_recorded_read(cmd->ledger, 0, LEDGER_STORED, &none, &cmd->error);
}

int cmd_restore(struct cmd *cmd)
{
    struct options *options = &cmd->options;
    fix_since(options->since);
    struct replay_ledger messages = {
        .ledger = cmd->ledger,
        .account = options->account,
        .since = options->since[0] != '\0' ? options->since : NULL,
        .stored = true,
    };
    struct replay_setup setup = {
        .command = "restore",
        .hint = "to continue, run it again: what is in its place is not added again",
        .config = cmd->config,
        .jobs = (size_t)options->jobs,
        .dry_run = options->dry_run,
        .json = options->json,
        .redeliver = options->include_deleted ? REDELIVER_MISSING : REDELIVER_LOST,
        .only_account = options->account,
        .next = replay_ledger_next,
        .load = replay_ledger_load,
        .context = &messages,
        .restores = true,
    };
    if (!may_read_recorded(cmd))
        return cmd_error(EX_UNAVAILABLE, cmd);
    int status = replay_run(&setup, &cmd->error);
    return cmd->error.text[0] != '\0' ? cmd_error(EX_UNAVAILABLE, cmd) : status;
}
