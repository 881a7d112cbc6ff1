# SPDX-License-Identifier: Apache-2.0
# The way back, from whatever state: a cluster that runs, one that was half made, or one that was half cleared.

clear_cluster() {
  end_processes
  ip link delete "$wire" 2>/dev/null || true
  remove_cgroups
  # Below the state nothing may be mounted here; if something is, its content is not ours to delete.
  if [[ -z $(mounts) ]]; then
    restore_kernel_settings
    rm -rf --one-file-system "$state"
    rmdir --ignore-fail-on-non-empty "$(dirname "$state")" 2>/dev/null || true
  fi
}

mounts() { awk -v below="$state" 'index($5, below) == 1 { print $5 }' /proc/self/mountinfo; }

# leftovers prints a line for everything that is still there.
leftovers() {
  local range hierarchy
  processes | sed 's/^/process /'
  mounts | sed 's/^/mount /'
  ip -oneline link show "$wire" 2>/dev/null | sed 's/^/interface /'
  for range in "$wire_range" "$pod_range" "$service_range"; do
    ip -4 route show root "$range" dev "$wire" 2>/dev/null | sed "s/^/route /"
  done
  while read -r hierarchy; do
    [[ ! -e $hierarchy/$cgroup ]] || echo "cgroup $hierarchy/$cgroup"
  done < <(hierarchies)
  [[ ! -e $state ]] || echo "folder $state"
}
