/* SPDX-License-Identifier: ISC
 *
 * descriptors_available(): against limits of this process. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

/* The lowest number that is free. */
static int next_number(void)
{
    int fd = dup(STDOUT_FILENO);
    close(fd);
    return fd;
}

static void set_limit(rlim_t max)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void test_as_many_as_the_limit_allows(void **state)
{
    (void)state;
    struct error error = {.text = ""};
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = next_number();
    set_limit((rlim_t)next + 4);
    bool four = descriptors_available((struct descriptors){4, INT_MAX}, &error);
    assert_string_equal(error.text, "");
    bool five = descriptors_available((struct descriptors){5, INT_MAX}, &error);
    assert_int_equal(next_number(), next); /* none is left open */
    set_limit(before.rlim_cur);
    assert_true(four && !five);
    assert_non_null(strstr(error.text, "too many open files"));
}

static void test_numbers_below(void **state)
{
    (void)state;
    struct error error = {.text = ""};
    int next = next_number();
    assert_true(descriptors_available((struct descriptors){4, next + 4}, &error));
    assert_string_equal(error.text, "");
    assert_false(descriptors_available((struct descriptors){4, next + 3}, &error));
    assert_non_null(strstr(error.text, "too many open files"));
    assert_int_equal(next_number(), next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_many_as_the_limit_allows),
        cmocka_unit_test(test_numbers_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
