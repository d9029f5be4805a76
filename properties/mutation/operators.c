/* SPDX-License-Identifier: MIT
 *
 * Where the operators apply.
 */
#include "operators.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *operator_name(enum mutation_operator operator)
{
    static const char *const names[] = {
#define OPERATOR_NAME(name, pattern, replacement) #name,
        OPERATOR_TABLE(OPERATOR_NAME)
#undef OPERATOR_NAME
    };
    return names[operator];
}

/* ---- operands ------------------------------------------------------------------------------- */

/* Operators that end the right operand of one of this level, from the tightest on. */
static const char ends_add[] = "+ - << >> < > <= >= == != & ^ | && || ? : = , ; += -= *= /=";
static const char ends_compare[] = "< > <= >= == != & ^ | && || ? : = , ;";
static const char ends_equal[] = "== != & ^ | && || ? : = , ;";
static const char ends_and[] = "&& || ? : = , ;";
static const char ends_or[] = "|| ? : = , ;";
static const char starts_equal[] =
    "& ^ | && || ? : = , ; return += -= *= /= %= |= &= ^= <<= >>= else SIMT_UNROLL";
static const char starts_choice[] =
    "? : = , ; return += -= *= /= %= |= &= ^= <<= >>= else SIMT_UNROLL";

static bool is_binary(const struct source *s, int i)
{
    return s->token[i].spaced && i + 1 < s->num_tokens && s->token[i + 1].spaced &&
           !token_is(s, i - 1, "sizeof");
}

static bool ends(const struct source *s, int i, int depth, const char *words)
{
    if (s->token[i].depth < depth)
        return true;
    if (!token_in(s, i, words) || s->token[i].fixed)
        return false;
    return token_in(s, i, ", ; :") || is_binary(s, i);
}

/* The last token of the operand that begins behind token i. */
static int right_operand(const struct source *s, int i, const char *words)
{
    int depth = s->token[i].depth, k = i + 1;
    for (; k < s->num_tokens && !ends(s, k, depth, words); k++)
        if (s->token[k].partner > k)
            k = s->token[k].partner;
    return k - 1;
}

static int left_operand(const struct source *s, int i, const char *words)
{
    int depth = s->token[i].depth, k = i - 1;
    for (; k >= 0 && !ends(s, k, depth, words); k--) {
        if (token_in(s, k, "return else SIMT_UNROLL"))
            return k + 1;
        if (s->token[k].partner >= 0 && s->token[k].partner < k)
            k = s->token[k].partner;
        if (s->token[k].statement)
            return k;
    }
    return k + 1;
}

/* The parentheses of a cast: types only, and an operand follows. */
static bool is_cast(const struct source *s, int i)
{
    if (!token_is(s, i, "("))
        return false;
    int end = s->token[i].partner;
    for (int k = i + 1; k < end; k++)
        if (s->token[k].kind != TOKEN_NAME && !token_is(s, k, "*"))
            return false;
    return end + 1 < s->num_tokens && !s->token[end + 1].spaced &&
           (s->token[end + 1].kind != TOKEN_MARK || token_in(s, end + 1, "( - *"));
}

/* The last token of the unary expression that begins at i. */
static int unary_end(const struct source *s, int i)
{
    while (token_in(s, i, "- + ! ~ * & ++ -- sizeof"))
        i++;
    if (is_cast(s, i))
        return unary_end(s, s->token[i].partner + 1);
    if (s->token[i].partner > i)
        i = s->token[i].partner;
    for (;;) {
        int next = i + 1;
        if (token_is(s, next, "<") && !s->token[next].spaced) { /* template arguments */
            while (s->token[next].fixed)
                next++;
            i = next - 1;
        } else if (token_in(s, next, "( [") || (token_is(s, next, "{") && !s->token[next].spaced)) {
            i = s->token[next].partner;
        } else if (token_in(s, next, ". -> ::")) {
            i = next + 1;
        } else {
            return i;
        }
    }
}

/* The first token of the postfix expression that ends at name i. */
static int postfix_start(const struct source *s, int i)
{
    while (i > 1 && token_in(s, i - 1, ". ->")) {
        i -= 2;
        while (token_in(s, i, ") ]") && s->token[i].partner > 0)
            i = s->token[i].partner - (s->token[s->token[i].partner - 1].kind == TOKEN_NAME);
    }
    return i;
}

