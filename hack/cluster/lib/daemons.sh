# SPDX-License-Identifier: Apache-2.0
# The daemons: how each is started, and how to see that it works. Starting one that runs does nothing.

daemons=(etcd kube-apiserver kube-controller-manager kube-scheduler containerd kubelet kube-proxy kube-router)
declare -A started=()

# alive NAME: a daemon of ours is this program.
alive() {
  local pid
  while read -r pid; do
    [[ $(readlink "/proc/$pid/exe" 2>/dev/null) != */"$1" ]] || return 0
  done < <(cat "$(members)/daemons/cgroup.procs" 2>/dev/null)
  return 1
}

# start NAME ARGUMENT... runs a program of the state's bin folder, or else of the system, in the box. The kernel may share
# the processors out by session; with its session raised a daemon is not starved by a build on the same machine.
start() {
  local name=$1 program=$state/bin/$1
  shift
  alive "$name" && return
  [[ -x $program ]] || program=/usr/bin/$name
  (
    join
    exec nsenter --target "$box" --net --mount --pid --uts --ipc -- \
      env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin TMPDIR="$state/tmp" HOME="$state/tmp" \
      setsid sh -c '{ echo -8 >/proc/self/autogroup; } 2>/dev/null; exec "$@"' sh "$program" "$@"
  ) >>"$state/log/$name.log" 2>&1 </dev/null 9<&- &
  started[$name]=$!
}

# await NAME CONDITION COMMAND... waits until the command succeeds, which is above all up to that daemon. When any daemon ends,
# or time runs out, the script ends with the log of the culprit.
await() {
  local name=$1 condition=$2 deadline=$((SECONDS + 180)) daemon
  shift 2
  until "$@" &>/dev/null; do
    for daemon in "${!started[@]}"; do
      kill -0 "${started[$daemon]}" 2>/dev/null || blame "$daemon" "it ended before this was true: $condition"
    done
    ((SECONDS < deadline)) || blame "$name" "not true after 3 minutes: $condition"
    sleep 0.1
  done
  say "$condition"
}

blame() {
  { echo "---- the end of $state/log/$1.log"; tail -n 30 "$state/log/$1.log"; echo "----"; } >&2
  die "$1: $2"
}

# render FILE fills the settings into a file of the config folder: @name@ stands for the variable of that name.
render() {
  local text name
  text=$(<"$here/config/$1")
  for name in state node node_ip pod_range dns_ip cgroup; do text=${text//@$name@/"${!name}"}; done
  echo "$text"
}

configure() {
  local file
  mkdir -p "$state/config/cni"
  for file in containerd.toml authentication.yaml kubelet.yaml kube-proxy.yaml addons.yaml; do
    render $file >"$state/config/$file"
  done
  render cni.conflist >"$state/config/cni/10-pods.conflist"
  : >"$state/config/no-resolv.conf"
}

# What is lost when the machine loses power is only a cluster for tests, so etcd need not wait for the disk.
start_etcd() {
  start etcd --name "$node" --data-dir "$state/etcd" --unsafe-no-fsync --log-level warn \
    --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
    --listen-peer-urls http://127.0.0.1:2380 --initial-advertise-peer-urls http://127.0.0.1:2380 \
    --initial-cluster "$node=http://127.0.0.1:2380"
}

start_apiserver() {
  local pki=$state/pki
  local serving=(--bind-address "$node_ip" --secure-port 6443 --advertise-address "$node_ip"
    --tls-cert-file "$pki/apiserver.crt" --tls-private-key-file "$pki/apiserver.key")
  local clients=(--client-ca-file "$pki/ca.crt" --authentication-config "$state/config/authentication.yaml"
    --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction)
  local accounts=(--service-account-issuer https://kubernetes.default.svc.cluster.local
    --service-account-key-file "$pki/sa.pub" --service-account-signing-key-file "$pki/sa.key")
  local kubelets=(--kubelet-preferred-address-types InternalIP --kubelet-certificate-authority "$pki/ca.crt"
    --kubelet-client-certificate "$pki/kubelet-client.crt" --kubelet-client-key "$pki/kubelet-client.key")
  local aggregation=(--requestheader-client-ca-file "$pki/front-proxy-ca.crt" --requestheader-allowed-names front-proxy-client
    --requestheader-username-headers X-Remote-User --requestheader-group-headers X-Remote-Group
    --requestheader-extra-headers-prefix X-Remote-Extra-
    --proxy-client-cert-file "$pki/front-proxy-client.crt" --proxy-client-key-file "$pki/front-proxy-client.key")
  start kube-apiserver --etcd-servers http://127.0.0.1:2379 --service-cluster-ip-range "$service_range" \
    --allow-privileged --profiling=false --v 1 \
    "${serving[@]}" "${clients[@]}" "${accounts[@]}" "${kubelets[@]}" "${aggregation[@]}"
}

# A node that is short of processor time is late, not lost.
start_controller_manager() {
  local config=$state/config/controller-manager.kubeconfig pki=$state/pki
  start kube-controller-manager --kubeconfig "$config" --authentication-kubeconfig "$config" --authorization-kubeconfig "$config" \
    --bind-address 127.0.0.1 --leader-elect=false --profiling=false --kube-api-qps 200 --kube-api-burst 400 \
    --use-service-account-credentials --service-account-private-key-file "$pki/sa.key" --root-ca-file "$pki/ca.crt" \
    --cluster-signing-cert-file "$pki/ca.crt" --cluster-signing-key-file "$pki/ca.key" \
    --allocate-node-cidrs --cluster-cidr "$pod_range" --node-cidr-mask-size "${pod_range#*/}" \
    --service-cluster-ip-range "$service_range" --node-monitor-grace-period 2m --horizontal-pod-autoscaler-sync-period 5s
}

start_scheduler() {
  local config=$state/config/scheduler.kubeconfig
  start kube-scheduler --kubeconfig "$config" --authentication-kubeconfig "$config" --authorization-kubeconfig "$config" \
    --bind-address 127.0.0.1 --leader-elect=false --profiling=false --kube-api-qps 200 --kube-api-burst 400
}

start_containerd() { start containerd --config "$state/config/containerd.toml"; }

start_kubelet() {
  start kubelet --config "$state/config/kubelet.yaml" --kubeconfig "$state/config/kubelet.kubeconfig" \
    --hostname-override "$node" --node-ip "$node_ip" --v 1
}

start_proxy() { start kube-proxy --config "$state/config/kube-proxy.yaml"; }

# Only the part of kube-router that enforces NetworkPolicies.
start_router() {
  start kube-router --kubeconfig "$state/config/router.kubeconfig" --hostname-override "$node" \
    --run-firewall=true --run-router=false --run-service-proxy=false --run-loadbalancer=false \
    --service-cluster-ip-range "$service_range" --iptables-sync-period 30s --health-port 20244
}

ready() { kubectl get --raw=/readyz; }
default_account() { kubectl get serviceaccount default; }
containers_run() { in_box ctr version; }
node_ready() { [[ $(kubectl get node "$node" -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}') == True ]]; }
names_resolve() { [[ $(kubectl -n kube-system get deployment coredns -o jsonpath='{.status.availableReplicas}') == 1 ]]; }
policies_enforced() { in_box iptables -w -n -L KUBE-ROUTER-FORWARD; }
