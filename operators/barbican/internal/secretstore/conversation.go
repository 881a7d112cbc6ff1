// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/c5c3/cobaltcore/operators/barbican/internal/metrics"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/openbao"
)

// What a self-initialising instance comes with.
const (
	appRole     = "barbican"
	provisioner = "provisioner"
)

// conversationTimeout ends a conversation with a server that answers each call just in time.
const conversationTimeout = time.Minute

// conversation is one exchange with a server. It holds all it needs, because it
// runs apart from the pass that starts it.
type conversation struct {
	store   types.NamespacedName
	uid     types.UID
	server  openbao.Options
	mount   string
	stored  credential
	retire  []string                              // accessors that no pod needs any more; managed only
	token   func(context.Context) (string, error) // of the provisioner; nil for brownfield
	connect Connect
	now     func() time.Time
}

// verdict is what a conversation found.
type verdict struct {
	provisioning finding // managed only
	credentials  finding // not judged while provisioning failed or a credential was minted
	update       bool    // the policy grants update, which is unsafe
	minted       *minted
	retired      []string
}

// minted is a credential the server just handed out. It is nowhere else yet.
type minted struct {
	credential
	trigger metrics.Trigger
}

// about tells conversations apart whose verdicts must not stand in for each other.
func (c conversation) about() string {
	sum := sha256.New()
	_ = json.NewEncoder(sum).Encode([]any{ // a hash takes everything
		c.uid, c.server.URL, c.server.Namespace, c.server.CA, c.mount, c.stored.Hash(), c.stored.mintedAt, c.stored.ttl, c.retire,
	})
	return hex.EncodeToString(sum.Sum(nil))
}

// run has the conversation and says for how long its verdict holds. It runs
// outside of any pass, where a panic would end the process for everybody.
func (c conversation) run(ctx context.Context) (v verdict, holds time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, conversationTimeout)
	defer cancel()
	defer func() {
		if panicked := recover(); panicked != nil {
			failed := finding{err: fmt.Errorf("panic: %v\n%s", panicked, debug.Stack())}
			v, holds = verdict{credentials: failed}, 0
			if c.token != nil {
				v = verdict{provisioning: failed}
			}
		}
	}()
	keyStore, err := c.connect(c.server)
	switch {
	case err != nil && c.token == nil:
		v.credentials = judgeCredentials(err, openbao.Grant{}, c.mount)
	case err != nil:
		v.provisioning = judgeProvisioning(err, c.mount)
	default:
		defer keyStore.Close()
		if c.token == nil {
			c.validate(ctx, keyStore, &v)
		} else {
			c.provision(ctx, keyStore, &v)
		}
	}
	return v, c.holds(v)
}

// holds is for how long a verdict stands. A refused pair is not tried every 30
// seconds: five failures lock the role out, also for the pair that follows.
func (c conversation) holds(v verdict) time.Duration {
	brownfield := c.token == nil
	switch {
	case v.provisioning.err != nil, v.credentials.err != nil:
		return 0 // the pass backs off, and each retry is to find out anew
	case v.credentials.refused && brownfield:
		return revalidate
	case v.credentials.refused:
		return c.stored.nextAttempt(c.now())
	case v.provisioning.bad(), v.credentials.bad(), v.minted != nil:
		return retry
	case brownfield:
		return revalidate
	}
	return c.stored.nextVisit(c.now())
}

// provision ends at once when the stored credential proves that the mount and the AppRole are there. The provisioner is
// needed only to mint, to destroy, or to find out what is missing.
func (c conversation) provision(ctx context.Context, keyStore KeyStore, v *verdict) {
	trigger, due := c.stored.due(c.now())
	if !due {
		c.validate(ctx, keyStore, v)
		if !v.credentials.bad() && len(c.retire) == 0 {
			return
		}
	}
	session, roleID := c.inspect(ctx, keyStore, v)
	if session == nil {
		return
	}
	defer session.Close(ctx)
	switch {
	case v.provisioning.bad():
	case due:
		c.mint(ctx, session, roleID, trigger, v)
	case v.credentials.refused && c.stored.replaceable(c.now()):
		v.credentials = finding{}
		c.mint(ctx, session, roleID, metrics.Reactive, v)
	default:
		c.destroy(ctx, session, v)
	}
}

// inspect logs in as the provisioner and looks for the mount and the AppRole. The session is nil when there is none.
func (c conversation) inspect(ctx context.Context, keyStore KeyStore, v *verdict) (session *openbao.Provisioner, roleID string) {
	jwt, err := c.token(ctx)
	if err != nil {
		v.provisioning = judgeToken(err)
		return nil, ""
	}
	if session, err = keyStore.LoginKubernetes(ctx, provisioner, jwt); err != nil {
		v.provisioning = judgeProvisioning(err, c.mount)
		return nil, ""
	}
	if err = session.CheckMount(ctx, c.mount); err != nil {
		v.provisioning = judgeProvisioning(err, c.mount)
		v.provisioning.mountLost = openbao.IsKind(err, openbao.Missing, openbao.WrongEngine)
		return session, ""
	}
	if roleID, err = session.RoleID(ctx, appRole); err != nil {
		v.provisioning = judgeProvisioning(err, c.mount)
	}
	return session, roleID
}

func (c conversation) validate(ctx context.Context, keyStore KeyStore, v *verdict) {
	grant, err := keyStore.Validate(ctx, c.stored.Credentials, c.mount)
	v.credentials, v.update = judgeCredentials(err, grant, c.mount), grant.Update
}

func (c conversation) mint(ctx context.Context, session *openbao.Provisioner, roleID string, trigger metrics.Trigger, v *verdict) {
	id, err := session.Mint(ctx, appRole, map[string]string{"store": c.store.String(), "store-uid": string(c.uid)})
	if openbao.IsKind(err, openbao.Missing) {
		v.provisioning = judgeProvisioning(err, c.mount)
		return
	}
	if err != nil {
		v.credentials = judgeMint(err)
		return
	}
	v.minted = &minted{trigger: trigger, credential: credential{
		Credentials: openbao.Credentials{RoleID: roleID, SecretID: id.ID},
		mintedAt:    c.now().UTC().Truncate(time.Second), ttl: min(id.TTL, maxTTL), accessor: id.Accessor,
	}}
}

// destroy makes replaced secret IDs invalid, as far as the policy allows: a
// refusal is final, any other failure is tried again.
func (c conversation) destroy(ctx context.Context, session *openbao.Provisioner, v *verdict) {
	for _, accessor := range c.retire {
		err := session.Destroy(ctx, appRole, accessor)
		if err != nil {
			log.FromContext(ctx).V(1).Info("Replaced secret ID not destroyed, it ends by itself", "store", c.store, "error", err.Error())
		}
		if err == nil || openbao.IsKind(err, openbao.Denied) {
			v.retired = append(v.retired, accessor)
		}
	}
	slices.Sort(v.retired)
}
