// SPDX-License-Identifier: Apache-2.0

package operator

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/manager"
	"github.com/c5c3/cobaltcore/common/network"
	"github.com/c5c3/cobaltcore/common/secrets"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/secretstore"
)

// Scheme knows every kind that the operator reads or writes.
func Scheme() (*runtime.Scheme, error) {
	return manager.NewScheme(v1alpha1.AddToScheme, database.AddToScheme, secrets.AddToScheme, secretstore.AddToScheme, network.AddToScheme)
}

const (
	ownCRDs    = "the CRDs of this operator"
	mariaDB    = "mariadb-operator"
	external   = "External Secrets"
	openBao    = "openbao-operator"
	gatewayAPI = "the Gateway API"
)

// kinds are cached from the start; controllers watch no other.
func kinds() []manager.Kind {
	return []manager.Kind{
		{Object: &v1alpha1.Barbican{}, Part: ownCRDs},
		{Object: &v1alpha1.BarbicanSecretStore{}, Part: ownCRDs},
		{Object: &corev1.Secret{}},
		{Object: secrets.Metadata()},
		{Object: &corev1.ConfigMap{}},
		{Object: &corev1.Service{}},
		{Object: &appsv1.Deployment{}},
		{Object: &batchv1.Job{}},
		{Object: &batchv1.CronJob{}},
		{Object: &policyv1.PodDisruptionBudget{}},
		{Object: &autoscalingv2.HorizontalPodAutoscaler{}},
		{Object: &networkingv1.NetworkPolicy{}},
		{Object: &database.MariaDB{}, Part: mariaDB},
		{Object: &database.Database{}, Part: mariaDB},
		{Object: &database.User{}, Part: mariaDB},
		{Object: &database.Grant{}, Part: mariaDB},
		{Object: &secrets.SecretStore{}, Part: external},
		{Object: &secrets.ClusterSecretStore{}, Part: external},
		{Object: &secretstore.OpenBaoCluster{}, Part: openBao},
		{Object: network.RouteObject(), Part: gatewayAPI, Optional: true},
	}
}

// children are the kinds of which only our own are read whole.
func children() []client.Object {
	return []client.Object{
		&corev1.Service{}, &appsv1.Deployment{}, &batchv1.Job{}, &batchv1.CronJob{}, &policyv1.PodDisruptionBudget{},
		&autoscalingv2.HorizontalPodAutoscaler{}, &networkingv1.NetworkPolicy{},
		&database.Database{}, &database.User{}, &database.Grant{}, network.RouteObject(),
	}
}
