/* SPDX-License-Identifier: ISC
 *
 * Counters in files. Seen to fail with: no lock; a file of another kind overwritten; a file made as root. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

static char directory[] = "/tmp/oncedrop-counter.XXXXXX";
static char path[sizeof(directory) + 16];

static int set_up(void **state)
{
    (void)state;
    bool good = mkdtemp(directory) != NULL;
    snprintf(path, sizeof(path), "%s/number", directory);
    return good ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void assert_number(int64_t number)
{
    int64_t found = -1;
    assert_true(counter_read(path, &found));
    assert_int_equal(found, number);
}

static void test_adds(void **state)
{
    (void)state;
    assert_number(0); /* no file */
    write_file("");
    counter_add(path, 1);
    counter_add(path, 41);
    assert_number(42);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    assert_int_equal(status.st_size, 19);
}

static void test_makes_the_file_unless_root(void **state)
{
    (void)state;
    unlink(path);
    counter_add(path, 1);
    assert_int_equal(access(path, F_OK) == 0, geteuid() != 0);
}

static void test_leaves_others_alone(void **state)
{
    static const char *const texts[] = {"secret\n", "000000000000000001", "000000000000000001\n\n",
                                        "-00000000000000001\n"};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        char read[64] = "";
        int64_t number;
        write_file(texts[i]);
        counter_add(path, 1);
        assert_false(counter_read(path, &number));
        int fd = open(path, O_RDONLY);
        assert_true(pread(fd, read, sizeof(read) - 1, 0) > 0);
        close(fd);
        assert_string_equal(read, texts[i]);
    }
    counter_add("/dev/full", 1);
    counter_add("/nonexistent/number", 1);
    counter_add(directory, 1);
}

static void test_does_not_wait(void **state)
{
    (void)state;
    write_file("000000000000000007\n");
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(path, O_RDWR);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &whole), 0);
    counter_add(path, 1);
    assert_number(7);
    close(fd);
    counter_add(path, 1);
    assert_number(8);
}

/* A process that gets the lock counts right; nothing is doubled. */
static void test_many_at_once(void **state)
{
    enum { PROCESSES = 8, EACH = 200 };
    int64_t number = -1;
    (void)state;
    write_file("");
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0) {
            for (int j = 0; j < EACH; j++)
                counter_add(path, 1);
            _exit(0);
        }
    while (wait(NULL) > 0)
        continue;
    assert_true(counter_read(path, &number));
    assert_in_range(number, 1, PROCESSES * EACH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adds),
        cmocka_unit_test(test_makes_the_file_unless_root),
        cmocka_unit_test(test_leaves_others_alone),
        cmocka_unit_test(test_does_not_wait),
        cmocka_unit_test(test_many_at_once),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
