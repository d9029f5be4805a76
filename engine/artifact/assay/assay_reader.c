/* SPDX-License-Identifier: MIT
 *
 * An .assay folder as a weight store. Every number of the directory is compared with what the
 * formats and shapes demand, and with the payload's size, before an address is formed.
 */
#include "artifact/assay/assay_file.h"

#include <inttypes.h>
#include <string.h>

#include <sodium.h>

#include "artifact/input_file.h"

enum { DIGEST_BYTES = 32, DIGEST_TEXT = 2 * DIGEST_BYTES };

struct weight_container {
    struct assay_map directory, payload;
    json_t *root;
    struct assay_file_object *objects; /* by stored_tensor.view */
};

struct reader {
    struct weight_store *store;
    struct weight_container *container;
    uint64_t end; /* of the planes so far */
    struct assay_error *error;
};

static assay_status refuse(const struct reader *reader, const char *object, const char *field,
                           const json_t *found, const char *expected)
{
    char text[64];

    return assay_fail(reader->error, ASSAY_E_CORRUPT, ASSAY_FILE_DIRECTORY, object,
                      "%s is %s, expected %s", field, assay_json_describe(found, text, sizeof text),
                      expected);
}

/* ---- objects --------------------------------------------------------------------------------- */

static assay_status read_shape(const struct reader *reader, const json_t *json,
                               struct stored_tensor *tensor)
{
    const json_t *shape = json_object_get(json, "shape");
    int64_t product = 1;

    if (!json_is_array(shape) || json_array_size(shape) < 1 ||
        json_array_size(shape) > STORE_MAX_RANK)
        return refuse(reader, tensor->name, "shape", shape, "an array of 1 to 8 integers");
    tensor->rank = (int)json_array_size(shape);
    for (int i = 0; i < tensor->rank; i++) {
        const json_t *extent = json_array_get(shape, (size_t)i);
        if (!json_is_integer(extent) || json_integer_value(extent) < 1 ||
            __builtin_mul_overflow(product, json_integer_value(extent), &product))
            return refuse(reader, tensor->name, "an extent of shape", extent,
                          "a positive integer, and a product below 2^63");
        tensor->extent[i] = json_integer_value(extent);
    }
    return ASSAY_OK;
}

static assay_status read_format(const struct reader *reader, const json_t *json,
                                struct stored_tensor *tensor, struct assay_file_object *object)
{
    const json_t *format = json_object_get(json, "format");
    const json_t *encoder = json_object_get(json, "encoder");
    const char *name = json_string_value(format);

    if (name == NULL)
        return refuse(reader, tensor->name, "format", format, "a string such as \"q8g32\"");
    object->dtype = assay_dtype_from_name(name);
    if (object->dtype != ASSAY_BF16 && object->dtype != ASSAY_F32) {
        object->format = assay_weight_format_from_name(name);
        object->grouped = object->format != ASSAY_NUM_WEIGHT_FORMATS;
        if (!object->grouped)
            return assay_fail(reader->error, ASSAY_E_UNSUPPORTED, ASSAY_FILE_DIRECTORY,
                              tensor->name, "format \"%.32s\" is not known to this version", name);
        if (tensor->rank != 2 && tensor->rank != 3)
            return refuse(reader, tensor->name, "shape", json_object_get(json, "shape"),
                          "two extents, or three of a bank, as the format is one of matrices");
    }
    tensor->format_name = assay_file_format_name(object);
    tensor->encoder = ASSAY_NUM_WEIGHT_ENCODERS;
    if (encoder != NULL) {
        if (json_is_string(encoder))
            tensor->encoder = assay_weight_encoder_from_name(json_string_value(encoder));
        if (tensor->encoder == ASSAY_NUM_WEIGHT_ENCODERS)
            return refuse(reader, tensor->name, "encoder", encoder, "the name of an encoder");
    }
    object->rows = stored_rows(tensor);
    object->columns = stored_columns(tensor);
    return ASSAY_OK;
}

