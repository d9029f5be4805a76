/* SPDX-License-Identifier: MIT
 *
 * survivors.txt: mutants that no case kills, each with the reason.
 *
 *   = argmax_cuda.cu lt 1 | for (int64_t i = first; i < p.limit; i += step) {
 *     equivalent: row_load_chunk gives zeros there, which never win
 *
 * A line "= file operator number | text of the line" names every mutant of that description, so
 * that an entry survives edits elsewhere in the file and not those of its own line. Several such
 * lines share the reason that follows. Its first word says what it is: see KNOWN_TABLE.
 */
#ifndef PROPERTIES_MUTATION_KNOWN_H
#define PROPERTIES_MUTATION_KNOWN_H

#include "mutation.h"

#define KNOWN_TABLE(X)                                                                   \
    X(NOT, "", "not in the file")                                                        \
    X(EQUIVALENT, "equivalent", "computes the same for every legal call")                \
    X(WITHIN, "within", "an approximation within the profile's proven bound, or slower") \
    X(UNREACHED, "unreached", "no case of the quick sweep comes to the site")            \
    X(OPEN, "open", "a fault that the quick sweep does not see")

enum known_kind {
#define KNOWN_ENUM(enumerator, word, meaning) KNOWN_##enumerator,
    KNOWN_TABLE(KNOWN_ENUM)
#undef KNOWN_ENUM
        NUM_KNOWN_KINDS
};

const char *known_word(enum known_kind kind);
const char *known_meaning(enum known_kind kind);

struct known {
    char *description; /* file operator number | text */
    enum known_kind kind;
    char *reason;
    int line;
    bool survived; /* a mutant of this description did */
    bool exists;
};

struct known_list {
    struct known *known;
    int num_known;
};

/* False: said what is wrong. */
bool known_read(const char *path, struct known_list *list);
void known_free(struct known_list *list);
/* NULL when it is not there. */
struct known *known_find(const struct known_list *list, const struct mutant *m);

#endif
