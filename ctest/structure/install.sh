#!/usr/bin/env bash
# Installs into a scratch folder, then builds and runs a program with what pkg-config says.
set -eu
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$2" --prefix "$prefix/usr" >/dev/null
cat >"$prefix/user.c" <<'C'
#include <stdio.h>

#include <assay/context.h>
#include <assay/ops/add.h>
#include <assay/version.h>

int main(void)
{
    struct assay_context_options options = assay_context_defaults();
    assay_context *context;
    struct assay_error error = {ASSAY_OK, "", "", ""};
    float a[2] = {1, 2}, b[2] = {3, 4}, y[2];
    if (assay_context_create(&options, &context, &error) != ASSAY_OK)
        return 1;
    struct assay_add_args args = {assay_tensor_2d(a, ASSAY_F32, 1, 2),
                                  assay_tensor_2d(b, ASSAY_F32, 1, 2),
                                  assay_tensor_2d(y, ASSAY_F32, 1, 2)};
    int status = assay_add(context, &args);
    printf("%s %g %g\n", ASSAY_VERSION, (double)y[0], (double)y[1]);
    assay_context_destroy(context);
    return status;
}
C
config=$(find "$prefix/usr" -name assay.pc -printf '%h')
# The prefix in assay.pc is the configured one; this is a copy elsewhere.
sed -i "s|^prefix=.*|prefix=$prefix/usr|" "$config/assay.pc"
export PKG_CONFIG_PATH=$config
sanitizers=$(grep -oE -m1 -- '-fsanitize=[a-z,]+' "$2/build.ninja" | head -1 || true)
# shellcheck disable=SC2046
"$3" -std=c17 $sanitizers "$prefix/user.c" -o "$prefix/user" $(pkg-config --cflags --libs --static assay)
[ "$("$prefix/user")" = "$(pkg-config --modversion assay) 4 6" ]
