#!/bin/sh
# Prints the licences of recbot and of everything that is linked into its program: the Swift packages that
# `swift build` fetched, and Swift's own libraries.
set -eu
cd "$(dirname "$0")/../.."

apache="On Debian systems the Apache License, version 2.0, is in /usr/share/common-licenses/Apache-2.0."
printf 'recbot\nCopyright the recbot maintainers\nLicence: Apache-2.0. %s\n' "$apache"
printf '\nSwift runtime, standard library and Foundation\nCopyright Apple Inc. and the Swift project authors\n'
printf 'Licence: Apache-2.0 with Runtime Library Exception. With ICU, copyright Unicode, Inc., Unicode License v3.\n'
for package in .build/checkouts/*/; do
  name=$(basename "$package")
  for file in "$package"LICENSE* "$package"NOTICE*; do
    [ -f "$file" ] || continue
    printf '\n\n%s (%s)\n\n' "$name" "${file##*/}"
    if head -3 "$file" | grep -q 'Apache License'; then
      echo "Licence: Apache-2.0."
    else
      cat "$file"
    fi
  done
done
