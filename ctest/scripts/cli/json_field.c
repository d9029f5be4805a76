/* SPDX-License-Identifier: MIT
 *
 * json_field FILE [KEY | INDEX]...: strict reading of a JSON file; prints the value at the path as
 * compact JSON. Exit code 1 and a message when the file is malformed or has no such field.
 */
#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc < 2)
        return 1;
    json_error_t error;
    json_t *root = json_load_file(argv[1], JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        fprintf(stderr, "%s:%d: %s\n", argv[1], error.line, error.text);
        return 1;
    }
    json_t *at = root;
    for (int i = 2; i < argc && at != NULL; i++)
        at = json_is_array(at) ? json_array_get(at, (size_t)strtoul(argv[i], NULL, 10))
                               : json_object_get(at, argv[i]);
    if (at == NULL)
        fprintf(stderr, "%s: no such field\n", argv[1]);
    else
        json_dumpf(at, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
    int code = at == NULL || putchar('\n') == EOF || fflush(stdout) != 0;
    json_decref(root);
    return code;
}