/* The first token of the product whose last factor is the postfix expression that ends at i. */
static int product_start(const struct source *s, int i)
{
    int first = postfix_start(s, i);
    while (first > 1 && token_in(s, first - 1, "* / %") && is_binary(s, first - 1)) {
        int k = first - 2;
        if (token_in(s, k, ") ]"))
            k = s->token[k].partner - (s->token[s->token[k].partner - 1].kind == TOKEN_NAME);
        first = postfix_start(s, k);
    }
    return first;
}

/* ---- sites ---------------------------------------------------------------------------------- */

struct search {
    const struct source *s;
    struct site_list *list;
    bool no_memory;
};

static void add(struct search *f, enum mutation_operator operator, int at, int first, int last)
{
    struct site_list *list = f->list;
    if (first > last || first < 0)
        return;
    if (list->num_sites % 256 == 0) {
        struct site *more = realloc(list->site, (size_t)(list->num_sites + 256) * sizeof *more);
        if (more == NULL) {
            f->no_memory = true;
            return;
        }
        list->site = more;
    }
    list->site[list->num_sites++] = (struct site){operator, at, first, last};
}

static bool same_text(const struct source *s, int a, int a_last, int b, int b_last)
{
    if (a_last - a != b_last - b)
        return false;
    for (; a <= a_last; a++, b++)
        if (s->token[a].bytes != s->token[b].bytes ||
            memcmp(s->text + s->token[a].at, s->text + s->token[b].at, s->token[a].bytes) != 0)
            return false;
    return true;
}

/* x < y ? x : y: whichever way equal ones go, the value is the same. */
static bool is_extremum(const struct source *s, int i)
{
    int left = left_operand(s, i, starts_equal), right = right_operand(s, i, ends_compare);
    int question = right + 1;
    if (!token_is(s, question, "?") || !token_in(s, i, "< <= > >="))
        return false;
    int yes = right_operand(s, question, ":"), no = right_operand(s, yes + 1, ends_equal);
    return (same_text(s, left, i - 1, question + 1, yes) &&
            same_text(s, i + 1, right, yes + 2, no)) ||
           (same_text(s, left, i - 1, yes + 2, no) &&
            same_text(s, i + 1, right, question + 1, yes));
}

static void binary(struct search *f, int i)
{
    if (is_extremum(f->s, i))
        return;
    const struct source *s = f->s;
    static const struct {
        const char *mark;
        enum mutation_operator operator;
        const char *ends; /* NULL: a unary expression */
    } marks[] = {
        {"<", OPERATOR_lt, ends_compare}, {"<=", OPERATOR_le, ends_compare},
        {">", OPERATOR_gt, ends_compare}, {">=", OPERATOR_ge, ends_compare},
        {"+", OPERATOR_add, ends_add},    {"-", OPERATOR_sub, ends_add},
        {"&&", OPERATOR_and, ends_and},   {"||", OPERATOR_or, ends_or},
        {"*", OPERATOR_mul, NULL},        {"/", OPERATOR_div, NULL},
        {"%", OPERATOR_mod, NULL},
    };
    for (size_t k = 0; k < sizeof marks / sizeof marks[0]; k++)
        if (token_is(s, i, marks[k].mark))
            add(f, marks[k].operator, i, i + 1,
                marks[k].ends != NULL ? right_operand(s, i, marks[k].ends) : unary_end(s, i + 1));
    if (token_in(s, i, "== !="))
        add(f, OPERATOR_eq, i, left_operand(s, i, starts_equal), right_operand(s, i, ends_equal));
    if (token_is(s, i, "?"))
        add(f, OPERATOR_choice, i, left_operand(s, i, starts_choice), i - 1);
}

/* The whole right side of a comparison: moving it is that comparison's mutant already. */
static bool is_compared(const struct source *s, int i)
{
    return i > 0 && token_in(s, i - 1, "< >=") && is_binary(s, i - 1) &&
           right_operand(s, i - 1, ends_compare) == i;
}

