/* SPDX-License-Identifier: ISC
 *
 * decode.h: the parts of a message, by IMAP section number, and their content. */
#include "message_fixture.h"

#include <glib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "decode/decode_internal.h"

static struct decoded *decoded_of(const char *bytes, size_t size)
{
    struct message *message = message_of(bytes, size);
    struct decoded *decoded = decode_message(message, RECORD_TEXT, NULL, NULL);

    message_free(&message);
    return decoded;
}

#define MIXED "Content-Type: multipart/mixed; boundary=b\n"
#define INNER "Content-Type: multipart/alternative; boundary=i\n"
#define MESSAGE "Content-Type: message/rfc822\n"

/* parts: "path type content", one line each. */
static const struct {
    const char *label;
    const char *bytes;
    const char *parts;
} trees[] = {
    {"plain", "A: b\n\ntext", "1 text/plain text\n"},
    {"no header", "\ntext", "1 text/plain text\n"},
    {"no body", "A: b\n\n", "1 text/plain \n"},
    {"nothing but a header", "A: b\n", "1 text/plain \n"},
    {"nothing but text", "This is not a header\nbut text", "1 text/plain This is not a header|but text\n"},
    {"nonsense in a header", "A: b\nnonsense\n\ntext", "1 text/plain text\n"},
    {"HTML", "Content-Type: TEXT/HTML\n\n<p>", "1 text/html <p>\n"},
    {"attachment", "Content-Type: application/pdf\n\nx", "1 application/pdf -\n"},
    {"no subtype", "Content-Type: text\n\nx", "1 text/plain x\n"},
    {"damaged type", "Content-Type: /;;\n\nx", "1 application/octet-stream -\n"},
    {"empty type", "Content-Type:\n\nx", "1 text/plain x\n"},
    {"the first type", "Content-Type: text/html\nContent-Type: image/png\n\nx", "1 text/html x\n"},
    {"two parts", MIXED "\n--b\n\none\n--b\nContent-Type: text/html\n\ntwo\n--b--\n",
     "1 text/plain one\n2 text/html two\n"},
    {"preamble and epilogue", MIXED "\nbefore\n\n--b\n\none\n\n--b--\n--b\n\nafter\n", "1 text/plain one|\n"},
    {"no end", MIXED "\n--b\n\none\n--b\n\ntwo\n", "1 text/plain one\n2 text/plain two|\n"},
    {"cut in a part's header", MIXED "\n--b\n\none\n--b\nContent-Type: text/html", "1 text/plain one\n2 text/html \n"},
    {"cut in a boundary", MIXED "\n--b\n\none\n--b", "1 text/plain one\n2 text/plain \n"},
    {"blanks after a boundary", MIXED "\n--b \t\n\none\n--b-- \n\ntwo", "1 text/plain one\n"},
    {"longer boundary", MIXED "\n--b\n\none\n--bb\n\nmore\n--b-\n--b--x\n--b--\n",
     "1 text/plain one|--bb||more|--b-|--b--x\n"},
    {"boundary within a line", MIXED "\n--b\n\none --b\n --b\n--b--\n", "1 text/plain one --b| --b\n"},
    {"boundary first", MIXED "\n--b\n\n\n--b--\n", "1 text/plain \n"},
    {"empty parts", MIXED "\n--b\n--b\n\n--b\n\n\n--b--\n", "1 text/plain \n2 text/plain \n3 text/plain \n"},
    {"quoted boundary", "Content-Type: multipart/mixed; boundary=\"b c=:\"\n\n--b c=:\n\none\n--b c=:--\n",
     "1 text/plain one\n"},
    {"boundary with a blank at its end", "Content-Type: multipart/mixed; boundary=\"b \"\n\n--b\n\none\n--b--\n",
     "1 text/plain one\n"},
    {"folded type", "Content-Type: multipart/mixed;\n\tboundary=b\n\n--b\n\none\n--b--\n", "1 text/plain one\n"},
    {"no boundary", "Content-Type: multipart/mixed\n\n--b\n\none\n", "1 multipart/mixed -\n"},
    {"blank boundary", "Content-Type: multipart/mixed; boundary=\" \t\"\n\n--\n\none\n", "1 multipart/mixed -\n"},
    {"empty boundary", "Content-Type: multipart/mixed; boundary=\"\"\n\n--\n\none\n", "1 multipart/mixed -\n"},
    {"boundary that never comes", MIXED "\none\n", "1 multipart/mixed -\n"},
    {"only the end", MIXED "\n--b--\n", "1 multipart/mixed -\n"},
    {"multipart in multipart", MIXED "\n--b\n" INNER "\n--i\n\none\n--i\n\ntwo\n--i--\n--b\n\nthree\n--b--\n",
     "1.1 text/plain one\n1.2 text/plain two\n2 text/plain three\n"},
    {"inner multipart without end", MIXED "\n--b\n" INNER "\n--i\n\none\n--b\n\ntwo\n--i\n--b--\n",
     "1.1 text/plain one\n2 text/plain two|--i\n"},
    {"message", MIXED "\n--b\n\none\n--b\n" MESSAGE "\nSubject: x\n\ntwo\n--b--\n",
     "1 text/plain one\n2 message/rfc822 -\n2.1 text/plain two\n"},
    {"multipart in a message", MIXED "\n--b\n" MESSAGE "\n" INNER "\n--i\n\none\n--i\n\ntwo\n--i--\n--b--\n",
     "1 message/rfc822 -\n1.1 text/plain one\n1.2 text/plain two\n"},
    {"message in a message", MESSAGE "\n" MESSAGE "\nA: b\n\none",
     "1 message/rfc822 -\n1.1 message/rfc822 -\n1.1.1 text/plain one\n"},
    {"multipart in multipart in a message",
     MESSAGE "\n" MIXED "\n--b\n" INNER "\n--i\n\none\n--i--\n--b\n\ntwo\n--b--\n",
     "1 message/rfc822 -\n1.1.1 text/plain one\n1.2 text/plain two\n"},
    {"encoded message", MESSAGE "Content-Transfer-Encoding: base64\n\nQTogYgoKeA==\n", "1 message/rfc822 -\n"},
    {"digest", "Content-Type: multipart/digest; boundary=b\n\n--b\n\nSubject: x\n\none\n--b--\n",
     "1 message/rfc822 -\n1.1 text/plain one\n"},
    {"text in a digest", "Content-Type: multipart/digest; boundary=b\n\n--b\nContent-Type: text/plain\n\none\n--b--\n",
     "1 text/plain one\n"},
    {"base64", "Content-Transfer-Encoding: BASE64\n\ndGV4\ndA==\n", "1 text/plain text\n"},
    {"base64 with rubbish", "Content-Transfer-Encoding: base64\n\nd*G\nV4\ndA==\n!", "1 text/plain text\n"},
    {"base64 cut", "Content-Transfer-Encoding: base64\n\ndGV4dA", "1 text/plain tex\n"},
    {"quoted-printable", "Content-Transfer-Encoding: quoted-printable\n\nte=\n=78t=C3=A9=ZZ",
     "1 text/plain text\u00e9=ZZ\n"},
    {"uuencode", "Content-Transfer-Encoding: x-uuencode\n\nhello\nbegin 644 x\n$=&5X=   \n`\nend\n",
     "1 text/plain text\n"},
    {"uuencode without begin", "Content-Transfer-Encoding: x-uuencode\n\nhello\n", "1 text/plain hello|\n"},
    {"unknown encoding", "Content-Transfer-Encoding: x-new\n\nte=78t", "1 text/plain te=78t\n"},
    {"8 bit", "Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: 8bit\n\n\xe9",
     "1 text/plain \u00e9\n"},
};

