/* SPDX-License-Identifier: MIT
 *
 * assay_convert: opens, plans, writes object by object, then the directory: see convert.h.
 */
#include <assay/convert.h>

#include <string.h>

#include <assay/version.h>

#include "model/convert_plan.h"

struct assay_convert_options assay_convert_defaults(void)
{
    return (struct assay_convert_options){.encoder = ASSAY_ENCODER_MAXABS};
}

static assay_status no_memory(struct assay_error *error)
{
    return assay_fail(error, ASSAY_E_MEMORY, "convert", ASSAY_FILE_DIRECTORY,
                      "no memory for the directory");
}

/* An object's entry. `planes` is taken; NULL: no memory. */
static json_t *describe(const struct convert_object *object, bool encoded, json_t *planes)
{
    const struct stored_tensor *tensor = object->tensor;
    json_t *shape = json_array();
    bool complete = shape != NULL && planes != NULL;

    for (int i = 0; i < tensor->rank && complete; i++)
        complete = json_array_append_new(shape, json_integer(tensor->extent[i])) == 0;
    json_t *entry = json_pack("{s:s, s:s, s:s, s:o?, s:o?}", "name", tensor->name, "format",
                              assay_file_format_name(&object->object), "source_format",
                              tensor->format_name, "shape", shape, "planes", planes);
    /* Copied codes keep what chose them, when that is known. */
    const enum assay_weight_encoder encoder = encoded ? object->encoder : tensor->encoder;
    if (object->object.grouped && encoder != ASSAY_NUM_WEIGHT_ENCODERS)
        complete = complete && entry != NULL &&
                   json_object_set_new(entry, "encoder",
                                       json_string(assay_weight_encoder_name(encoder))) == 0;
    if (complete && entry != NULL)
        return entry;
    json_decref(entry);
    return NULL;
}

static assay_status write_objects(struct converter *converter, json_t *objects)
{
    for (int64_t i = 0; i < converter->plan.num_objects; i++) {
        const struct convert_object *object = &converter->plan.objects[i];
        bool encoded;
        ASSAY_TRY(convert_rows(converter, object, &encoded));
        json_t *entry = describe(object, encoded, assay_writer_end(&converter->writer));
        if (json_array_append_new(objects, entry) != 0)
            return no_memory(converter->error);
    }
    return ASSAY_OK;
}

static assay_status copy_files(struct converter *converter)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer_config.json",
                                        "generation_config.json", "chat_template.jinja"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ASSAY_TRY(assay_writer_copy(&converter->writer, converter->model->store.dir, names[i],
                                    converter->error));
    return ASSAY_OK;
}

static assay_status write_directory(struct converter *converter, json_t *objects)
{
    const struct weight_store *store = &converter->model->store;
    char digest[65];

    ASSAY_TRY(assay_model_digest(converter->model, digest, converter->error));
    json_t *directory = json_pack("{s:s, s:i, s:s, s:{s:s}, s:s, s:s, s:O, s:O}", "format", "assay",
                                  "version", ASSAY_FILE_VERSION, "producer", "assay " ASSAY_VERSION,
                                  "source", "digest", digest, "recipe", converter->recipe.name,
                                  "norms", store->final_norms ? "final" : "offset", "config",
                                  store->config, "objects", objects);
    if (directory == NULL)
        return no_memory(converter->error);
    const assay_status status =
        assay_writer_commit(&converter->writer, directory, converter->error);
    json_decref(directory);
    return status;
}

static assay_status write_folder(struct converter *converter)
{
    ASSAY_TRY(assay_writer_open(converter->options->output, converter->plan.payload_bytes,
                                &converter->writer, converter->error));
    json_t *objects = json_array();
    assay_status status = objects != NULL ? ASSAY_OK : no_memory(converter->error);
    if (status == ASSAY_OK)
        status = write_objects(converter, objects);
    if (status == ASSAY_OK)
        status = copy_files(converter);
    if (status == ASSAY_OK)
        status = write_directory(converter, objects);
    json_decref(objects);
    if (status != ASSAY_OK)
        assay_writer_abort(&converter->writer);
    return status;
}

static assay_status open_all(struct converter *converter)
{
    const struct assay_convert_options *options = converter->options;
    struct assay_context_options threads = assay_context_defaults();

    threads.num_threads = options->num_threads;
    ASSAY_TRY(recipe_open(options->recipe, &converter->recipe, converter->error));
    if (options->importance != NULL)
        ASSAY_TRY(
            gguf_importance_open(options->importance, &converter->importance, converter->error));
    ASSAY_TRY(assay_model_open_rows(options->model, &converter->model, converter->error));
    ASSAY_TRY(assay_context_create(&threads, &converter->context, converter->error));
    return convert_plan_make(converter->model, &converter->recipe, options->encoder,
                             &converter->plan, converter->error);
}

static assay_status check(const struct assay_convert_options *options, struct assay_error *error)
{
    const char *missing = options->model == NULL    ? "model"
                          : options->output == NULL ? "output"
                          : options->recipe == NULL ? "recipe"
                                                    : NULL;
    if (missing != NULL)
        return assay_fail(error, ASSAY_E_ARG, "assay_convert", missing, "must not be NULL");
    if ((unsigned)options->encoder >= ASSAY_NUM_WEIGHT_ENCODERS)
        return assay_fail(error, ASSAY_E_ARG, "assay_convert", "encoder", "is %d, no such encoder",
                          (int)options->encoder);
    return ASSAY_OK;
}

assay_status assay_convert(const struct assay_convert_options *options,
                           struct assay_convert_result *result, struct assay_error *error)
{
    struct converter converter = {.options = options, .error = error};

    if (options == NULL)
        return assay_fail(error, ASSAY_E_ARG, "assay_convert", "options", "must not be NULL");
    ASSAY_TRY(check(options, error));
    assay_status status = open_all(&converter);
    if (status == ASSAY_OK)
        status = write_folder(&converter);
    if (status == ASSAY_OK && result != NULL)
        *result =
            (struct assay_convert_result){.num_tensors = converter.plan.num_objects,
                                          .source_bytes = converter.plan.source_bytes,
                                          .payload_bytes = (int64_t)converter.plan.payload_bytes};
    convert_plan_free(&converter.plan);
    assay_context_destroy(converter.context);
    assay_model_close(converter.model);
    gguf_importance_close(&converter.importance);
    recipe_close(&converter.recipe);
    return status;
}
