// SPDX-License-Identifier: Apache-2.0

// Package apply writes child objects. Every write goes through a Writer, which owns three promises: a child that is
// already as desired costs no request, nothing that another owner controls is touched, and whatever an owner
// writes can be found again by its ownership mark (a controller reference on the same cluster, labels on another).
//
// The mark has two halves: every child also names its owner's UID in an annotation. Either half is enough for Apply and
// Replace, which restore the other, as long as no other controller has taken the object. Delete and Controls demand the
// reference or the labels, so that an object which somebody orphaned on purpose is never deleted.
package apply
