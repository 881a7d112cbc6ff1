// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/samber/lo"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// Where the Deployment of a Barbican carries its configuration.
const (
	configVolume = "config"
	configFile   = "barbican.conf"
)

// projected looks whether the Barbican's Deployment is configured with the store.
func (s *steps) projected(ctx context.Context, p *pass) reconcile.Outcome {
	if !p.Values.ready {
		return reconcile.Outcome{}
	}
	name := p.Object.Spec.BarbicanRef.Name
	deployment, err := s.deployment(ctx, p)
	if err != nil {
		return reconcile.Error(err)
	}
	config, err := s.mountedConfig(ctx, p, deployment)
	if err != nil {
		return reconcile.Error(err)
	}
	if !hasLine(config, "[secretstore:"+p.Object.Name+"]") {
		return reconcile.Poll(retry, v1alpha1.ReasonWaitingForProjection, fmt.Sprintf(
			"The Deployment of Barbican %s does not run with this store yet; see SecretStoresReady of the Barbican", name))
	}
	return reconcile.Ready(v1alpha1.ReasonConfigProjected, fmt.Sprintf("The Deployment of Barbican %s runs with this store", name))
}

// deployment is the Deployment of the store's Barbican, an empty one without any.
func (s *steps) deployment(ctx context.Context, p *pass) (*appsv1.Deployment, error) {
	key := types.NamespacedName{Namespace: p.Object.Namespace, Name: p.Object.Spec.BarbicanRef.Name}
	found := &appsv1.Deployment{}
	if err := p.Children.Client.Get(ctx, key, found, client.UnsafeDisableDeepCopy); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading deployment %s: %w", key, err)
	}
	return found, nil
}

// mountedConfig is the configuration file that the Deployment mounts, nil without one.
func (s *steps) mountedConfig(ctx context.Context, p *pass, deployment *appsv1.Deployment) ([]byte, error) {
	for _, volume := range deployment.Spec.Template.Spec.Volumes {
		if volume.Name == configVolume && volume.Secret != nil {
			values, missing := s.values(ctx, p, volume.Secret.SecretName, configFile)
			return slices.Concat(values...), missing.err
		}
	}
	return nil, nil
}

// hasLine looks for a whole line; one without an end may be cut and does not count.
func hasLine(text []byte, line string) bool {
	for {
		end := bytes.IndexAny(text, "\r\n")
		if end < 0 {
			return false
		}
		if string(text[:end]) == line {
			return true
		}
		text = text[end+1:]
	}
}

// retirable are the replaced secret IDs that no pod runs with any more: the
// rollout that brought the validated pair is finished.
func (s *steps) retirable(ctx context.Context, p *pass) []string {
	// A Secret that came back from a backup holds a secret ID that had been replaced.
	previous, hash := lo.Without(p.Object.Status.PreviousSecretIDAccessors, p.Values.stored.accessor), p.Object.Status.CredentialsHash
	if len(previous) == 0 || hash == "" || hash != p.Values.stored.Hash() {
		return nil
	}
	deployment, err := s.deployment(ctx, p)
	if err != nil || deployment.Spec.Template.Annotations[v1alpha1.AnnotationSecretStoreCredentialsHash] != hash {
		return nil
	}
	status := deployment.Status
	if status.ObservedGeneration < deployment.Generation || status.Replicas != status.UpdatedReplicas || status.UpdatedReplicas != status.ReadyReplicas {
		return nil
	}
	return previous
}