/* Line ends are shown as '
 * ', so that a part fits on a line. */
static char *listing(const struct decoded *decoded)
{
    GString *text = g_string_new(NULL);
    char *copy;

    for (size_t i = 0; i < decoded->part_count; i++) {
        const struct decoded_part *part = &decoded->parts[i];
        char *content OD_CLEANUP(base_free) = base_strdup(part->text != NULL ? part->text : "-");
        char *out = content;

        for (const char *in = content; *in; in++)
            if (*in != '\r')
                *out++ = *in == '\n' ? '|' : *in;
        *out = '\0';
        g_string_append_printf(text, "%s %s %s\n", part->path, part->type, content);
    }
    copy = base_strdup(text->str);
    g_string_free(text, TRUE);
    return copy;
}

static void test_trees(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(trees); i++) {
        struct decoded *decoded = decoded_of(trees[i].bytes, strlen(trees[i].bytes));
        char *parts OD_CLEANUP(base_free) = listing(decoded);

        if (strcmp(parts, trees[i].parts) != 0)
            fail_msg("%s:\n%s", trees[i].label, parts);
        decoded_free(&decoded);
    }
}

/* Fields as mail has them that are no syntax: no part of them is lost for another one. */
static const struct {
    const char *header;
    const char *type, *charset, *disposition, *filename;
    int64_t size;
} damaged_fields[] = {
    {"Content-Type: BINARY;name=\"notes.bin\"", "text/plain", NULL, NULL, "notes.bin", 6},
    {"Content-Type: BINARY; name=\"a/b\"", "text/plain", NULL, NULL, "a/b", 6},
    {"Content-Type: ;name=x.bin", "text/plain", NULL, NULL, "x.bin", 6},
    {"Content-Type: name=\"x.bin\"", "text/plain", NULL, NULL, "x.bin", 6},
    {"Content-Type: application; name=x.bin", "text/plain", NULL, NULL, "x.bin", 6},
    {"Content-Type: text; charset=koi8-r", "text/plain", "koi8-r", NULL, NULL, 6},
    {"Content-Type: /plain; name=x.bin", "application/octet-stream", NULL, NULL, "x.bin", 6},
    {"Content-Type: text/; name=x.bin", "application/octet-stream", NULL, NULL, "x.bin", 6},
    {"Content-Type: text/plain name=x.bin", "text/plain", NULL, NULL, "x.bin", 6},
    {"Content-Type: text/plain, name=x.bin", "text/plain", NULL, NULL, "x.bin", 6},
    {"Content-Type: application/x; name=my file.bin", "application/x", NULL, NULL, "my file.bin", 6},
    {"Content-Type: application/x; name=\"my file.bin", "application/x", NULL, NULL, "my file.bin", 6},
    {"Content-Type: application/x; name=my file.bin; charset=utf-8", "application/x", "utf-8", NULL, "my file.bin", 6},
    {"Content-Type: application/x;; name=x.bin", "application/x", NULL, NULL, "x.bin", 6},
    {"Content-Type: application/x; name = x.bin", "application/x", NULL, NULL, "x.bin", 6},
    {"Content-Type: application/x; Name=x.bin", "application/x", NULL, NULL, "x.bin", 6},
    {"Content-Type: (c) application/x (d); (e) name=x.bin", "application/x", NULL, NULL, "x.bin", 6},
    {"Content-Type: application/ x; name=x.bin", "application/x", NULL, NULL, "x.bin", 6},
    {"Content-Type: application /x; name=x.bin", "application/x", NULL, NULL, "x.bin", 6},
    {"Content-Type: application/x/y; name=x.bin", "application/x", NULL, NULL, "x.bin", 6},
    {"Content-Type: application/x name=\"x.bin\"", "application/x", NULL, NULL, "x.bin", 6},
    {"Content-Type: \"application/x\"; name=x.bin", "application/x", NULL, NULL, "x.bin", 6},
    {"Content-Type: application/x; name=a,b.bin", "application/x", NULL, NULL, "a,b.bin", 6},
    {"Content-Type: application/x; name=a/b.bin", "application/x", NULL, NULL, "a/b.bin", 6},
    {"Content-Type: application/x; name=x(1).bin", "application/x", NULL, NULL, "x(1).bin", 6},
    {"Content-Type: application/x; name=[x].bin", "application/x", NULL, NULL, "[x].bin", 6},
    {"Content-Type: application/x; name=x@y.bin", "application/x", NULL, NULL, "x@y.bin", 6},
    {"Content-Type: application/x; name='my file.bin'", "application/x", NULL, NULL, "'my file.bin'", 6},
    {"Content-Type: application/x; name*=utf-8''x%20y.bin", "application/x", NULL, NULL, "x y.bin", 6},
    {"Content-Type: application/x; name*=x.bin", "application/x", NULL, NULL, "x.bin", 6},
    {"Content-Type: application/x; name*=utf-8'x.bin", "application/x", NULL, NULL, "utf-8'x.bin", 6},
    {"Content-Type: application/x; name*0=a; name*1=b.bin", "application/x", NULL, NULL, "ab.bin", 6},
    {"Content-Type: application/x; name*1=b.bin; name*2=c", "application/x", NULL, NULL, "b.binc", 6},
    {"Content-Type: application/x; name*0*=utf-8''a%20; name*1=b.bin", "application/x", NULL, NULL, "a b.bin", 6},
    {"Content-Type: application/x; name=\"a\\\"b.bin\"", "application/x", NULL, NULL, "a\"b.bin", 6},
    {"Content-Type: application/x; name=\"a\" \"b.bin\"", "application/x", NULL, NULL, "a", 6},
    {"Content-Type: application/x; junk; name=x.bin", "application/x", NULL, NULL, "x.bin", 6},
    {"Content-Type: application/x; =junk; name=x.bin", "application/x", NULL, NULL, "x.bin", 6},
    {"Content-Type: application/x; charset; name=x.bin", "application/x", NULL, NULL, "x.bin", 6},
    {"Content-Type: multipart; boundary=b", "text/plain", NULL, NULL, NULL, 6},
    {"Content-Type: application; x/y; name=x.bin", "text/plain", NULL, NULL, "x.bin", 6},
    {"Content-Type: text", "text/plain", NULL, NULL, NULL, 6},
    {"Content-Type: audio;name=a.wav", "text/plain", NULL, NULL, "a.wav", 6},
    {"Content-Type: application/x\nContent-Disposition: ; filename=x.bin", "application/x", NULL, NULL, "x.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: filename=x.bin", "application/x", NULL, NULL, "x.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment filename=x.bin", "application/x", NULL, "attachment",
     "x.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename=my file.bin", "application/x", NULL,
     "attachment", "my file.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename=\"my file.bin", "application/x", NULL,
     "attachment", "my file.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename=my file.bin; size=3", "application/x",
     NULL, "attachment", "my file.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename=x(1).bin", "application/x", NULL,
     "attachment", "x(1).bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename=[x].bin", "application/x", NULL,
     "attachment", "[x].bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename=a/b.bin", "application/x", NULL,
     "attachment", "a/b.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename=a=b.bin", "application/x", NULL,
     "attachment", "a=b.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename=a:b.bin", "application/x", NULL,
     "attachment", "a:b.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment, filename=x.bin", "application/x", NULL,
     "attachment", "x.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: \"attachment\"; filename=x.bin", "application/x", NULL,
     "attachment", "x.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: (c) attachment; filename=x.bin", "application/x", NULL,
     "attachment", "x.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment;filename*=utf-8'x.bin", "application/x", NULL,
     "attachment", "utf-8'x.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename*=x%20y.bin", "application/x", NULL,
     "attachment", "x y.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename*=''x%20y.bin", "application/x", NULL,
     "attachment", "x y.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename*=nonsense''x%20y.bin", "application/x",
     NULL, "attachment", "x y.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename*1=b.bin; filename*2=c", "application/x",
     NULL, "attachment", "b.binc", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename*0=a; filename*2=c.bin", "application/x",
     NULL, "attachment", "ac.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename=", "application/x", NULL, "attachment",
     NULL, 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename=\"\"", "application/x", NULL, "attachment",
     NULL, 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename=;name=y.bin", "application/x", NULL,
     "attachment", NULL, 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; file name=x.bin", "application/x", NULL,
     "attachment", NULL, 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename = \"x.bin\"", "application/x", NULL,
     "attachment", "x.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename=\"x.bin\" (c)", "application/x", NULL,
     "attachment", "x.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; junk; filename=x.bin", "application/x", NULL,
     "attachment", "x.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename=\"a;b.bin\"", "application/x", NULL,
     "attachment", "a;b.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename=a;b.bin", "application/x", NULL,
     "attachment", "a", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; name=x.bin", "application/x", NULL, "attachment",
     NULL, 6},
    {"Content-Type: application/x\nContent-Disposition: =; filename=x.bin", "application/x", NULL, NULL, "x.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment;;filename=x.bin", "application/x", NULL,
     "attachment", "x.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename=\"=?utf-8?q?x_y.bin?=\"", "application/x",
     NULL, "attachment", "x y.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename==?utf-8?q?x_y.bin?=", "application/x",
     NULL, "attachment", "x y.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename=\374.bin", "application/x", NULL,
     "attachment", "\u00fc.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attach ment; filename=x.bin", "application/x", NULL,
     "attach ment", "x.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: attachment; filename=\"a\\b.bin\"", "application/x", NULL,
     "attachment", "ab.bin", 6},
    {"Content-Type: application/x\nContent-Disposition: ;", "application/x", NULL, NULL, NULL, 6},
    {"Content-Transfer-Encoding: base64", "text/plain", NULL, NULL, NULL, 3},
    {"Content-Transfer-Encoding: BASE64", "text/plain", NULL, NULL, NULL, 3},
    {"Content-Transfer-Encoding: (c) base64", "text/plain", NULL, NULL, NULL, 3},
    {"Content-Transfer-Encoding: base64 (c)", "text/plain", NULL, NULL, NULL, 3},
    {"Content-Transfer-Encoding: base64;", "text/plain", NULL, NULL, NULL, 3},
    {"Content-Transfer-Encoding: \"base64\"", "text/plain", NULL, NULL, NULL, 3},
    {"Content-Transfer-Encoding: base64 ; x", "text/plain", NULL, NULL, NULL, 3},
    {"Content-Transfer-Encoding: base 64", "text/plain", NULL, NULL, NULL, 6},
    {"Content-Transfer-Encoding: quoted-printable (x)", "text/plain", NULL, NULL, NULL, 6},
    {"Content-Transfer-Encoding: base64, 8bit", "text/plain", NULL, NULL, NULL, 3},
    {"Content-Transfer-Encoding: =base64", "text/plain", NULL, NULL, NULL, 3},
};