static bool is_digest(const json_t *json)
{
    const char *text = json_string_value(json);
    return text != NULL && strlen(text) == DIGEST_TEXT &&
           strspn(text, "0123456789abcdef") == DIGEST_TEXT;
}

/* The stated planes are exactly those of the layout, inside the payload. */
static assay_status check_planes(const struct reader *reader, const json_t *json,
                                 const struct stored_tensor *tensor,
                                 const struct assay_file_object *object)
{
    const json_t *planes = json_object_get(json, "planes");
    size_t expected = 0;
    char text[96];

    if (!json_is_object(planes))
        return refuse(reader, tensor->name, "planes", planes, "an object");
    for (int i = 0; i < ASSAY_FILE_PLANES; i++) {
        const char *const name = assay_file_plane_names[i];
        const json_t *plane = json_object_get(planes, name);
        if (object->bytes[i] == 0)
            continue;
        expected++;
        snprintf(text, sizeof text, "offset %" PRIu64 ", %" PRIu64 " bytes and a digest",
                 object->offset[i], object->bytes[i]);
        if (!json_is_object(plane) || json_object_size(plane) != 3)
            return refuse(reader, tensor->name, name, plane, text);
        const json_t *offset = json_object_get(plane, "offset");
        const json_t *bytes = json_object_get(plane, "bytes");
        if (!json_is_integer(offset) || json_integer_value(offset) < 0 ||
            (uint64_t)json_integer_value(offset) != object->offset[i])
            return refuse(reader, tensor->name, name, offset, text);
        if (!json_is_integer(bytes) || json_integer_value(bytes) < 0 ||
            (uint64_t)json_integer_value(bytes) != object->bytes[i])
            return refuse(reader, tensor->name, name, bytes, text);
        if (!is_digest(json_object_get(plane, "blake2b")))
            return refuse(reader, tensor->name, name, json_object_get(plane, "blake2b"),
                          "64 lower-case hexadecimal digits");
        if (object->offset[i] + object->bytes[i] > reader->container->payload.bytes)
            return assay_fail(
                reader->error, ASSAY_E_CORRUPT, ASSAY_FILE_PAYLOAD, tensor->name,
                "plane %s ends at %" PRIu64 ", the file has %zu bytes; is the copy complete?", name,
                object->offset[i] + object->bytes[i], reader->container->payload.bytes);
    }
    if (json_object_size(planes) != expected)
        return refuse(reader, tensor->name, "planes", planes, "the planes of the format only");
    return ASSAY_OK;
}

static void set_planes(const struct reader *reader, const struct assay_file_object *object,
                       struct stored_tensor *tensor)
{
    const uint8_t *const payload = reader->container->payload.data;
    struct assay_tensor *const planes[ASSAY_FILE_PLANES] = {
        &tensor->planes.base, &tensor->planes.high, &tensor->planes.scales};

    for (int i = 0; i < ASSAY_FILE_PLANES; i++)
        if (object->bytes[i] > 0)
            planes[i]->data = (void *)(uintptr_t)(payload + object->offset[i]);
}

