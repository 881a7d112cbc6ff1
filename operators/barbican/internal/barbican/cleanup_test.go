// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// TestDeletion is the way a Barbican goes: the database objects are sent ahead, then it is released.
func TestDeletion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy api.DatabaseDeletionPolicy
		want   database.CleanupPolicy
	}{
		"the data stays unless asked otherwise (R22)": {"", database.CleanupSkip},
		"the data stays": {api.RetainDatabase, database.CleanupSkip},
		"the data goes":  {api.DeleteDatabase, database.CleanupDelete},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, func(b *v1alpha1.Barbican) { b.Spec.Database.DeletionPolicy = c.policy })
			b := w.ready()
			if !slices.Equal(b.Finalizers, []string{v1alpha1.Finalizer}) {
				t.Errorf("finalizers are %q", b.Finalizers)
			}
			db := get(w, &database.Database{}, "barbican")
			if db.Spec.CleanupPolicy != c.want {
				t.Errorf("clean-up policy is %s, want %s", db.Spec.CleanupPolicy, c.want)
			}
			db.Finalizers = []string{"mariadb/holds"} // mariadb-operator takes its time
			w.put(db)
			w.remove(b)

			result, err := w.reconcile()
			if err != nil || result.RequeueAfter != 30*time.Second {
				t.Errorf("the pass ends with %+v, %v", result, err)
			}
			w.expectEvents("Normal FinalizingDatabase")
			if exists(w, &database.User{}, "barbican") || exists(w, &database.Grant{}, "barbican") {
				t.Error("user or grant are still there")
			}
			if db := get(w, &database.Database{}, "barbican"); db.DeletionTimestamp.IsZero() || db.Spec.CleanupPolicy != c.want {
				t.Errorf("the database is %+v", db)
			}

			if _, err := w.reconcile(); err != nil {
				t.Fatal(err)
			}
			w.expectEvents("Normal DatabaseFinalized")
			if exists(w, &v1alpha1.Barbican{}, "barbican") {
				t.Error("the Barbican is held although its database is on its way")
			}
			if n := testutil.CollectAndCount(w.registry, "barbican_operator_db_sync_total"); n != 0 {
				t.Errorf("%d series are left", n)
			}
			if _, ok := w.steps.validated.lastOf(key, store("main").UID); ok {
				t.Error("its credentials are still remembered")
			}
			if _, err := w.reconcile(); err != nil {
				t.Errorf("a Barbican that is gone: %v", err)
			}
			w.expectEvents()
		})
	}
}

// TestDeletionOfWhatNeverWorked releases a Barbican that never came past its first row.
func TestDeletionOfWhatNeverWorked(t *testing.T) {
	t.Parallel()
	w := beginWith(t, minimal())
	w.pass()
	w.expect("SecretsReady=False/SecretStoreNotReady")
	w.remove(w.barbican())
	w.run()
	if exists(w, &v1alpha1.Barbican{}, "barbican") {
		t.Error("it is still there")
	}
	w.expectEvents("Normal DatabaseFinalized")
}

// TestDeletionLeavesForeignObjects keeps a database that somebody else owns by now.
func TestDeletionLeavesForeignObjects(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.ready()
	db := get(w, &database.Database{}, "barbican")
	db.OwnerReferences = nil
	w.put(db)
	w.remove(w.barbican())
	w.run()
	w.run()
	if !exists(w, &database.Database{}, "barbican") || exists(w, &v1alpha1.Barbican{}, "barbican") {
		t.Error("the foreign database went, or the Barbican stayed")
	}
}

// TestDeletionTriesAgain keeps the finalizer as long as something fails.
func TestDeletionTriesAgain(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.ready()
	w.remove(w.barbican())
	w.fault = func(verb string, o client.Object) error {
		if _, ok := o.(*database.User); ok && verb == "delete" {
			return apierrors.NewInternalError(errBroken)
		}
		return nil
	}
	if _, err := w.reconcile(); err == nil {
		t.Error("no error")
	}
	if !exists(w, &v1alpha1.Barbican{}, "barbican") {
		t.Fatal("it was released")
	}
	w.fault = nil
	w.run()
	w.run()
	if exists(w, &v1alpha1.Barbican{}, "barbican") || exists(w, &database.User{}, "barbican") {
		t.Error("it is still there")
	}
}

// TestTargetClusterUnavailable reports a cluster that nobody knows, and holds nothing.
func TestTargetClusterUnavailable(t *testing.T) {
	t.Parallel()
	w := begin(t, func(b *v1alpha1.Barbican) { b.Spec.TargetClusterRef = &api.TargetClusterRef{Name: "edge"} })
	result, err := w.reconcile()
	if err != nil || result.RequeueAfter != 15*time.Second {
		t.Errorf("the pass ends with %+v, %v", result, err)
	}
	w.expect("SecretsReady=False/TargetClusterUnavailable", "Ready=False/NotAllReady")
	if b := w.barbican(); len(b.Finalizers) > 0 {
		t.Errorf("finalizers are %q", b.Finalizers)
	}
	if got := w.writesTaken(); len(got) > 0 {
		t.Errorf("requests: %q", got)
	}
	w.expectEvents()
}
