// SPDX-License-Identifier: Apache-2.0

package api

// Defaults of a uWSGI server.
const (
	DefaultUWSGIProcesses int32 = 2
	DefaultUWSGIThreads   int32 = 1
)

// UWSGISpec tunes the uWSGI server of an API pod.
// +kubebuilder:validation:XValidation:rule="!has(self.httpKeepAliveTimeout) || !has(self.httpKeepAlive) || self.httpKeepAlive",message="httpKeepAliveTimeout needs httpKeepAlive"
type UWSGISpec struct {
	// Processes is the number of worker processes of a pod. Default 2. Processes
	// times threads is what a pod serves at once, and what the connection limit of
	// a managed database user is sized for.
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	// +optional
	Processes int32 `json:"processes,omitempty"`

	// Threads is the number of threads of a process. Default 1.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +optional
	Threads int32 `json:"threads,omitempty"`

	// HTTPKeepAlive lets clients reuse connections. Default true.
	// +optional
	HTTPKeepAlive *bool `json:"httpKeepAlive,omitempty"`

	// Harakiri is the time, in seconds, after which a request is aborted and its
	// worker replaced. Default: never. It must be below the time a stopping pod
	// has left, terminationGracePeriodSeconds minus preStopSleepSeconds.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Harakiri *int32 `json:"harakiri,omitempty"`

	// HTTPKeepAliveTimeout is the time, in seconds, an idle connection is kept.
	// Default: uWSGI's own. It conflicts with httpKeepAlive false.
	// +kubebuilder:validation:Minimum=1
	// +optional
	HTTPKeepAliveTimeout *int32 `json:"httpKeepAliveTimeout,omitempty"`
}

// WithDefaults returns a copy with the counts and the keep-alive filled in; nil counts as an empty block, and counts below one
// as unset.
func (s *UWSGISpec) WithDefaults() UWSGISpec {
	var out UWSGISpec
	if s != nil {
		s.DeepCopyInto(&out)
	}
	if out.Processes < 1 {
		out.Processes = DefaultUWSGIProcesses
	}
	if out.Threads < 1 {
		out.Threads = DefaultUWSGIThreads
	}
	if out.HTTPKeepAlive == nil {
		out.HTTPKeepAlive = new(true)
	}
	return out
}