static void test_damaged_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(damaged_fields); i++) {
        char *bytes OD_CLEANUP(base_free) = base_printf("%s\n\nAAEC\n", damaged_fields[i].header);
        struct decoded *decoded = decoded_of(bytes, strlen(bytes));
        const struct decoded_part *part = &decoded->parts[0];
        const char *got[] = {part->type, part->charset, part->disposition, part->filename};
        const char *expected[] = {damaged_fields[i].type, damaged_fields[i].charset, damaged_fields[i].disposition,
                                  damaged_fields[i].filename};

        for (size_t k = 0; k < COUNT(got); k++)
            if (g_strcmp0(got[k], expected[k]) != 0)
                fail_msg("%s: %s", damaged_fields[i].header, got[k]);
        if (part->size != damaged_fields[i].size)
            fail_msg("%s: %lld bytes", damaged_fields[i].header, (long long)part->size);
        decoded_free(&decoded);
    }
}

static void test_attributes(void **state)
{
    static const struct {
        const char *header;
        const char *charset, *disposition, *filename;
    } cases[] = {
        {"Content-Type: text/plain; charset=UTF-8\n", "utf-8", NULL, NULL},
        {"Content-Type: text/plain; charset=\"ISO-8859-1\"\n", "iso-8859-1", NULL, NULL},
        {"Content-Type: image/png; name=a.png\n", NULL, NULL, "a.png"},
        {"Content-Disposition: ATTACHMENT; filename=\"a b.png\"\n", NULL, "attachment", "a b.png"},
        {"Content-Disposition: inline\nContent-Type: image/png; name=a.png\n", NULL, "inline", "a.png"},
        {"Content-Disposition: x; filename=one\nContent-Type: a/b; name=two\n", NULL, "x", "one"},
        {"Content-Disposition: x; filename*=utf-8''caf%C3%A9\n", NULL, "x", "caf\u00e9"},
        {"Content-Disposition: x; filename*0*=iso-8859-1''caf%E9;\n filename*1=\" au lait\"\n", NULL, "x",
         "caf\u00e9 au lait"},
        {"Content-Disposition: x; filename=\"=?utf-8?q?caf=C3=A9?=\"\n", NULL, "x", "caf\u00e9"},
        {"Content-Disposition: x; filename=\"caf\xc3\xa9\"\n", NULL, "x", "caf\u00e9"},
        {"Content-Disposition: x; filename=\"caf\xe9\"\n", NULL, "x", "caf\u00e9"},
        {"Content-Disposition:\n", NULL, NULL, NULL},
        {"Content-Disposition: ; filename=\n", NULL, NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *bytes OD_CLEANUP(base_free) = base_printf("%s\nx", cases[i].header);
        struct decoded *decoded = decoded_of(bytes, strlen(bytes));
        const struct decoded_part *part = &decoded->parts[0];
        const char *got[] = {part->charset, part->disposition, part->filename};
        const char *expected[] = {cases[i].charset, cases[i].disposition, cases[i].filename};

        assert_int_equal(decoded->part_count, 1);
        for (size_t n = 0; n < COUNT(got); n++)
            if ((got[n] != NULL) != (expected[n] != NULL) || (got[n] != NULL && strcmp(got[n], expected[n]) != 0))
                fail_msg("%s%zu: %s", cases[i].header, n, got[n] != NULL ? got[n] : "none");
        decoded_free(&decoded);
    }
}

static void assert_sha256(const struct decoded_part *part, const void *content, size_t size)
{
    char *expected OD_CLEANUP(base_free) = g_compute_checksum_for_data(G_CHECKSUM_SHA256, content, size);
    char hex[65];

    base_hex(part->sha256, sizeof(part->sha256), hex);
    assert_string_equal(hex, expected);
    assert_int_equal(part->size, size);
}

static void test_content(void **state)
{
    struct decoded *decoded = decoded_of(BYTES(MIXED "\n--b\nContent-Transfer-Encoding: base64\n\nAP8A\n--b\n" MESSAGE
                                                     "\nA: b\n\nx\ny\n--b\nContent-Type: image/png\n\n\n--b--\n"));

    (void)state;
    assert_int_equal(decoded->part_count, 4);
    assert_sha256(&decoded->parts[0], "\0\xff\0", 3);
    assert_sha256(&decoded->parts[1], "A: b\r\n\r\nx\r\ny", 12);
    assert_sha256(&decoded->parts[2], "x\r\ny", 4);
    assert_sha256(&decoded->parts[3], "", 0);
    decoded_free(&decoded);
}

/* Encoded content larger than a chunk, so that groups of base64 and =XX are cut anywhere. */
static void test_chunks(void **state)
{
    static const struct {
        const char *encoding, *unit, *content;
    } cases[] = {
        {"base64", "dGhp\ncyBpcyB0\nZXh0", "this is text"},
        {"quoted-printable", "t=C3=A9=\nxt ", "t\u00e9xt "},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *header OD_CLEANUP(base_free) = base_printf("Content-Transfer-Encoding: %s\n\n", cases[i].encoding);
        size_t size, content_size;
        char *bytes OD_CLEANUP(base_free) = repeated(header, cases[i].unit, 100000, "", &size);
        char *content OD_CLEANUP(base_free) = repeated("", cases[i].content, 100000, "", &content_size);
        struct decoded *decoded = decoded_of(bytes, size);

        assert_sha256(&decoded->parts[0], content, content_size);
        decoded_free(&decoded);
    }
}

static void test_text_cut(void **state)
{
    size_t size;
    char *bytes OD_CLEANUP(base_free) =
        repeated("Content-Type: text/plain; charset=utf-8\n\nx", "\u20ac", 1000000, "", &size);
    struct decoded *decoded = decoded_of(bytes, size);

    (void)state;
    /* 1 + 3 * 349525 = 1 MiB exactly; one byte before, a character less */
    assert_int_equal(strlen(decoded->parts[0].text), 1 << 20);
    assert_int_equal(decoded->parts[0].size, 3000001);
    decoded_free(&decoded);

    char *shifted OD_CLEANUP(base_free) = repeated("Content-Type: text/plain\n\n", "\u20ac", 1000000, "", &size);

    decoded = decoded_of(shifted, size);
    assert_int_equal(strlen(decoded->parts[0].text), (1 << 20) - 1);
    assert_true(g_utf8_validate(decoded->parts[0].text, -1, NULL));
    decoded_free(&decoded);
}

static void test_texts_together(void **state)
{
    size_t size, sum = 0;
    char *text OD_CLEANUP(base_free) =
        repeated("--b\nContent-Type: text/plain; charset=windows-1252\n\n", "\x80", 400000, "\n", &size);
    char *bytes OD_CLEANUP(base_free) = repeated(MIXED "\n", text, 40, "--b--\n", &size);
    struct decoded *decoded = decoded_of(bytes, size);

    (void)state;
    assert_int_equal(decoded->part_count, 40);
    for (size_t i = 0; i < decoded->part_count; i++) {
        assert_int_equal(decoded->parts[i].size, 400000);
        sum += decoded->parts[i].text != NULL ? strlen(decoded->parts[i].text) : 0;
    }
    assert_in_range(sum, (16 << 20) - 2, 16 << 20);
    assert_null(decoded->parts[39].text);
    decoded_free(&decoded);
}

static void test_limits(void **state)
{
    size_t size;
    char *parts OD_CLEANUP(base_free) = repeated(MIXED "\n", "--b\n\nx\n", 5000, "--b--\n", &size);
    struct decoded *decoded = decoded_of(parts, size);

    (void)state;
    assert_int_equal(decoded->part_count, 1000);
    assert_string_equal(decoded->parts[999].path, "1000");
    decoded_free(&decoded);

    char *messages OD_CLEANUP(base_free) = repeated("", MESSAGE "\n", 1500, "A: b\n\nx", &size);

    decoded = decoded_of(messages, size);
    assert_int_equal(decoded->part_count, 51);
    assert_string_equal(decoded->parts[50].type, "message/rfc822");
    decoded_free(&decoded);
}

/* Large content is not hashed fifty times because it is nested in fifty messages. */
static void test_work(void **state)
{
    size_t size, all;
    char *text OD_CLEANUP(base_free) = repeated("A: b\n\n", "0123456\n", 1 << 19, "", &size);
    char *bytes OD_CLEANUP(base_free) = repeated("", MESSAGE "\n", 1500, text, &all);
    struct decoded *decoded = decoded_of(bytes, all);

    (void)state;
    assert_in_range(decoded->part_count, 17, 25);
    assert_string_equal(decoded->parts[16].type, "message/rfc822");
    decoded_free(&decoded);
}

static void test_long_parameters(void **state)
{
    size_t size;
    char *part OD_CLEANUP(base_free) = repeated("--b\nContent-Disposition: x; filename=", "n", 20000, "\n\nx\n", &size);
    char *bytes OD_CLEANUP(base_free) = repeated(MIXED "\n", part, 100, "--b--\n", &size);
    struct decoded *decoded = decoded_of(bytes, size);

    (void)state;
    assert_int_equal(decoded->part_count, 100);
    assert_in_range(strlen(decoded->parts[0].filename), 16000, 16384);
    assert_in_range(strlen(decoded->parts[99].filename), 1000, 1024);
    decoded_free(&decoded);
}

/* 64 MiB of text within 24 MiB of memory. */
static void test_memory(void **state)
{
    size_t size;
    char *bytes OD_CLEANUP(base_free) = repeated("A: b\n\n", "0123456789abcd\n", 1 << 22, "", &size);
    struct message *message = message_of(bytes, size);
    int status;
    pid_t child;

    (void)state;
    base_free(&bytes);
#ifdef __SANITIZE_ADDRESS__
    message_free(&message);
    skip(); /* it takes more for itself */
#endif
    child = fork();
    if (child == 0) {
        struct rlimit limit = {24 << 20, 24 << 20};
        struct decoded *decoded;

        setrlimit(RLIMIT_DATA, &limit);
        decoded = decode_message(message, RECORD_TEXT, NULL, NULL);
        status = decoded->part_count == 1 && strlen(decoded->parts[0].text) == 1 << 20 ? 0 : 1;
        decoded_free(&decoded);
        message_free(&message);
        _exit(status);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    message_free(&message);
}

static void test_depth(void **state)
{
    GString *bytes = g_string_new(NULL);
    struct decoded *decoded;

    (void)state;
    for (int i = 0; i < 1500; i++)
        g_string_append_printf(bytes, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i);
    g_string_append(bytes, "\ntext\n");
    decoded = decoded_of(bytes->str, bytes->len);
    assert_int_equal(decoded->part_count, 1);
    assert_string_equal(decoded->parts[0].type, "multipart/mixed");
    assert_int_equal(strlen(decoded->parts[0].path), 2 * 50 - 1);
    decoded_free(&decoded);
    g_string_free(bytes, TRUE);
}

int main(void)
{
    must_end_soon();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees),          cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_damaged_fields), cmocka_unit_test(test_content),
        cmocka_unit_test(test_chunks),         cmocka_unit_test(test_text_cut),
        cmocka_unit_test(test_texts_together), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_work),           cmocka_unit_test(test_long_parameters),
        cmocka_unit_test(test_memory),         cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests_name("decode_part", tests, NULL, NULL);
}
