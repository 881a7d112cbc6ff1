# SPDX-License-Identifier: Apache-2.0
# What the cluster needs of Debian.

packages=(containerd runc containernetworking-plugins iptables nftables ipset conntrack openssl iproute2 jq)

# The helpers that package scripts start and enable services with are hidden from apt, in namespaces that end with it.
install_packages() {
  local missing=() package log
  for package in "${packages[@]}"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  say "installing ${missing[*]}"
  log=$(mktemp)
  DEBIAN_FRONTEND=noninteractive unshare --mount --propagation private bash -euc '
    for helper in /usr/sbin/invoke-rc.d /usr/bin/deb-systemd-invoke /usr/bin/deb-systemd-helper; do
      [[ ! -e $helper ]] || mount --bind /bin/true "$helper"
    done
    apt-get update -q
    apt-get install -q -y --no-install-recommends "$@"' bash "${missing[@]}" >"$log" 2>&1 </dev/null ||
    { tail -n 20 "$log" >&2; rm "$log"; die "installing packages failed"; }
  rm "$log"
}
