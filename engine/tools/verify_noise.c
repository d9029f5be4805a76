/* SPDX-License-Identifier: MIT
 *
 * assay verify --noise: random rounding beside the bounds.
 */
#include "tools/verify_noise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/progress.h"
#include "tools/tool.h"

enum { SAMPLES = 4, SAMPLES_OF_ONE = 32 };

struct tally {
    const char *op, *route;
    int64_t cases, elements;
    int64_t share[VERIFY_NOISE_BINS + 1]; /* as in struct verify_noise */
    double largest;
};

/* The share of a bound below which so many of the elements are; beyond 1 it is the largest. */
static double quantile(const struct tally *t, double of_all)
{
    int64_t count = 0;
    for (int i = 0; i < VERIFY_NOISE_BINS; i++) {
        count += t->share[i];
        if ((double)count >= of_all * (double)t->elements)
            return (double)(i + 1) / VERIFY_NOISE_BINS;
    }
    return t->largest;
}

static void print_line(const struct tally *t)
{
    if (t->cases > 0)
        printf("%-22s %6lld %12lld %8.3f %8.3f %10.3g %12.4f %%\n", t->op, (long long)t->cases,
               (long long)t->elements, quantile(t, 0.5), quantile(t, 0.99), t->largest,
               100.0 * (double)t->share[VERIFY_NOISE_BINS] / (double)(t->elements + !t->elements));
}

static bool add(struct tally *t, const struct assay_case *c)
{
    struct verify_noise noise;
    if (!verify_noise(c, NULL, SAMPLES, &noise))
        return false;
    t->cases++;
    t->elements += noise.elements;
    for (int i = 0; i <= VERIFY_NOISE_BINS; i++)
        t->share[i] += noise.share[i];
    if (noise.worst_share > t->largest)
        t->largest = noise.worst_share;
    return true;
}

int verify_noise_report(const struct assay_case *cases, int64_t num_cases)
{
    struct tally t = {.op = "", .route = ""};
    int64_t all = 0;
    struct progress progress;
    printf("random rounding in binary32 against the exact result, in shares of an element's bound\n"
           "%-22s %6s %12s %8s %8s %10s %14s\n",
           "op", "cases", "elements", "median", "99 %", "largest", "beyond");
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
        if (!add(&t, c)) {
            fprintf(stderr, "assay verify: no memory for a case of %s\n", t.op);
            return TOOL_USAGE;
        }
        all++;
    }
    progress_end(&progress);
    print_line(&t);
    printf(
        "%lld cases, %d draws of each; beyond: a contract asks for more than binary32 there, or\n"
        "a draw rounded away from the nearer neighbour more often than to it\n",
        (long long)all, SAMPLES);
    const int flushed = tool_flush_stdout();
    return all == 0 ? TOOL_USAGE : flushed;
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
