// SPDX-License-Identifier: Apache-2.0

// Package network says who may reach a service and where it may go: NetworkPolicies and HTTPRoutes. It is the only
// package that knows the types of the Gateway API.
package network
