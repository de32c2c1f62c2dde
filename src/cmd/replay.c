/* SPDX-License-Identifier: ISC
 *
 * replay: delivers messages in files. resume: finishes recorded deliveries. restore: delivers what mailboxes have
 * lost. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "base/terminal.h"
#include "cmd/cmd.h"
#include "cmd/format_time.h"
#include "ledger/ledger_resume.h"
#include "replay/replay_files.h"
#include "replay/replay_ledger.h"
#include "replay/replay_run.h"

static bool take_dialect(const struct cmd *cmd, const char *name, enum mbox_dialect *ret)
{
    *ret = strcmp(name, "mboxo") == 0 ? MBOX_O : strcmp(name, "mboxcl2") == 0 ? MBOX_CL2 : MBOX_RD;
    return *ret != MBOX_RD || strcmp(name, "mboxrd") == 0 ||
           cmd_wrong_value(cmd, "--mbox", name, "mboxrd, mboxo or mboxcl2");
}

static bool parse_replay(struct cmd *cmd, struct replay_setup *setup, struct replay_files *files)
{
    const char *jobs = NULL, *dialect = "mboxrd";
    bool verify = false, force = false;
    const struct cmd_option words[] = {
        {"d", .list = files->envelope.recipients},
        {"f", .text = &files->envelope.sender},
        {"j", .text = &jobs},
        {"mbox", .text = &dialect},
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
    if (!take_dialect(cmd, dialect, &files->dialect))
        return false;
    setup->redeliver = verify ? REDELIVER_VERIFY : force ? REDELIVER_FORCE : REDELIVER_NO;
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
    if (!parse_replay(cmd, &setup, files))
        return CMD_USAGE;
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
        terminal_print(stderr, 0,
                       "%" PRId64
                       " more unfinished: left to Postfix, because their bytes are not recorded"
                       " (record.level = raw), or may be incomplete",
                       others);
}

int cmd_resume(struct cmd *cmd)
{
    const char *jobs = NULL;
    struct replay_ledger messages = {.ledger = NULL};
    struct replay_setup setup = {
        .command = "resume",
        .hint = "to continue, run it again",
        .next = replay_ledger_next,
        .load = replay_ledger_load,
        .context = &messages,
    };
    const struct cmd_option words[] = {{"j", .text = &jobs}, {"json", .flag = &setup.json}, {.name = NULL}};
    bool good = cmd_parse(cmd, words, 0, 0, NULL) && cmd_parse_jobs(cmd, jobs, &setup.jobs);
    int status = good ? cmd_open_ledger(cmd) : CMD_USAGE;
    if (status != 0)
        return status;
    messages.ledger = cmd->ledger;
    setup.config = cmd->config;
    status = replay_run(&setup, &cmd->error);
    if (cmd->error.text[0] != '\0')
        return cmd_error(EX_UNAVAILABLE, cmd);
    report_others(cmd);
    return status;
}

/* Sets a point in time: an age would change with each batch. */
static bool take_since(const struct cmd *cmd, const char *text, char ret[FORMAT_TIME_SIZE])
{
    char since[FORMAT_TIME_SIZE];
    if (!parse_since(text, since))
        return cmd_wrong_value(cmd, "--since", text, PARSE_SINCE_ALLOWED);
    int64_t moment = since[0] == '@' ? strtoll(since + 1, NULL, 10) : time(NULL) - strtoll(since, NULL, 10) / 1000;
    snprintf(ret, FORMAT_TIME_SIZE, "@%" PRId64, moment);
    return true;
}

static bool parse_restore(struct cmd *cmd, struct replay_setup *setup, struct replay_ledger *messages,
                          char since[FORMAT_TIME_SIZE])
{
    const char *jobs = NULL, *age = NULL;
    bool deleted = false;
    const struct cmd_option words[] = {
        {"account", .text = &messages->account},
        {"since", .text = &age},
        {"j", .text = &jobs},
        {"include-deleted", .flag = &deleted},
        {"dry-run", .flag = &setup->dry_run},
        {"json", .flag = &setup->json},
        {.name = NULL},
    };
    if (!cmd_parse(cmd, words, 0, 0, NULL) || !cmd_parse_jobs(cmd, jobs, &setup->jobs) ||
        (age != NULL && !take_since(cmd, age, since)))
        return false;
    messages->since = age != NULL ? since : NULL;
    setup->only_account = messages->account;
    setup->redeliver = deleted ? REDELIVER_MISSING : REDELIVER_LOST;
    return true;
}

/* Without the right to read, every message would fail. */
static bool may_read_recorded(struct cmd *cmd)
{
    struct ledger_recorded *none OD_CLEANUP(ledger_recorded_free) = NULL;
    return ledger_recorded_read(cmd->ledger, 0, LEDGER_STORED, &none, &cmd->error);
}

int cmd_restore(struct cmd *cmd)
{
    char since[FORMAT_TIME_SIZE];
    struct replay_ledger messages = {.stored = true};
    struct replay_setup setup = {
        .command = "restore",
        .hint = "to continue, run it again: what is in its place is not added again",
        .next = replay_ledger_next,
        .load = replay_ledger_load_stored,
        .context = &messages,
        .restores = true,
    };
    int status = parse_restore(cmd, &setup, &messages, since) ? cmd_open_ledger(cmd) : CMD_USAGE;
    if (status != 0)
        return status;
    messages.ledger = cmd->ledger;
    setup.config = cmd->config;
    if (!may_read_recorded(cmd))
        return cmd_error(EX_UNAVAILABLE, cmd);
    status = replay_run(&setup, &cmd->error);
    return cmd->error.text[0] != '\0' ? cmd_error(EX_UNAVAILABLE, cmd) : status;
}
