/* SPDX-License-Identifier: ISC
 *
 * The character sets that are converted: those in use for mail, under the names in use there (the labels of WHATWG's
 * Encoding Standard, IANA's aliases). Rare converters are where C libraries have had vulnerabilities; hence
 * ISO-2022-KR, -CN, -CN-EXT, -JP-1, -2 and -3, UTF-7, EUC-TW, EBCDIC and the DOS code pages are left out. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "decode/decode_internal.h"

#define KEY_MAX 32
#define FORESEEN_MAX 1000 /* names in a message that are looked up in advance */

/* key: letters and digits of the name, in lower case. name: what the C library gets, often a superset of the set
 * named. */
struct charset {
    const char *key;
    const char *name;
};

/* clang-format off */
static const struct charset charsets[] = {
    {"utf8", "UTF-8"}, {"unicode11utf8", "UTF-8"}, {"unicode20utf8", "UTF-8"},
    {"utf16", "UTF-16"}, {"utf16be", "UTF-16BE"}, {"utf16le", "UTF-16LE"},
    {"iso88591", "CP1252"}, {"iso885911987", "CP1252"}, {"isoir100", "CP1252"}, {"latin1", "CP1252"},
    {"l1", "CP1252"}, {"ibm819", "CP1252"}, {"cp819", "CP1252"}, {"csisolatin1", "CP1252"},
    {"iso88592", "ISO-8859-2"}, {"iso885921987", "ISO-8859-2"}, {"isoir101", "ISO-8859-2"}, {"latin2", "ISO-8859-2"},
    {"l2", "ISO-8859-2"}, {"csisolatin2", "ISO-8859-2"},
    {"iso88593", "ISO-8859-3"}, {"iso885931988", "ISO-8859-3"}, {"latin3", "ISO-8859-3"}, {"l3", "ISO-8859-3"},
    {"iso88594", "ISO-8859-4"}, {"iso885941988", "ISO-8859-4"}, {"latin4", "ISO-8859-4"}, {"l4", "ISO-8859-4"},
    {"iso88595", "ISO-8859-5"}, {"iso885951988", "ISO-8859-5"}, {"cyrillic", "ISO-8859-5"},
    {"csisolatincyrillic", "ISO-8859-5"},
    {"iso88596", "ISO-8859-6"}, {"iso885961987", "ISO-8859-6"}, {"iso88596e", "ISO-8859-6"},
    {"iso88596i", "ISO-8859-6"}, {"arabic", "ISO-8859-6"}, {"ecma114", "ISO-8859-6"}, {"asmo708", "ISO-8859-6"},
    {"iso88597", "ISO-8859-7"}, {"iso885971987", "ISO-8859-7"}, {"greek", "ISO-8859-7"}, {"greek8", "ISO-8859-7"},
    {"ecma118", "ISO-8859-7"}, {"elot928", "ISO-8859-7"},
    {"iso88598", "ISO-8859-8"}, {"iso885981988", "ISO-8859-8"}, {"iso88598e", "ISO-8859-8"},
    {"iso88598i", "ISO-8859-8"}, {"hebrew", "ISO-8859-8"}, {"visual", "ISO-8859-8"}, {"logical", "ISO-8859-8"},
    {"iso88599", "CP1254"}, {"iso885991989", "CP1254"}, {"isoir148", "CP1254"}, {"latin5", "CP1254"}, {"l5", "CP1254"},
    {"iso885910", "ISO-8859-10"}, {"latin6", "ISO-8859-10"}, {"l6", "ISO-8859-10"},
    {"iso885911", "CP874"}, {"tis620", "CP874"}, {"tis62025331", "CP874"}, {"windows874", "CP874"}, {"cp874", "CP874"},
    {"iso885913", "ISO-8859-13"}, {"iso885914", "ISO-8859-14"},
    {"iso885915", "ISO-8859-15"}, {"latin9", "ISO-8859-15"}, {"l9", "ISO-8859-15"}, {"csisolatin9", "ISO-8859-15"},
    {"iso885916", "ISO-8859-16"}, {"latin10", "ISO-8859-16"},
    {"windows1250", "CP1250"}, {"cp1250", "CP1250"}, {"xcp1250", "CP1250"},
    {"windows1251", "CP1251"}, {"cp1251", "CP1251"}, {"xcp1251", "CP1251"},
    {"windows1252", "CP1252"}, {"cp1252", "CP1252"}, {"xcp1252", "CP1252"},
    {"windows1253", "CP1253"}, {"cp1253", "CP1253"}, {"xcp1253", "CP1253"},
    {"windows1254", "CP1254"}, {"cp1254", "CP1254"}, {"xcp1254", "CP1254"},
    {"windows1255", "CP1255"}, {"cp1255", "CP1255"}, {"xcp1255", "CP1255"},
    {"windows1256", "CP1256"}, {"cp1256", "CP1256"}, {"xcp1256", "CP1256"},
    {"windows1257", "CP1257"}, {"cp1257", "CP1257"}, {"xcp1257", "CP1257"},
    {"windows1258", "CP1258"}, {"cp1258", "CP1258"}, {"xcp1258", "CP1258"},
    {"koi8r", "KOI8-R"}, {"koi8", "KOI8-R"}, {"koi", "KOI8-R"}, {"cskoi8r", "KOI8-R"},
    {"koi8u", "KOI8-U"}, {"koi8ru", "KOI8-U"},
    {"ibm866", "CP866"}, {"cp866", "CP866"}, {"csibm866", "CP866"},
    {"macintosh", "MACINTOSH"}, {"mac", "MACINTOSH"}, {"xmacroman", "MACINTOSH"}, {"csmacintosh", "MACINTOSH"},
    {"xmaccyrillic", "MAC-CYRILLIC"}, {"maccyrillic", "MAC-CYRILLIC"},
    {"gb18030", "GB18030"}, {"gbk", "GB18030"}, {"xgbk", "GB18030"}, {"gb2312", "GB18030"}, {"gb231280", "GB18030"},
    {"csgb2312", "GB18030"}, {"csiso58gb231280", "GB18030"}, {"euccn", "GB18030"}, {"chinese", "GB18030"},
    {"cp936", "GB18030"}, {"ms936", "GB18030"}, {"windows936", "GB18030"},
    {"big5", "BIG5"}, {"cnbig5", "BIG5"}, {"csbig5", "BIG5"}, {"xxbig5", "BIG5"}, {"cp950", "BIG5"},
    {"windows950", "BIG5"}, {"big5hkscs", "BIG5-HKSCS"},
    {"eucjp", "EUC-JP"}, {"xeucjp", "EUC-JP"}, {"cseucpkdfmtjapanese", "EUC-JP"},
    {"shiftjis", "CP932"}, {"sjis", "CP932"}, {"xsjis", "CP932"}, {"mskanji", "CP932"}, {"csshiftjis", "CP932"},
    {"windows31j", "CP932"}, {"cswindows31j", "CP932"}, {"cp932", "CP932"}, {"ms932", "CP932"}, {"windows932", "CP932"},
    {"iso2022jp", "ISO-2022-JP"}, {"csiso2022jp", "ISO-2022-JP"},
    {"euckr", "CP949"}, {"cseuckr", "CP949"}, {"korean", "CP949"}, {"isoir149", "CP949"}, {"ksc5601", "CP949"},
    {"ksc56011987", "CP949"}, {"ksc56011989", "CP949"}, {"csksc56011987", "CP949"}, {"uhc", "CP949"},
    {"cp949", "CP949"}, {"windows949", "CP949"},
};
/* clang-format on */

