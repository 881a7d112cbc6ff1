// SPDX-License-Identifier: Apache-2.0

// Package manager is the process of an operator: its flags, its caches, the resolver of clusters and its life from start to
// end. An operator names its kinds and sets up its controllers; everything that two operators would do alike is here.
package manager
