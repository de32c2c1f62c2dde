/* SPDX-License-Identifier: ISC
 *
 * replay: messages in files are delivered just like those from Postfix. */
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "replay/replay_envelope.h"
#include "replay/replay_files.h"

struct options {
    struct replay_envelope envelope;
    GPtrArray *recipients;
    size_t jobs;
    enum delivery_again again;
    bool dry_run, json;
};

static bool take_option(int c, char **argv, struct options *options)
{
    switch (c) {
    case 'd':
        g_ptr_array_add(options->recipients, optarg);
        return true;
    case 'f':
        options->envelope.sender = optarg;
        return true;
    case 'j':
        return cmd_parse_jobs(optarg, &options->jobs) || usage_value(argv, "-j", optarg, CMD_JOBS_ALLOWED);
    case 'n':
        options->dry_run = true;
        return true;
    case 'v':
    case 'F':
        if (options->again != AGAIN_NO)
            return usage_wrong(argv, "give only one of --verify and --force, and only once");
        options->again = c == 'v' ? AGAIN_VERIFY : AGAIN_FORCE;
        return true;
    case 'J':
        options->json = true;
        return true;
    default:
        return false;
    }
}

static bool parse_arguments(int argc, char **argv, struct options *options)
{
    static const struct option words[] = {
        {"dry-run", no_argument, NULL, 'n'},
        {"verify", no_argument, NULL, 'v'},
        {"force", no_argument, NULL, 'F'},
        {"json", no_argument, NULL, 'J'},
        {0},
    };
    for (int c; (c = usage_option(argc, argv, "d:f:j:", words)) != -1;)
        if (!take_option(c, argv, options))
            return false;
    if (options->recipients->len > 0) {
        g_ptr_array_add(options->recipients, NULL);
        options->envelope.recipients = (const char *const *)options->recipients->pdata;
    }
    return usage_operands(argc, argv, 1, argc, "PATH");
}

static int run(const struct config *config, const struct options *options, struct replay_files *files)
{
    const struct replay_setup setup = {
        .jobs = options->jobs,
        .config = config,
        .load = replay_files_load,
        .load_context = &options->envelope,
        .again = options->again,
        .dry_run = options->dry_run,
    };
    const struct replay_source source = {.next = replay_files_next, .context = files};
    struct replay_output *output =
        replay_output_new("replay", options->json, options->dry_run, replay_files_count(files));
    int status = replay_run(&setup, &source, output);
    replay_output_end(&output, status != EX_TEMPFAIL ? NULL
                               : options->again == AGAIN_FORCE
                                   ? "to continue, run it again with only the messages listed here:"
                                     " --force delivers everything again"
                                   : "to continue, run it again: messages in place are not"
                                     " delivered twice");
    return status;
}

int cmd_replay(const struct cmd_options *options, int argc, char **argv)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    struct replay_files *files OD_CLEANUP(replay_files_free) = replay_files_new();
    struct options own = {.jobs = 1, .recipients = g_ptr_array_new()};
    struct fault fault;
    int status = 0;
    if (!parse_arguments(argc, argv, &own))
        status = CMD_USAGE;
    for (int i = optind; status == 0 && i < argc; i++)
        if (!replay_files_add(files, argv[i], &fault))
            status = cmd_fail(EX_NOINPUT, "%s", fault.text);
    if (status == 0)
        status = cmd_open(options, &config, NULL);
    if (status == 0)
        status = cmd_become_service(config, true);
    if (status == 0)
        status = run(config, &own, files);
    g_ptr_array_unref(own.recipients);
    return status;
}