/* assay_parallel(context, count, grain, ...): how many items a task takes is for speed alone. */
static bool is_grain(const struct source *s, int i)
{
    int k = i, commas = 0;
    for (; k > 0 && s->token[k].depth >= s->token[i].depth; k--)
        commas += s->token[k].depth == s->token[i].depth && token_is(s, k, ",");
    return commas == 2 && token_is(s, k - 1, "assay_parallel");
}

static void literal(struct search *f, int i)
{
    const struct source *s = f->s;
    const char *text = s->text + s->token[i].at;
    size_t bytes = s->token[i].bytes;
    bool hexadecimal = bytes > 2 && (text[1] == 'x' || text[1] == 'X');
    for (size_t k = 0; k < bytes; k++)
        if (text[k] == '.' || (!hexadecimal && strchr("eEfF", text[k]) != NULL))
            return;
    if (!is_compared(s, i) && !is_grain(s, i))
        add(f, OPERATOR_lit, i, i, i);
}

static void name(struct search *f, int i)
{
    const struct source *s = f->s;
    if (token_is(s, i, "if") && token_is(s, i + 1, "("))
        add(f, OPERATOR_cond, i, i + 2, s->token[i + 1].partner - 1);
    if (token_in(s, i, "fmax fmin fmaxf fminf"))
        add(f, OPERATOR_minmax, i, i, i);
    if (token_in(s, i, "assay_tensor_row row_address linear_row attention_row gdn_row") &&
        token_is(s, i + 1, "(")) {
        int last = s->token[i + 1].partner - 1, first = i + 2;
        for (int k = first; k <= last; k++) {
            if (s->token[k].partner > k)
                k = s->token[k].partner;
            else if (token_is(s, k, ","))
                first = k + 1;
        }
        if (first < last || s->token[first].kind == TOKEN_NAME)
            add(f, OPERATOR_row, i, first, last);
    }
    if (token_in(s, i, "outer_stride inner_stride stride") && !token_is(s, i + 1, "="))
        add(f, OPERATOR_narrow, i, product_start(s, i),
            token_is(s, i + 1, "[") ? s->token[i + 1].partner : i);
}

static void mark(struct search *f, int i)
{
    const struct source *s = f->s;
    if (is_binary(s, i)) {
        binary(f, i);
        return;
    }
    if (token_is(s, i, "-") && i + 1 < s->num_tokens && !s->token[i + 1].spaced)
        add(f, token_is(s, i + 1, "INFINITY") ? OPERATOR_sentinel : OPERATOR_neg, i, i,
            unary_end(s, i + 1));
    if (token_is(s, i, "++") && token_is(s, i + 1, ")"))
        add(f, OPERATOR_step, i, i, i);
    if (token_is(s, i, "[") && i > 0 && !s->token[i].spaced &&
        (s->token[i - 1].kind == TOKEN_NAME || token_in(s, i - 1, "] )"))) {
        int last = s->token[i].partner - 1;
        if (last > i + 1 || s->token[last].kind == TOKEN_NAME)
            add(f, OPERATOR_first, i, i + 1, last);
    }
}

/* NAME(...); may declare something. */
static bool is_macro(const struct source *s, int i)
{
    const char *text = s->text + s->token[i].at;
    for (size_t k = 0; k < s->token[i].bytes; k++)
        if (text[k] >= 'a' && text[k] <= 'z')
            return false;
    return s->token[i].kind == TOKEN_NAME && token_is(s, i + 1, "(");
}

static void statement(struct search *f, int i)
{
    const struct source *s = f->s;
    static const char barriers[] =
        "simt_sync_block simt_sync_warp simt_copy_wait simt_copy_commit simt_wait_for_stream "
        "simt_release_stream simt_warpgroup_share simt_warpgroup_begin simt_warpgroup_commit "
        "simt_warpgroup_wait";
    int last = statement_end(s, i) - 1;
    if (s->token[i].declares || !token_is(s, last, ";") ||
        token_in(s, i,
                 "if for while do switch case default return goto SIMT_UNROLL SIMT_ROLLED "
                 "assert static_assert"))
        return;
    if ((token_is(s, i, "(") && token_is(s, i + 1, "void")) || is_macro(s, i))
        return;
    add(f, token_in(s, i, barriers) ? OPERATOR_barrier : OPERATOR_drop, i, i, last);
    for (int k = i; k < last; k++) {
        if (s->token[k].partner > k)
            k = s->token[k].partner;
        else if (token_is(s, k, "+=")) {
            add(f, OPERATOR_reset, k, i, last);
            add(f, OPERATOR_coarse, k, i, last);
        }
    }
}

