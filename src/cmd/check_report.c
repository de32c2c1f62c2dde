/* SPDX-License-Identifier: ISC */
#include "cmd/check_report.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"

static int failures;

OD_PRINTF(3, 0) static void print_item(const char *kind, const char *name, const char *format, va_list arguments)
{
    char text[1024], escaped[2048];
    vsnprintf(text, sizeof(text), format, arguments);
    printf("%-8s%-14s%s\n", kind, name, log_escape(text, escaped, sizeof(escaped)));
    fflush(stdout);
}

bool check_item(bool good, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_item(good ? "ok" : "failed", name, format, arguments);
    va_end(arguments);
    failures += !good;
    return good;
}

void check_warning(const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_item("warning", name, format, arguments);
    va_end(arguments);
}

int check_failures(void)
{
    return failures;
}
