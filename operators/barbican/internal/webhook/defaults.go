// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

func barbicanDefaults() []func(*v1alpha1.Barbican) {
	return []func(*v1alpha1.Barbican){
		func(b *v1alpha1.Barbican) { b.Spec.Deployment.Replicas = b.Spec.Deployment.EffectiveReplicas() },
		func(b *v1alpha1.Barbican) { b.Spec.Deployment.Resources = new(b.Spec.Deployment.EffectiveResources()) },
		func(b *v1alpha1.Barbican) {
			b.Spec.Cache.Backend = cmp.Or(b.Spec.Cache.Backend, api.DefaultCacheBackend)
		},
		func(b *v1alpha1.Barbican) { b.Spec.Logging = new(b.Spec.Logging.WithDefaults()) },
		func(b *v1alpha1.Barbican) { b.Spec.ServiceUser = b.Spec.EffectiveServiceUser() },
		uwsgiDefaults,
	}
}

// uwsgiDefaults leaves an absent block absent: it says that the operator's numbers, also future ones, are fine.
func uwsgiDefaults(b *v1alpha1.Barbican) {
	if b.Spec.APIServer == nil || b.Spec.APIServer.UWSGI == nil {
		return
	}
	uwsgi := b.Spec.APIServer.UWSGI
	uwsgi.Processes = cmp.Or(uwsgi.Processes, api.DefaultUWSGIProcesses)
	uwsgi.Threads = cmp.Or(uwsgi.Threads, api.DefaultUWSGIThreads)
	uwsgi.HTTPKeepAlive = cmp.Or(uwsgi.HTTPKeepAlive, new(true))
}

func secretStoreDefaults() []func(*v1alpha1.BarbicanSecretStore) {
	return []func(*v1alpha1.BarbicanSecretStore){
		func(s *v1alpha1.BarbicanSecretStore) {
			if s.Spec.OpenBao != nil {
				s.Spec.OpenBao.KVMountpoint = s.Spec.KVMountpoint()
			}
		},
	}
}
