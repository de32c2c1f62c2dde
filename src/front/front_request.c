/* SPDX-License-Identifier: ISC
 *
 * cmd/deliver.c says what options and variables mean. */
#include "front/front_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"

/* Options with XDELIVER's parameters. Without the option, the variable counts. */
static const struct field {
    char option;
    const char *parameter;
    const char *variable;
    bool empty_counts;
} fields[] = {
    {'f', "SENDER", "SENDER", true},
    {'d', "RECIPIENT", "RECIPIENT", false},
    {'a', "ORIGINAL", "ORIGINAL_RECIPIENT", false},
    {'q', "QUEUEID", NULL, false},
    {'u', "LOGIN", "SASL_USERNAME", true},
};

enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

/* Appends, or only counts what does not fit. */
static void add(struct front_request *request, const char *text)
{
    size_t length = strlen(text);
    if (request->length + length < sizeof(request->command))
        memcpy(request->command + request->length, text, length + 1);
    request->length += length;
}

/* Appends the value as xtext (RFC 3461, 4). */
static void add_parameter(struct front_request *request, const char *name, const char *value)
{
    add(request, " ");
    add(request, name);
    add(request, "=");
    for (; *value != '\0'; value++) {
        unsigned char c = (unsigned char)*value;
        bool plain = c > ' ' && c < 0x7f && c != '+' && c != '=';
        char text[4] = {*value, '\0'};
        if (!plain)
            snprintf(text, sizeof(text), "+%02X", c);
        add(request, text);
    }
}

/* Other sizes are for the full program. */
static bool is_number(const char *text)
{
    size_t length = strspn(text, "0123456789");
    return length > 0 && length <= 15 && text[length] == '\0';
}

static bool parse_options(int argc, char **argv, const char *values[FIELDS], const char **size, const char **socket)
{
    opterr = 0;
    for (int c; (c = getopt(argc, argv, "+:f:d:a:q:s:u:S:")) != -1;) {
        size_t i = 0;
        if (c == 's')
            *size = optarg;
        else if (c == 'S')
            *socket = optarg;
        else {
            while (i < FIELDS && fields[i].option != c)
                i++;
            if (i == FIELDS)
                return false;
            values[i] = optarg;
        }
    }
    return optind == argc && (*size == NULL || is_number(*size));
}

static bool is_socket(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISSOCK(found.st_mode);
}

bool front_request_parse(int argc, char **argv, struct front_request *ret)
{
    const char *values[FIELDS] = {NULL}, *size = NULL;
    char since[24];
    ret->socket = CONFIG_SERVICE_SOCKET;
    ret->length = 0;
    if (argc < 2 || strcmp(argv[1], "deliver") != 0 ||
        !parse_options(argc - 1, argv + 1, values, &size, &ret->socket) || !is_socket(ret->socket))
        return false;
    add(ret, "XDELIVER");
    if (size != NULL)
        add_parameter(ret, "SIZE", size);
    for (size_t i = 0; i < FIELDS; i++) {
        const char *value = values[i];
        if (value == NULL && fields[i].variable != NULL)
            value = getenv(fields[i].variable);
        if (value != NULL && (values[i] != NULL || *value != '\0' || fields[i].empty_counts))
            add_parameter(ret, fields[i].parameter, value);
    }
    snprintf(since, sizeof(since), "%lld", (long long)base_now_ms());
    add_parameter(ret, "SINCE", since);
    return ret->length < sizeof(ret->command);
}
