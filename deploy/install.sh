#!/bin/sh
# Installs the program that was built, and what belongs to it; called by `make install` and by deploy/debian/build.sh.
#   deploy/install.sh PROGRAM PREFIX [DESTDIR]
# Settings go to /etc/recbot when PREFIX is /usr or /usr/local, else to PREFIX/etc/recbot; those that are there stay.
# Manual pages and completions are made from the program itself.
set -eu
umask 022
cd "$(dirname "$0")/.."

program=$1 prefix=$2 root=${3:-}
# Debian's zsh looks for packages' completions in a folder of their own.
functions=site-functions
case $prefix in
/usr) settings=/etc/recbot functions=vendor-completions ;;
/usr/local) settings=/etc/recbot ;;
/*) settings=$prefix/etc/recbot ;;
*) echo "install: PREFIX must begin with /" >&2 && exit 1 ;;
esac
to=$root$prefix
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

install -D --strip "$program" "$to/bin/recbot"
[ -e "$root$settings/recbot.yaml" ] || install -D -m 644 Config/recbot.yaml "$root$settings/recbot.yaml"
install -D -m 644 -t "$to/share/recbot/layouts" layouts/*.yaml

# The pages, side by side, and what others than systemd are given.
documents=$to/share/doc/recbot
install -D -m 644 -t "$documents" README.md Sources/recbot/Documentation.docc/*.md
install -D -m 644 -t "$documents/deploy" deploy/README.md deploy/compose.yaml
install -D -m 644 -t "$documents/deploy/kubernetes" deploy/kubernetes/*
install -D -m 644 -t "$documents/deploy/monitoring" deploy/monitoring/*
sed -i -e 's|Sources/recbot/Documentation.docc/||g' -e 's|(\.\./\.\./\.\./|(|g' "$documents"/*.md "$documents/deploy/README.md"

for unit in deploy/systemd/*.service; do
  sed "s|/usr/local/bin/recbot|$prefix/bin/recbot|; s|/etc/recbot|$settings|g" "$unit" > "$made/unit"
  install -D -m 644 "$made/unit" "$to/lib/systemd/system/${unit##*/}"
done
install -D -m 644 deploy/systemd/sysusers.conf "$to/lib/sysusers.d/recbot.conf"

deploy/manpages.py "$program" "$made/man"
gzip -9 --no-name "$made"/man/*
install -D -m 644 -t "$to/share/man/man1" "$made"/man/*
for shell in bash zsh fish; do
  "$program" --generate-completion-script $shell > "$made/$shell"
done
sed -i '1{/^#!/d}' "$made/bash"
install -D -m 644 "$made/bash" "$to/share/bash-completion/completions/recbot"
install -D -m 644 "$made/zsh" "$to/share/zsh/$functions/_recbot"
install -D -m 644 "$made/fish" "$to/share/fish/vendor_completions.d/recbot.fish"
