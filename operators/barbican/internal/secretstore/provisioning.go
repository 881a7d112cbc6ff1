// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/samber/lo"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/openbao"
)

// tokenLifetime is the shortest that the API server issues.
const tokenLifetime = 10 * time.Minute

// maxPrevious bounds the status while no rollout ever finishes; secret IDs that fall out end by themselves.
const maxPrevious = 20

// provisioning checks the instance, talks to it, and writes down what it
// minted. What the conversation found about the credentials is the next row's.
func (s *steps) provisioning(ctx context.Context, p *pass) reconcile.Outcome {
	if err := s.recall(ctx, p); err != nil {
		return reconcile.Error(err)
	}
	server, gate := s.instance(ctx, p)
	if !gate.Done() {
		return gate
	}
	if err := s.negotiate(ctx, p, server); err != nil {
		return reconcile.Error(err)
	}
	switch v := p.Values.verdict; {
	case v.provisioning.err != nil:
		return reconcile.Error(v.provisioning.err)
	case v.provisioning.mountLost:
		return reconcile.Poll(retry, v.provisioning.reason, v.provisioning.message).Warn()
	case v.provisioning.bad():
		return reconcile.Wait(retry, v.provisioning.reason, v.provisioning.message).Warn()
	case !p.Values.known && v.minted == nil:
		return reconcile.Outcome{}.After(retry) // the end of the conversation wakes the store sooner
	}
	return reconcile.Ready(v1alpha1.ReasonProvisioned, fmt.Sprintf("Instance %s has the KV mount and the AppRole", instanceName(p.Object)))
}

// recall finds the credential of the store. What was minted and is not in the
// Secret yet is written there before anything can fail.
func (s *steps) recall(ctx context.Context, p *pass) error {
	intact, err := s.read(ctx, p)
	if err != nil {
		return err
	}
	stored, f := p.Values.stored, s.memory.of(p.Object)
	switch {
	case f != nil && f.SecretID != stored.SecretID && !stored.mintedAt.After(f.mintedAt):
		return s.write(ctx, p, f.credential)
	case f != nil && f.counted:
		s.memory.forget(client.ObjectKeyFromObject(p.Object))
	}
	if !intact && stored.usable(s.Clock.Now()) {
		return s.write(ctx, p, stored)
	}
	return nil
}

// read takes the credential from the store's Secret and says whether that
// carries our labels and the whole mark of its owner. While a Secret is not
// cached whole (the label is lost, or one cache is behind another) its stamps are
// missing, and for a moment the Secret itself is. Then it is read live: without
// them a credential that was valid before would be minted anew.
func (s *steps) read(ctx context.Context, p *pass) (intact bool, err error) {
	key := types.NamespacedName{Namespace: p.Object.Namespace, Name: p.Object.CredentialsSecretName()}
	secret, err := p.Children.Secrets.Get(ctx, key)
	unseen := apierrors.IsNotFound(err) && p.Object.Status.CredentialsHash != ""
	if unseen || err == nil && secret.Annotations[v1alpha1.AnnotationSecretIDMintedAt] == "" {
		secret = &corev1.Secret{}
		err = p.Children.Reader.Get(ctx, key, secret)
	}
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading secret %s: %w", key, err)
	case !p.Children.Writer.Reclaims(p.Object, secret):
		return false, nil
	}
	p.Values.stored = credentialOf(secret)
	return p.Children.Writer.Marked(p.Object, secret) && labelled(p.Object, secret), nil
}

// labelled says whether the Secret carries the labels of credential.secret.
func labelled(store *v1alpha1.BarbicanSecretStore, secret *corev1.Secret) bool {
	labels := secret.Labels
	return labels[naming.LabelName] == appRole && labels[naming.LabelInstance] == store.Spec.BarbicanRef.Name &&
		labels[naming.LabelManagedBy] == naming.Instance{App: appRole}.ManagedBy()
}

// negotiate has the conversation, and a second one about the credential that
// the first one minted.
func (s *steps) negotiate(ctx context.Context, p *pass, server openbao.Options) error {
	for range 2 {
		c := s.conversation(p, server)
		c.retire = s.retirable(ctx, p)
		c.token = s.token(p)
		v, known := s.converse(ctx, c)
		if p.Values.known = known; !known {
			return nil
		}
		p.Values.verdict = v
		if len(v.retired) > 0 {
			p.Object.Status.PreviousSecretIDAccessors = lo.Without(p.Object.Status.PreviousSecretIDAccessors, v.retired...)
		}
		if v.minted == nil {
			return nil
		}
		p.Values.known = false
		s.memory.keep(p.Object, *v.minted)
		if err := s.write(ctx, p, v.minted.credential); err != nil {
			return err
		}
	}
	return nil
}

// write puts a minted credential into the store's Secret and remembers what it replaces.
func (s *steps) write(ctx context.Context, p *pass, c credential) error {
	replaced := p.Values.stored.accessor
	p.Values.stored = c
	err := p.Children.Writer.Replace(ctx, p.Object, c.secret(p.Object))
	if apply.IsForeign(err) {
		p.Values.foreign = err
		return nil
	}
	if err == nil && replaced != "" && replaced != c.accessor {
		status := &p.Object.Status
		previous := lo.Uniq(append(slices.Clone(status.PreviousSecretIDAccessors), replaced))
		status.PreviousSecretIDAccessors = previous[max(0, len(previous)-maxPrevious):]
	}
	return err
}

// instance checks that the instance is up and says how to reach it.
func (s *steps) instance(ctx context.Context, p *pass) (openbao.Options, reconcile.Outcome) {
	key := types.NamespacedName{Namespace: p.Object.Namespace, Name: instanceName(p.Object)}
	var instance OpenBaoCluster
	err := p.Children.Client.Get(ctx, key, &instance, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return openbao.Options{}, waiting(v1alpha1.ReasonInstanceNotFound, "OpenBaoCluster %s does not exist", key.Name)
	case err != nil:
		return openbao.Options{}, reconcile.Error(fmt.Errorf("reading OpenBaoCluster %s: %w", key, err))
	case !instance.available():
		return openbao.Options{}, waiting(v1alpha1.ReasonWaitingForInstance, "OpenBaoCluster %s is not Available", key.Name)
	}
	ca, missing := s.authority(ctx, p)
	return s.server(p, ca), missing.outcome(v1alpha1.ReasonWaitingForInstanceTLS)
}

func waiting(reason, format string, args ...any) reconcile.Outcome {
	return reconcile.Wait(retry, reason, fmt.Sprintf(format, args...)).Warn()
}

func instanceName(store *v1alpha1.BarbicanSecretStore) string {
	return store.Spec.OpenBao.InstanceRef.Name
}

// token asks the API server for a ServiceAccount token that only this instance accepts.
func (s *steps) token(p *pass) func(context.Context) (string, error) {
	tokens := p.Children.Client.SubResource("token")
	instance, namespace := instanceName(p.Object), p.Object.Namespace
	return func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, s.Timeout)
		defer cancel()
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: instance + "-" + provisioner}}
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			Audiences: []string{instance}, ExpirationSeconds: lo.ToPtr(int64(tokenLifetime / time.Second)),
		}}
		if err := tokens.Create(ctx, account, request); err != nil {
			return "", err
		}
		return request.Status.Token, nil
	}
}
