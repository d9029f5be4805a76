/* SPDX-License-Identifier: MIT
 *
 * Reads survivors.txt.
 */
#include "mutation_known.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {
#define KNOWN_WORD(enumerator, word, meaning) word,
    KNOWN_TABLE(KNOWN_WORD)
#undef KNOWN_WORD
};

const char *known_word(enum known_kind kind)
{
    return words[kind];
}

const char *known_meaning(enum known_kind kind)
{
    static const char *const meanings[] = {
#define KNOWN_MEANING(enumerator, word, meaning) meaning,
        KNOWN_TABLE(KNOWN_MEANING)
#undef KNOWN_MEANING
    };
    return meanings[kind];
}

static bool append(struct known_list *list, const char *description, int line)
{
    struct known *more = realloc(list->known, (size_t)(list->num_known + 1) * sizeof *list->known);
    if (more == NULL)
        return false;
    list->known = more;
    struct known *k = &more[list->num_known++];
    *k = (struct known){.description = strdup(description), .line = line};
    return k->description != NULL;
}

/* "    word: reason" for the entries from `first` on; further lines go on with it. */
static bool give_reason(struct known_list *list, int first, const char *text)
{
    text += strspn(text, " ");
    for (int i = first; i < list->num_known; i++) {
        struct known *k = &list->known[i];
        if (k->reason != NULL) {
            size_t bytes = strlen(k->reason) + strlen(text) + 2;
            char *longer = malloc(bytes);
            if (longer == NULL)
                return false;
            snprintf(longer, bytes, "%s %s", k->reason, text);
            free(k->reason);
            k->reason = longer;
            continue;
        }
        size_t length = strcspn(text, ":");
        for (int kind = 1; kind < NUM_KNOWN_KINDS; kind++)
            if (strlen(words[kind]) == length && strncmp(words[kind], text, length) == 0)
                k->kind = (enum known_kind)kind;
        if (k->kind == KNOWN_NOT || strlen(text) < length + 3)
            return false;
        k->reason = strdup(text + length + 2);
    }
    return true;
}

bool known_read(const char *path, struct known_list *list)
{
    *list = (struct known_list){NULL, 0};
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    char line[1024];
    int number = 0, first = 0;
    bool good = true, reason = false;
    while (good && fgets(line, sizeof line, file) != NULL) {
        number++;
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0')
            continue;
        if (line[0] == '=' && reason)
            first = list->num_known;
        reason = line[0] == ' ';
        good = reason ? give_reason(list, first, line)
                      : strncmp(line, "= ", 2) == 0 && append(list, line + 2, number);
    }
    fclose(file);
    for (int i = 0; i < list->num_known && good; i++)
        good = list->known[i].reason != NULL;
    if (!good)
        fprintf(stderr, "%s:%d: not \"= mutant\", or no reason of a known kind\n", path, number);
    return good;
}

void known_free(struct known_list *list)
{
    for (int i = 0; i < list->num_known; i++) {
        free(list->known[i].description);
        free(list->known[i].reason);
    }
    free(list->known);
}

struct known *known_find(const struct known_list *list, const struct mutant *m)
{
    char description[512];
    snprintf(description, sizeof description, "%s %s %d | %s", m->file, m->operator, m->number,
             m->text);
    for (int i = 0; i < list->num_known; i++)
        if (strcmp(list->known[i].description, description) == 0)
            return &list->known[i];
    return NULL;
}
