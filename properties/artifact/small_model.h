/* SPDX-License-Identifier: MIT
 *
 * A complete dense model of a few kilobytes, written by the test that needs it: two layers, one of
 * each kind. Tests change one thing and look at what the engine says.
 */
#ifndef ASSAY_PROPERTIES_SMALL_MODEL_H
#define ASSAY_PROPERTIES_SMALL_MODEL_H

#include <stddef.h>
#include <stdint.h>

enum { SMALL_MAX_TENSORS = 96, SMALL_VOCAB = 16, SMALL_HIDDEN = 8 };

struct small_tensor {
    char name[128];
    const char *dtype;
    int rank;
    int64_t extent[4];
    unsigned seed; /* of the data: equal seeds and sizes give equal bytes */
};

struct small_model {
    struct small_tensor tensors[SMALL_MAX_TENSORS];
    int num_tensors;
};

/* A JSON key and the text of its value; a NULL value removes the key. */
struct small_pair {
    const char *key;
    const char *value;
};

/* Text in allocated memory; the caller frees it. All writers abort the test on failure. */
struct small_text {
    char *bytes;
    size_t size;
};

/* A new empty folder, and its removal with all files in it (no subfolders with content). */
char *small_folder(void);
void small_remove(char *dir);
void small_write(const char *dir, const char *name, const void *bytes, size_t size);
void small_delete(const char *dir, const char *name);
/* Asserts that no file of the folder is mapped by this process. */
void small_unmapped(const char *dir, const char *label);

/* The tensors, in data order. mtp may be NULL: no MTP block. */
void small_tensors(struct small_model *model, const char *prefix, const char *head,
                   const char *mtp);
/* Of these tensors, those of a mixture of three experts of width 4, two a token, whose shared
 * expert is the MLP; the MTP block's experts are stored one by one. And what its config changes. */
void small_mixture(struct small_model *model);
/* Of a mixture, each bank as one tensor for each expert and matrix. */
void small_split_banks(struct small_model *model);
enum { SMALL_MIXTURE_CHANGES = 6, SMALL_EXPERTS = 3, SMALL_EXPERT_WIDTH = 4 };
extern const struct small_pair small_mixture_config[SMALL_MIXTURE_CHANGES];
struct small_tensor *small_find(struct small_model *model, const char *suffix);
void small_add(struct small_model *model, const char *name, const char *dtype, int rank, int64_t e0,
               int64_t e1, int64_t e2);
size_t small_tensor_bytes(const struct small_tensor *tensor);

/* The header's JSON for tensors [first, last), without padding. */
struct small_text small_header(const struct small_model *model, int first, int last);
/* A whole file from a header text and the tensors' data; stated_length < 0: the padded length. */
struct small_text small_file(const char *header, size_t header_size, int64_t stated_length,
                             const struct small_model *model, int first, int last);
/* Writes the tensors [first, last) as one valid file. */
void small_write_file(const char *dir, const char *name, const struct small_model *model, int first,
                      int last);

/* The flat config as JSON text, with keys replaced, added or removed. */
struct small_text small_config(const struct small_pair *changes, size_t num_changes);
/* The nested form: changes whose key begins with '^' are applied to the outer object. */
struct small_text small_nested_config(const struct small_pair *changes, size_t num_changes);
void small_write_config(const char *dir, const struct small_pair *changes, size_t num_changes);

#endif
