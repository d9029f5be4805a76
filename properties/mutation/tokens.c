/* SPDX-License-Identifier: MIT
 *
 * The scanner: tokens, then brackets, then what they mean.
 */
#include "tokens.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool token_is(const struct source *s, int i, const char *text)
{
    return i >= 0 && i < s->num_tokens && strlen(text) == s->token[i].bytes &&
           memcmp(s->text + s->token[i].at, text, s->token[i].bytes) == 0;
}

bool token_in(const struct source *s, int i, const char *words)
{
    if (i < 0 || i >= s->num_tokens)
        return false;
    const char *text = s->text + s->token[i].at;
    size_t bytes = s->token[i].bytes;
    for (const char *word = words; *word != '\0';) {
        size_t length = strcspn(word, " ");
        if (length == bytes && memcmp(word, text, bytes) == 0)
            return true;
        word += length;
        word += strspn(word, " ");
    }
    return false;
}

/* ---- tokens --------------------------------------------------------------------------------- */

static size_t skip_comment(const char *text, size_t at, size_t bytes)
{
    if (text[at + 1] == '/') {
        while (at < bytes && text[at] != '\n')
            at++;
        return at;
    }
    for (at += 2; at + 1 < bytes && !(text[at] == '*' && text[at + 1] == '/'); at++)
        ;
    return at + 2;
}

/* A line for the preprocessor, with its continuations. */
static size_t skip_directive(const char *text, size_t at, size_t bytes)
{
    while (at < bytes && !(text[at] == '\n' && text[at - 1] != '\\'))
        at++;
    return at;
}

static size_t literal_end(const char *text, size_t at, size_t bytes)
{
    char quote = text[at];
    for (at++; at < bytes && text[at] != quote; at++)
        if (text[at] == '\\')
            at++;
    return at + 1;
}

static size_t mark_length(const char *text)
{
    static const char *const marks[] = {"<<=", ">>=", "...", "->", "++", "--", "<<", ">>",
                                        "<=",  ">=",  "==",  "!=", "&&", "||", "+=", "-=",
                                        "*=",  "/=",  "%=",  "&=", "|=", "^=", "::"};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (strncmp(text, marks[i], strlen(marks[i])) == 0)
            return strlen(marks[i]);
    return 1;
}

static size_t token_end(const char *text, size_t at, size_t bytes, enum token_kind *kind)
{
    char c = text[at];
    if (isalpha((unsigned char)c) || c == '_') {
        *kind = TOKEN_NAME;
        while (at < bytes && (isalnum((unsigned char)text[at]) || text[at] == '_'))
            at++;
        return at;
    }
    if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)text[at + 1]))) {
        *kind = TOKEN_NUMBER;
        while (at < bytes &&
               (isalnum((unsigned char)text[at]) || text[at] == '.' ||
                ((text[at] == '-' || text[at] == '+') && strchr("eEpP", text[at - 1]) != NULL)))
            at++;
        return at;
    }
    *kind = c == '"' || c == '\'' ? TOKEN_TEXT : TOKEN_MARK;
    return *kind == TOKEN_TEXT ? literal_end(text, at, bytes) : at + mark_length(text + at);
}

static bool add_token(struct source *s, struct token token)
{
    if (s->num_tokens % 1024 == 0) {
        size_t room = (size_t)s->num_tokens + 1024;
        struct token *more = realloc(s->token, room * sizeof *more);
        if (more == NULL)
            return false;
        s->token = more;
    }
    s->token[s->num_tokens++] = token;
    return true;
}

