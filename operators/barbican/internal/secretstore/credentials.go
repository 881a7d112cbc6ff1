// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/metrics"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/openbao"
)

// mintedCredentials reports what the conversation of the row above found. It
// has no opinion while there is none, so what was valid stays so in an outage.
func (s *steps) mintedCredentials(ctx context.Context, p *pass) reconcile.Outcome {
	v := p.Values.verdict
	switch {
	case p.Values.foreign != nil:
		return waiting(v1alpha1.ReasonWaitingForCredentials, "The minted credentials cannot be written: %v", p.Values.foreign)
	case v.provisioning.mountLost:
		v.credentials = finding{
			reason: v1alpha1.ReasonInsufficientCapabilities, mountLost: true,
			message: fmt.Sprintf("The KV version 2 mount %q is gone. Secrets stored until it is back may be lost", p.Object.Spec.KVMountpoint()),
		}
	case !p.Values.known || v.provisioning.bad():
		return reconcile.Outcome{}
	}
	if !v.credentials.bad() {
		return s.valid(p, v)
	}
	return s.invalid(ctx, p, s.excuse(p, v.credentials))
}

// excuse knows two refusals of a credential that the server minted itself. Both
// keep the store in the configuration.
func (s *steps) excuse(p *pass, f finding) finding {
	hash, status := p.Values.stored.Hash(), &p.Object.Status
	validated := hash == status.CredentialsHash
	switch {
	case f.refused && !validated:
		return finding{reason: v1alpha1.ReasonOpenBaoUnreachable, message: "The server does not accept the secret ID it has just minted. Waiting for it to catch up"}
	case f.lockedOut && !validated && status.CredentialsHash != "" && s.stale(p), f.lockedOut && validated && excused(p.Object):
		// Pods that retry with the stale secret ID keep the lock alive: the new pair goes out first.
		status.CredentialsHash = hash
		return finding{reason: v1alpha1.ReasonOpenBaoUnreachable, message: "A new secret ID was minted, but the AppRole is locked out by logins with the old one. " +
			"The pods are restarted with the new one. " + lockedOutMessage}
	}
	return f
}

// excused says whether the lockout was excused before and has not ended since.
func excused(store *v1alpha1.BarbicanSecretStore) bool {
	c := meta.FindStatusCondition(store.Status.Conditions, api.ConditionCredentialsReady)
	return c != nil && c.Reason == v1alpha1.ReasonOpenBaoUnreachable
}

// stale says whether the pods hold a secret ID that the server refuses: it was
// refused before it was replaced, or its life has ended since. After a restart of
// the operator nobody remembers why it minted, and a rollout does no harm.
func (s *steps) stale(p *pass) bool {
	f := s.memory.of(p.Object)
	return f == nil || f.trigger == metrics.Reactive || f.outlived(s.Clock.Now())
}

// givenCredentials validates the pair of a server that others run. Nothing is
// written there.
func (s *steps) givenCredentials(ctx context.Context, p *pass) reconcile.Outcome {
	meta.RemoveStatusCondition(&p.Object.Status.Conditions, v1alpha1.ConditionProvisioningReady)
	if p.Object.Spec.OpenBao == nil || p.Object.Spec.OpenBao.Server == nil {
		return waiting(v1alpha1.ReasonWaitingForCredentials, "spec.openBao names neither an instance nor a server")
	}
	pair, missing := s.pair(ctx, p)
	ca, missingCA := s.authority(ctx, p)
	for _, o := range []reconcile.Outcome{
		missing.outcome(v1alpha1.ReasonWaitingForCredentials), missingCA.outcome(v1alpha1.ReasonWaitingForCredentials),
	} {
		if !o.Done() {
			return o
		}
	}
	p.Values.stored.Credentials = pair
	v, known := s.converse(ctx, s.conversation(p, s.server(p, ca)))
	switch {
	case !known:
		return reconcile.Outcome{}.After(retry)
	case v.credentials.bad():
		return s.invalid(ctx, p, v.credentials)
	}
	return s.valid(p, v)
}

// lack is what keeps a Secret from being used: words for the user, or an error.
type lack struct {
	words string
	err   error
}

func (l lack) outcome(reason string) reconcile.Outcome {
	if l.words != "" {
		return waiting(reason, "%s", l.words)
	}
	return reconcile.Error(l.err)
}

