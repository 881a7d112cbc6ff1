// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/secrets"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

func policyMap(pairs ...string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "policy"}, Data: map[string]string{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		c.Data[pairs[i]] = pairs[i+1]
	}
	return c
}

// TestConfigError is about what cannot be rendered or stored. What runs goes on running.
func TestConfigError(t *testing.T) {
	t.Parallel()
	withPolicy := func(b *v1alpha1.Barbican) {
		b.Spec.PolicyOverrides = &api.PolicyOverrides{ConfigMapRef: &corev1.LocalObjectReference{Name: "policy"}}
	}
	option := func(section, key, value string) func(*v1alpha1.Barbican) {
		return func(b *v1alpha1.Barbican) { b.Spec.ExtraConfig = map[string]map[string]string{section: {key: value}} }
	}
	huge := map[string]string{}
	for i := range 5000 {
		huge[fmt.Sprintf("option_%d\n", i)] = "x"
	}
	for name, c := range map[string]struct {
		edit    func(*v1alpha1.Barbican)
		object  client.Object
		message string
	}{
		"no ConfigMap":        {withPolicy, nil, "ConfigMap policy"},
		"ConfigMap, no key":   {withPolicy, policyMap("policy.json", "{}"), "key policy.yaml of ConfigMap policy"},
		"ConfigMap, no rules": {withPolicy, policyMap("policy.yaml", ""), "key policy.yaml of ConfigMap policy"},
		"ConfigMap, no map":   {withPolicy, policyMap("policy.yaml", "- a"), "key policy.yaml of ConfigMap policy"},
		"ConfigMap, no text":  {withPolicy, policyMap("policy.yaml", "secrets:get: {a: b}"), "key policy.yaml of ConfigMap policy"},
		"a line break in a value": {
			option("DEFAULT", "x", "1\n[database]\nconnection = sqlite://"), nil, `spec.extraConfig[DEFAULT][x]`},
		"a refused option":       {option("vault_plugin", "root_token_id", "s.123"), nil, "root_token_id"},
		"a line break in a name": {func(b *v1alpha1.Barbican) { b.Spec.ServiceUser.Username = "a\rb" }, nil, "spec.serviceUser.username"},
		"no URL":                 {func(b *v1alpha1.Barbican) { b.Spec.KeystoneEndpoint = "http://%zz" }, nil, "spec.keystoneEndpoint"},
		"many and huge mistakes": {func(b *v1alpha1.Barbican) { b.Spec.ExtraConfig = map[string]map[string]string{"x": huge} }, nil, "spec.extraConfig"},
		"a filter without a name": {func(b *v1alpha1.Barbican) {
			b.Spec.Middleware = []api.Middleware{{FilterFactory: "a:b", Position: "before"}}
		}, nil, "spec.middleware"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			if c.object != nil {
				w.create(c.object)
			}
			w.ready()
			before := get(w, &appsv1.Deployment{}, "barbican")
			w.edit(c.edit)
			for range 2 {
				if _, err := w.reconcile(); err == nil {
					t.Error("the pass does not back off")
				}
			}
			w.expect("SecretsReady=False/ConfigError", "Ready=False/NotAllReady")
			got := message(w.barbican(), api.ConditionSecretsReady)
			if !strings.Contains(got, c.message) {
				t.Errorf("message %q lacks %q", got, c.message)
			}
			if len(got) > 16384 {
				t.Errorf("the message has %d characters", len(got))
			}
			if n := slices.Index(w.taken(), "status Barbican"); n != 0 {
				t.Errorf("the status was not the only write")
			}
			after := get(w, &appsv1.Deployment{}, "barbican")
			if after.ResourceVersion != before.ResourceVersion {
				t.Error("the Deployment was touched")
			}
		})
	}
}

func TestPolicyFromConfigMap(t *testing.T) {
	t.Parallel()
	w := begin(t, func(b *v1alpha1.Barbican) {
		b.Spec.PolicyOverrides = &api.PolicyOverrides{ConfigMapRef: &corev1.LocalObjectReference{Name: "policy"}}
	})
	w.create(policyMap("policy.yaml", "secrets:get: role:reader"))
	w.ready()
	mounted := func() string {
		return get(w, &appsv1.Deployment{}, "barbican").Spec.Template.Spec.Volumes[0].Secret.SecretName
	}
	first := mounted()
	w.put(policyMap("policy.yaml", "secrets:get: '!'"))
	w.pass()
	second := mounted()
	if got := string(get(w, &corev1.Secret{}, second).Data["policy.yaml"]); first == second || !strings.Contains(got, `"secrets:get": "!"`) {
		t.Errorf("pods mount %s after %s with the policy\n%s", second, first, got)
	}
}

