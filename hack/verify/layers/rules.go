// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

const (
	project = "github.com/c5c3/cobaltcore/"
	common  = project + "common/"
)

// layers are the packages of common from the bottom up. A package below a listed one belongs to it.
var layers = [][]string{
	{"api", "naming", "oslo", "observe"},
	{"apply", "watch", "admission"},
	{"reconcile", "reconcile/release", "reconcile/probe", "reconcile/target"},
	{"secrets", "job", "database", "workload", "network"},
	{"clusters", "manager", "kubetest"},
}

// sideways are the imports within a layer that are meant.
var sideways = map[string][]string{
	"database":        {"job"},
	"reconcile":       {"reconcile/target"},
	"reconcile/probe": {"reconcile"},
	"manager":         {"clusters"},
}

// homes are the only packages that may import a heavy third-party module.
var homes = []struct {
	module string
	users  []string
}{
	{"sigs.k8s.io/multicluster-runtime", []string{"common/clusters", "common/watch", "common/manager"}},
	{"github.com/mariadb-operator/mariadb-operator", []string{"common/database"}},
	{"sigs.k8s.io/gateway-api", []string{"common/network"}},
	{"github.com/openbao/openbao/api", []string{"operators/barbican/internal/openbao"}},
}

// without says what may not be reached from a package, however indirectly.
var without = []struct {
	packages  []string
	forbidden []string
	why       string
}{
	{
		[]string{"common/api", "common/naming", "common/oslo", "common/observe"},
		[]string{"sigs.k8s.io/controller-runtime/pkg/client", "k8s.io/client-go/rest"},
		"layer 0 holds values and needs no client",
	},
	{
		[]string{"common/reconcile", "common/apply"},
		[]string{"sigs.k8s.io/multicluster-runtime", "github.com/mariadb-operator", "sigs.k8s.io/gateway-api"},
		"the engine is free of the weight of building blocks",
	},
	{
		[]string{"operators/*/api"},
		[]string{"sigs.k8s.io/controller-runtime", "k8s.io/client-go", common + "reconcile", common + "apply"},
		"an API package imports common/api and apimachinery only",
	},
}

// testOnly packages are imported by tests, demos and benchmarks alone.
var testOnly = "kubetest"

func check(packages []listed) []string {
	var complaints []string
	for _, p := range packages {
		complaints = append(complaints, checkLayer(p)...)
		complaints = append(complaints, checkHomes(p)...)
		complaints = append(complaints, checkReach(p)...)
	}
	return complaints
}

// checkLayer holds the imports of a package of common against the layers.
func checkLayer(p listed) []string {
	path, inCommon := strings.CutPrefix(p.ImportPath, common)
	importer, layer := home(path)
	if inCommon && layer < 0 {
		return []string{p.ImportPath + ": has no layer yet, see hack/verify/layers/rules.go"}
	}
	var complaints []string
	for _, imported := range p.Imports {
		target, ok := strings.CutPrefix(imported, common)
		if !ok {
			if inCommon && strings.HasPrefix(imported, project) {
				complaints = append(complaints, fmt.Sprintf("%s: common knows no operator, but imports %s", p.ImportPath, imported))
			}
			continue
		}
		name, below := home(target)
		switch {
		case name == testOnly && importer != testOnly && !strings.Contains(p.ImportPath, "/demo"):
			complaints = append(complaints, fmt.Sprintf("%s: %s is for tests", p.ImportPath, imported))
		case inCommon && name != importer && below >= layer && !slices.Contains(sideways[importer], name):
			complaints = append(complaints, fmt.Sprintf("%s (layer %d): may not import %s (layer %d)", p.ImportPath, layer, imported, below))
		}
	}
	return complaints
}

// home returns the listed package that a path of common belongs to, and its layer; -1 when there is none.
func home(path string) (name string, layer int) {
	layer = -1
	for i, packages := range layers {
		for _, listed := range packages {
			if within(path, listed) && len(listed) > len(name) {
				name, layer = listed, i
			}
		}
	}
	return name, layer
}

func checkHomes(p listed) []string {
	var complaints []string
	for _, h := range homes {
		if slices.ContainsFunc(h.users, func(user string) bool { return within(p.ImportPath, project+user) }) {
			continue
		}
		for _, imported := range p.Imports {
			if within(imported, h.module) {
				complaints = append(complaints, fmt.Sprintf("%s: %s may be imported by %v only", p.ImportPath, imported, h.users))
			}
		}
	}
	return complaints
}

func checkReach(p listed) []string {
	var complaints []string
	for _, rule := range without {
		if !slices.ContainsFunc(rule.packages, func(pattern string) bool { return matches(p.ImportPath, project+pattern) }) {
			continue
		}
		for _, forbidden := range rule.forbidden {
			if i := slices.IndexFunc(p.Deps, func(dep string) bool { return within(dep, forbidden) }); i >= 0 {
				complaints = append(complaints, fmt.Sprintf("%s: reaches %s, but %s", p.ImportPath, p.Deps[i], rule.why))
			}
		}
	}
	return complaints
}

// within reports whether path is parent or below it; a version suffix such as /v2 is below.
func within(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// matches is within for a pattern in which * stands for one element.
func matches(path, pattern string) bool {
	elements, want := strings.Split(path, "/"), strings.Split(pattern, "/")
	if len(elements) < len(want) {
		return false
	}
	for i, w := range want {
		if w != "*" && w != elements[i] {
			return false
		}
	}
	return true
}
