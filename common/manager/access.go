// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	accessTimeout = 10 * time.Second
	// accessHolds is how long a permission that was withdrawn still counts.
	accessHolds = time.Minute
	// accessKept bounds the permissions that are remembered; far fewer scrapers are expected.
	accessKept = 64
)

// onlyAllowed is a filter that asks the API server who calls and whether he may. The one of controller-runtime does the
// same with the API server's own libraries, which would make up a third of the operator's memory.
func onlyAllowed(config *rest.Config, http *http.Client) (metricsserver.Filter, error) {
	c, err := client.New(config, client.Options{HTTPClient: http})
	if err != nil {
		return nil, err
	}
	a := &access{client: c, until: map[permission]time.Time{}}
	return a.filter, nil
}

// access remembers for a while who may do what.
type access struct {
	client client.Client
	mu     sync.Mutex
	until  map[permission]time.Time
}

// permission is a token, which is not kept as such, and what it is good for.
type permission struct {
	token      [sha256.Size]byte
	verb, path string
}

func (a *access) filter(log logr.Logger, next http.Handler) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, err := a.check(r)
		switch {
		case err != nil:
			log.Error(err, "Asking who calls")
			http.Error(w, "the API server did not tell who you are", http.StatusInternalServerError)
		case status != http.StatusOK:
			http.Error(w, http.StatusText(status), status)
		default:
			next.ServeHTTP(w, r)
		}
	}), nil
}

func (a *access) check(r *http.Request) (status int, err error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return http.StatusUnauthorized, nil
	}
	wanted := permission{token: sha256.Sum256([]byte(token)), verb: strings.ToLower(r.Method), path: r.URL.Path}
	if a.known(wanted) {
		return http.StatusOK, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), accessTimeout)
	defer cancel()
	who := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := a.client.Create(ctx, who); err != nil {
		return 0, err
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	review := accessReview(who.Status.User, wanted)
	if err := a.client.Create(ctx, review); err != nil {
		return 0, err
	}
	if !review.Status.Allowed {
		return http.StatusForbidden, nil
	}
	a.remember(wanted)
	return http.StatusOK, nil
}

func accessReview(user authenticationv1.UserInfo, wanted permission) *authorizationv1.SubjectAccessReview {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, Groups: user.Groups, UID: user.UID, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: wanted.verb, Path: wanted.path},
	}}
}

func (a *access) known(p permission) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Now().Before(a.until[p])
}

func (a *access) remember(p permission) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.until) >= accessKept {
		clear(a.until)
	}
	a.until[p] = time.Now().Add(accessHolds)
}
