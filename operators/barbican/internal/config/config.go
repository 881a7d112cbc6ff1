// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/cobaltcore/common/admission"
	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/oslo"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// Directory is where pods mount the files, all of them in one.
const Directory = "/etc/barbican"

// Names of the files, as keys of the Secret and in Directory.
const (
	ConfFile   = "barbican.conf"
	PasteFile  = "barbican-api-paste.ini"
	LogFile    = oslo.LoggingFile
	PolicyFile = oslo.PolicyFile
)

// CABundle is the CA of the default store's server in pods that mount it.
const (
	CADirectory = "/etc/barbican-secret-store-ca"
	CABundle    = CADirectory + "/" + v1alpha1.CABundleKey
)

// Input is all that the files depend on.
type Input struct {
	Name     string                 // of the Barbican
	Spec     *v1alpha1.BarbicanSpec // read only
	Stores   []Store                // the ready key stores, sorted by name, exactly one of them the default
	Policy   map[string]string      // rules of spec.policyOverrides.configMapRef; those in the spec win
	Endpoint string                 // public address of the API
}

// Store is an attached key store that is ready for use.
type Store struct {
	Name      string
	Default   bool
	URL       string
	RoleID    string
	Mount     string
	Namespace string            // of the server, not of Kubernetes
	CA        bool              // a CA bundle is mounted at CABundle
	Options   map[string]string // spec.extraOptions
}

// Files is a rendered configuration. It may be shared: read only.
type Files struct {
	Base string // <barbican>-config, which all configurations of one Barbican share
	Name string // <base>-<hash of the content>
	Data map[string][]byte
}

// BaseName returns what the names of all configurations of a Barbican begin with.
func BaseName(barbican string) string { return barbican + "-config" }

// Endpoint returns the public address of an API, without a trailing slash: the gateway's, else the Service's.
func Endpoint(name, namespace string, gateway *api.GatewaySpec) string {
	if gateway != nil {
		return "https://" + gateway.Hostname
	}
	return "http://" + name + "." + namespace + ".svc.cluster.local:" + strconv.Itoa(int(v1alpha1.Port))
}

// Render writes the files. Equal input gives equal files and an equal name. It fails on input that Guard refuses, on a store
// that Store.Check refuses, and unless there is exactly one default store.
func Render(in Input) (Files, error) {
	if violations := Guard(in.Spec); len(violations) > 0 {
		return Files{}, admission.Readable(violations).ToAggregate()
	}
	conf, err := conf(in)
	if err != nil {
		return Files{}, err
	}
	paste, err := pasteFile(in.Spec.OpenStackRelease, in.Spec.Middleware)
	if err != nil {
		return Files{}, err
	}
	files := Files{Base: BaseName(in.Name), Data: map[string][]byte{ConfFile: conf, PasteFile: paste, LogFile: logging(in.Spec.Logging)}}
	if rules := in.rules(); len(rules) > 0 {
		if err := checkRules(rules); err != nil {
			return Files{}, err
		}
		files.Data[PolicyFile] = oslo.PolicyBytes(rules)
	}
	files.Name = files.Base + "-" + oslo.ContentHash(files.Data)
	return files, nil
}

// Check refuses a store whose values cannot stand in a file. The role ID comes from a Secret, which no webhook has seen.
func (s Store) Check() error {
	for _, value := range []setting{{key: "url", value: s.URL}, {key: "role ID", value: s.RoleID}, {key: "mount", value: s.Mount}, {key: "namespace", value: s.Namespace}} {
		if detail := oslo.ValueProblem(value.value); detail != "" {
			return fmt.Errorf("secret store %s: %s %s", s.Name, value.key, detail)
		}
	}
	if detail := oslo.SectionProblem(s.Name); detail != "" {
		return fmt.Errorf("secret store %q: its name %s", s.Name, detail)
	}
	violations := GuardOptions(field.NewPath("spec", "extraOptions"), s.Options)
	if len(violations) > 0 {
		return fmt.Errorf("secret store %s: %w", s.Name, admission.Readable(violations).ToAggregate())
	}
	return nil
}

func (in Input) rules() map[string]string {
	if in.Spec.PolicyOverrides == nil {
		return nil
	}
	if len(in.Policy) == 0 {
		return in.Spec.PolicyOverrides.Rules
	}
	rules := maps.Clone(in.Policy)
	maps.Copy(rules, in.Spec.PolicyOverrides.Rules)
	return rules
}

func checkRules(rules map[string]string) error {
	for name, rule := range rules {
		if detail := oslo.RuleProblem(name, rule); detail != "" {
			return fmt.Errorf("policy rule %q %s", name, detail)
		}
	}
	return nil
}

func logging(spec *api.LoggingSpec) []byte {
	effective := spec.WithDefaults()
	level := effective.Level
	if *effective.Debug {
		// oslo.log's debug mode has no say in the level once a logging configuration file is used.
		level = api.LogDebug
	}
	return oslo.Logging{Level: string(level), JSON: effective.Format == api.JSONLog, Loggers: effective.PerLoggerLevels}.Bytes()
}
