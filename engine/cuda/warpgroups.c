/* SPDX-License-Identifier: MIT
 *
 * Devices with warpgroups.
 */
#include "cuda/warpgroups.h"

#include <pthread.h>

#include <assay/device.h>

static bool all_have_them;

static void ask_devices(void)
{
    all_have_them = true;
    for (int i = 0; i < assay_device_count(); i++) {
        struct assay_device device;
        if (assay_device_describe(i, &device, NULL) != ASSAY_OK || device.major != 9)
            all_have_them = false;
    }
}

bool devices_have_warpgroups(void)
{
    static pthread_once_t asked = PTHREAD_ONCE_INIT;
    return pthread_once(&asked, ask_devices) == 0 && all_have_them;
}
