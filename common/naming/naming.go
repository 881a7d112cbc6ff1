// SPDX-License-Identifier: Apache-2.0

// Package naming gives child objects their recommended labels, selectors and names. An instance's selector never
// changes over its life, since a Deployment's selector is immutable.
package naming

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/samber/lo"
)

// The recommended labels of Kubernetes that every child carries, and the one that marks the pods of a Job.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelComponent = "app.kubernetes.io/component"
	LabelJobName   = "batch.kubernetes.io/job-name"
)

// ComponentAPI is the component of the pods that serve a service's API.
const ComponentAPI = "api"

// Instance is one custom resource of one service; its labels tell the children of one from those of another.
type Instance struct {
	App  string // the service, for example "barbican"
	Name string // the name of the custom resource
}

// ManagedBy is the value of the managed-by label of every child of the service.
func (i Instance) ManagedBy() string { return i.App + "-operator" }

// Selector matches all pods of the instance, whatever their component.
func (i Instance) Selector() map[string]string {
	return map[string]string{LabelName: i.App, LabelInstance: i.Name}
}

// Labels are the labels of a child that belongs to no component.
func (i Instance) Labels() map[string]string {
	return map[string]string{LabelName: i.App, LabelInstance: i.Name, LabelManagedBy: i.ManagedBy()}
}

// Component are the labels of the children and pods of one component.
func (i Instance) Component(component string) map[string]string {
	return map[string]string{
		LabelName: i.App, LabelInstance: i.Name, LabelManagedBy: i.ManagedBy(), LabelComponent: component,
	}
}

// ComponentSelector matches the pods of one component.
func (i Instance) ComponentSelector(component string) map[string]string {
	return lo.Assign(i.Selector(), map[string]string{LabelComponent: component})
}

// Bounded is name+suffix when that fits into limit bytes. Otherwise the name is cut and eight hex digits of its
// SHA-256 keep two long names apart.
func Bounded(name, suffix string, limit int) string {
	if len(name)+len(suffix) <= limit {
		return name + suffix
	}
	sum := sha256.Sum256([]byte(name))
	tail := "-" + hex.EncodeToString(sum[:4]) + suffix
	return strings.TrimRight(name[:limit-len(tail)], "-.") + tail
}
