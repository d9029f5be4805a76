/* SPDX-License-Identifier: MIT
 *
 * What the copies of the routes' sources include: one switch a site. A copy is compiled once and
 * carries all its mutants; mutation_active says which one is on. An expression keeps its type, so
 * that vectors and scalars take the same text.
 */
#ifndef PROPERTIES_MUTATION_SWITCH_H
#define PROPERTIES_MUTATION_SWITCH_H

#include <stdint.h>
#include <string.h>

#define MUTATION_MOST 65536 /* mutants at most */

#ifdef __cplusplus
extern "C" {
#endif
extern int mutation_active;        /* -1: none */
extern uint32_t *mutation_reached; /* of each mutant: how often its site ran */
/* Takes all but 8 bits of the significand of a float or double. */
void mutation_coarsen(void *value, size_t bytes);
#ifdef __cplusplus
}
#endif

static inline int mutation_on(int id)
{
    mutation_reached[id]++;
    return mutation_active == id;
}

#define MUTATION_VALUE(id, change, ...)                               \
    ({                                                                \
        __typeof__((__VA_ARGS__) + 0) mutation_value = (__VA_ARGS__); \
        if (mutation_on(id))                                          \
            mutation_value = change;                                  \
        mutation_value;                                               \
    })

#define MUTATION_MORE(id, ...)   MUTATION_VALUE(id, mutation_value + 1, __VA_ARGS__)
#define MUTATION_LESS(id, ...)   MUTATION_VALUE(id, mutation_value - 1, __VA_ARGS__)
#define MUTATION_MINUS(id, ...)  MUTATION_VALUE(id, -mutation_value, __VA_ARGS__)
#define MUTATION_ONE(id, ...)    MUTATION_VALUE(id, mutation_value * 0 + 1, __VA_ARGS__)
#define MUTATION_ZERO(id, ...)   MUTATION_VALUE(id, 0, __VA_ARGS__)
#define MUTATION_HUGE(id, ...)   MUTATION_VALUE(id, 0x7fffffff, __VA_ARGS__)
#define MUTATION_EQUAL0(id, ...) MUTATION_VALUE(id, mutation_value == 0, __VA_ARGS__)
#define MUTATION_NARROW(id, ...) MUTATION_VALUE(id, (int32_t)mutation_value, __VA_ARGS__)
#define MUTATION_NOT(id, ...)    (((__VA_ARGS__) ? 1 : 0) != mutation_on(id))
#define MUTATION_ALWAYS(id, ...) (mutation_on(id) || (__VA_ARGS__))
#define MUTATION_NEVER(id, ...)  (!mutation_on(id) && (__VA_ARGS__))

/* 8: the class of float and double. */
#define MUTATION_COARSE(id, x)                                  \
    do {                                                        \
        if (__builtin_classify_type(x) == 8 && mutation_on(id)) \
            mutation_coarsen(&(x), sizeof(x));                  \
    } while (0)

#endif
