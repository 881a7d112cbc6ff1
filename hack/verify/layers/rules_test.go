// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	const barbican = project + "operators/barbican"
	for name, c := range map[string]struct {
		p    listed
		want string // part of the only complaint, empty for none
	}{
		"down a layer":                {listed{ImportPath: common + "reconcile", Imports: []string{common + "apply"}}, ""},
		"up a layer":                  {listed{ImportPath: common + "apply", Imports: []string{common + "reconcile"}}, "may not import"},
		"sideways":                    {listed{ImportPath: common + "secrets", Imports: []string{common + "job"}}, "may not import"},
		"sideways and meant":          {listed{ImportPath: common + "database", Imports: []string{common + "job"}}, ""},
		"below a listed package":      {listed{ImportPath: common + "oslo/policy", Imports: []string{common + "oslo"}}, ""},
		"the longest name decides":    {listed{ImportPath: common + "reconcile/release", Imports: []string{common + "reconcile"}}, "may not import"},
		"a package without layer":     {listed{ImportPath: common + "util"}, "has no layer"},
		"common knows no operator":    {listed{ImportPath: common + "job", Imports: []string{barbican + "/api/v1alpha1"}}, "knows no operator"},
		"weight at home":              {listed{ImportPath: common + "database", Imports: []string{"github.com/mariadb-operator/mariadb-operator/api/v1alpha1"}}, ""},
		"weight elsewhere":            {listed{ImportPath: barbican, Imports: []string{"sigs.k8s.io/gateway-api/apis/v1"}}, "may be imported by"},
		"a longer module name":        {listed{ImportPath: common + "job", Imports: []string{"sigs.k8s.io/gateway-api-other/x"}}, ""},
		"a version suffix":            {listed{ImportPath: common + "job", Imports: []string{"github.com/openbao/openbao/api/v2"}}, "may be imported by"},
		"weight reached":              {listed{ImportPath: common + "reconcile", Deps: []string{"sigs.k8s.io/multicluster-runtime/pkg/manager"}}, "reaches"},
		"a client in layer 0":         {listed{ImportPath: common + "naming", Deps: []string{"sigs.k8s.io/controller-runtime/pkg/client"}}, "reaches"},
		"a client in an API":          {listed{ImportPath: barbican + "/api/v1alpha1", Deps: []string{"k8s.io/client-go/rest"}}, "reaches"},
		"test tools in the operator":  {listed{ImportPath: barbican, Imports: []string{common + "kubetest"}}, "is for tests"},
		"test tools in the demo":      {listed{ImportPath: barbican + "/demo", Imports: []string{common + "kubetest"}}, ""},
		"test tools among themselves": {listed{ImportPath: common + "kubetest/openbao", Imports: []string{common + "kubetest"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := check([]listed{c.p})
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("unexpected complaint: %v", got)
			case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
				t.Errorf("got %q, want one complaint with %q", got, c.want)
			}
		})
	}
}

func TestDecodeRefusesGarbage(t *testing.T) {
	t.Parallel()
	if _, err := decode(strings.NewReader(`{"ImportPath":"a"}{`)); err == nil {
		t.Error("want an error for a truncated list")
	}
}
