/* SPDX-License-Identifier: MIT
 *
 * deck: the bytes are a file of cases, read as a deck and as golden vectors. A deck's cases print
 * as descriptors that read the same; a vector that is read has all its inputs and outputs.
 */
#include "fuzz_folder.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "vectors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(const struct assay_case *a, const struct assay_case *b)
{
    return a->spec == b->spec && memcmp(a->value, b->value, sizeof a->value) == 0 &&
           a->layout == b->layout && a->dist == b->dist && strcmp(a->route, b->route) == 0 &&
           a->seed == b->seed;
}

static bool visit(void *user, const struct assay_case *c)
{
    char text[CASE_TEXT_BYTES], message[256];
    struct assay_case again;
    (void)user;
    case_print(c, text);
    if (!case_parse(text, &again, message, sizeof message))
        fuzz_fail("what it printed it does not read");
    if (!same(c, &again))
        fuzz_fail("what it printed is another case");
    return true;
}

static bool is_small(const struct assay_case *c)
{
    enum { MOST = 40 };
    if (c->layout == CASE_FAR)
        return false;
    for (int i = 0; i < c->spec->num_params; i++)
        if (c->spec->params[i].kind == CASE_COUNT && c->value[i] > MOST)
            return false;
    return true;
}

/* Vectors are written by hand: a large case's memory is no fault of their reader. */
static bool all_small(char *text)
{
    static const char word[] = "vector ";
    char message[256], *rest;
    for (char *line = strtok_r(text, "\r\n", &rest); line != NULL;
         line = strtok_r(NULL, "\r\n", &rest)) {
        struct assay_case c;
        if (strncmp(line, word, sizeof word - 1) == 0 &&
            case_parse(line + sizeof word - 1, &c, message, sizeof message) && !is_small(&c))
            return false;
    }
    return true;
}

static void check_vector(const struct vector *vector)
{
    if (vector->num_outputs < 1)
        fuzz_fail("a vector without outputs");
    for (int k = 0; k < vector->num_outputs; k++)
        if (vector->outputs[k].value == NULL)
            fuzz_fail("a vector that lacks an output");
}

static void read_vectors(const char *path)
{
    char message[256] = "";
    struct vector vector;
    int line = 0, got;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fuzz_fail("the input cannot be read");
    while ((got = vector_read(file, &line, &vector, message, sizeof message)) == 1) {
        check_vector(&vector);
        vector_destroy(&vector);
    }
    if (got < 0 && message[0] == '\0')
        fuzz_fail("refused without a reason");
    fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[4200], message[256] = "";
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    /* Zero bytes would hide the rest of a line from the look at sizes. */
    for (size_t i = 0; i < size; i++)
        text[i] = data[i] == '\0' ? ' ' : (char)data[i];
    text[size] = '\0';
    fuzz_folder_write("cases", text, size);
    snprintf(path, sizeof path, "%s/cases", fuzz_folder());
    if (!case_deck_read(path, visit, NULL, message, sizeof message) && message[0] == '\0')
        fuzz_fail("refused without a reason");
    if (all_small(text))
        read_vectors(path);
    free(text);
    return 0;
}
