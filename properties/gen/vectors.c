/* SPDX-License-Identifier: MIT
 *
 * Reading golden vectors.
 */
#include "vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trial.h"
#include "words.h"

struct reader {
    FILE *file;
    int *line;
    char *text;
    size_t capacity;
    char *message;
    size_t message_bytes;
};

static int fail(struct reader *r, const char *problem, const char *what)
{
    snprintf(r->message, r->message_bytes, "line %d: %s: %s", *r->line, what, problem);
    return -1;
}

/* Next line that is neither empty nor a comment, without its end. False at the end of the file. */
static bool next_line(struct reader *r)
{
    while (getline(&r->text, &r->capacity, r->file) >= 0) {
        ++*r->line;
        r->text[strcspn(r->text, "\r\n")] = '\0';
        const char *first = r->text + strspn(r->text, " \t");
        if (first[0] != '\0' && first[0] != '#')
            return true;
    }
    return false;
}

/* False when the format cannot hold the value. Integers are exact in a double up to 2^53. */
static bool store(const struct assay_tensor *tensor, int64_t index, double value)
{
    if (tensor->dtype == ASSAY_I32 || tensor->dtype == ASSAY_I64) {
        if (!(fabs(value) <= 0x1p53))
            return false;
        oracle_put_int(tensor, index, (int64_t)value);
    } else {
        oracle_put(tensor, index, value);
    }
    return isnan(value) || oracle_get(tensor, index) == value;
}

static int read_input(struct reader *r, struct vector *v, const char *name, char *values,
                      bool *given)
{
    struct trial_buffer *b = trial_find(&v->trial, name);
    if (b == NULL || b->role == BUFFER_OUTPUT)
        return fail(r, "the case has no such input", name);
    if (given[b - v->trial.state->buffer])
        return fail(r, "input given twice", name);
    given[b - v->trial.state->buffer] = true;
    int64_t count = assay_tensor_count(&b->tensor), got = 0;
    char *rest;
    for (char *word = strtok_r(values, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest), got++) {
        if (got == count)
            return fail(r, "too many values", name);
        char *end;
        double value = strtod(word, &end);
        if (*end != '\0')
            return fail(r, "not a number", word);
        if (!store(&b->tensor, got, value))
            return fail(r, "not representable in the tensor's format", word);
    }
    if (got != count)
        return fail(r, "too few values", name);
    memcpy(b->pristine, b->live, b->bytes);
    return 0;
}

static int read_output(struct reader *r, struct vector *v, const struct oracle_op *oracle,
                       const char *name, char *values)
{
    for (int k = 0; k < oracle->num_outputs; k++) {
        struct oracle_output *o = &v->outputs[k];
        if (strcmp(oracle->outputs[k], name) != 0)
            continue;
        struct trial_buffer *b = trial_find(&v->trial, name);
        if (b == NULL || o->value != NULL)
            return fail(r, "output given twice or not part of the case", name);
        int64_t count = assay_tensor_count(&b->tensor), got = 0;
        if (!oracle_output_create(o, oracle->outputs[k], b->tensor.dtype, count))
            return fail(r, "out of memory", name);
        char *rest;
        for (char *word = strtok_r(values, " \t", &rest); word != NULL;
             word = strtok_r(NULL, " \t", &rest), got++) {
            char *end;
            double value = strtod(word, &end);
            if (*end != '\0' || got == count)
                return fail(r, got == count ? "too many values" : "not a number", word);
            o->value[got] = value;
            o->own[got] = isfinite(value) ? fabs(value) * 0x1p-53 : 0;
        }
        return got == count ? 0 : fail(r, "too few values", name);
    }
    return fail(r, "the op has no such output", name);
}

static int complete(struct reader *r, struct vector *v, const struct oracle_op *oracle,
                    const bool *given)
{
    for (int i = 0; i < v->trial.state->num_buffers; i++)
        if (v->trial.state->buffer[i].role != BUFFER_OUTPUT && !given[i])
            return fail(r, "input not given", v->trial.state->buffer[i].name);
    for (int k = 0; k < oracle->num_outputs; k++)
        if (v->outputs[k].value == NULL)
            return fail(r, "output not given", oracle->outputs[k]);
    v->num_outputs = oracle->num_outputs;
    return 1;
}

static int read_body(struct reader *r, struct vector *v)
{
    const struct oracle_op *oracle = oracle_find(v->c.spec->oracle_name);
    bool given[TRIAL_MAX_BUFFERS] = {false};
    while (next_line(r)) {
        char *rest, *kind = strtok_r(r->text, " \t", &rest);
        if (strcmp(kind, "end") == 0)
            return complete(r, v, oracle, given);
        char *name = strtok_r(NULL, " \t", &rest);
        if (name == NULL)
            return fail(r, "a field name must follow", kind);
        int status;
        if (strcmp(kind, "in") == 0)
            status = read_input(r, v, name, rest, given);
        else if (strcmp(kind, "out") == 0)
            status = read_output(r, v, oracle, name, rest);
        else
            status = fail(r, "expected in, out or end", kind);
        if (status < 0)
            return status;
    }
    return fail(r, "missing at the end of the file", "end");
}

int vector_read(FILE *file, int *line, struct vector *vector, char *message, size_t message_bytes)
{
    struct reader r = {
        .file = file, .line = line, .message = message, .message_bytes = message_bytes};
    memset(vector, 0, sizeof *vector);
    int status = 0;
    if (next_line(&r)) {
        char problem[256];
        vector->line = *line;
        if (strncmp(r.text, "vector ", 7) != 0)
            status = fail(&r, "expected a line 'vector DESCRIPTOR'", r.text);
        else if (!case_parse(r.text + 7, &vector->c, problem, sizeof problem))
            status = fail(&r, problem, "vector");
        else if (oracle_find(vector->c.spec->oracle_name) == NULL)
            status = fail(&r, "the op has no oracle", vector->c.spec->oracle_name);
        else if (!trial_create(&vector->trial, &vector->c))
            status = fail(&r, "out of memory", "vector");
        else
            status = read_body(&r, vector);
        if (status < 0)
            vector_destroy(vector);
    }
    free(r.text);
    return status;
}

void vector_destroy(struct vector *vector)
{
    trial_destroy(&vector->trial);
    for (int k = 0; k < ORACLE_MAX_OUTPUTS; k++)
        oracle_output_destroy(&vector->outputs[k]);
}