bool operators_find(const struct source *s, struct site_list *list)
{
    struct search f = {s, list, false};
    *list = (struct site_list){NULL, 0};
    for (int i = 0; i < s->num_tokens && !f.no_memory; i++) {
        const struct token *t = &s->token[i];
        if (!t->body || t->fixed)
            continue;
        if (t->statement)
            statement(&f, i);
        if (t->kind == TOKEN_NUMBER)
            literal(&f, i);
        else if (t->kind == TOKEN_NAME)
            name(&f, i);
        else if (t->kind == TOKEN_MARK)
            mark(&f, i);
    }
    return !f.no_memory;
}

/* ---- what is written ------------------------------------------------------------------------ */

static const char *macro(enum mutation_operator operator)
{
    switch (operator) {
    case OPERATOR_lt:
    case OPERATOR_ge:
    case OPERATOR_lit:
        return "MUTATION_MORE";
    case OPERATOR_le:
    case OPERATOR_gt:
        return "MUTATION_LESS";
    case OPERATOR_add:
    case OPERATOR_sub:
    case OPERATOR_neg:
        return "MUTATION_MINUS";
    case OPERATOR_mul:
    case OPERATOR_div:
        return "MUTATION_ONE";
    case OPERATOR_mod:
        return "MUTATION_HUGE";
    case OPERATOR_eq:
        return "MUTATION_EQUAL0";
    case OPERATOR_first:
    case OPERATOR_row:
        return "MUTATION_ZERO";
    case OPERATOR_narrow:
        return "MUTATION_NARROW";
    case OPERATOR_cond:
    case OPERATOR_choice:
        return "MUTATION_NOT";
    case OPERATOR_and:
        return "MUTATION_ALWAYS";
    case OPERATOR_or:
        return "MUTATION_NEVER";
    default:
        return NULL;
    }
}

/* fmax <-> fmin */
static void other_extremum(const struct source *s, int i, int id, char *before, char *behind,
                           size_t bytes)
{
    bool is_max = token_in(s, i, "fmax fmaxf"), is_float = token_in(s, i, "fmaxf fminf");
    snprintf(before, bytes, "(mutation_on(%d) ? %s%s : ", id, is_max ? "fmin" : "fmax",
             is_float ? "f" : "");
    snprintf(behind, bytes, ")");
}

void operator_wrap(const struct source *s, const struct site *site, int id, char *before,
                   char *behind, size_t bytes)
{
    const char *by = macro(site->operator);
    /* The sum's own text, up to the operator. */
    int length = 0;
    if (site->operator== OPERATOR_reset || site->operator== OPERATOR_coarse)
        length = (int)(s->token[site->at].at - s->token[site->first].at);
    const char *text = s->text + s->token[site->first].at;
    snprintf(behind, bytes, " }");
    if (by != NULL) {
        snprintf(before, bytes, "%s(%d, ", by, id);
        snprintf(behind, bytes, ")");
    } else if (site->operator== OPERATOR_minmax) {
        other_extremum(s, site->at, id, before, behind, bytes);
    } else if (site->operator== OPERATOR_sentinel) {
        snprintf(before, bytes, "MUTATION_VALUE(%d, -50000, ", id);
        snprintf(behind, bytes, ")");
    } else if (site->operator== OPERATOR_step) {
        snprintf(before, bytes, " += 1 + mutation_on(%d) /* ", id);
        snprintf(behind, bytes, " */");
    } else if (site->operator== OPERATOR_reset) {
        snprintf(before, bytes, "{ if (mutation_on(%d)) memset(&(%.*s), 0, sizeof(%.*s)); ", id,
                 length, text, length, text);
    } else if (site->operator== OPERATOR_coarse) {
        snprintf(before, bytes, "{ ");
        snprintf(behind, bytes, " MUTATION_COARSE(%d, %.*s); }", id, length, text);
    } else {
        snprintf(before, bytes, "{ if (!mutation_on(%d)) ", id);
    }
}
