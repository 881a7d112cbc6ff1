// SPDX-License-Identifier: Apache-2.0

package openbao

import "time"

// Provision sets up what a self-initialising instance comes with for one
// service: a KV v2 mount, an AppRole and a policy of the service's name, and a
// kubernetes role "provisioner" that may mint secret IDs for the AppRole. The
// policy grants create, read and delete only: with update, a write to a lost
// mount would be answered 404 instead of 403. It returns the role ID.
func (n *Namespace) Provision(service string) (roleID string) {
	role := "auth/approle/role/" + service
	n.EnableKV(service, 2)
	n.WritePolicy(service, Policy{service + "/data/*": {"create", "read", "delete"}})
	n.WritePolicy("provisioner", Policy{
		role + "/role-id":                    {"read"},
		role + "/secret-id":                  {"create", "update"},
		role + "/secret-id/lookup":           {"update"},
		role + "/secret-id-accessor/destroy": {"update"},
		"sys/mounts/" + service:              {"read", "update"},
		service + "/data/*":                  {"create", "read", "delete"},
	})
	n.WriteKubernetesRole(KubernetesRole{Name: "provisioner", Policies: []string{"provisioner"}, TokenTTL: time.Hour})
	return n.WriteAppRole(service, AppRole{
		Policies: []string{service}, SecretIDTTL: 720 * time.Hour, TokenTTL: time.Hour,
	})
}
