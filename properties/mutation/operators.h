/* SPDX-License-Identifier: MIT
 *
 * The generic mutation operators: one table. Each finds its sites in a source and wraps tokens
 * there, so that a number known at run time decides between the text and its mutant.
 */
#ifndef PROPERTIES_MUTATION_OPERATORS_H
#define PROPERTIES_MUTATION_OPERATORS_H

#include "tokens.h"

/* X(name, pattern, replacement). Names are part of mutants' names. The right side of a comparison
 * moves by one instead of the comparison itself changing: on integers that is the same. */
#define OPERATOR_TABLE(X)                                      \
    X(lt, "a < b", "a < b + 1")                                \
    X(le, "a <= b", "a <= b - 1")                              \
    X(gt, "a > b", "a > b - 1")                                \
    X(ge, "a >= b", "a >= b + 1")                              \
    X(eq, "a == b, a != b", "the opposite")                    \
    X(add, "a + b", "a - b")                                   \
    X(sub, "a - b", "a + b")                                   \
    X(mul, "a * b", "a: a factor is dropped")                  \
    X(div, "a / b", "a: a divisor is dropped")                 \
    X(mod, "a % b", "a, for a below 2^31")                     \
    X(neg, "-a", "a")                                          \
    X(sentinel, "-INFINITY", "-50000")                         \
    X(minmax, "fmax, fmin, fmaxf, fminf", "the other one")     \
    X(lit, "an integer literal n", "n + 1")                    \
    X(step, "i++, of a loop", "i += 2")                        \
    X(first, "a[i]", "a[0]: the first instead of the own one") \
    X(row, "the row of an address function", "row 0")          \
    X(narrow, "a * stride", "the low 32 bits of the product")  \
    X(cond, "if (c)", "if (!c)")                               \
    X(choice, "c ? a : b", "!c ? a : b")                       \
    X(and, "a && b", "a: a clause is dropped")                 \
    X(or, "a || b", "a: a clause is dropped")                  \
    X(barrier, "a barrier, a wait or a commit", "nothing")     \
    X(drop, "another statement with an effect", "nothing")     \
    X(reset, "a += b", "a = b: what was there is lost")        \
    X(coarse, "a += b, of floating point", "8 bits of the sum's significand are kept")

enum mutation_operator {
#define OPERATOR_ENUM(name, pattern, replacement) OPERATOR_##name,
    OPERATOR_TABLE(OPERATOR_ENUM)
#undef OPERATOR_ENUM
        NUM_OPERATORS
};

struct site {
    enum mutation_operator operator;
    int at;          /* the token that names the place */
    int first, last; /* the tokens that are wrapped */
};

struct site_list {
    struct site *site;
    int num_sites;
};

const char *operator_name(enum mutation_operator operator);
/* False when out of memory. */
bool operators_find(const struct source *s, struct site_list *list);
/* What goes before and behind the wrapped tokens for mutant number `id`. */
void operator_wrap(const struct source *s, const struct site *site, int id, char *before,
                   char *behind, size_t bytes);

#endif
