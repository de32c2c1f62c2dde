/* SPDX-License-Identifier: ISC
 *
 * Configuration files of arbitrary bytes: either refused with one line that says why, or the settings read, given again
 * one by one, result in the same configuration. */
#include "fuzz.h"

#include <glib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config_internal.h"

#define PASSWORD_FD 100 /* the seeds name /proc/self/fd/100 */

#define PASSWORD "correct-horse-battery"

static int memory_file(const char *content)
{
    int fd = memfd_create("oncedrop-fuzz", MFD_CLOEXEC);

    FUZZ_CHECK(fd >= 0 && fchmod(fd, 0600) == 0);
    FUZZ_CHECK(write(fd, content, strlen(content)) == (ssize_t)strlen(content));
    return fd;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    int fd = memory_file(PASSWORD "\n");

    (void)argc, (void)argv;
    FUZZ_CHECK(dup2(fd, PASSWORD_FD) == PASSWORD_FD);
    close(fd);
    return 0;
}

static char *printed(const struct config *config, enum config_print which)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    FUZZ_CHECK(out);
    config_print(out, config, which);
    FUZZ_CHECK(fclose(out) == 0);
    return text;
}

static bool is_one_line(const char *text)
{
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return false;
    return *text != '\0';
}

/* Each setting that is in force as printed, given with -o. */
static struct config *read_again(const struct config *config, struct error *error)
{
    char **overrides = base_alloc((config_table_size + 1) * sizeof(*overrides));
    struct config *again;
    char path[32];
    int fd = memory_file("");
    size_t count = 0;

    for (size_t i = 0; config_table[i].group != NULL; i++) {
        char *text OD_CLEANUP(base_free) = config_value_text(config, &config_table[i]);

        if (config_in_force(config, &config_table[i]))
            overrides[count++] = base_printf("%s.%s=%s", config_table[i].group, config_table[i].name, text);
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    again = config_load(path, (const char *const *)overrides, error);
    for (size_t i = 0; i < count; i++)
        free(overrides[i]);
    free(overrides);
    close(fd);
    return again;
}

static void check_range(const struct config *config, const struct setting *setting)
{
    const int64_t *value = (const void *)((const char *)config + setting->offset);

    if (setting->type != SETTING_NUMBER && setting->type != SETTING_DURATION && setting->type != SETTING_SIZE)
        return;
    FUZZ_CHECK((*value >= setting->min && *value <= setting->max) || (*value == 0 && setting->flags & SETTING_OR_ZERO));
}

static void check_config(const struct config *config, bool knows_password)
{
    struct error error;
    struct config *again OD_CLEANUP(config_free) = read_again(config, &error);
    char *text OD_CLEANUP(base_free) = printed(config, CONFIG_PRINT_ALL), *other OD_CLEANUP(base_free) = NULL;

    FUZZ_CHECK(again);
    other = printed(again, CONFIG_PRINT_ALL);
    FUZZ_CHECK(strcmp(text, other) == 0);
    FUZZ_CHECK(knows_password || !strstr(text, PASSWORD));
    FUZZ_CHECK(strcmp(config->imap.password->text, again->imap.password->text) == 0);
    FUZZ_CHECK(config->delivery.hold_off > config->delivery.deadline && config->lock.wait < config->delivery.deadline);
    FUZZ_CHECK(g_utf8_validate(text, -1, NULL));
    for (const struct setting *setting = config_table; setting->group != NULL; setting++)
        check_range(config, setting);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    int fd = memory_file("");
    struct error error = {.text = ""};
    struct config *config;
    char path[32];

    FUZZ_CHECK(write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    config = config_load(path, NULL, &error);
    close(fd);
    if (config != NULL)
        check_config(config, size > 0 && memmem(bytes, size, PASSWORD, strlen(PASSWORD)) != NULL);
    else
        FUZZ_CHECK(is_one_line(error.text));
    config_free(&config);
    return 0;
}
