// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/oslo"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/secrets"
	"github.com/c5c3/cobaltcore/common/workload"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/config"
)

// config renders the files into an immutable Secret. While the stores form no valid projection nothing is rendered and
// the pods stay on what the live Deployment mounts.
func (s *steps) config(ctx context.Context, p *pass) reconcile.Outcome {
	spec := &p.Object.Spec
	write := s.writeConfig
	if !p.Values.stores.valid {
		write = keepConfig
	}
	return write(ctx, p).Overridden(p.Object.Status.Conditions, config.Overrides(spec.ExtraConfig, spec.Plugins))
}

func keepConfig(ctx context.Context, p *pass) reconcile.Outcome {
	lastGood, err := liveMounts(ctx, p)
	if err != nil {
		return reconcile.Error(err)
	}
	p.Values.mounts = lastGood
	return reconcile.Ready(api.ReasonSecretsAvailable, "All credentials are available; the configuration waits for the secret stores")
}

func (s *steps) writeConfig(ctx context.Context, p *pass) reconcile.Outcome {
	policy, err := policyRules(ctx, p)
	if err != nil {
		return reconcile.Fail(api.ReasonConfigError, err)
	}
	b := p.Object
	files, err := s.renderer.Render(b.UID, b.Generation, config.Input{
		Name: b.Name, Spec: &b.Spec, Stores: p.Values.stores.stores, Policy: policy,
		Endpoint: config.Endpoint(b.Name, b.Namespace, b.Spec.Gateway),
	})
	if err != nil {
		return reconcile.Fail(api.ReasonConfigError, err)
	}
	hashed := secrets.Hashed(b, files.Base, instance(b).Labels(), files.Data)
	if o := secrets.Ensure(ctx, p.Children, b, hashed); !o.Done() {
		return o
	}
	p.Values.mounts = mounts{configSecret: hashed.Name, storeMounts: p.Values.stores.mounts}
	if err := secrets.Prune(ctx, p.Children, b, secrets.History{
		Base: files.Base, Current: hashed.Name, Pods: instance(b).Selector(),
	}); err != nil {
		return reconcile.Error(err)
	}
	return reconcile.Ready(api.ReasonSecretsAvailable, "All credentials are available and the configuration is rendered")
}

// policyRules are those of the ConfigMap that the spec refers to, nil without one.
func policyRules(ctx context.Context, p *pass) (map[string]string, error) {
	overrides := p.Object.Spec.PolicyOverrides
	if overrides == nil || overrides.ConfigMapRef == nil {
		return nil, nil
	}
	key := types.NamespacedName{Namespace: p.Object.Namespace, Name: overrides.ConfigMapRef.Name}
	var source corev1.ConfigMap
	if err := p.Children.Client.Get(ctx, key, &source, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("reading the policy in ConfigMap %s: %w", key.Name, err)
	}
	rules, err := oslo.ParsePolicy(source.Data[oslo.PolicyFile])
	if err != nil {
		return nil, fmt.Errorf("key %s of ConfigMap %s: %w", oslo.PolicyFile, key.Name, err)
	}
	return rules, nil
}

// mounts is what the pods take from Secrets that a configuration change replaces together.
type mounts struct {
	configSecret string // empty while there has never been a valid configuration
	storeMounts
}

// liveMounts are those of the Deployment that runs, empty if there is none.
func liveMounts(ctx context.Context, p *pass) (mounts, error) {
	live, err := workload.ReadDeployment(ctx, p.Children, client.ObjectKeyFromObject(p.Object))
	if err != nil || live == nil || !p.Children.Writer.Reclaims(p.Object, live) {
		return mounts{}, err
	}
	template := live.Spec.Template
	m := mounts{storeMounts: storeMounts{
		credentialsHash: template.Annotations[v1alpha1.AnnotationSecretStoreCredentialsHash],
		caHash:          template.Annotations[v1alpha1.AnnotationSecretStoreCAHash],
	}}
	for _, v := range template.Spec.Volumes {
		switch {
		case v.Secret == nil:
		case v.Name == volumeConfig:
			m.configSecret = v.Secret.SecretName
		case v.Name == volumeStoreCA:
			m.caSecret = v.Secret.SecretName
		}
	}
	for _, c := range template.Spec.Containers {
		for _, e := range c.Env {
			if e.Name == envSecretID && e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				m.credentialsSecret = e.ValueFrom.SecretKeyRef.Name
			}
		}
	}
	return m, nil
}
