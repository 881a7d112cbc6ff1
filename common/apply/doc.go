// SPDX-License-Identifier: Apache-2.0

// Package apply writes child objects. Every write goes through a Writer, which owns three promises: a child that is
// already as desired costs no request, nothing that another owner controls is touched, and whatever an owner
// writes can be found again by its ownership mark (a controller reference on the same cluster, labels on another).
package apply
