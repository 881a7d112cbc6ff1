# SPDX-License-Identifier: Apache-2.0
# The box: network, mount, process, host name and IPC namespaces that hold the whole cluster. When its first process
# ends, the kernel ends every other one and drops mounts and interfaces.

# Kernel settings of the whole machine that kubelet changes, and one that many pods need more of.
kernel_settings=(vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops
  kernel/keys/root_maxkeys kernel/keys/root_maxbytes fs/inotify/max_user_instances)

# first_process prints the id of the box's first process, as the machine sees it.
first_process() {
  local pid
  while read -r pid; do
    awk '/^NSpid:/ && NF == 3 && $3 == 1 { found = 1 } END { exit !found }' "/proc/$pid/status" 2>/dev/null || continue
    echo "$pid"
    return
  done < <(cat "$(members)/daemons/cgroup.procs" 2>/dev/null)
  return 1
}

# in_box COMMAND... runs it inside. `ip netns exec` would not do: it mounts /sys anew, without the cgroups.
in_box() { nsenter --target "$box" --net --mount --pid --uts --ipc -- "$@"; }

make_box() {
  refuse_taken_ranges
  make_cgroups
  mkdir -p "$state"/{bin,config,etcd,containerd,kubelet,log,pki,tmp,var-log}
  chmod 711 "$state"
  save_kernel_settings
  modprobe -aq overlay br_netfilter 2>/dev/null || true
  (
    join
    export state node dns_ip
    exec setsid unshare --net --mount --pid --uts --ipc --fork --kill-child --mount-proc --propagation private \
      bash "$here/lib/box-init"
  ) >"$state/log/box.log" 2>&1 </dev/null 9<&- &
  local deadline=$((SECONDS + 10))
  until [[ -e $state/box-ready ]]; do
    ((SECONDS < deadline)) || { cat "$state/log/box.log" >&2; die "the namespaces did not come up"; }
    sleep 0.05
  done
  box=$(first_process)
  wire_box
}

refuse_taken_ranges() {
  local range taken
  for range in "$wire_range" "$pod_range" "$service_range"; do
    taken=$(ip -4 route show root "$range")
    [[ -z $taken ]] || die "the cluster needs $range, which this machine routes already: $taken"
  done
}

save_kernel_settings() {
  local setting
  for setting in "${kernel_settings[@]}"; do
    [[ ! -e /proc/sys/$setting ]] || echo "$setting $(<"/proc/sys/$setting")"
  done >"$state/kernel-settings"
  (($(</proc/sys/fs/inotify/max_user_instances) >= 1024)) || echo 1024 >/proc/sys/fs/inotify/max_user_instances
}

restore_kernel_settings() {
  local setting value
  [[ -e $state/kernel-settings ]] || return 0
  while read -r setting value; do
    echo "$value" >"/proc/sys/$setting"
  done <"$state/kernel-settings"
}

# There is no default route inside: what a pod asks of the world outside fails at once.
wire_box() {
  ip link add "$wire" type veth peer name eth0 netns "$box"
  ip address add "$host_ip/30" dev "$wire"
  ip link set "$wire" up
  in_box ip link set lo up
  in_box ip address add "$node_ip/30" dev eth0
  in_box ip link set eth0 up
  in_box sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
  # Without it packets between two pods pass by the rules of Services and NetworkPolicies.
  in_box sh -c 'echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables' || die "this kernel has no br_netfilter"
  ip route add "$pod_range" via "$node_ip"
  ip route add "$service_range" via "$node_ip"
  # The API server calls webhooks by the address of their Service, which kube-proxy exchanges only after a route was found.
  in_box ip route add "$service_range" dev eth0
}
