/* SPDX-License-Identifier: ISC
 *
 * The supported character sets: those of mail, with WHATWG's labels and IANA's aliases. C libraries have had
 * vulnerabilities in rare converters, so ISO-2022-KR, -CN, -CN-EXT, -JP-1, -2 and -3, UTF-7, EUC-TW, EBCDIC and DOS
 * code pages are not supported. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "decode/decode_internal.h"

#define KEY_MAX 32
#define FORESEEN_MAX 1000 /* names in a message */

/* name: for the C library, often a superset. keys: letters and digits of names in messages, lower case;
 * NULL-terminated. */
struct charset {
    const char *name;
    const char *keys[13];
};

/* clang-format off */
static const struct charset charsets[] = {
    {"UTF-8", {"utf8", "unicode11utf8", "unicode20utf8"}},
    {"UTF-16", {"utf16"}},
    {"UTF-16BE", {"utf16be"}},
    {"UTF-16LE", {"utf16le"}},
    {"CP1252", {"iso88591", "iso885911987", "isoir100", "latin1", "l1", "ibm819", "cp819", "csisolatin1", "windows1252",
      "cp1252", "xcp1252"}},
    {"ISO-8859-2", {"iso88592", "iso885921987", "isoir101", "latin2", "l2", "csisolatin2"}},
    {"ISO-8859-3", {"iso88593", "iso885931988", "latin3", "l3"}},
    {"ISO-8859-4", {"iso88594", "iso885941988", "latin4", "l4"}},
    {"ISO-8859-5", {"iso88595", "iso885951988", "cyrillic", "csisolatincyrillic"}},
    {"ISO-8859-6", {"iso88596", "iso885961987", "iso88596e", "iso88596i", "arabic", "ecma114", "asmo708"}},
    {"ISO-8859-7", {"iso88597", "iso885971987", "greek", "greek8", "ecma118", "elot928"}},
    {"ISO-8859-8", {"iso88598", "iso885981988", "iso88598e", "iso88598i", "hebrew", "visual", "logical"}},
    {"CP1254", {"iso88599", "iso885991989", "isoir148", "latin5", "l5", "windows1254", "cp1254", "xcp1254"}},
    {"ISO-8859-10", {"iso885910", "latin6", "l6"}},
    {"CP874", {"iso885911", "tis620", "tis62025331", "windows874", "cp874"}},
    {"ISO-8859-13", {"iso885913"}},
    {"ISO-8859-14", {"iso885914"}},
    {"ISO-8859-15", {"iso885915", "latin9", "l9", "csisolatin9"}},
    {"ISO-8859-16", {"iso885916", "latin10"}},
    {"CP1250", {"windows1250", "cp1250", "xcp1250"}},
    {"CP1251", {"windows1251", "cp1251", "xcp1251"}},
    {"CP1253", {"windows1253", "cp1253", "xcp1253"}},
    {"CP1255", {"windows1255", "cp1255", "xcp1255"}},
    {"CP1256", {"windows1256", "cp1256", "xcp1256"}},
    {"CP1257", {"windows1257", "cp1257", "xcp1257"}},
    {"CP1258", {"windows1258", "cp1258", "xcp1258"}},
    {"KOI8-R", {"koi8r", "koi8", "koi", "cskoi8r"}},
    {"KOI8-U", {"koi8u", "koi8ru"}},
    {"CP866", {"ibm866", "cp866", "csibm866"}},
    {"MACINTOSH", {"macintosh", "mac", "xmacroman", "csmacintosh"}},
    {"MAC-CYRILLIC", {"xmaccyrillic", "maccyrillic"}},
    {"GB18030", {"gb18030", "gbk", "xgbk", "gb2312", "gb231280", "csgb2312", "csiso58gb231280", "euccn", "chinese",
      "cp936", "ms936", "windows936"}},
    {"BIG5", {"big5", "cnbig5", "csbig5", "xxbig5", "cp950", "windows950"}},
    {"BIG5-HKSCS", {"big5hkscs"}},
    {"EUC-JP", {"eucjp", "xeucjp", "cseucpkdfmtjapanese"}},
    {"CP932", {"shiftjis", "sjis", "xsjis", "mskanji", "csshiftjis", "windows31j", "cswindows31j", "cp932", "ms932",
      "windows932"}},
    {"ISO-2022-JP", {"iso2022jp", "csiso2022jp"}},
    {"CP949", {"euckr", "cseuckr", "korean", "isoir149", "ksc5601", "ksc56011987", "ksc56011989", "csksc56011987",
      "uhc", "cp949", "windows949"}},
};
/* clang-format on */

