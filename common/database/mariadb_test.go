// SPDX-License-Identifier: Apache-2.0

package database

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	upstream "github.com/mariadb-operator/mariadb-operator/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
)

// TestViewsAreWhatMariaDBOperatorReads takes our objects through mariadb-operator's own types: it must know every field
// that we write, and nothing may be lost on the way.
func TestViewsAreWhatMariaDBOperatorReads(t *testing.T) {
	t.Parallel()
	s := Schema{Spec: managed(), Labels: map[string]string{"app": "svc"}, MaxConnections: 18}
	for _, tt := range []struct {
		name        string
		ours, again client.Object
		theirs      any
	}{
		{"Database", s.database(service()), &Database{}, &upstream.Database{}},
		{"User", s.user(service()), &User{}, &upstream.User{}},
		{"Grant", s.grant(service()), &Grant{}, &upstream.Grant{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			written, err := json.Marshal(tt.ours)
			if err != nil {
				t.Fatal(err)
			}
			strict := json.NewDecoder(bytes.NewReader(written))
			strict.DisallowUnknownFields()
			if err := strict.Decode(tt.theirs); err != nil {
				t.Fatalf("mariadb-operator does not know what we write: %v", err)
			}
			read, err := json.Marshal(tt.theirs)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(read, tt.again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.ours, tt.again); diff != "" {
				t.Errorf("lost on the way (-ours +theirs):\n%s", diff)
			}
		})
	}
	if upstream.GroupVersion != GroupVersion {
		t.Errorf("GroupVersion = %v, want %v", GroupVersion, upstream.GroupVersion)
	}
	if CleanupSkip != CleanupPolicy(upstream.CleanupPolicySkip) || CleanupDelete != CleanupPolicy(upstream.CleanupPolicyDelete) {
		t.Error("the clean-up policies differ")
	}
}

// managed is a database with static credentials on the MariaDB "db".
func managed() api.DatabaseSpec {
	return api.DatabaseSpec{
		ClusterRef: &corev1.LocalObjectReference{Name: "db"}, Database: "vault", SecretRef: api.SecretRef{Name: "db-credentials"},
	}
}

func dynamic() api.DatabaseSpec {
	s := managed()
	s.CredentialsMode = api.DynamicCredentials
	return s
}

func dropped() api.DatabaseSpec {
	s := managed()
	s.DeletionPolicy = api.DeleteDatabase
	return s
}

func brownfield() api.DatabaseSpec {
	return api.DatabaseSpec{Host: "db.example.org", Database: "vault", SecretRef: api.SecretRef{Name: "db-credentials"}}
}
