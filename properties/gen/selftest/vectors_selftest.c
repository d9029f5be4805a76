/* SPDX-License-Identifier: MIT
 *
 * Golden vector files: a good one is read, each kind of damage is reported with its line.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vectors.h"
#include "verify.h"
#include "words.h"

/* Reads the whole text: the number of vectors, or -1 with *line and the message. */
static int read_all(const char *text, int *line, char *message, size_t message_bytes)
{
    FILE *file = text[0] != '\0' ? fmemopen((void *)(uintptr_t)text, strlen(text), "r")
                                 : fopen("/dev/null", "r");
    cr_assert_not_null(file);
    struct vector vector;
    int count = 0, got;
    *line = 0;
    while ((got = vector_read(file, line, &vector, message, message_bytes)) > 0) {
        vector_destroy(&vector);
        count++;
    }
    fclose(file);
    return got < 0 ? -1 : count;
}

#define HEAD  "# made by hand\nvector add T=1 I=2 a=f32 b=bf16 y=f32\n"
#define IN_A  "in a 1 -0x1.8p+1\n"
#define IN_B  "in b 2 nan\n"
#define OUT_Y "out y 3 nan\n"
#define END   "end\n"

Test(vectors, good_files)
{
    int line;
    char message[256] = "";
    cr_assert_eq(read_all("", &line, message, sizeof message), 0);
    cr_assert_eq(read_all("# nothing\n\n   \n", &line, message, sizeof message), 0);
    cr_assert_eq(read_all(HEAD IN_A IN_B OUT_Y END, &line, message, sizeof message), 1, "%s",
                 message);
    cr_assert_eq(read_all(HEAD "\n# between\n" IN_B OUT_Y IN_A END HEAD IN_A IN_B OUT_Y "end",
                          &line, message, sizeof message),
                 2, "%s", message);
    cr_assert_eq(read_all("vector add T=0 I=2\r\nin a\nin b\nout y\nend\r\n", &line, message,
                          sizeof message),
                 1, "%s", message);
}

Test(vectors, values)
{
    const char *text = HEAD IN_A IN_B OUT_Y END;
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    struct vector v;
    int line = 0;
    char message[256] = "";
    cr_assert_eq(vector_read(file, &line, &v, message, sizeof message), 1, "%s", message);
    fclose(file);
    cr_assert_eq(v.line, 2);
    cr_assert_eq(v.num_outputs, 1);
    cr_assert_eq(v.outputs[0].value[0], 3);
    cr_assert(isnan(v.outputs[0].value[1]));
    cr_assert_eq(v.outputs[0].own[0], 3 * 0x1p-53, "its rounding to binary64");
    cr_assert_eq(v.outputs[0].own[1], 0);
    cr_assert_eq(case_get(&v.c, "I"), 2);

    /* The right vector passes, with the route dispatch takes; a wrong one is not believed. */
    struct assay_context_options options = assay_context_defaults();
    assay_context *context;
    cr_assert_eq(assay_context_create(&options, &context, NULL), ASSAY_OK);
    struct verify_outcome outcome;
    cr_assert(verify_vector(context, &v, "", &outcome, message, sizeof message), "%s", message);
    cr_assert_eq(outcome.verdict.finding, VERDICT_PASS, "%s", outcome.verdict.message);
    v.outputs[0].value[0] = 3 + 0x1p-40;
    cr_assert(!verify_vector(context, &v, "", &outcome, message, sizeof message));
    cr_assert_not_null(strstr(message, "y[0]"), "%s", message);
    v.outputs[0].value[0] = 3;
    cr_assert(!verify_vector(context, &v, "add.nonsense.cpu", &outcome, message, sizeof message));
    cr_assert_not_null(strstr(message, "add.nonsense.cpu"), "%s", message);
    vector_destroy(&v);
    assay_context_destroy(context);
}

Test(vectors, damaged_files)
{
    static const struct {
        const char *text;
        int line;
        const char *what, *problem;
    } rows[] = {
        {"hello\n", 1, "hello", "vector DESCRIPTOR"},
        {"\n\nvector nonsense T=1\n", 3, "vector", "no op of this name"},
        {"vector add T=1 T=1\n", 1, "T", "given twice"},
        {"vector add I=0\n", 1, "I", "out of range"},
        {HEAD "in c 1 2\n", 3, "c", "no such input"},
        {HEAD "in y 1 2\n", 3, "y", "no such input"},
        {HEAD "in a 1\n", 3, "a", "too few"},
        {HEAD "in a\n", 3, "a", "too few"},
        {HEAD "in a 1 2 3\n", 3, "a", "too many"},
        {HEAD "in a 1 2x\n", 3, "2x", "not a number"},
        {HEAD "in a 1 0x1.0000001p0\n", 3, "0x1.0000001p0", "not representable"},
        {HEAD "in b 1 257\n", 3, "257", "not representable"},
        {HEAD "in b 1e39 1\n", 3, "1e39", "not representable"},
        {HEAD IN_A IN_A, 4, "a", "given twice"},
        {HEAD "out c 1 2\n", 3, "c", "no such output"},
        {HEAD "out y 1\n", 3, "y", "too few"},
        {HEAD "out y 1 2 3\n", 3, "3", "too many"},
        {HEAD "out y 1 x\n", 3, "x", "not a number"},
        {HEAD OUT_Y OUT_Y, 4, "y", "given twice"},
        {HEAD IN_A OUT_Y END, 5, "b", "input not given"},
        {HEAD IN_A IN_B END, 5, "y", "output not given"},
        {HEAD IN_A IN_B OUT_Y, 5, "end", "missing"},
        {HEAD IN_A IN_B OUT_Y HEAD, 7, "vector", "expected in, out or end"},
        {HEAD "in\n", 3, "in", "field name"},
        {HEAD "input a 1 2\n", 3, "input", "expected in, out or end"},
        {HEAD IN_A IN_B OUT_Y END "more\n", 7, "more", "vector DESCRIPTOR"},
        {"vector embedding\nin ids nan\n", 2, "nan", "not representable"},
        {"vector embedding\nin ids 1.5\n", 2, "1.5", "not representable"},
        {"vector embedding\nin ids 1e300\n", 2, "1e300", "not representable"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int line;
        char message[256] = "", place[32];
        cr_assert_eq(read_all(rows[i].text, &line, message, sizeof message), -1, "row %zu passes",
                     i);
        snprintf(place, sizeof place, "line %d: ", rows[i].line);
        cr_expect_eq(strncmp(message, place, strlen(place)), 0, "row %zu: %s", i, message);
        cr_expect_not_null(strstr(message, rows[i].what), "row %zu: %s", i, message);
        cr_expect_not_null(strstr(message, rows[i].problem), "row %zu: %s", i, message);
    }
}