/* Reduces "ISO_8859-1:1987" to its key. Fails for other characters: '/' begins options or a path. */
static bool make_key(const char *name, char key[KEY_MAX])
{
    size_t length = 0;

    for (; *name; name++) {
        if (g_ascii_isalnum(*name) && length + 1 < KEY_MAX)
            key[length++] = g_ascii_tolower(*name);
        else if (strchr("-_.: ", *name) == NULL)
            return false;
    }
    key[length] = '\0';
    return true;
}

static const struct charset *find_charset(const char *name)
{
    char key[KEY_MAX];

    for (size_t i = 0; make_key(name, key) && i < G_N_ELEMENTS(charsets); i++)
        if (g_strv_contains(charsets[i].keys, key))
            return &charsets[i];
    return NULL;
}

const char *decode_charset(const char *name)
{
    const struct charset *charset = find_charset(name);

    return charset != NULL ? charset->name : NULL;
}

/* guarded: iconv_open opens only these sets. sealed: only kept ones, since files cannot be opened. */
static bool guarded, sealed;
static bool kept[G_N_ELEMENTS(charsets)];

void decode_charset_guard(void)
{
    guarded = true;
}

/* The C library does not unload an open converter. */
static void keep_converter(const struct charset *charset)
{
    if (charset == NULL || kept[charset - charsets])
        return;
    /* One that fails now would fail later. NOLINTNEXTLINE(bugprone-unused-return-value) */
    (void)iconv_open("UTF-8", charset->name);
    kept[charset - charsets] = true;
}

/* Returns where a name begins after the '=' at `at`, or NULL. */
static const char *name_after(const char *start, const char *at, const char *end)
{
    static const char word[] = "charset";
    const size_t length = sizeof(word) - 1;

    if (end - at > 1 && at[1] == '?')
        return at + 2;
    if (at > start && at[-1] == '*')
        return at + 1;
    if ((size_t)(at - start) < length || g_ascii_strncasecmp(at - length, word, length) != 0)
        return NULL;
    return end - at > 1 && at[1] == '"' ? at + 2 : at + 1;
}

/* Keeps those in encoded words, charset= and extended parameters. */
static void keep_all_named(const char *start, const char *end)
{
    char name[2 * KEY_MAX];
    size_t names = 0;

    for (const char *at = start; names < FORESEEN_MAX && (at = memchr(at, '=', (size_t)(end - at))) != NULL; at++) {
        const char *c = name_after(start, at, end);
        size_t length = 0;

        while (c != NULL && c < end && length + 1 < sizeof(name) &&
               (g_ascii_isalnum(*c) || (*c && strchr("-_.:", *c) != NULL)))
            name[length++] = *c++;
        name[length] = '\0';
        if (length == 0)
            continue;
        keep_converter(find_charset(name));
        names++;
    }
}

void decode_charset_keep(const struct message *message)
{
    keep_converter(find_charset("utf-8"));
    keep_converter(find_charset("windows-1252"));
    if (message != NULL)
        keep_all_named((const char *)message->data, (const char *)message->data + message->size);
    else
        for (size_t i = 0; i < G_N_ELEMENTS(charsets); i++)
            keep_converter(&charsets[i]);
    guarded = sealed = true;
}

/* function: address of a function pointer. ISO C converts no object pointer to one. */
static void find_real(const char *name, void *function)
{
    void *symbol = dlsym(RTLD_NEXT, name);

    memcpy(function, &symbol, sizeof(symbol));
}

/* Replaces the C library's function in the whole process: checking gmime's input is not enough, since gmime assembles
 * names from pieces. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the libc's names are reserved ones */
iconv_t iconv_open(const char *to, const char *from)
{
    iconv_t (*real)(const char *, const char *);
    const char *name = from;

    find_real("iconv_open", &real);
    if (guarded) {
        const struct charset *utf8 = find_charset(to), *charset = find_charset(from);

        name = utf8 != NULL && charset != NULL && strcmp(utf8->name, "UTF-8") == 0 ? charset->name : NULL;
        to = "UTF-8";
        if (name != NULL && sealed && !kept[charset - charsets])
            _exit(DECODE_CHARSET_MISSING);
    }
    if (real == NULL || name == NULL) {
        errno = EINVAL;
        return (iconv_t)-1;
    }
    return real(to, name);
}

/* Replaces the C library's function. glibc's CP949 rejects A2 E8 after consuming it; at the end of a text gmime would
 * skip a byte more. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the libc's names are reserved ones */
size_t iconv(iconv_t converter, char **in, size_t *left, char **out, size_t *room)
{
    static size_t (*real)(iconv_t, char **, size_t *, char **, size_t *);

    if (real == NULL)
        find_real("iconv", &real);
    size_t result = real(converter, in, left, out, room);
    if (guarded && result == (size_t)-1 && errno != E2BIG && left != NULL && *left == 0)
        return 0;
    return result;
}
