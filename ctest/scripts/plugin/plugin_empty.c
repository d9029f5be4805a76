/* SPDX-License-Identifier: MIT
 *
 * A shared object that is no plugin.
 */
int assay_plugin_v0(void);

int assay_plugin_v0(void)
{
    return 0;
}
