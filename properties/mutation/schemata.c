/* SPDX-License-Identifier: MIT
 *
 * schemata OUT SKIP ROOT FILE[:N]...
 *
 * Copies each FILE (a path below ROOT) to OUT with a switch at every site of an operator, or at
 * every N-th, and writes OUT/sites.inc, the list of all mutants: MUTANT(folder, file, line,
 * operator, number, text). Lines keep their numbers. SKIP lists sites whose copy does not compile:
 * "file operator text".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "operators.h"

enum { WRAP_BYTES = 256 };

struct output {
    const char *folder;
    FILE *sites;
    char *skip; /* the file's text */
    int num_mutants;
};

static char *read_all(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    char *text = NULL;
    size_t room = 0;
    *bytes = 0;
    do {
        room += 1 << 16;
        char *more = realloc(text, room + 1);
        if (more == NULL)
            break;
        text = more;
        *bytes += fread(text + *bytes, 1, room - *bytes, file);
    } while (*bytes == room);
    if (text != NULL)
        text[*bytes] = '\0';
    fclose(file);
    return text;
}

/* The source line of token i without its indentation. */
static void line_text(const struct source *s, int i, char *text, size_t bytes)
{
    size_t first = s->token[i].at, last = first;
    while (first > 0 && s->text[first - 1] != '\n')
        first--;
    while (last < s->bytes && s->text[last] != '\n')
        last++;
    first += strspn(s->text + first, " ");
    snprintf(text, bytes, "%.*s", (int)(last - first), s->text + first);
}

static bool is_skipped(const struct output *o, const char *stem, const char *operator,
                       const char * text)
{
    char line[512];
    int length = snprintf(line, sizeof line, "\n%s %s %s\n", stem, operator, text);
    return length < (int)sizeof line && o->skip != NULL && strstr(o->skip, line) != NULL;
}

static void write_escaped(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        fputc(*text, file);
    }
}

/* Gives each site its number; -1: not mutated. */
static void number_sites(struct output *o, const struct source *s, const struct site_list *list,
                         const char *folder, const char *stem, int every, int *id)
{
    for (int i = 0; i < list->num_sites; i++) {
        const struct site *site = &list->site[i];
        const char *operator= operator_name(site->operator);
        char text[256];
        line_text(s, site->at, text, sizeof text);
        id[i] = -1;
        if (i % every != 0 || is_skipped(o, stem, operator, text))
            continue;
        int line = s->token[site->at].line, number = 1;
        for (int k = 0; k < i; k++)
            number +=
                list->site[k].operator== site->operator&& s->token[list->site[k].at].line == line;
        id[i] = o->num_mutants++;
        fprintf(o->sites, "MUTANT(\"%s\", \"%s\", %d, \"%s\", %d, \"", folder, stem, line, operator,
                number);
        write_escaped(o->sites, text);
        fprintf(o->sites, "\")\n");
    }
}

/* Opening texts at token i, the widest first; closing ones behind it, the narrowest first. */
static void write_wraps(FILE *file, const struct source *s, const struct site_list *list,
                        const int *id, int i, bool opening)
{
    char before[WRAP_BYTES], behind[WRAP_BYTES];
    for (int reach = s->num_tokens; reach >= 0; reach--) {
        bool any = false;
        for (int k = 0; k < list->num_sites && !any; k++)
            any = (opening ? list->site[k].first : list->site[k].last) == i;
        if (!any)
            return;
        for (int n = 0; n < list->num_sites; n++) {
            int k = opening ? n : list->num_sites - 1 - n;
            const struct site *site = &list->site[k];
            int own = opening ? site->last : s->num_tokens - site->first;
            int other = opening ? site->first : site->last;
            if (id[k] < 0 || other != i || own != reach)
                continue;
            operator_wrap(s, site, id[k], before, behind, sizeof before);
            fputs(opening ? before : behind, file);
        }
    }
}

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
}

static bool write_copy(const struct output *o, const char *file, const struct source *s,
                       const struct site_list *list, const int *id)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", o->folder, file);
    make_folders(path);
    FILE *copy = fopen(path, "wb");
    if (copy == NULL) {
        fprintf(stderr, "schemata: %s: %s\n", path, strerror(errno));
        return false;
    }
    size_t at = 0;
    for (int i = 0; i < s->num_tokens; i++) {
        const struct token *t = &s->token[i];
        fwrite(s->text + at, 1, t->at - at, copy);
        write_wraps(copy, s, list, id, i, true);
        fwrite(s->text + t->at, 1, t->bytes, copy);
        write_wraps(copy, s, list, id, i, false);
        at = t->at + t->bytes;
    }
    fwrite(s->text + at, 1, s->bytes - at, copy);
    return fclose(copy) == 0;
}

static bool mutate_file(struct output *o, const char *root, char *file)
{
    char path[4096];
    char *colon = strchr(file, ':');
    int every = colon != NULL ? atoi(colon + 1) : 1;
    if (colon != NULL)
        *colon = '\0';
    snprintf(path, sizeof path, "%s/%s", root, file);
    size_t bytes;
    struct source s;
    struct site_list list = {NULL, 0};
    char *text = read_all(path, &bytes);
    if (text == NULL || !source_scan(&s, text, bytes) || !operators_find(&s, &list)) {
        fprintf(stderr, "schemata: %s: not read\n", path);
        return false;
    }
    char folder[256]; /* the last one of the path */
    const char *stem = strrchr(file, '/') != NULL ? strrchr(file, '/') + 1 : file;
    snprintf(folder, sizeof folder, "%.*s", stem > file ? (int)(stem - file) - 1 : 0, file);
    const char *last = strrchr(folder, '/') != NULL ? strrchr(folder, '/') + 1 : folder;
    int *id = calloc((size_t)list.num_sites + 1, sizeof *id);
    bool good = id != NULL;
    if (good) {
        number_sites(o, &s, &list, last, stem, every > 0 ? every : 1, id);
        good = write_copy(o, file, &s, &list, id);
    }
    free(id);
    free(list.site);
    source_free(&s);
    return good;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: schemata OUT SKIP ROOT FILE[:N]...\n");
        return 2;
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/sites.inc", argv[1]);
    make_folders(path);
    size_t bytes;
    struct output o = {argv[1], fopen(path, "w"), read_all(argv[2], &bytes), 0};
    bool good = o.sites != NULL && o.skip != NULL;
    if (!good)
        fprintf(stderr, "schemata: %s or %s: %s\n", path, argv[2], strerror(errno));
    for (int i = 4; i < argc && good; i++)
        good = mutate_file(&o, argv[3], argv[i]);
    if (o.sites != NULL && fclose(o.sites) != 0)
        good = false;
    free(o.skip);
    return good ? 0 : 1;
}
