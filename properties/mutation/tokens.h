/* SPDX-License-Identifier: MIT
 *
 * C and C++ as tokens, with the places that a mutation must know: which brackets belong together,
 * what is a body of a function, where statements begin. Reads what clang-format wrote: a `<` with
 * spaces around it compares, one without begins template arguments.
 */
#ifndef PROPERTIES_MUTATION_TOKENS_H
#define PROPERTIES_MUTATION_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

enum token_kind { TOKEN_NAME, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_MARK };

struct token {
    enum token_kind kind;
    size_t at, bytes;
    int line;
    int partner;    /* of a bracket: its other half; else -1 */
    int depth;      /* of ( [ { around it */
    bool spaced;    /* white space before it */
    bool body;      /* inside a function's body */
    bool fixed;     /* a constant expression: nothing may be switched at run time */
    bool statement; /* a statement begins here */
    bool block;     /* a { or } of statements, not of values */
    bool declares;  /* of a statement's first token: it declares */
};

struct source {
    char *text;
    size_t bytes;
    struct token *token;
    int num_tokens;
};

/* False: out of memory, or brackets do not match. */
bool source_scan(struct source *s, char *text, size_t bytes);
void source_free(struct source *s);

bool token_is(const struct source *s, int i, const char *text);
/* Whether it is one of `words`, separated by spaces. */
bool token_in(const struct source *s, int i, const char *words);
/* The token after the statement that begins at i: past its `;`. */
int statement_end(const struct source *s, int i);

#endif
