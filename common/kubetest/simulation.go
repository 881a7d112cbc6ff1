// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// SimulatorAgent is the user agent of the simulators' requests.
	SimulatorAgent = "kubetest-simulator"

	simulatorWorkers = 16
)

// Behaviour says what becomes of the objects of each kind. The zero value lets everything succeed at once.
type Behaviour struct {
	MariaDBs, Databases, Users, Grants                 Outcome
	ExternalSecrets, SecretStores, ClusterSecretStores Outcome
	OpenBaoClusters                                    Outcome
	HTTPRoutes                                         Outcome
	Deployments, Jobs                                  Outcome // Ignore() them where kube-controller-manager has them, and let Pods play
	Pods                                               Outcome
}

// Everything gives all kinds the same outcome.
func Everything(o Outcome) Behaviour {
	return Behaviour{
		MariaDBs: o, Databases: o, Users: o, Grants: o,
		ExternalSecrets: o, SecretStores: o, ClusterSecretStores: o,
		OpenBaoClusters: o, HTTPRoutes: o, Deployments: o, Jobs: o, Pods: o,
	}
}

// Simulation plays the controllers of the third parties and the nodes. It follows watches and writes nothing but status, except for
// the Secrets of ExternalSecrets. What an actor does can be changed at any time, for all objects or for some.
type Simulation struct {
	MariaDBs, Databases, Users, Grants                 *Actor
	ExternalSecrets, SecretStores, ClusterSecretStores *Actor
	OpenBaoClusters                                    *Actor
	HTTPRoutes                                         *Actor
	Deployments, Jobs                                  *Actor
	Pods                                               *Actor

	client client.Client
	cache  cache.Cache
	queue  workqueue.TypedRateLimitingInterface[cue]
	runs   atomic.Int64
}

// cue asks an actor to look at an object.
type cue struct {
	actor *Actor
	key   client.ObjectKey
}

// Simulate starts a simulation that ends with the context. Kinds that the API server does not know are left out.
func Simulate(ctx context.Context, config *rest.Config, b Behaviour) (*Simulation, error) {
	s := &Simulation{
		MariaDBs:            newActor(mariaDB("MariaDB"), b.MariaDBs, become("Ready", mariaDBWords)),
		Databases:           newActor(mariaDB("Database"), b.Databases, become("Ready", sqlWords)),
		Users:               newActor(mariaDB("User"), b.Users, become("Ready", sqlWords)),
		Grants:              newActor(mariaDB("Grant"), b.Grants, become("Ready", sqlWords)),
		ExternalSecrets:     newActor(externalSecrets("ExternalSecret"), b.ExternalSecrets, become("Ready", externalSecretWords)),
		SecretStores:        newActor(externalSecrets("SecretStore"), b.SecretStores, become("Ready", secretStoreWords)),
		ClusterSecretStores: newActor(externalSecrets("ClusterSecretStore"), b.ClusterSecretStores, become("Ready", secretStoreWords)),
		OpenBaoClusters:     newActor(openBao("OpenBaoCluster"), b.OpenBaoClusters, become("Available", openBaoWords)),
		HTTPRoutes:          newActor(gateway("HTTPRoute"), b.HTTPRoutes, playRoute),
		Deployments:         newActor(&appsv1.Deployment{}, b.Deployments, playDeployment),
		Jobs:                newActor(&batchv1.Job{}, b.Jobs, playJob),
		Pods:                newActor(&corev1.Pod{}, b.Pods, playPod),
		queue:               workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cue]()),
	}
	s.ExternalSecrets.before = s.writeSecret
	s.runs.Store(time.Now().Unix() % 10_000_000) // so that another simulation of the cluster finds other names
	config = agent(config, SimulatorAgent)
	var err error
	if s.client, err = client.New(config, client.Options{}); err != nil {
		return nil, err
	}
	options := cache.Options{Scheme: scheme.Scheme, Mapper: s.client.RESTMapper(), DefaultTransform: cache.TransformStripManagedFields()}
	if s.cache, err = cache.New(config, options); err != nil {
		return nil, err
	}
	return s, s.start(ctx)
}

func (s *Simulation) actors() []*Actor {
	return []*Actor{
		s.MariaDBs, s.Databases, s.Users, s.Grants, s.ExternalSecrets, s.SecretStores, s.ClusterSecretStores,
		s.OpenBaoClusters, s.HTTPRoutes, s.Deployments, s.Jobs, s.Pods,
	}
}

func (s *Simulation) start(ctx context.Context) error {
	for _, a := range s.actors() {
		if err := s.watch(ctx, a); err != nil {
			return fmt.Errorf("watching %T %s: %w", a.kind, a.kind.GetObjectKind().GroupVersionKind().Kind, err)
		}
	}
	var workers sync.WaitGroup
	for range simulatorWorkers {
		workers.Go(func() { s.work(ctx) })
	}
	go func() {
		_ = s.cache.Start(ctx) // ends with the context only
		s.queue.ShutDown()
		workers.Wait()
	}()
	if !s.cache.WaitForCacheSync(ctx) {
		return errors.New("the caches of the simulation did not sync")
	}
	return nil
}

func (s *Simulation) watch(ctx context.Context, a *Actor) error {
	informer, err := s.cache.GetInformer(ctx, a.kind, cache.BlockUntilSynced(false))
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	a.simulation = s
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { a.noticed(object.(client.Object)) },
		UpdateFunc: func(_, object any) { a.noticed(object.(client.Object)) },
		DeleteFunc: func(object any) {
			if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			a.forget(object.(client.Object))
		},
	})
	return err
}

func (s *Simulation) work(ctx context.Context) {
	for {
		next, shutdown := s.queue.Get()
		if shutdown {
			return
		}
		wait, err := next.actor.look(ctx, s, next.key)
		switch {
		case client.IgnoreNotFound(err) != nil && ctx.Err() == nil:
			s.queue.AddRateLimited(next)
		case wait > 0:
			s.queue.AddAfter(next, wait)
		default:
			s.queue.Forget(next)
		}
		s.queue.Done(next)
	}
}

// RunCronJob makes a Job of a CronJob as its schedule would, and gives it the outcome.
func (s *Simulation) RunCronJob(ctx context.Context, key client.ObjectKey, o Outcome) (*batchv1.Job, error) {
	cronJob := &batchv1.CronJob{}
	if err := s.client.Get(ctx, key, cronJob); err != nil {
		return nil, err
	}
	job := jobOf(cronJob, s.runs.Add(1))
	s.Jobs.For(job).Do(o)
	return job, s.client.Create(ctx, job)
}

func mariaDB(kind string) client.Object {
	return unstructuredOf(schema.GroupVersionKind{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: kind})
}

func externalSecrets(kind string) client.Object {
	return unstructuredOf(schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: kind})
}

func openBao(kind string) client.Object {
	return unstructuredOf(schema.GroupVersionKind{Group: "openbao.org", Version: "v1alpha1", Kind: kind})
}

func gateway(kind string) client.Object {
	return unstructuredOf(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: kind})
}

func unstructuredOf(gvk schema.GroupVersionKind) client.Object {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}
