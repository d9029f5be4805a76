/* SPDX-License-Identifier: MIT
 *
 * The windows of a text.
 */
#include <stdlib.h>

#include "gate_try.h"
#include "score.h"

/* Windows of one text: how they would lie, and which of them are taken. */
struct layout {
    int64_t context, stride;
    int64_t all;   /* windows that score every token */
    int64_t taken; /* of them, evenly spread */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static struct layout lay_out(int64_t num_ids, int64_t context, int64_t stride, int64_t limit)
{
    struct layout layout = {.context = context, .stride = stride};
    if (limit > 0 && limit < context - 1) {
        layout.context = limit + 1;
        layout.stride = least(stride, limit);
    }
    if (num_ids < 2)
        return layout;
    const int64_t behind = num_ids - layout.context; /* tokens that the first window leaves */
    layout.all = behind <= 0 ? 1 : 1 + (behind + layout.stride - 1) / layout.stride;
    layout.taken = layout.all;
    if (limit > 0)
        layout.taken = least(layout.all, 1 + (limit - (layout.context - 1)) / layout.stride);
    return layout;
}

static struct score_window window(const struct layout *layout, int64_t num_ids, int text, int64_t i)
{
    const int64_t last = layout->all - 1;
    const int64_t number = layout->taken > 1 ? last * i / (layout->taken - 1) : 0;
    const int64_t begin = number * layout->stride;
    return (struct score_window){
        .text = text,
        .begin = begin,
        .length = least(layout->context, num_ids - begin),
        .first = number == 0 ? 1 : layout->context - layout->stride,
    };
}

assay_status score_plan_make(const struct score_text *texts, int num_texts, int64_t context,
                             int64_t stride, int64_t limit, struct score_plan *plan,
                             struct assay_error *error)
{
    int64_t count = 0;
    *plan = (struct score_plan){0};
    if (context < 2 || stride < 1 || stride >= context)
        return assay_fail(error, ASSAY_E_USAGE, "quality", "stride",
                          "must be in 1 .. context - 1, is %lld with a context of %lld: the first "
                          "token of a window has nothing before it and cannot be scored there",
                          (long long)stride, (long long)context);
    for (int i = 0; i < num_texts; i++)
        count += lay_out(texts[i].num_ids, context, stride, limit).taken;
    if (count == 0)
        return assay_fail(error, ASSAY_E_USAGE, "quality", "texts",
                          "nothing to score: no text has two tokens");
    plan->windows = calloc((size_t)count, sizeof *plan->windows);
    if (plan->windows == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "quality", "windows", "no memory");
    for (int text = 0; text < num_texts; text++) {
        const struct layout layout = lay_out(texts[text].num_ids, context, stride, limit);
        for (int64_t i = 0; i < layout.taken; i++) {
            struct score_window *w = &plan->windows[plan->num_windows++];
            *w = window(&layout, texts[text].num_ids, text, i);
            w->at = plan->num_tokens;
            plan->num_tokens += w->length - w->first;
        }
    }
    return ASSAY_OK;
}

void score_plan_free(struct score_plan *plan)
{
    free(plan->windows);
    *plan = (struct score_plan){0};
}
