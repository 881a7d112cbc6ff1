# SPDX-License-Identifier: Apache-2.0
# Two authorities, the keys of service accounts, and a certificate for everyone who speaks TLS. All end with the cluster.

# Name, subject, and the names that a server is reached by; without those it is a client, and gets a kubeconfig.
identities() {
  cat <<END
apiserver          /CN=kube-apiserver DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,IP:$api_ip,IP:$node_ip
kubelet-server     /O=system:nodes/CN=system:node:$node DNS:$node,IP:$node_ip
kubelet-client     /O=system:masters/CN=kube-apiserver-kubelet-client
admin              /O=system:masters/CN=cobaltcore-admin
controller-manager /CN=system:kube-controller-manager
scheduler          /CN=system:kube-scheduler
proxy              /CN=system:kube-proxy
router             /CN=system:kube-router
kubelet            /O=system:nodes/CN=system:node:$node
END
}

make_pki() {
  local name subject names
  umask 077
  authority ca
  authority front-proxy-ca
  openssl genrsa -out "$state/pki/sa.key" 2048 2>/dev/null
  openssl rsa -in "$state/pki/sa.key" -pubout -out "$state/pki/sa.pub" 2>/dev/null
  while read -r name subject names; do
    certificate ca "$name" "$subject" "$names"
    [[ -n $names ]] || write_kubeconfig "$name" >"$state/config/$name.kubeconfig"
  done < <(identities)
  certificate front-proxy-ca front-proxy-client /CN=front-proxy-client ""
  cp "$state/config/admin.kubeconfig" "$kubeconfig"
  umask 022
}

authority() {
  key "$1"
  openssl req -x509 -new -key "$state/pki/$1.key" -subj "/CN=cobaltcore-$1" -days 3650 -out "$state/pki/$1.crt" \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
}

key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$state/pki/$1.key"; }

# certificate AUTHORITY NAME SUBJECT NAMES
certificate() {
  local usage=clientAuth extensions
  [[ -z $4 ]] || usage=serverAuth
  extensions=$(printf '%s\n' basicConstraints=CA:FALSE keyUsage=critical,digitalSignature "extendedKeyUsage=$usage" \
    ${4:+"subjectAltName=$4"})
  key "$2"
  openssl req -new -key "$state/pki/$2.key" -subj "$3" |
    openssl x509 -req -CA "$state/pki/$1.crt" -CAkey "$state/pki/$1.key" -set_serial "0x$(openssl rand -hex 8)" -days 3650 \
      -extfile <(echo "$extensions") -out "$state/pki/$2.crt" 2>/dev/null
}

write_kubeconfig() {
  cat <<END
apiVersion: v1
kind: Config
clusters:
- name: cobaltcore
  cluster:
    server: https://$node_ip:6443
    certificate-authority-data: $(base64 -w0 "$state/pki/ca.crt")
users:
- name: $1
  user:
    client-certificate-data: $(base64 -w0 "$state/pki/$1.crt")
    client-key-data: $(base64 -w0 "$state/pki/$1.key")
contexts:
- name: cobaltcore
  context: {cluster: cobaltcore, user: $1}
current-context: cobaltcore
END
}