static assay_status read_object(struct reader *reader, const json_t *json)
{
    struct weight_store *store = reader->store;
    struct stored_tensor *tensor = &store->tensors[store->num_tensors];
    struct assay_file_object *object = &reader->container->objects[store->num_tensors];
    const json_t *name = json_object_get(json, "name");

    if (!json_is_object(json))
        return refuse(reader, "objects", "an entry", json, "an object");
    if (!json_is_string(name) || json_string_length(name) == 0)
        return refuse(reader, "objects", "name", name, "a string that is not empty");
    *tensor = (struct stored_tensor){.name = json_string_value(name),
                                     .file = 1,
                                     .dtype = ASSAY_NUM_DTYPES,
                                     .view = store->num_tensors};
    if (store->num_tensors > 0 && strcmp(tensor[-1].name, tensor->name) >= 0)
        return assay_fail(reader->error, ASSAY_E_CORRUPT, ASSAY_FILE_DIRECTORY, tensor->name,
                          "stands after %.100s: objects must be in name order, each once",
                          tensor[-1].name);
    ASSAY_TRY(read_shape(reader, json, tensor));
    ASSAY_TRY(read_format(reader, json, tensor, object));
    ASSAY_TRY(assay_file_measure(object, reader->error));
    ASSAY_TRY(assay_file_place(object, &reader->end, reader->error));
    ASSAY_TRY(check_planes(reader, json, tensor, object));
    tensor->bytes = object->bytes[0] + object->bytes[1] + object->bytes[2];
    tensor->grouped = object->grouped;
    if (object->grouped) {
        ASSAY_TRY(assay_weights_at(NULL, object->format, object->rows, object->columns,
                                   &tensor->planes, reader->error));
        set_planes(reader, object, tensor);
    } else {
        tensor->dtype = object->dtype;
        tensor->data = reader->container->payload.data + object->offset[0];
    }
    store->num_tensors++;
    return ASSAY_OK;
}

static assay_status load(struct weight_store *store, const struct assay_model_config *config,
                         bool rows_only, struct assay_error *error)
{
    struct reader reader = {.store = store, .container = store->container, .error = error};
    const json_t *objects = json_object_get(store->container->root, "objects");
    const size_t count = json_array_size(objects);

    (void)config;
    (void)rows_only; /* everything is used in place */
    if (!json_is_array(objects))
        return refuse(&reader, "objects", "it", objects, "an array");
    store->tensors = assay_alloc_zero(count + 1, sizeof *store->tensors);
    store->container->objects = assay_alloc_zero(count + 1, sizeof *store->container->objects);
    if (store->tensors == NULL || store->container->objects == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, ASSAY_FILE_DIRECTORY, "objects",
                          "no memory for %zu objects", count);
    for (size_t i = 0; i < count; i++)
        ASSAY_TRY(read_object(&reader, json_array_get(objects, i)));
    if (reader.end != store->container->payload.bytes)
        return assay_fail(error, ASSAY_E_CORRUPT, ASSAY_FILE_PAYLOAD, "size",
                          "the objects end at %" PRIu64 ", the file has %zu bytes", reader.end,
                          store->container->payload.bytes);
    return ASSAY_OK;
}

/* ---- the folder ------------------------------------------------------------------------------ */

static assay_status read_header(struct reader *reader)
{
    json_t *const root = reader->container->root;
    const json_t *format = json_object_get(root, "format");
    const json_t *version = json_object_get(root, "version");
    const json_t *norms = json_object_get(root, "norms");
    json_t *config = json_object_get(root, "config");
    const char *convention = json_string_value(norms);

    if (!json_is_string(format) || strcmp(json_string_value(format), "assay") != 0)
        return refuse(reader, "format", "it", format, "\"assay\"");
    if (!json_is_integer(version) || json_integer_value(version) != ASSAY_FILE_VERSION) {
        char found[64];
        return assay_fail(reader->error, ASSAY_E_UNSUPPORTED, ASSAY_FILE_DIRECTORY, "version",
                          "is %s, expected %d; convert the model again with this version",
                          assay_json_describe(version, found, sizeof found), ASSAY_FILE_VERSION);
    }
    if (convention == NULL ||
        (strcmp(convention, "offset") != 0 && strcmp(convention, "final") != 0))
        return refuse(reader, "norms", "it", norms, "\"offset\" or \"final\"");
    if (!json_is_object(config))
        return refuse(reader, "config", "it", config, "an object, the model's config.json");
    reader->store->final_norms = strcmp(convention, "final") == 0;
    reader->store->config = json_incref(config);
    return ASSAY_OK;
}

static void close_container(struct weight_container *container)
{
    assay_map_close(&container->directory);
    assay_map_close(&container->payload);
    json_decref(container->root);
    assay_free(container->objects);
    assay_free(container);
}

