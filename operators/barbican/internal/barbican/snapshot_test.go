// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/secrets"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// snapshot answers reads as an informer cache does that shares its objects: the fake client would encode and decode each.
type snapshot struct {
	client.Client
	objects map[reflect.Type]map[types.NamespacedName]client.Object
}

// freezeAll puts the controller on a snapshot of all that a converge with nothing optional reads.
func (w *world) freezeAll() {
	w.Helper()
	w.freeze(&v1alpha1.BarbicanList{}, &v1alpha1.BarbicanSecretStoreList{}, &secrets.ClusterSecretStoreList{}, &corev1.SecretList{},
		&database.MariaDBList{}, &database.DatabaseList{}, &database.UserList{}, &database.GrantList{}, &appsv1.DeploymentList{},
		&corev1.ServiceList{}, &policyv1.PodDisruptionBudgetList{}, &batchv1.JobList{}, &batchv1.CronJobList{})
}

func (w *world) freeze(lists ...client.ObjectList) {
	w.Helper()
	s := &snapshot{Client: w.live, objects: map[reflect.Type]map[types.NamespacedName]client.Object{}}
	for _, list := range lists {
		if err := w.live.List(w.Context(), list); err != nil {
			w.Fatal(err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			w.Fatal(err)
		}
		for _, item := range items {
			o := item.(client.Object)
			o.SetManagedFields(nil)
			of := reflect.TypeOf(item).Elem()
			if s.objects[of] == nil {
				s.objects[of] = map[types.NamespacedName]client.Object{}
			}
			s.objects[of][client.ObjectKeyFromObject(o)] = o
		}
	}
	w.use(s, s, sharedSecrets{s})
}

func (s *snapshot) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	of := reflect.TypeOf(into).Elem()
	found, ok := s.objects[of][key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: of.Name()}, key.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found).Elem())
	return nil
}

// List knows the selectors by labels only; an index has to be true of all there is.
func (s *snapshot) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	items := reflect.ValueOf(into).Elem().FieldByName("Items")
	all := s.objects[items.Type().Elem()]
	items.Set(reflect.MakeSlice(items.Type(), 0, len(all)))
	for _, found := range all {
		if found.GetNamespace() == o.Namespace && (o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(found.GetLabels()))) {
			items.Set(reflect.Append(items, reflect.ValueOf(found).Elem()))
		}
	}
	return nil
}

type sharedSecrets struct{ *snapshot }

func (s sharedSecrets) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	found, ok := s.objects[reflect.TypeFor[corev1.Secret]()][key].(*corev1.Secret)
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	return found, nil
}
