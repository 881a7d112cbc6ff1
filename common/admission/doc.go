// SPDX-License-Identifier: Apache-2.0

// Package admission makes webhooks out of lists of rules, and holds the rules for the fragments of common/api. A rule sees
// its inputs and nothing else, and on an update it is only asked when one of them changed, so that an object which became invalid
// can still be labelled, finalized and deleted.
package admission
