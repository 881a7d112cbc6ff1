// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// validatedRoles remembers, by store UID, the role ID of the pair that the store validated last. The zero value is ready.
type validatedRoles struct {
	mu    sync.Mutex
	roles map[types.UID]validatedRole
}

type validatedRole struct{ roleID, hash string }

func (v *validatedRoles) keep(store types.UID, roleID, hash string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.roles == nil {
		v.roles = map[types.UID]validatedRole{}
	}
	v.roles[store] = validatedRole{roleID, hash}
}

func (v *validatedRoles) roleID(store types.UID, hash string) (string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	known, ok := v.roles[store]
	return known.roleID, ok && known.hash == hash
}
