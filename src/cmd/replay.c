/* SPDX-License-Identifier: ISC
 *
 * replay: messages in files are delivered just like those from Postfix. */
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "replay/replay_envelope.h"
#include "replay/replay_files.h"

struct options {
    struct replay_envelope envelope;
    GPtrArray *recipients;
    size_t jobs;
    enum delivery_again again;
    bool dry_run, json;
};

static bool parse_arguments(int argc, char **argv, struct options *options)
{
    const char *jobs = NULL;
    bool verify = false, force = false;
    const struct cmd_option words[] = {
        {"d", .list = options->recipients},
        {"f", .text = &options->envelope.sender},
        {"j", .text = &jobs},
        {"dry-run", .flag = &options->dry_run},
        {"verify", .flag = &verify},
        {"force", .flag = &force},
        {"json", .flag = &options->json},
        {.name = NULL},
    };
    if (!cmd_parse(argc, argv, words, 1, argc, "PATH") || !cmd_parse_jobs(argv, jobs, &options->jobs))
        return false;
    if (verify && force)
        return cmd_wrong(argv, "give only one of --verify and --force");
    options->again = verify ? AGAIN_VERIFY : force ? AGAIN_FORCE : AGAIN_NO;
    if (options->recipients->len > 0) {
        g_ptr_array_add(options->recipients, NULL);
        options->envelope.recipients = (const char *const *)options->recipients->pdata;
    }
    return true;
}

static int replay_all(const struct config *config, const struct options *options, struct replay_files *files)
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
    struct options own = {.recipients = g_ptr_array_new()};
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
        status = replay_all(config, &own, files);
    g_ptr_array_unref(own.recipients);
    return status;
}
