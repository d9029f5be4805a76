#!/usr/bin/env bash
# Installs what Assay needs to build and test, as Debian 12 packages by name. Idempotent: packages
# that are there are left alone, and nothing is asked of the network when all of them are.
set -euo pipefail

packages=(
  build-essential cmake ninja-build pkg-config ccache git
  libmpfr-dev libgmp-dev libcriterion-dev
  libjansson-dev libpcre2-dev libutf8proc-dev libsqlite3-dev libsodium-dev
  libonig-dev libopenblas0 libboost-context-dev
  clang-format clang-tidy libxml2-utils sqlite3
)

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all ${#packages[@]} packages are installed"
  exit 0
fi
if ! command -v apt-get >/dev/null; then
  echo "setup: apt-get is missing; install these yourself: ${missing[*]}" >&2
  exit 3
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: run as root, or install sudo, to install: ${missing[*]}" >&2
    exit 3
  fi
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
echo "setup: done"
