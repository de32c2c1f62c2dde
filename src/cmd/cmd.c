/* SPDX-License-Identifier: ISC */
#include "cmd/cmd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/log.h"
#include "decode/decoded.h"
#include "mailbox/mailbox.h"

void cmd_clear_environment(void)
{
    static const char *const kept[] = {
        "SENDER", "RECIPIENT", "ORIGINAL_RECIPIENT", "SASL_USERNAME", "CREDENTIALS_DIRECTORY", "LANG", "TZ",
        "TMPDIR", NULL,
    };
    privilege_clear_environment(kept);
}

int cmd_fail(int status, const char *format, ...)
{
    char text[2048], escaped[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "oncedrop: %s\n", log_escape(text, escaped, sizeof(escaped)));
    return status;
}

int cmd_error(int status, const struct cmd *cmd)
{
    return cmd_fail(status, "%s", cmd->error.text);
}

int cmd_wrong(const struct cmd *cmd, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return cmd_fail(CMD_USAGE, "%s: %s", cmd->argv[0], text);
}

int cmd_no_feed(const struct cmd *cmd, const char *feed)
{
    return cmd_fail(EX_USAGE, "feed %s: there is no [feed %s] in %s", cmd->operands[0], feed, cmd->config_file);
}

int cmd_no_message(struct cmd *cmd, const char *id)
{
    struct sql_rows *oldest OD_CLEANUP(sql_rows_free) = ledger_oldest(cmd->ledger, &cmd->error);
    bool any = oldest != NULL && oldest->count > 0;
    char *since OD_CLEANUP(base_free) = any ? format_time_local(sql_text(oldest, 0, 0)) : NULL;
    return cmd_fail(1, "%s: no such message%s%s", id, any ? "; the record goes back to " : "", any ? since : "");
}

int cmd_parse_address(const struct cmd *cmd, char **ret)
{
    char *text OD_CLEANUP(base_free) = base_strip_brackets(cmd->operands[0]);
    if (text[0] == '\0' || !g_utf8_validate(text, -1, NULL))
        return cmd_wrong(cmd, "ADDRESS must be an address or an account, in UTF-8");
    *ret = g_utf8_strdown(text, -1);
    return 0;
}

/* Mentions make install's sample. */
static void add_sample(const char *path, struct error *error)
{
    char *sample OD_CLEANUP(base_free) = base_printf("%s.sample", path);
    if (access(path, F_OK) != 0 && errno == ENOENT && access(sample, F_OK) == 0)
        error_set(error, "%s; to begin with: oncedrop setup --help, or copy %s there", error->text, sample);
}

struct config *cmd_config_load(const struct cmd *cmd, int log_fd, struct error *error)
{
    struct config *config = config_load(cmd->config_file, cmd->overrides, error);
    if (config == NULL)
        add_sample(cmd->config_file, error);
    if (config != NULL && !route_check(config, error)) {
        error_prefix(error, "%s", cmd->config_file);
        config_free(&config);
    }
    if (config == NULL)
        return NULL;
    log_open(config->log.to, config->log.format, config->log.level, cmd->verbose, log_fd);
    debug_open(config->log.debug_accounts);
    return config;
}

/* Loads what service.user may not be able to read. False with *error set only if the engine cannot be loaded: what needs the
 * decoder or TLS reports that itself. */
static bool load_modules(const struct config *config, struct error *error)
{
    struct error ignored;
    if (privilege_would_change(config->service.user)) {
        (void)!decoding_load_module(&ignored);
        (void)!mailbox_load(config, &ignored);
    }
    return ledger_load(config, error);
}

int cmd_become(const struct config *config, enum cmd_user user, struct error *error)
{
    bool is_file = config_is_file(config), reads_all = user == CMD_AS_READER, became = true;
    if (user == CMD_AS_CALLER || (user == CMD_AS_OWNER && !is_file))
        return 0;
    if (!load_modules(config, error))
        return EX_UNAVAILABLE;
    if (is_file)
        became = privilege_must_become(config->service.user, reads_all, error);
    else if (ledger_login_is_service(config))
        became = privilege_become(config->service.user, reads_all, error);
    return became ? 0 : EX_OSERR;
}

int cmd_open(struct cmd *cmd, enum cmd_user user)
{
    cmd->config = cmd_config_load(cmd, STDERR_FILENO, &cmd->error);
    int status = cmd->config != NULL ? cmd_become(cmd->config, user, &cmd->error) : EX_CONFIG;
    return status == 0 ? 0 : cmd_error(status, cmd);
}

int cmd_open_ledger(struct cmd *cmd)
{
    int status = cmd_open(cmd, CMD_AS_OWNER);
    if (status != 0)
        return status;
    cmd->ledger = ledger_open(cmd->config, NULL, &cmd->error);
    return cmd->ledger != NULL ? 0 : cmd_error(EX_UNAVAILABLE, cmd);
}

enum route_result cmd_find_route(struct cmd *cmd, const char *text, struct route *ret)
{
    struct address address OD_CLEANUP(address_clear) = {.address = NULL};
    char *clean OD_CLEANUP(base_free) = address_clean(text);
    return address_parse(clean, &address, &cmd->error)
               ? route_find(cmd->config, cmd->ledger, &address, ret, &cmd->error)
               : ROUTE_NONE;
}
