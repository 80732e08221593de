#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The command on another kernel than this machine's: that of Debian, or KERNEL=FILE, is started in an
# emulator with nothing but the command, a few targets and busybox, and tests/kernel_guest.sh as its first
# process. Without /dev/kvm, and without root. Lines of TAP come back over the serial line.
#	tests/kernel.sh BUILD [nfs]
# nfs: Debian's kernel with its NFS client, a server of NFS beside it, and tests/kernel_guest_nfs.sh.
set -euo pipefail
build=$1
guest=${2:-}
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

# The client's modules, in the folders that they have there: what they need of each other the guest finds out.
add_modules() {
	local from to folder
	from=$(echo "$work"/kernel/lib/modules/*)
	to=$work/root/lib/modules/$(basename "$from")
	for folder in fs/nfs fs/nfs_common fs/lockd fs/fscache fs/netfs net/sunrpc net/dns_resolver; do
		mkdir -p "$to/kernel/$(dirname "$folder")"
		[ ! -d "$from/kernel/$folder" ] || cp -r "$from/kernel/$folder" "$to/kernel/$folder"
	done
}

# A server of NFS 4 that keeps its files in memory, in user space: it stops as any process does.
add_server() {
	local library
	[ -x /usr/bin/ganesha.nfsd ] || fail "no ganesha.nfsd: install nfs-ganesha and nfs-ganesha-mem"
	add /usr/bin/ganesha.nfsd /bin/ganesha.nfsd
	for library in /usr/lib/ganesha/*.so* /usr/lib/*/ganesha/libfsalmem.so /usr/lib/*/libnfsidmap/nsswitch.so; do
		[ ! -e "$library" ] || add "$library" "$library"
	done
	mkdir -p "$work/root"/var/{run,lib/nfs}/ganesha
	cp /etc/netconfig "$work/root/etc/"
	printf '[Translation]\nMethod = nsswitch\n' >"$work/root/etc/idmapd.conf"
	cat >"$work/root/etc/ganesha.conf" <<-END
		NFS_CORE_PARAM { Protocols = 4; Enable_NLM = false; Enable_RQUOTA = false; }
		NFSV4 { Only_Numeric_Owners = true; Graceless = true; RecoveryBackend = fs; }
		EXPORT { Export_Id = 1; Path = /export; Pseudo = /; Access_Type = RW; Squash = No_Root_Squash;
			SecType = sys; FSAL { Name = MEM; } }
	END
}

if [ -z "${KERNEL:-}" ] || [ -n "$guest" ]; then
	fetch_kernel
fi
mkdir -p "$work/root"/{proc,sys,dev,tmp,etc}
add /bin/busybox /bin/busybox
add "$build/bin/snapwalk" /bin/snapwalk
for target in threads shares pairs descriptors timers; do
	add "$build/tests/targets/$target" "/bin/$target"
done
if [ "$guest" = nfs ]; then
	add_modules
	add_server
fi
install -m 755 "tests/kernel_guest${guest:+_$guest}.sh" "$work/root/init"
(cd "$work/root" && find . | cpio --quiet -o -H newc) | gzip -1 >"$work/initrd"

echo "== $(basename "$KERNEL"), emulated"
# A busy machine is slower than the check of the timer expects.
timeout "$seconds" qemu-system-x86_64 -cpu max -m 768 -smp 2 -display none -monitor none -no-reboot \
	-serial stdio -kernel "$KERNEL" -initrd "$work/initrd" \
	-append 'console=ttyS0 panic=-1 quiet no_timer_check' </dev/null | tr -d '\r' | tee "$work/out" || true
passed=$(grep -c '^ok ' "$work/out" || true)
failed=$(grep -c '^not ok ' "$work/out" || true)
if ! grep -q '^1\.\.' "$work/out"; then
	echo "check-kernel: it did not come to its end" >&2
	failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
