/* SPDX-License-Identifier: MIT
 *
 * Decks: files of case descriptors.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"

bool case_deck_read(const char *path, bool (*visit)(void *user, const struct assay_case *c),
                    void *user, char *message, size_t message_bytes)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        snprintf(message, message_bytes, "%s: %s", path, strerror(errno));
        return false;
    }
    char *text = NULL;
    size_t capacity = 0;
    bool good = true;
    for (int line = 1; good && getline(&text, &capacity, file) >= 0; line++) {
        struct assay_case c;
        char wrong[256];
        text[strcspn(text, "\r\n")] = '\0';
        const char *first = text + strspn(text, " \t");
        if (first[0] == '\0' || first[0] == '#')
            continue;
        good = case_parse(first, &c, wrong, sizeof wrong);
        if (!good) {
            snprintf(message, message_bytes, "%s:%d: %s", path, line, wrong);
        } else if (!visit(user, &c)) {
            snprintf(message, message_bytes, "%s:%d: out of memory", path, line);
            good = false;
        }
    }
    free(text);
    fclose(file);
    return good;
}
