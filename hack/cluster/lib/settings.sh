# SPDX-License-Identifier: Apache-2.0
# What every script of the cluster goes by: names, addresses, and the few functions that all of them need.

state=/var/lib/cobaltcore/cluster
kubeconfig=$state/kubeconfig
node=cobaltcore
cgroup=cobaltcore
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
repository=$(cd "$here/../.." && pwd)

# The box hangs on one wire. Every address behind it is routed to the node, and none leads further.
wire=cobaltcore0
host_ip=10.240.0.1
node_ip=10.240.0.2
wire_range=10.240.0.0/30
pod_range=10.244.0.0/20
service_range=10.96.0.0/16
api_ip=10.96.0.1
dns_ip=10.96.0.10

say() { echo "cluster: $* (+$SECONDS s)" >&2; }
die() { echo "cluster: $*" >&2; exit 1; }

need_root() { [[ $(id -u) == 0 ]] || die "must run as root: it makes namespaces, mounts and cgroups"; }

# foreign: KUBECONFIG names a cluster that is not ours.
foreign() { [[ -n ${KUBECONFIG:-} && $KUBECONFIG != "$kubeconfig" ]]; }

# lock lets one script at a time change the cluster. It is a folder of the system, so that nothing stays behind.
lock() {
  exec 9</var/lib
  flock -n 9 && return
  say "waiting for another script that brings the cluster up or down"
  flock -w 600 9 || die "another script has been changing the cluster for 10 minutes"
}

# A proxy of the machine's user has no way to the cluster.
kubectl() { NO_PROXY='*' no_proxy='*' "$state/bin/kubectl" --kubeconfig "$kubeconfig" "$@"; }
