/* SPDX-License-Identifier: MIT
 *
 * Which tensor gets which format, and where it will lie: see convert_plan.h.
 */
#include "model/convert_plan.h"

/* Matrices and banks as the recipe says; the rest in a format that holds every value. */
static assay_status choose(struct recipe *recipe, enum assay_weight_encoder encoder,
                           const struct stored_tensor *tensor, struct convert_object *chosen,
                           struct assay_error *error)
{
    const bool is_matrix = tensor->rank == 2 || stored_is_bank(tensor);
    const struct recipe_rule *rule = is_matrix ? recipe_choose(recipe, tensor->name) : NULL;
    const bool grouped = rule != NULL && rule->format != ASSAY_WEIGHT_BF16;

    *chosen = (struct convert_object){
        .tensor = tensor,
        .object = {.grouped = grouped,
                   .format = grouped ? rule->format : ASSAY_WEIGHT_BF16,
                   .dtype = is_matrix || tensor->dtype == ASSAY_BF16 ? ASSAY_BF16 : ASSAY_F32,
                   .rows = stored_rows(tensor),
                   .columns = stored_columns(tensor)},
        .encoder = grouped && rule->encoder != ASSAY_NUM_WEIGHT_ENCODERS ? rule->encoder : encoder};
    return assay_file_measure(&chosen->object, error);
}

assay_status convert_plan_make(const assay_model *model, struct recipe *recipe,
                               enum assay_weight_encoder encoder, struct convert_plan *plan,
                               struct assay_error *error)
{
    *plan = (struct convert_plan){.num_objects = model->num_tensors};
    plan->objects = assay_alloc_zero((size_t)model->num_tensors, sizeof *plan->objects);
    if (plan->objects == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "convert", "", "no memory for the plan");
    for (int64_t i = 0; i < model->num_tensors; i++) {
        const struct stored_tensor *tensor = &model->store.tensors[model->tensors[i]];
        struct convert_object *object = &plan->objects[i];
        ASSAY_TRY(choose(recipe, encoder, tensor, object, error));
        ASSAY_TRY(assay_file_place(&object->object, &plan->payload_bytes, error));
        plan->source_bytes += (int64_t)tensor->bytes;
        plan->num_elements += object->object.rows * object->object.columns;
    }
    return recipe_check_used(recipe, error);
}

void convert_plan_free(struct convert_plan *plan)
{
    assay_free(plan->objects);
    *plan = (struct convert_plan){.objects = NULL};
}
