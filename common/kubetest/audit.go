// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// A watch is logged when it starts, everything else when it is answered. The server's own requests are left out.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ["system:apiserver"]
- level: None
  nonResourceURLs: ["*"]
- level: Metadata
`

// auditLog reads the server's log onwards from where it stopped.
type auditLog struct {
	file *os.File
	rest *bufio.Reader
	part []byte // a line that is being written
	seen map[string]struct{}
}

func newAuditLog(dir string, flags *envtest.Arguments) (*auditLog, error) {
	policy, path := filepath.Join(dir, "audit-policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return nil, err
	}
	flags.Set("audit-policy-file", policy).
		Set("audit-log-path", path).
		Set("audit-log-mode", "blocking"). // an answered request is in the log
		Set("audit-log-maxsize", "100000") // megabytes: a rotated file would be lost to the count
	return &auditLog{file: file, rest: bufio.NewReaderSize(file, 1<<20), seen: map[string]struct{}{}}, nil
}

type auditEvent struct {
	AuditID   string `json:"auditID"`
	Verb      string `json:"verb"`
	UserAgent string `json:"userAgent"`
	ObjectRef struct {
		Resource, Subresource, Namespace, Name string
		APIGroup                               string `json:"apiGroup"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// Requests returns every request that the API server has answered since the last call, from its audit log (Options.Audit).
func (e *Environment) Requests() (Requests, error) {
	if e.audit == nil {
		return nil, errors.New("reading the audit log: the environment was started without Options.Audit")
	}
	return e.audit.next()
}

func (a *auditLog) next() (Requests, error) {
	var requests Requests
	for {
		line, err := a.rest.ReadBytes('\n')
		a.part = append(a.part, line...)
		if errors.Is(err, io.EOF) {
			return requests, nil
		}
		if err != nil {
			return requests, fmt.Errorf("reading the audit log: %w", err)
		}
		var event auditEvent
		if err := json.Unmarshal(a.part, &event); err != nil {
			return requests, fmt.Errorf("parsing the audit log: %w", err)
		}
		a.part = a.part[:0]
		if a.again(event) {
			continue
		}
		requests = append(requests, event.request())
	}
}

// again tells the end of a watch, whose start was counted.
func (a *auditLog) again(event auditEvent) bool {
	if event.Verb != "watch" {
		return false
	}
	_, seen := a.seen[event.AuditID]
	a.seen[event.AuditID] = struct{}{}
	return seen
}

func (e auditEvent) request() Request {
	resource := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	return Request{
		UserAgent: e.UserAgent, Verb: e.Verb, Group: e.ObjectRef.APIGroup, Resource: resource,
		Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name, Code: e.ResponseStatus.Code,
	}
}
