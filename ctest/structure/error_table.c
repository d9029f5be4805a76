/* SPDX-License-Identifier: MIT
 *
 * Prints docs/reference/errors.md from the status table.
 */
#include <stdio.h>

#include <assay/status.h>

int main(void)
{
    puts("# Status codes\n\nWritten from `engine/include/assay/status.h`; values are stable.\n");
    puts("| value | name | meaning | what to do |\n| --- | --- | --- | --- |");
#define ROW(name, value, meaning, remedy)                                       \
    printf("| %d | `%s` | %s | %s |\n", value, assay_status_name(ASSAY_##name), \
           assay_status_text(ASSAY_##name), assay_status_remedy(ASSAY_##name));
    ASSAY_STATUS_TABLE(ROW)
#undef ROW
    return fflush(stdout) == 0 ? 0 : 1;
}