static bool scan(struct source *s)
{
    const char *text = s->text;
    int line = 1;
    bool spaced = true, fresh = true; /* fresh: nothing but white space on the line so far */
    for (size_t at = 0, end; at < s->bytes; at = end) {
        char c = text[at];
        struct token token = {.at = at, .partner = -1, .line = line, .spaced = spaced};
        bool comment = c == '/' && (text[at + 1] == '*' || text[at + 1] == '/');
        if (isspace((unsigned char)c))
            end = at + 1;
        else if (comment)
            end = skip_comment(text, at, s->bytes);
        else if (c == '#' && fresh)
            end = skip_directive(text, at, s->bytes);
        else
            end = token_end(text, at, s->bytes, &token.kind);
        bool blank = isspace((unsigned char)c) || comment || (c == '#' && fresh);
        token.bytes = end - at;
        if (!blank && !add_token(s, token))
            return false;
        for (size_t i = at; i < end; i++)
            line += text[i] == '\n';
        fresh = c == '\n' || (fresh && blank);
        spaced = blank;
    }
    return true;
}

/* ---- brackets ------------------------------------------------------------------------------- */

static bool match_brackets(struct source *s)
{
    enum { DEEPEST = 256 };
    int open[DEEPEST], depth = 0;
    for (int i = 0; i < s->num_tokens; i++) {
        struct token *t = &s->token[i];
        if (t->kind == TOKEN_MARK && token_in(s, i, ") ] }")) {
            if (depth == 0)
                return false;
            t->partner = open[--depth];
            s->token[t->partner].partner = i;
        }
        t->depth = depth;
        if (t->kind == TOKEN_MARK && token_in(s, i, "( [ {")) {
            if (depth == DEEPEST)
                return false;
            open[depth++] = i;
        }
    }
    return depth == 0;
}

/* `) {`: of a header or a function, or of a compound literal. */
static bool opens_block(const struct source *s, int brace)
{
    if (brace > 0 && token_in(s, brace - 1, "else do ; { } :"))
        return !token_is(s, brace - 1, "{") || s->token[brace - 1].block;
    if (brace == 0 || !token_is(s, brace - 1, ")"))
        return false;
    int before = s->token[brace - 1].partner - 1;
    if (token_is(s, before, ")")) /* SIMT_KERNEL(name)(parameters) { */
        return s->token[brace].depth == 0;
    return before >= 0 && s->token[before].kind == TOKEN_NAME && !token_in(s, before, "return");
}

/* ---- meaning -------------------------------------------------------------------------------- */

static void fix(struct source *s, int first, int last)
{
    for (int i = first; i <= last && i < s->num_tokens; i++)
        s->token[i].fixed = true;
}

static void mark_bodies(struct source *s)
{
    for (int i = 0; i < s->num_tokens; i++) {
        if (!token_is(s, i, "{"))
            continue;
        int partner = s->token[i].partner;
        bool block = opens_block(s, i);
        s->token[i].block = s->token[partner].block = block;
        if (!block || s->token[i].body)
            continue;
        for (int k = i; k <= partner; k++)
            s->token[k].body = true;
    }
}

static bool starts_with(const struct source *s, int i, const char *text)
{
    return s->token[i].bytes >= strlen(text) &&
           memcmp(s->text + s->token[i].at, text, strlen(text)) == 0;
}

/* name<...>: template arguments are constants. */
static int template_end(const struct source *s, int i)
{
    int open = 0;
    for (; i < s->num_tokens; i++) {
        if (token_is(s, i, "<"))
            open++;
        else if (token_is(s, i, ">>"))
            open -= 2;
        else if (token_is(s, i, ">"))
            open--;
        else if (token_in(s, i, "; {"))
            return -1;
        if (open <= 0)
            return i;
    }
    return -1;
}

static void mark_constants(struct source *s)
{
    for (int i = 0; i < s->num_tokens; i++) {
        if (token_is(s, i, "<") && !s->token[i].spaced && i > 0 &&
            s->token[i - 1].kind == TOKEN_NAME) {
            int end = template_end(s, i);
            if (end > 0)
                fix(s, i, end);
        } else if (token_is(s, i + 1, "(") &&
                   (starts_with(s, i, "_mm") || starts_with(s, i, "__builtin_"))) {
            fix(s, i, s->token[i + 1].partner); /* some arguments are immediates */
        } else if (token_in(s, i, "case")) {
            int k = i;
            while (k < s->num_tokens && !token_is(s, k, ":"))
                k++;
            fix(s, i, k);
        } else if (token_in(s, i,
                            "enum static_assert _Static_assert SIMT_SHARED "
                            "SIMT_SHARED_DYNAMIC static constexpr alignas _Alignas "
                            "__attribute__")) {
            bool whole = token_in(s, i, "enum static constexpr");
            if (whole && s->token[i].body)
                fix(s, i, statement_end(s, i) - 1);
            else if (!whole)
                fix(s, i, s->token[i + 1].partner);
        }
    }
}

