/* SPDX-License-Identifier: ISC
 *
 * What the commands share. */
#include "cmd/cmd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/log.h"
#include "base/privilege.h"
#include "base/terminal.h"
#include "decode/decode_module.h"
#include "ledger/ledger_remedy.h"
#include "route/route.h"

const char *const cmd_environment[] = {
    "SENDER", "RECIPIENT", "ORIGINAL_RECIPIENT", "SASL_USERNAME", "CREDENTIALS_DIRECTORY", "LANG", "TZ", "TMPDIR", NULL,
};

int cmd_fail(int status, const char *format, ...)
{
    char text[2048], escaped[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    char *line OD_CLEANUP(base_free) = base_printf("oncedrop: %s", log_escape(text, escaped, sizeof(escaped)));
    char *command = isatty(STDERR_FILENO) ? strstr(line, LEDGER_TYPE) : NULL;
    if (command != NULL) {
        command += strlen(LEDGER_TYPE);
        command[-1] = '\0';
    }
    terminal_print(stderr, 2, line);
    if (command != NULL)
        fprintf(stderr, "%s\n", command); /* in one piece, so that it can be copied */
    return status;
}

bool cmd_parse_jobs(const char *text, size_t *ret)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || number < 1 || number > 64)
        return false;
    *ret = (size_t)number;
    return true;
}

/* Where there is no configuration yet, make install has left a sample. */
static void add_sample(const char *path, struct fault *fault)
{
    char *sample OD_CLEANUP(base_free) = base_printf("%s.sample", path);
    if (access(path, F_OK) != 0 && errno == ENOENT && access(sample, F_OK) == 0)
        fault_set(fault, "%s; to begin with, copy %s there", fault->text, sample);
}

struct config *cmd_config_load(const struct cmd_options *options, int log_fd, struct fault *fault)
{
    struct config *config = config_load(options->config_file, options->overrides, fault);
    if (config == NULL)
        add_sample(options->config_file, fault);
    if (config != NULL && !route_check(config, fault)) {
        fault_prefix(fault, "%s", options->config_file);
        config_free(&config);
    }
    if (config != NULL)
        log_open(config->log.to, config->log.level, options->verbose, log_fd);
    return config;
}

int cmd_open(const struct cmd_options *options, struct config **config, struct ledger **ledger)
{
    struct fault fault;
    *config = cmd_config_load(options, STDERR_FILENO, &fault);
    if (*config == NULL)
        return cmd_fail(EX_CONFIG, "%s", fault.text);
    if (ledger == NULL)
        return 0;
    *ledger = ledger_open(*config, NULL, &fault);
    if (*ledger != NULL)
        return 0;
    config_free(config);
    return cmd_fail(EX_UNAVAILABLE, "%s", fault.text);
}

int cmd_become_service(const struct config *config, bool reads_all)
{
    struct fault fault;
    if (geteuid() == 0)
        (void)!decode_module_load(&fault); /* where root alone may read it; if it fails, so will decoding */
    if (!ledger_login_is_service(config) || privilege_become(config->service.user, reads_all, &fault))
        return 0;
    return cmd_fail(EX_OSERR, "%s", fault.text);
}
