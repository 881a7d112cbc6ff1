// SPDX-License-Identifier: Apache-2.0

// Package kubetest gives tests, the demo and the benchmark a real API server and everything an operator expects around it: CRD
// stubs of the third parties, simulators that play them (ready at once, late, never, or failing), exact counts of the requests, and
// faults. It imports no other package of this module, so each of them may use it in its tests.
//
//	func TestMain(m *testing.M) { kubetest.Main(m, &env, kubetest.Options{CRDs: []string{"../../crds"}}) }
//
//	sim, err := kubetest.Simulate(ctx, env.Config, kubetest.Behaviour{Jobs: kubetest.Succeed().After(time.Second)})
//	sim.Deployments.In(namespace).Do(kubetest.ExceedDeadline())
//	Eventually(kubetest.Live(c, barbican)).Should(kubetest.HaveCondition("DeploymentReady", metav1.ConditionFalse, "WaitingForDeployment"))
package kubetest
