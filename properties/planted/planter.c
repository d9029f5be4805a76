/* SPDX-License-Identifier: MIT
 *
 * planter FAULTS ROOT OUT
 *
 * Copies the sources that FAULTS names from ROOT to OUT with its faults planted:
 *
 *   fault NAME ID FILTER         a name, a bug of the catalogue, the Criterion tests that kill it
 *     ...                        what is wrong, indented
 *   folder/file.c                below ROOT
 *   - line                       must stand in the file exactly once, indentation aside
 *   + text                       takes its place; several are joined, so that lines keep their
 *                                numbers. @ is true when the fault is on.
 *
 * A line that is gone is an error: a fault that is no longer planted would survive unseen.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 32, MOST_LINE = 1024 };

struct copy {
    char *file, *text;
};

struct planter {
    const char *faults, *root;
    int line; /* of faults */
    char name[64];
    struct copy copy[MOST_FILES], *current;
    int num_copies;
    char from[MOST_LINE], to[4 * MOST_LINE];
};

static int complain(const struct planter *p, const char *what, const char *which)
{
    fprintf(stderr, "%s:%d: %s: %s\n", p->faults, p->line, what, which);
    return 0;
}

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    for (int c; memory != NULL && (c = fgetc(file)) != EOF;)
        fputc(c, memory);
    fclose(file);
    return memory != NULL && fclose(memory) == 0 ? text : NULL;
}

static int choose_file(struct planter *p, const char *file)
{
    for (int i = 0; i < p->num_copies; i++)
        if (strcmp(p->copy[i].file, file) == 0) {
            p->current = &p->copy[i];
            return 1;
        }
    if (p->num_copies == MOST_FILES)
        return complain(p, "too many files", file);
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", p->root, file);
    p->current = &p->copy[p->num_copies++];
    p->current->file = strdup(file);
    p->current->text = read_all(path);
    return p->current->file != NULL && p->current->text != NULL
               ? 1
               : complain(p, strerror(errno), path);
}

/* The whole line `from` behind its indentation, after `text`; NULL: none. */
static char *find_line(char *text, const char *from)
{
    size_t length = strlen(from);
    for (char *at = text; (at = strstr(at, from)) != NULL; at++) {
        const char *first = at;
        while (first > text && first[-1] == ' ')
            first--;
        if ((first == text || first[-1] == '\n') && at[length] == '\n')
            return at;
    }
    return NULL;
}

/* Puts `to` where `from` stands, @ written out. */
static int plant(struct planter *p)
{
    if (p->from[0] == '\0')
        return 1;
    if (p->to[0] == '\0' || p->current == NULL)
        return complain(p, "no file, or nothing takes the line's place", p->from);
    char *place = find_line(p->current->text, p->from);
    if (place == NULL || find_line(place + 1, p->from) != NULL)
        return complain(p, "this line does not stand there exactly once", p->from);
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (memory == NULL)
        return complain(p, strerror(errno), p->from);
    fprintf(memory, "%.*s", (int)(place - p->current->text), p->current->text);
    for (const char *c = p->to; *c != '\0'; c++)
        if (*c == '@')
            fprintf(memory, "planted(\"%s\")", p->name);
        else
            fputc(*c, memory);
    fprintf(memory, "%s", place + strlen(p->from));
    if (fclose(memory) != 0)
        return complain(p, strerror(errno), p->from);
    free(p->current->text);
    p->current->text = text;
    p->from[0] = p->to[0] = '\0';
    return 1;
}

static int take_line(struct planter *p, const char *line)
{
    if (line[0] == '+') {
        size_t used = strlen(p->to);
        snprintf(p->to + used, sizeof p->to - used, "%s%s", used > 0 ? " " : "", line + 2);
        return p->from[0] != '\0' ? 1 : complain(p, "replaces nothing", line);
    }
    if (!plant(p))
        return 0;
    if (line[0] == '\0' || line[0] == '#' || line[0] == ' ')
        return 1;
    if (line[0] == '-') {
        snprintf(p->from, sizeof p->from, "%s", line + 2);
        return 1;
    }
    if (strncmp(line, "fault ", 6) == 0) {
        p->current = NULL;
        return sscanf(line, "fault %63s B%*d %*s", p->name) == 1 ? 1
                                                                 : complain(p, "no fault", line);
    }
    return choose_file(p, line);
}

/* All copies, by their file names alone. */
static int write_copies(const struct planter *p, const char *out)
{
    for (int i = 0; i < p->num_copies; i++) {
        char path[4096];
        const char *slash = strrchr(p->copy[i].file, '/');
        snprintf(path, sizeof path, "%s/%s", out, slash != NULL ? slash + 1 : p->copy[i].file);
        FILE *file = fopen(path, "wb");
        int good = file != NULL && fputs(p->copy[i].text, file) >= 0;
        if (file == NULL || fclose(file) != 0 || !good)
            return complain(p, strerror(errno), path);
    }
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: planter FAULTS ROOT OUT\n");
        return 2;
    }
    static struct planter p;
    p.faults = argv[1];
    p.root = argv[2];
    FILE *file = fopen(argv[1], "r");
    if (file == NULL)
        return complain(&p, strerror(errno), argv[1]) + 1;
    char line[MOST_LINE];
    int good = 1;
    while (good && fgets(line, sizeof line, file) != NULL) {
        p.line++;
        line[strcspn(line, "\n")] = '\0';
        good = take_line(&p, line);
    }
    fclose(file);
    good = good && plant(&p) && write_copies(&p, argv[3]);
    for (int i = 0; i < p.num_copies; i++) {
        free(p.copy[i].file);
        free(p.copy[i].text);
    }
    return good ? 0 : 1;
}
