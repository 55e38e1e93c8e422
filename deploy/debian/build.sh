#!/bin/sh
# Makes a Debian package of the program that was built, and prints its path; called by `make deb`.
#   deploy/debian/build.sh [PROGRAM]
# Its version is the program's, with date and commit unless the commit has the version's tag. The same commit and
# toolchain give the same bytes.
set -eu
umask 022
cd "$(dirname "$0")/../.."
program=${1:-.build/release/recbot}
made=.build/deb
root=$made/root

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH
version=$("$program" --version)
if commit=$(git rev-parse --short HEAD 2>/dev/null) && ! git describe --exact-match --match "v$version" >/dev/null 2>&1; then
  version="$version~git$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S).$commit"
fi
architecture=$(dpkg --print-architecture)
maintainer=${DEBEMAIL:-maintainers@recbot.example.com}

rm -rf "$made"
mkdir -p "$root/DEBIAN" "$made/debian"
deploy/install.sh "$program" /usr "$root"
documents=$root/usr/share/doc/recbot
install -m 644 CHANGELOG.md "$documents/CHANGELOG.md"
gzip -9 --no-name "$documents/CHANGELOG.md"
{
  printf 'recbot (%s) unstable; urgency=medium\n\n  * What changed stands in CHANGELOG.md.gz.\n\n' "$version"
  printf ' -- recbot maintainers <%s>  %s\n' "$maintainer" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")"
} | gzip -9 --no-name > "$documents/changelog.gz"
install -D -m 644 deploy/debian/lintian-overrides "$root/usr/share/lintian/overrides/recbot"
deploy/debian/copyright.sh > "$documents/copyright"

# What it is linked with, by the packages that have it here. The tool wants to see a source package.
echo "Source: recbot" > "$made/debian/control"
libraries=$(cd "$made" && dpkg-shlibdeps -O root/usr/bin/recbot | sed 's/^shlibs:Depends=//')
sed -e "s|@VERSION@|$version|; s|@ARCHITECTURE@|$architecture|; s|@MAINTAINER@|$maintainer|; s|@LIBRARIES@|$libraries|" \
  -e "s|@SIZE@|$(du -s -k --apparent-size --exclude=DEBIAN "$root" | cut -f1)|" deploy/debian/control > "$root/DEBIAN/control"
echo /etc/recbot/recbot.yaml > "$root/DEBIAN/conffiles"
install -m 755 deploy/debian/postinst deploy/debian/prerm deploy/debian/postrm "$root/DEBIAN"
(cd "$root" && find etc usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) > "$root/DEBIAN/md5sums"
dpkg-deb --root-owner-group --build "$root" "$made/recbot_${version}_$architecture.deb" >&2
echo "$made/recbot_${version}_$architecture.deb"