// values reads keys of a Secret, none of which may be empty.
func (s *steps) values(ctx context.Context, p *pass, name string, keys ...string) ([][]byte, lack) {
	secret, err := p.Children.Secrets.Get(ctx, types.NamespacedName{Namespace: p.Object.Namespace, Name: name})
	switch {
	case apierrors.IsNotFound(err):
		return nil, lack{words: fmt.Sprintf("Secret %s does not exist", name)}
	case err != nil:
		return nil, lack{err: fmt.Errorf("reading secret %s: %w", name, err)}
	}
	values := lo.Map(keys, func(key string, _ int) []byte { return secret.Data[key] })
	if slices.ContainsFunc(values, func(value []byte) bool { return len(value) == 0 }) {
		return nil, lack{words: fmt.Sprintf("Secret %s lacks %s", name, strings.Join(keys, " or "))}
	}
	return values, lack{}
}

// pair reads the given credentials.
func (s *steps) pair(ctx context.Context, p *pass) (openbao.Credentials, lack) {
	name := p.Object.CredentialsSecretName()
	values, missing := s.values(ctx, p, name, v1alpha1.RoleIDKey, v1alpha1.SecretIDKey)
	switch {
	case values == nil:
		return openbao.Credentials{}, missing
	case bytes.ContainsAny(slices.Concat(values...), "\r\n"):
		return openbao.Credentials{}, lack{words: fmt.Sprintf("%s or %s of Secret %s contains a line break: write them without one",
			v1alpha1.RoleIDKey, v1alpha1.SecretIDKey, name)}
	}
	return openbao.Credentials{RoleID: string(values[0]), SecretID: string(values[1])}, lack{}
}

// authority reads the CA of the server, nil for that of the system.
func (s *steps) authority(ctx context.Context, p *pass) ([]byte, lack) {
	if p.Object.CASecretName() == "" {
		return nil, lack{}
	}
	values, missing := s.values(ctx, p, p.Object.CASecretName(), v1alpha1.CABundleKey)
	return slices.Concat(values...), missing
}

// valid records the pair as validated; a re-mint counts from here.
func (s *steps) valid(p *pass, v verdict) reconcile.Outcome {
	p.Values.ready = true
	p.Object.Status.CredentialsHash = p.Values.stored.Hash()
	message := "The AppRole login succeeds and may use the KV mount " + p.Object.Spec.KVMountpoint()
	if v.update {
		message += ". Its policy also grants update, with which Barbican loses secrets if the mount goes missing: grant create, read and delete only"
	}
	next := revalidate
	if p.Object.Spec.Managed() {
		next = p.Values.stored.nextVisit(s.Clock.Now())
	}
	outcome := reconcile.Ready(v1alpha1.ReasonCredentialsAvailable, message).After(next)
	f := s.memory.of(p.Object)
	if f == nil || f.counted || f.SecretID != p.Values.stored.SecretID {
		return outcome
	}
	return outcome.Persisted(func(err error) {
		f.counted = err == nil
		if f.counted && f.trigger != initial {
			s.Remints.Reminted(client.ObjectKeyFromObject(p.Object), f.trigger)
		}
	})
}

// invalid reports a finding. What makes the store unusable takes it out of the
// configuration; the first sight of a lost mount is told to the Barbican as well.
func (s *steps) invalid(ctx context.Context, p *pass, f finding) reconcile.Outcome {
	if f.err != nil {
		return reconcile.Error(f.err)
	}
	outcome := waiting(f.reason, "%s", f.message)
	if f.reason != v1alpha1.ReasonInsufficientCapabilities {
		return outcome
	}
	validated := p.Object.Status.CredentialsHash != ""
	p.Object.Status.CredentialsHash = ""
	if !f.mountLost || !validated {
		return outcome
	}
	message := fmt.Sprintf("Store %s: %s", p.Object.Name, f.message)
	outcome = outcome.Announce(corev1.EventTypeWarning, v1alpha1.EventSecretsMayBeLost, message)
	parent, err := s.parent(ctx, p.Object)
	if err != nil {
		return outcome
	}
	return outcome.Persisted(func(err error) {
		if err == nil {
			s.Recorder.Event(parent, corev1.EventTypeWarning, v1alpha1.EventSecretsMayBeLost, message)
		}
	})
}
