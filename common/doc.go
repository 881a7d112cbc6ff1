// SPDX-License-Identifier: Apache-2.0

// Package common is what the operators of all services share. A new operator is its types, a table of steps, a renderer of
// configuration and the values of its chart; the life cycle of its objects is here. The packages lie in layers, and
// each imports only from the layers above it in this list.
//
// Values need no cluster. [api] holds the spec fragments that custom resources embed, with their defaults and schema rules.
// [naming] makes names, labels and selectors. [oslo] renders and checks the configuration of OpenStack services. [observe]
// holds the metrics.
//
// The cluster is touched in three ways. [apply] writes children: what is already so costs no request, and nothing foreign is
// touched. [watch] says which change wakes which object. [admission] makes webhooks out of lists of rules.
//
// The engine is [reconcile]: a table of steps, each of which returns an Outcome, and the Controller that turns outcomes into
// conditions, events and one status write. [reconcile/target] says on which cluster the children live, [reconcile/probe]
// answers slow questions without holding a worker, [reconcile/release] decides whether one release may follow another.
// Start reading with ExampleController.
//
// The building blocks answer with an Outcome, so that most steps are one call: [secrets] reads and keeps Secrets, [job] runs
// Jobs once for a reason, [database] provides a schema and its migrations, [workload] runs the API, [network] says who
// reaches it.
//
// The process is [manager], with its flags, caches and readiness, and [clusters], which finds registered target clusters.
// [kubetest] is for tests: a real API server, stand-ins for everything around an operator, counts of requests, and faults.
//
// [api]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/api
// [naming]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/naming
// [oslo]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/oslo
// [observe]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/observe
// [apply]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/apply
// [watch]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/watch
// [admission]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/admission
// [reconcile]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/reconcile
// [reconcile/target]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/reconcile/target
// [reconcile/probe]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/reconcile/probe
// [reconcile/release]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/reconcile/release
// [secrets]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/secrets
// [job]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/job
// [database]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/database
// [workload]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/workload
// [network]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/network
// [manager]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/manager
// [clusters]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/clusters
// [kubetest]: https://pkg.go.dev/github.com/c5c3/cobaltcore/common/kubetest
package common
