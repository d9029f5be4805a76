/* SPDX-License-Identifier: MIT
 *
 * From the regular expressions of tokenizer files, which are read by Oniguruma, to PCRE2.
 *
 * Only constructs that both read alike pass: \w, \b, ^, $, \h, nested classes, named groups, {,n}
 * and possessive or lazy {n,m} differ between the two or depend on modes, and are refused by name.
 * \s is spelled out because PCRE2 10.42 still counts U+180E as a space.
 */
#include "text/tokenizer/tokenizer_parts.h"

#include <string.h>

#include "core/core.h"
#include "text/text_buffer.h"

#define SPACES "\\t-\\r\\x{85}\\p{Z}"

struct translation {
    const char *pattern;
    size_t at;
    bool in_class;
    struct text_buffer out;
    bool out_of_memory;
};

static void emit(struct translation *t, const char *text, size_t bytes)
{
    if (!text_buffer_append(&t->out, text, bytes))
        t->out_of_memory = true;
}

static void emit_text(struct translation *t, const char *text)
{
    emit(t, text, strlen(text));
}

static bool is_alphanumeric(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Copies `bytes` of the pattern. */
static bool copy(struct translation *t, size_t bytes)
{
    emit(t, t->pattern + t->at, bytes);
    t->at += bytes;
    return true;
}

/* \p{Name}, \x{hex}: an escape with letters, digits and _ in braces. */
static bool copy_braced(struct translation *t)
{
    const char *from = t->pattern + t->at;
    if (from[2] != '{')
        return false;
    size_t end = 3;
    while (is_alphanumeric(from[end]) || from[end] == '_')
        end++;
    return from[end] == '}' && end > 3 && copy(t, end + 1);
}

static bool escape(struct translation *t)
{
    char kind = t->pattern[t->at + 1];
    switch (kind) {
    case 's':
        emit_text(t, t->in_class ? SPACES : "[" SPACES "]");
        t->at += 2;
        return true;
    case 'S':
        if (t->in_class) /* a class cannot hold the complement of several ranges */
            return false;
        emit_text(t, "[^" SPACES "]");
        t->at += 2;
        return true;
    case 'p':
    case 'P':
    case 'x':
        return copy_braced(t);
    case 'd':
    case 'D':
    case 'r':
    case 'n':
    case 't':
    case 'f':
        return copy(t, 2);
    default: /* an escaped mark stands for itself */
        return kind > ' ' && kind < 0x7F && !is_alphanumeric(kind) && copy(t, 2);
    }
}

static bool group(struct translation *t)
{
    static const char *const openings[] = {"(?:", "(?i:", "(?=", "(?!", "(?>", "(?<=", "(?<!"};
    const char *from = t->pattern + t->at;
    if (from[1] != '?')
        return from[1] != '*' && copy(t, 1);
    for (size_t i = 0; i < sizeof openings / sizeof openings[0]; i++)
        if (strncmp(from, openings[i], strlen(openings[i])) == 0)
            return copy(t, strlen(openings[i]));
    return false;
}

/* {n}, {n,} or {n,m}, without a suffix. */
static bool counted(struct translation *t)
{
    const char *from = t->pattern + t->at;
    size_t digits = strspn(from + 1, "0123456789"), end = 1 + digits;
    if (from[end] == ',')
        end += 1 + strspn(from + end + 1, "0123456789");
    if (digits == 0 || from[end] != '}' || from[end + 1] == '+' || from[end + 1] == '?')
        return false;
    return copy(t, end + 1);
}

static bool class_begin(struct translation *t)
{
    size_t bytes = t->pattern[t->at + 1] == '^' ? 2 : 1;
    t->in_class = true;
    return t->pattern[t->at + bytes] != ']' && copy(t, bytes);
}

static bool step_in_class(struct translation *t)
{
    const char *from = t->pattern + t->at;
    switch (from[0]) {
    case '\\':
        return escape(t);
    case '[': /* Oniguruma: a class within the class */
        return false;
    case '&': /* Oniguruma: && is intersection */
        return from[1] != '&' && copy(t, 1);
    case ']':
        t->in_class = false;
        return copy(t, 1);
    default:
        return copy(t, 1);
    }
}

static bool step(struct translation *t)
{
    if (t->in_class)
        return step_in_class(t);
    switch (t->pattern[t->at]) {
    case '\\':
        return escape(t);
    case '(':
        return group(t);
    case '[':
        return class_begin(t);
    case '{':
        return counted(t);
    case '^':
    case '$':
        return false;
    default:
        return copy(t, 1);
    }
}

assay_status split_translate(const char *pattern, char **translated, struct assay_error *error)
{
    struct translation t = {.pattern = pattern};
    bool understood = true;
    while (understood && pattern[t.at] != '\0' && !t.out_of_memory)
        understood = step(&t);
    if (understood && !t.out_of_memory && t.out.data != NULL) {
        *translated = t.out.data;
        return ASSAY_OK;
    }
    assay_free(t.out.data);
    if (t.out_of_memory)
        return assay_fail(error, ASSAY_E_MEMORY, TOKENIZER_FILE, "pre_tokenizer",
                          "no memory for the split pattern");
    if (understood)
        return assay_fail(error, ASSAY_E_PARSE, TOKENIZER_FILE, "pre_tokenizer",
                          "the split pattern is empty");
    return assay_fail(error, ASSAY_E_UNSUPPORTED, TOKENIZER_FILE, "pre_tokenizer",
                      "the split pattern holds a construct that is not supported, at byte %zu: "
                      "\"%.20s\"",
                      t.at, pattern + t.at);
}