static const struct store_kind kind = {.list_name = ASSAY_FILE_DIRECTORY,
                                       .remedy = "convert the model again",
                                       .load = load,
                                       .close = close_container};

assay_status store_open_assay(struct weight_store *store, bool *present, struct assay_error *error)
{
    struct reader reader = {.store = store, .error = error};
    struct assay_map map;

    ASSAY_TRY(assay_input_open_optional(store->dir, ASSAY_FILE_DIRECTORY, &map, present, error));
    if (!*present)
        return ASSAY_OK;
    store->kind = &kind;
    store->config_file = ASSAY_FILE_DIRECTORY;
    store->f32_vectors = true;
    store->container = assay_alloc_zero(1, sizeof *store->container);
    store->files = assay_alloc_zero(2, sizeof *store->files);
    if (store->container == NULL || store->files == NULL) {
        assay_map_close(&map);
        return assay_fail(error, ASSAY_E_MEMORY, store->path, "", "no memory to open the model");
    }
    reader.container = store->container;
    reader.container->directory = map;
    ASSAY_TRY(assay_input_parse(ASSAY_FILE_DIRECTORY, "JSON", map.data, map.bytes, ASSAY_E_PARSE,
                                &reader.container->root, error));
    ASSAY_TRY(read_header(&reader));
    ASSAY_TRY(assay_input_open(store->dir, ASSAY_FILE_PAYLOAD, &reader.container->payload, error));
    store->files[0] = (struct store_file){ASSAY_FILE_DIRECTORY, map};
    store->files[1] = (struct store_file){ASSAY_FILE_PAYLOAD, reader.container->payload};
    store->num_files = 2;
    return ASSAY_OK;
}

/* ---- digests --------------------------------------------------------------------------------- */

/* *end: of the plane before; the padding up to the next is zero. */
static assay_status verify_object(const struct weight_container *container, const char *name,
                                  const struct assay_file_object *object, const json_t *json,
                                  uint64_t *end, struct assay_error *error)
{
    unsigned char digest[DIGEST_BYTES];
    char text[DIGEST_TEXT + 1];

    for (int i = 0; i < ASSAY_FILE_PLANES; i++) {
        const char *plane = assay_file_plane_names[i];
        if (object->bytes[i] == 0)
            continue;
        for (; *end < object->offset[i]; ++*end)
            if (container->payload.data[*end] != 0)
                return assay_fail(error, ASSAY_E_CORRUPT, ASSAY_FILE_PAYLOAD, name,
                                  "byte %" PRIu64 " before plane %s is not zero; copy or convert "
                                  "the model again",
                                  *end, plane);
        *end += object->bytes[i];
        crypto_generichash(digest, sizeof digest, container->payload.data + object->offset[i],
                           object->bytes[i], NULL, 0);
        sodium_bin2hex(text, sizeof text, digest, sizeof digest);
        const json_t *stated =
            json_object_get(json_object_get(json_object_get(json, "planes"), plane), "blake2b");
        if (strcmp(text, json_string_value(stated)) != 0)
            return assay_fail(error, ASSAY_E_CORRUPT, ASSAY_FILE_PAYLOAD, name,
                              "plane %s has the digest %.16s..., the directory says %.16s...; "
                              "copy or convert the model again",
                              plane, text, json_string_value(stated));
    }
    return ASSAY_OK;
}

assay_status assay_file_verify(const struct weight_store *store, struct assay_error *error)
{
    if (store->kind != &kind)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, store->path, "digests",
                          "only .assay folders have digests of their tensors");
    if (sodium_init() < 0)
        return assay_fail(error, ASSAY_E_INTERNAL, "assay_file_verify", "libsodium",
                          "cannot be initialised");
    const json_t *objects = json_object_get(store->container->root, "objects");
    uint64_t end = 0;
    for (int64_t i = 0; i < store->num_tensors; i++)
        ASSAY_TRY(verify_object(store->container, store->tensors[i].name,
                                &store->container->objects[i], json_array_get(objects, (size_t)i),
                                &end, error));
    return ASSAY_OK;
}