// TestForeignConfiguration is R32: a name says what is in a Secret, or it is refused.
func TestForeignConfiguration(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*corev1.Secret)
		message string
	}{
		"other content": {func(s *corev1.Secret) { s.Data["barbican.conf"] = []byte("[DEFAULT]\n") }, "has other content than its name stands for"},
		"another key":   {func(s *corev1.Secret) { s.Data["more"] = []byte("x") }, "has other content than its name stands for"},
		"another owner": {func(s *corev1.Secret) { s.OwnerReferences[0].UID = "other" }, "is not controlled by"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			w.ready()
			volume := get(w, &appsv1.Deployment{}, "barbican").Spec.Template.Spec.Volumes[0]
			config := get(w, &corev1.Secret{}, volume.Secret.SecretName)
			w.remove(config)
			config.ResourceVersion = ""
			c.change(config)
			w.create(config)
			w.pass()
			w.expect("SecretsReady=False/ConfigError")
			if got := message(w.barbican(), api.ConditionSecretsReady); !strings.Contains(got, c.message) {
				t.Errorf("message %q lacks %q", got, c.message)
			}
		})
	}
}

func TestOldConfigurationsArePruned(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.ready()
	for i := range 8 {
		w.edit(func(b *v1alpha1.Barbican) {
			b.Spec.ExtraConfig = map[string]map[string]string{"quotas": {"quota_secrets": fmt.Sprint(i)}}
		})
		w.converge()
	}
	var all corev1.SecretList
	if err := w.live.List(t.Context(), &all, client.MatchingLabels{secrets.LabelBase: "barbican-config"}); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, s := range all.Items {
		names[s.Name] = true
	}
	used := get(w, &appsv1.Deployment{}, "barbican").Spec.Template.Spec.Volumes[0].Secret.SecretName
	first := syncOf(w).Spec.Template.Spec.Volumes[0].Secret.SecretName
	if len(names) != 4 || !names[used] {
		t.Errorf("%d configurations are left, the used one among them: %v", len(names), names[used])
	}
	if names[first] {
		t.Error("the one of a Job that has finished is left")
	}
}

// TestOverrides raises an event when what is overridden changes, and at no other time.
func TestOverrides(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.ready()
	w.expect("ExtraConfigHealthy=True/NoOwnedKeysOverridden")
	set := func(config map[string]map[string]string) {
		w.edit(func(b *v1alpha1.Barbican) { b.Spec.ExtraConfig = config })
		w.pass()
		w.pass()
	}
	set(map[string]map[string]string{"queue": {"enable": "true"}})
	w.expect("ExtraConfigHealthy=False/OwnedKeysOverridden", "SecretsReady=True/SecretsAvailable")
	w.expectEvents("Warning ExtraConfigOwnedKeyOverride")

	set(map[string]map[string]string{"queue": {"enable": "false"}}) // the same set
	w.expectEvents()

	set(map[string]map[string]string{"queue": {"enable": "true"}, "DEFAULT": {"host_href": "https://a"}})
	w.expectEvents("Warning ExtraConfigOwnedKeyOverride")
	if got := message(w.barbican(), api.ConditionExtraConfigHealthy); !strings.Contains(got, "host_href") || !strings.Contains(got, "enable") {
		t.Errorf("message is %q", got)
	}

	w.editStore("main", says(api.ConditionCredentialsReady, metav1.ConditionFalse, v1alpha1.ReasonInvalidCredentials))
	set(nil) // it is reported without a valid projection, too
	w.expect("ExtraConfigHealthy=True/NoOwnedKeysOverridden", "SecretStoresReady=False/NoDefaultSecretStore")
	w.converge()
	w.rollOut()
	if b := w.pass(); !strings.Contains(message(b, api.ConditionReady), "SecretStoresReady") || strings.Contains(message(b, api.ConditionReady), "ExtraConfig") {
		t.Errorf("Ready says %q", message(b, api.ConditionReady))
	}
}

// TestNoSecretInSight looks for secret values wherever they do not belong.
func TestNoSecretInSight(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.ready()
	w.events.events = nil
	w.pass()
	text := string(w.children()) + fmt.Sprintf("%+v", w.barbican()) + strings.Join(w.events.events, "\n") +
		w.configFile(get(w, &appsv1.Deployment{}, "barbican").Spec.Template)
	for _, value := range []string{"db-password", "keystone-password", pair.SecretID} {
		if strings.Contains(text, value) {
			t.Errorf("%q is in sight", value)
		}
	}
	if dsn := string(get(w, &corev1.Secret{}, "barbican-db-connection").Data["connection"]); !strings.Contains(dsn, "db-password") {
		t.Error("the test looks for the wrong values")
	}
}
