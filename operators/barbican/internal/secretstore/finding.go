// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/openbao"
)

// finding is what is wrong, in the words of a condition. The zero value is nothing.
type finding struct {
	reason    string
	message   string
	err       error // backs off instead of waiting
	mountLost bool  // writes may be answered with success and lost
	refused   bool  // the pair is wrong, expired or used up
	lockedOut bool  // the login is denied, whatever the pair
}

func (f finding) bad() bool { return f.reason != "" || f.err != nil }

// judgeToken words a TokenRequest that failed.
func judgeToken(err error) finding {
	switch {
	case apierrors.IsNotFound(err):
		return finding{reason: v1alpha1.ReasonWaitingForInstance, message: "Waiting for the instance's provisioner ServiceAccount: " + err.Error()}
	case apierrors.IsForbidden(err):
		return finding{
			reason: v1alpha1.ReasonProvisioningDenied,
			message: "The operator may not request a token for the instance's provisioner ServiceAccount: name it under " +
				"rbac.secretStoreNamespaces of the operator's Helm chart, by namespace",
		}
	}
	return finding{err: fmt.Errorf("requesting a token for the provisioner: %w", err)}
}

// judgeProvisioning words what the provisioner ran into.
func judgeProvisioning(err error, mount string) finding {
	switch {
	case openbao.IsKind(err, openbao.Denied, openbao.Refused):
		return finding{reason: v1alpha1.ReasonProvisioningDenied, message: fmt.Sprintf(
			"The instance denies the provisioner: %v. Check the policy and the kubernetes auth role \"provisioner\" of the instance", err)}
	case openbao.IsKind(err, openbao.Missing, openbao.WrongEngine):
		return finding{reason: v1alpha1.ReasonInstanceNotProvisioned, message: fmt.Sprintf(
			"The instance lacks what its self-initialisation should have made (requests barbican_kv, approle_auth, barbican_approle_role; "+
				"KV version 2 mount %q): %v", mount, err)}
	}
	return unreachable(err)
}

// judgeMint words a mint that failed.
func judgeMint(err error) finding {
	if openbao.IsKind(err, openbao.Denied) {
		return finding{reason: v1alpha1.ReasonProvisioningDenied, message: fmt.Sprintf(
			"The instance denies the provisioner a new secret ID: %v. Grant update on auth/approle/role/%s/secret-id", err, appRole)}
	}
	return unreachable(err)
}

const lockedOutMessage = "The server denies the AppRole login (403): the role is locked out after too many failed logins, or denied by a rule. " +
	"A lockout ends by itself 15 minutes after the last failure, or at once with POST sys/locked-users/<mount accessor>/unlock/<role id>"

// judgeCredentials words what a validation ran into, or what the grant lacks.
func judgeCredentials(err error, grant openbao.Grant, mount string) finding {
	_, failedLogin := errors.AsType[*openbao.LoginError](err)
	switch {
	case err == nil && len(grant.Missing) > 0:
		return finding{reason: v1alpha1.ReasonInsufficientCapabilities, message: fmt.Sprintf(
			"The AppRole's policy lacks %s on %s/data/*", strings.Join(grant.Missing, ", "), mount)}
	case err == nil:
		return finding{}
	case failedLogin && openbao.IsKind(err, openbao.Refused):
		return finding{
			reason: v1alpha1.ReasonInvalidCredentials, refused: true,
			message: fmt.Sprintf("The server refuses the AppRole credentials as wrong, expired or used up: %v", err),
		}
	case failedLogin && openbao.IsKind(err, openbao.Denied):
		return finding{reason: v1alpha1.ReasonInvalidCredentials, message: lockedOutMessage, lockedOut: true}
	case failedLogin:
		return unreachable(err)
	case openbao.IsKind(err, openbao.Missing, openbao.WrongEngine):
		return finding{reason: v1alpha1.ReasonInsufficientCapabilities, message: lostMessage(mount, err), mountLost: true}
	case openbao.IsKind(err, openbao.Denied):
		return finding{reason: v1alpha1.ReasonInsufficientCapabilities, message: fmt.Sprintf(
			"The AppRole cannot show what it may do on %s/data/*: %v", mount, err)}
	}
	return unreachable(err)
}

func lostMessage(mount string, err error) string {
	return fmt.Sprintf("The KV version 2 mount %q is gone: %v. Secrets stored until it is back may be lost", mount, err)
}

func unreachable(err error) finding {
	if openbao.IsKind(err, openbao.Sealed) {
		return finding{reason: v1alpha1.ReasonOpenBaoUnreachable, message: fmt.Sprintf("The server is sealed or on standby: %v", err)}
	}
	return finding{reason: v1alpha1.ReasonOpenBaoUnreachable, message: fmt.Sprintf("The server does not answer as it should: %v", err)}
}
