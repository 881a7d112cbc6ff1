// SPDX-License-Identifier: Apache-2.0

package target

import "k8s.io/apimachinery/pkg/runtime/schema"

// ServiceKinds are those that a service has children of.
var ServiceKinds = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Secret"},
	{Group: "batch", Version: "v1", Kind: "Job"},
	{Group: "batch", Version: "v1", Kind: "CronJob"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"},
	{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "Database"},
	{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "User"},
	{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "Grant"},
}
