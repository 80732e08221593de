#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The command on another kernel than this machine's: that of Debian, or KERNEL=FILE, is started in an
# emulator with nothing but the command, a few targets and busybox, and tests/kernel_guest.sh as its first
# process. Without /dev/kvm, and without root. Lines of TAP come back over the serial line.
#	tests/kernel.sh BUILD
set -euo pipefail
build=$1
package=linux-image-cloud-amd64
seconds=600 # emulated, and other work is running

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "check-kernel: $1" >&2
	exit 1
}

# The newest one of that package, unpacked: it is not installed.
fetch_kernel() {
	local name
	name=$(apt-cache depends "$package" | awk '/Depends: linux-image-[0-9]/ { print $2; exit }')
	[ -n "$name" ] || fail "apt knows no $package (apt-get update first)"
	(cd "$work" && apt-get download -qq "$name" 2>"$work/log") || fail "$name: $(tail -n 1 "$work/log")"
	dpkg -x "$work/$name"_*.deb "$work/kernel"
	set -- "$work"/kernel/boot/vmlinuz-*
	KERNEL=$1
}

# A program at its place, with the libraries that it is linked with.
add() {
	local file=$1 to=$2 library
	mkdir -p "$work/root$(dirname "$to")"
	cp "$file" "$work/root$to"
	for library in $(ldd "$file" 2>/dev/null | sed -n 's/[^/]*\(\/[^ ]*\).*/\1/p'); do # static: none
		mkdir -p "$work/root$(dirname "$library")"
		cp -n -L "$library" "$work/root$library"
	done
}

[ -n "${KERNEL:-}" ] || fetch_kernel
mkdir -p "$work/root"/{proc,sys,dev,tmp,etc}
add /bin/busybox /bin/busybox
add "$build/bin/snapwalk" /bin/snapwalk
for target in threads shares; do
	add "$build/tests/targets/$target" "/bin/$target"
done
install -m 755 tests/kernel_guest.sh "$work/root/init"
(cd "$work/root" && find . | cpio --quiet -o -H newc) | gzip -1 >"$work/initrd"

echo "== $(basename "$KERNEL"), emulated"
timeout "$seconds" qemu-system-x86_64 -cpu max -m 512 -smp 2 -display none -monitor none -no-reboot \
	-serial stdio -kernel "$KERNEL" -initrd "$work/initrd" \
	-append 'console=ttyS0 panic=-1 quiet' </dev/null | tr -d '\r' | tee "$work/out" || true
passed=$(grep -c '^ok ' "$work/out" || true)
failed=$(grep -c '^not ok ' "$work/out" || true)
if ! grep -q '^1\.\.' "$work/out"; then
	echo "check-kernel: it did not come to its end" >&2
	failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
