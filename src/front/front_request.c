/* SPDX-License-Identifier: ISC
 *
 * The options and variables of `deliver`; their meaning is that of cmd/deliver.c. */
#include "front/front_request.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"

/* Options and, for each, the parameter of XDELIVER. If the option is not given, the variable counts. */
static const struct field {
    char option;
    const char *parameter;
    const char *variable;
    bool empty_counts; /* even if the variable is empty */
} fields[] = {
    {'f', "SENDER", "SENDER", true},
    {'d', "RECIPIENT", "RECIPIENT", false},
    {'a', "ORIGINAL", "ORIGINAL_RECIPIENT", false},
    {'q', "QUEUEID", NULL, false},
    {'u', "LOGIN", "SASL_USERNAME", true},
};

enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

static bool add(struct front_request *request, const char *text, size_t length)
{
    if (request->length + length >= sizeof(request->command))
        return false;
    memcpy(request->command + request->length, text, length);
    request->length += length;
    request->command[request->length] = '\0';
    return true;
}

/* As xtext (RFC 3461, 4). */
static bool add_value(struct front_request *request, const char *value)
{
    bool fits = true;
    for (; *value != '\0' && fits; value++) {
        unsigned char c = (unsigned char)*value;
        char escaped[3] = {'+'};
        bool plain = c > ' ' && c < 0x7f && c != '+' && c != '=';
        escaped[1] = "0123456789ABCDEF"[c >> 4];
        escaped[2] = "0123456789ABCDEF"[c & 15];
        fits = plain ? add(request, value, 1) : add(request, escaped, sizeof(escaped));
    }
    return fits;
}

static bool add_parameter(struct front_request *request, const char *name, const char *value)
{
    return add(request, " ", 1) && add(request, name, strlen(name)) && add(request, "=", 1) &&
           add_value(request, value);
}

/* The size is left to the full program unless it is a plain number. */
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
    ret->socket = CONFIG_SERVICE_SOCKET;
    ret->length = 0;
    if (argc < 2 || strcmp(argv[1], "deliver") != 0 ||
        !parse_options(argc - 1, argv + 1, values, &size, &ret->socket) || !is_socket(ret->socket))
        return false;
    bool fits = add(ret, "XDELIVER", 8) && (size == NULL || add_parameter(ret, "SIZE", size));
    for (size_t i = 0; i < FIELDS && fits; i++) {
        const char *value = values[i];
        if (value == NULL && fields[i].variable != NULL)
            value = getenv(fields[i].variable);
        if (value != NULL && (values[i] != NULL || *value != '\0' || fields[i].empty_counts))
            fits = add_parameter(ret, fields[i].parameter, value);
    }
    return fits;
}
