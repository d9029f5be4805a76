/* SPDX-License-Identifier: MIT
 *
 * assay verify --noise: random rounding beside the bounds.
 */
#include "verify_noise.h"

#include <stdio.h>
#include <string.h>

#include "progress.h"
#include "tool.h"

/* Each rounding of a draw may be twice as far off as one to nearest: a sum of roundings that are
 * all extreme is at twice the bound. Beyond it the bound lacks a rounding. */
#define MOST_SHARE 2.0

enum { SAMPLES = 4, SAMPLES_OF_ONE = 32 };

struct tally {
    const char *op, *route;
    int64_t cases, elements, bad;
    double largest;
};

static void print_line(const struct tally *t)
{
    if (t->cases > 0)
        printf("%-22s %6lld cases %10lld elements   largest share of a bound %6.3f   %lld bad\n",
               t->op, (long long)t->cases, (long long)t->elements, t->largest, (long long)t->bad);
}

static bool add(struct tally *t, const struct assay_case *c)
{
    struct verify_noise noise;
    char text[CASE_TEXT_BYTES];
    if (!verify_noise(c, NULL, SAMPLES, &noise))
        return false;
    t->cases++;
    t->elements += noise.elements;
    if (noise.worst_share > t->largest)
        t->largest = noise.worst_share;
    if (noise.worst_share <= MOST_SHARE)
        return true;
    t->bad++;
    case_print(c, text);
    printf("FAILED noise: %s[%lld]: random rounding uses %.3g of the bound, at most %g was "
           "expected\n  repeat: assay verify '%s'\n",
           noise.worst_output, (long long)noise.worst_at, noise.worst_share, MOST_SHARE, text);
    return true;
}

int verify_noise_report(const struct assay_case *cases, int64_t num_cases)
{
    struct tally t = {.op = ""};
    int64_t bad = 0, all = 0;
    struct progress progress;
    progress_begin(&progress, "noise", num_cases);
    for (int64_t i = 0; i < num_cases; i++) {
        const struct assay_case *c = &cases[i];
        if (strcmp(t.op, c->spec->op->name) != 0) {
            print_line(&t);
            t = (struct tally){.op = c->spec->op->name, .route = c->route};
        }
        progress_update(&progress, i, t.op);
        if (strcmp(t.route, c->route) != 0)
            continue;
        const int64_t before = t.bad;
        if (!add(&t, c)) {
            fprintf(stderr, "assay verify: no memory for a case of %s\n", t.op);
            return TOOL_USAGE;
        }
        all++;
        bad += t.bad - before;
    }
    progress_end(&progress);
    print_line(&t);
    printf("%lld cases, %d random roundings of each, %lld bad\n", (long long)all, SAMPLES,
           (long long)bad);
    const int flushed = tool_flush_stdout();
    return all == 0 ? TOOL_USAGE : bad > 0 ? TOOL_FAILED : flushed;
}

void verify_noise_print(const struct assay_case *c, const struct verdict *verdict)
{
    struct verify_noise noise;
    if (!verify_noise(c, verdict, SAMPLES_OF_ONE, &noise) || noise.elements == 0)
        return;
    printf("  random rounding in binary32, %d draws: there rms %.3g, largest %.3g, of a bound of "
           "%.3g; over all elements at most %.3g of the bound\n",
           noise.samples, noise.rms, noise.largest, noise.bound, noise.worst_share);
}
