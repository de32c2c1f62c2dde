/* SPDX-License-Identifier: ISC */
#include <stdio.h>

#include "cmd/cmd.h"
#include "replay/replay.h"

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "GCC " __VERSION__
#endif

static void add_fact(json_t *object, const char *name, const char *text, const char *absent)
{
    if (object != NULL)
        json_object_set_new(object, name, text != NULL ? replay_json_text(text) : json_null());
    else
        printf("%s: %s\n", name, text != NULL ? text : absent);
}

int cmd_version(struct cmd *cmd)
{
    static const char *const names[] = {[MODULE_TLS] = "tls", "decode", "postgres", "sqlite", "mariadb"};
    json_t *object = cmd->options.json ? json_pack("{s:s}", "version", VERSION) : NULL;
    char *glib OD_CLEANUP(base_free) =
        base_printf("GLib %u.%u.%u", glib_major_version, glib_minor_version, glib_micro_version);
    if (object == NULL)
        puts("oncedrop " VERSION);
    add_fact(object, "commit", cmd->commit[0] != '\0' ? cmd->commit : NULL, "unknown");
    add_fact(object, "compiler", COMPILER, NULL);
    add_fact(object, "main", glib, NULL);
    for (enum module module = MODULE_TLS; module < MODULES; module++) {
        char *libraries OD_CLEANUP(base_free) = module_libraries(module);
        add_fact(object, names[module], libraries, "not installed");
    }
    if (object != NULL)
        table_print_json(object);
    return 0;
}
