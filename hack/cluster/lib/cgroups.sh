# SPDX-License-Identifier: Apache-2.0
# Everything that belongs to the cluster is in one cgroup, which also tells what does when all other traces are lost.

# hierarchies prints the folders that cgroups live in: one with cgroup v2, one a controller with v1.
hierarchies() {
  if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
    echo /sys/fs/cgroup
  else
    find /sys/fs/cgroup -mindepth 1 -maxdepth 1 -type d
  fi
}

# members prints the folder that says which processes are ours.
members() {
  if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
    echo "/sys/fs/cgroup/$cgroup"
  else
    echo "/sys/fs/cgroup/pids/$cgroup"
  fi
}

# The daemons have a cgroup beside the pods: with v2 one that has children holds no process.
make_cgroups() {
  local hierarchy file controller
  while read -r hierarchy; do
    mkdir -p "$hierarchy/$cgroup"
    for file in cpuset.cpus cpuset.mems; do
      [[ ! -e $hierarchy/$file || $hierarchy == /sys/fs/cgroup ]] || cat "$hierarchy/$file" >"$hierarchy/$cgroup/$file"
    done
  done < <(hierarchies)
  if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
    for controller in cpuset cpu memory pids; do echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control; done
  fi
  mkdir -p "$(members)/daemons"
}

# join puts the calling (sub)shell, and what it becomes, among ours.
join() { echo "$BASHPID" >"$(members)/daemons/cgroup.procs"; }

# processes prints the ids of all that run: daemons, and what runs in pods.
processes() { find "$(members)" -name cgroup.procs -exec cat {} + 2>/dev/null || true; }

# end_processes kills until nothing is left, since what is killed may just have forked.
end_processes() {
  local deadline=$((SECONDS + 30)) pids
  while pids=$(processes) && [[ -n $pids ]]; do
    ((SECONDS < deadline)) || return 0
    xargs kill -KILL <<<"$pids" 2>/dev/null || true
    sleep 0.1
  done
}

# remove_cgroups goes from the leaves up. The kernel may take a moment to let go of a cgroup whose last process has just ended.
remove_cgroups() {
  local hierarchy deadline=$((SECONDS + 10))
  while read -r hierarchy; do
    while [[ -d $hierarchy/$cgroup ]] && ((SECONDS < deadline)); do
      find "$hierarchy/$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
    done
  done < <(hierarchies)
}