int statement_end(const struct source *s, int i)
{
    int depth = s->token[i].depth;
    for (; i < s->num_tokens; i++) {
        if (token_in(s, i, "( [ {")) {
            bool body = s->token[i].block && s->token[i].depth == depth;
            i = s->token[i].partner;
            if (body)
                return i + 1;
        } else if (token_is(s, i, ";") || s->token[i].depth < depth) {
            return i + 1;
        }
    }
    return s->num_tokens;
}

static bool begins_statement(const struct source *s, int i)
{
    if (i == 0 || !s->token[i].body || token_in(s, i, "{ } ; else while"))
        return false;
    int before = i - 1;
    if (token_in(s, before, "else do SIMT_UNROLL SIMT_ROLLED"))
        return true;
    if (token_in(s, before, "{ }"))
        return s->token[before].block;
    if (token_is(s, before, ":")) { /* of a label */
        int k = before;
        while (k > 0 && !token_in(s, k, "case default ; { } ?"))
            k--;
        return token_in(s, k, "case default");
    }
    if (token_is(s, before, ")")) {
        int head = s->token[before].partner - 1;
        return token_in(s, head, "if for while switch");
    }
    if (!token_is(s, before, ";"))
        return false;
    int around = before; /* inside the header of a for? */
    while (around >= 0 && s->token[around].depth >= s->token[before].depth)
        around--;
    return around < 0 || !token_is(s, around, "(");
}

static bool declares(const struct source *s, int i)
{
    static const char types[] =
        "const struct enum union void bool char short int long float double unsigned signed auto "
        "size_t int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t uintptr_t "
        "static typedef assay_status vf vi constexpr _Alignas alignas";
    if (token_in(s, i, types))
        return true;
    if (s->token[i].kind != TOKEN_NAME || token_in(s, i, "return goto break continue case default"))
        return false;
    int next = i + 1;
    if (token_is(s, next, "<") && !s->token[next].spaced) {
        next = template_end(s, next);
        if (next < 0)
            return false;
        next++;
    }
    if (token_is(s, next, "*") && s->token[next].spaced && !s->token[next + 1].spaced)
        return true; /* type *name */
    return next < s->num_tokens && s->token[next].kind == TOKEN_NAME;
}

/* The extents of declared arrays: x[N] before the initialiser. */
static void fix_extents(struct source *s, int first, int end)
{
    bool value = false;
    for (int i = first; i < end; i++) {
        if (token_is(s, i, "="))
            value = true;
        else if (token_is(s, i, ","))
            value = false;
        else if (token_in(s, i, "( {"))
            i = s->token[i].partner;
        else if (token_is(s, i, "[") && !value)
            fix(s, i, s->token[i].partner);
    }
}

bool source_scan(struct source *s, char *text, size_t bytes)
{
    *s = (struct source){.text = text, .bytes = bytes};
    if (!scan(s) || !match_brackets(s))
        return false;
    mark_bodies(s);
    mark_constants(s);
    for (int i = 0; i < s->num_tokens; i++)
        s->token[i].statement = begins_statement(s, i);
    for (int i = 0; i < s->num_tokens; i++) {
        if (!s->token[i].statement)
            continue;
        s->token[i].declares = declares(s, i);
        if (s->token[i].declares)
            fix_extents(s, i, statement_end(s, i));
    }
    return true;
}

void source_free(struct source *s)
{
    free(s->token);
    free(s->text);
    *s = (struct source){NULL, 0, NULL, 0};
}
