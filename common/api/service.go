// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// Defaults of a service user, its user name aside.
const (
	DefaultServiceProject  = "service"
	DefaultIdentityDomain  = "Default"
	DefaultPasswordDataKey = "password"
)

// ServiceUserSpec is the Keystone account with which a service validates
// tokens.
type ServiceUserSpec struct {
	// Username of the account. Default: the name of the service, for example
	// barbican.
	// +kubebuilder:validation:XValidation:rule=`!self.matches('\\p{Cc}')`,message="must not contain control characters"
	// +optional
	Username string `json:"username,omitempty"`

	// ProjectName of the account. Default service.
	// +kubebuilder:validation:XValidation:rule=`!self.matches('\\p{Cc}')`,message="must not contain control characters"
	// +optional
	ProjectName string `json:"projectName,omitempty"`

	// UserDomainName is the domain of the user. Default Default.
	// +kubebuilder:validation:XValidation:rule=`!self.matches('\\p{Cc}')`,message="must not contain control characters"
	// +optional
	UserDomainName string `json:"userDomainName,omitempty"`

	// ProjectDomainName is the domain of the project. Default Default.
	// +kubebuilder:validation:XValidation:rule=`!self.matches('\\p{Cc}')`,message="must not contain control characters"
	// +optional
	ProjectDomainName string `json:"projectDomainName,omitempty"`

	// SecretRef names the Secret that holds the password, under the key password
	// unless key says otherwise.
	SecretRef SecretRef `json:"secretRef"`
}

// WithDefaults returns a copy with every empty member filled in; username is the service's own default.
func (s ServiceUserSpec) WithDefaults(username string) ServiceUserSpec {
	return ServiceUserSpec{
		Username:          cmp.Or(s.Username, username),
		ProjectName:       cmp.Or(s.ProjectName, DefaultServiceProject),
		UserDomainName:    cmp.Or(s.UserDomainName, DefaultIdentityDomain),
		ProjectDomainName: cmp.Or(s.ProjectDomainName, DefaultIdentityDomain),
		SecretRef:         SecretRef{Name: s.SecretRef.Name, Key: cmp.Or(s.SecretRef.Key, DefaultPasswordDataKey)},
	}
}

// LogFormat is the shape of a log line.
// +kubebuilder:validation:Enum=text;json
type LogFormat string

// The log formats.
const (
	TextLog LogFormat = "text"
	JSONLog LogFormat = "json"
)

// LogLevel is the lowest severity that is logged.
// +kubebuilder:validation:Enum=DEBUG;INFO;WARNING;ERROR;CRITICAL
type LogLevel string

// The log levels, most talkative first.
const (
	LogDebug    LogLevel = "DEBUG"
	LogInfo     LogLevel = "INFO"
	LogWarning  LogLevel = "WARNING"
	LogError    LogLevel = "ERROR"
	LogCritical LogLevel = "CRITICAL"
)

// LogLevels lists every level.
func LogLevels() []LogLevel { return []LogLevel{LogDebug, LogInfo, LogWarning, LogError, LogCritical} }

// LoggingSpec sets what a service logs and how; it logs to standard error.
type LoggingSpec struct {
	// Format of a log line: text (default) or json.
	// +kubebuilder:default=text
	// +optional
	Format LogFormat `json:"format,omitempty"`

	// Level of the root logger. Default INFO.
	// +kubebuilder:default=INFO
	// +optional
	Level LogLevel `json:"level,omitempty"`

	// Debug turns on the debug mode of oslo.log, which logs far more than level
	// DEBUG and may show request bodies. Default false.
	// +optional
	Debug *bool `json:"debug,omitempty"`

	// PerLoggerLevels sets the level of single loggers, by their Python name.
	// Example: {"sqlalchemy.engine": "WARNING"}.
	// +kubebuilder:validation:MaxProperties=128
	// +kubebuilder:validation:XValidation:rule="self.all(name, name != '')",message="logger names must not be empty"
	// +kubebuilder:validation:XValidation:rule="self.all(name, self[name] in ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'])",message="levels must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL"
	// +optional
	PerLoggerLevels map[string]string `json:"perLoggerLevels,omitempty"`
}

// WithDefaults returns a copy with format, level and debug filled in; nil counts as an empty block.
func (s *LoggingSpec) WithDefaults() LoggingSpec {
	var out LoggingSpec
	if s != nil {
		s.DeepCopyInto(&out)
	}
	out.Format = cmp.Or(out.Format, TextLog)
	out.Level = cmp.Or(out.Level, LogInfo)
	if out.Debug == nil {
		out.Debug = new(false)
	}
	return out
}

// PolicyOverrides changes rules of oslo.policy.
// +kubebuilder:validation:XValidation:rule="(has(self.rules) && size(self.rules) > 0) || has(self.configMapRef)",message="rules or configMapRef must be set"
type PolicyOverrides struct {
	// Rules by name. They win over the ConfigMap. Example: {"secrets:get":
	// "role:admin"}.
	// +kubebuilder:validation:MaxProperties=512
	// +kubebuilder:validation:XValidation:rule="self.all(name, name != \"\")",message="rule names must not be empty"
	// +kubebuilder:validation:XValidation:rule="self.all(name, self[name] != \"\")",message="rules must not be empty"
	// +optional
	Rules map[string]string `json:"rules,omitempty"`

	// ConfigMapRef names a ConfigMap of this namespace whose key policy.yaml maps
	// rule names to rules.
	// +optional
	ConfigMapRef *corev1.LocalObjectReference `json:"configMapRef,omitempty"`
}

// MiddlewarePosition places a filter in the paste pipeline.
// +kubebuilder:validation:Enum=before;after
type MiddlewarePosition string

// The positions, seen from the service's own filters.
const (
	MiddlewareBefore MiddlewarePosition = "before"
	MiddlewareAfter  MiddlewarePosition = "after"
)

// Middleware is a WSGI filter added to the authenticated pipeline.
type Middleware struct {
	// Name of the filter, unique in the list. It becomes the section
	// [filter:<name>] of the paste file.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// FilterFactory is the Python factory, module:function. Example:
	// oslo_middleware.sizelimit:RequestBodySizeLimiter.factory.
	FilterFactory string `json:"filterFactory"`

	// Position is before all of the service's own filters, or after them, next to
	// the application.
	Position MiddlewarePosition `json:"position"`

	// Config holds further keys of the section. A key paste.filter_factory is
	// ignored.
	// +optional
	Config map[string]string `json:"config,omitempty"`
}

// Plugin adds a section to the configuration of a service.
type Plugin struct {
	// Name of the plugin, for the reader.
	Name string `json:"name"`

	// ConfigSection is the section the options go to, unique in the list. What the
	// operator sets itself wins over them.
	ConfigSection string `json:"configSection"`

	// Config holds the options of the section.
	// +optional
	Config map[string]string `json:"config,omitempty"`
}
