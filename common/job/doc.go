// SPDX-License-Identifier: Apache-2.0

// Package job runs Jobs that do a piece of work once, and looks after CronJobs. The work is named by a key that its caller
// computes: a Job that finished is done again only when the key changes, and a Job whose pods run is never interrupted.
package job
