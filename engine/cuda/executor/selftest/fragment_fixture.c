/* SPDX-License-Identifier: MIT
 *
 * Reads the fixtures of golden/device: comment lines, then cases, then "end". A file that was cut
 * has no end line and is refused.
 */
#include "cuda/executor/selftest/fragment_fixture.h"

#include <inttypes.h>
#include <string.h>

static bool read_words(FILE *file, const char *label, uint32_t *words, int count)
{
    char text[16];
    if (fscanf(file, "%15s", text) != 1 || strcmp(text, label) != 0)
        return false;
    for (int i = 0; i < count; i++)
        if (fscanf(file, "%8" SCNx32, &words[i]) != 1)
            return false;
    return true;
}

static const struct fragment_op *find_op(const struct fragment_op *ops, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
    return NULL;
}

int fragment_read(FILE *file, struct fragment_case *c)
{
    char word[32], kind[16];
    while (fscanf(file, "%31s", word) == 1 && word[0] == '#')
        for (int ch = 0; ch != EOF && ch != '\n';)
            ch = fgetc(file);
    if (strcmp(word, "end") == 0)
        return 0;
    if (strcmp(word, "case") != 0 || fscanf(file, "%31s %15s", word, kind) != 2)
        return -1;
    c->op = find_op(fragment_ops, num_fragment_ops, word);
    if (c->op == NULL)
        c->op = find_op(row_ops, num_row_ops, word);
    c->exact = strcmp(kind, "exact") == 0;
    if (c->op == NULL || (!c->exact && strcmp(kind, "real") != 0))
        return -1;
    return read_words(file, "in", c->in, FRAGMENT_LANES * c->op->in_words) &&
                   read_words(file, "out", c->out, FRAGMENT_LANES * c->op->out_words)
               ? 1
               : -1;
}
