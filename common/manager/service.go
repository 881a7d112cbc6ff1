// SPDX-License-Identifier: Apache-2.0

package manager

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/network"
	"github.com/c5c3/cobaltcore/common/secrets"
)

// ServiceKinds are what the operator of any service caches, for Options.Kinds; its own kinds come on top.
func ServiceKinds() []Kind {
	const mariaDB, external = "mariadb-operator", "External Secrets"
	return []Kind{
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
		{Object: network.RouteObject(), Part: "the Gateway API", Optional: true},
	}
}

// ServiceChildren are the kinds that a service has children of, for Options.Children.
func ServiceChildren() []client.Object {
	return []client.Object{
		&corev1.Service{}, &appsv1.Deployment{}, &batchv1.Job{}, &batchv1.CronJob{}, &policyv1.PodDisruptionBudget{},
		&autoscalingv2.HorizontalPodAutoscaler{}, &networkingv1.NetworkPolicy{},
		&database.Database{}, &database.User{}, &database.Grant{}, network.RouteObject(),
	}
}