/* "ISO_8859-1:1987" is spelled in many ways. A '/' would begin options or a path, so such a name is rejected. */
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

static const struct charset *find(const char *name)
{
    char key[KEY_MAX];

    if (make_key(name, key))
        for (size_t i = 0; i < G_N_ELEMENTS(charsets); i++)
            if (strcmp(charsets[i].key, key) == 0)
                return &charsets[i];
    return NULL;
}

const char *decode_charset(const char *name)
{
    const struct charset *charset = find(name);

    return charset != NULL ? charset->name : NULL;
}

static bool guarded;

void decode_charset_guard(void)
{
    guarded = true;
}

/* Whether files cannot be opened any more; which converters can be opened nevertheless. */
static bool sealed;
static bool kept[G_N_ELEMENTS(charsets)];

/* The C library does not unload the code of a converter that is open. */
static void keep(const struct charset *charset)
{
    if (kept[charset - charsets])
        return;
    /* One that fails now would fail later. NOLINTNEXTLINE(bugprone-unused-return-value) */
    (void)iconv_open("UTF-8", charset->name);
    for (size_t i = 0; i < G_N_ELEMENTS(charsets); i++)
        if (strcmp(charsets[i].name, charset->name) == 0)
            kept[i] = true;
}

static void keep_named(const char *name)
{
    const struct charset *charset = find(name);

    if (charset != NULL)
        keep(charset);
}

/* The place of a name that the '=' at `at` comes before; NULL if none is expected there. */
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

/* Encoded words, charset=, and extended parameters. */
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
        keep_named(name);
        names++;
    }
}

void decode_charset_keep(const struct message *message)
{
    decode_charset_guard();
    keep_named("utf-8");
    keep_named("windows-1252");
    if (message != NULL)
        keep_all_named((const char *)message->data, (const char *)message->data + message->size);
    else
        for (size_t i = 0; i < G_N_ELEMENTS(charsets); i++)
            keep(&charsets[i]);
    sealed = true;
}

/* function: a pointer to the function pointer to set. ISO C has no conversion from an object pointer. */
static void find_real(const char *name, void *function)
{
    void *symbol = dlsym(RTLD_NEXT, name);

    memcpy(function, &symbol, sizeof(symbol));
}

/* Replaces the C library's function in the whole process: gmime opens converters itself, under names that it may have
 * assembled from pieces (continued parameters, quoted pairs), so checking its input would not be enough. The C library
 * never gets the message's spelling. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the libc's names are reserved ones */
iconv_t iconv_open(const char *to, const char *from)
{
    iconv_t (*real)(const char *, const char *);
    const char *name = from;

    find_real("iconv_open", &real);
    if (guarded) {
        const struct charset *utf8 = find(to), *charset = find(from);

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

/* Likewise for iconv(3). glibc's CP949 rejects A2 E8 only after it has consumed it, and other converters may do the
 * same. At the end of a text nothing is then left to skip, but gmime would skip a byte all the same. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the libc's names are reserved ones */
size_t iconv(iconv_t converter, char **in, size_t *left, char **out, size_t *room)
{
    static size_t (*real)(iconv_t, char **, size_t *, char **, size_t *);
    size_t result;

    if (real == NULL)
        find_real("iconv", &real);
    result = real(converter, in, left, out, room);
    if (guarded && result == (size_t)-1 && errno != E2BIG && left != NULL && *left == 0)
        return 0;
    return result;
}
