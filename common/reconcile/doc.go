// SPDX-License-Identifier: Apache-2.0

// Package reconcile is the engine of a service operator: a table of steps, and the life cycle around it. Steps return
// what they found; only the engine writes conditions, events and the custom resource. Everything that names the
// steps (metrics, the aggregate, docs) derives from the table.
package reconcile
