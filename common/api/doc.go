// SPDX-License-Identifier: Apache-2.0

// Package api holds the spec fragments that the custom resources of every service operator embed: image, database, cache,
// deployment, gateway and so on. Each fragment carries its schema rules as markers and its defaults as methods, so that an
// operator never repeats a default. It imports Kubernetes API types only.
//
// +kubebuilder:object:generate=true
package api
