/* SPDX-License-Identifier: MIT
 *
 * What stands behind every file that is read: paths that lead nowhere, to the wrong kind of file
 * or to an empty one are reported with the path, and leave nothing behind. (Files that are written
 * are seen from the command line: ctest/scripts/cli/cli_reports.sh.)
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <assay/model.h>
#include <assay/testing.h>

static char folder[] = "/tmp/assay-files-XXXXXX";
static char config_path[64];

static void set_up(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(config_path, sizeof config_path, "%s/config.json", folder);
}

static void tear_down(void)
{
    unlink(config_path);
    rmdir(folder);
}

/* what: a file of the folder, or the path itself where it is none. */
static void refuse_as(const char *dir, assay_status status, const char *what, const char *problem)
{
    struct assay_model_config config;
    struct assay_error error = {.status = ASSAY_OK};
    char text[1024];
    cr_assert_eq(assay_config_read(dir, &config, &error), status, "%s: %s", problem,
                 assay_status_name(error.status));
    assay_error_format(&error, text, sizeof text);
    cr_assert_not_null(strstr(text, what), "%s", text);
    cr_assert_not_null(strstr(text, problem), "%s", text);
    cr_assert_eq(assay_live_allocations(), 0);
}

static void refuse(const char *dir, assay_status status, const char *problem)
{
    refuse_as(dir, status, "config.json", problem);
}

Test(files, paths, .init = set_up, .fini = tear_down, .timeout = 5)
{
    refuse(folder, ASSAY_E_NOT_FOUND, "No such file");
    refuse("/nonexistent/folder", ASSAY_E_NOT_FOUND, "No such file");
    refuse_as("/dev/null", ASSAY_E_IO, "/dev/null", "not a regular file");

    cr_assert_eq(mkdir(config_path, 0700), 0);
    refuse(folder, ASSAY_E_IO, "not a regular file");
    rmdir(config_path);
    cr_assert_eq(mkfifo(config_path, 0600), 0); /* opening it must not wait for a writer */
    refuse(folder, ASSAY_E_IO, "not a regular file");
    unlink(config_path);
    cr_assert_eq(symlink("/dev/zero", config_path), 0);
    refuse(folder, ASSAY_E_IO, "not a regular file");
    unlink(config_path);
    cr_assert_eq(symlink("config.json", config_path), 0);
    refuse(folder, ASSAY_E_IO, "symbolic links");
    unlink(config_path);
    cr_assert_eq(symlink("nowhere", config_path), 0);
    refuse(folder, ASSAY_E_NOT_FOUND, "No such file");
    unlink(config_path);

    FILE *file = fopen(config_path, "w");
    cr_assert_not_null(file);
    fclose(file);
    refuse(folder, ASSAY_E_PARSE, "");
    if (geteuid() != 0) { /* root may read everything */
        chmod(config_path, 0);
        refuse(folder, ASSAY_E_IO, "Permission denied");
    }
    unlink(config_path);
}

/* A link to a good file is as good as the file. */
Test(files, links, .init = set_up, .fini = tear_down)
{
    struct assay_model_config direct, linked;
    struct assay_error error = {.status = ASSAY_OK};
    const char *model = ASSAY_GOLDEN_DIR "/models/tiny-hybrid";
    cr_assert_eq(assay_config_read(model, &direct, &error), ASSAY_OK, "%s", error.message);
    char target[512];
    snprintf(target, sizeof target, "%s/config.json", model);
    cr_assert_eq(symlink(target, config_path), 0);
    cr_assert_eq(assay_config_read(folder, &linked, &error), ASSAY_OK, "%s", error.message);
    cr_assert_eq(direct.num_layers, linked.num_layers);
    cr_assert_eq(direct.vocab_size, linked.vocab_size);
    cr_assert_eq(assay_live_allocations(), 0);
}
