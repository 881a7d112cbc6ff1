// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"embed"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed crds/*.yaml
var crdFiles embed.FS

// CRDs returns the stubs of the third-party CRDs except those of the given API groups. They hold the fields that are read or
// written here, under the names, defaults and list types of the originals.
func CRDs(withoutGroups ...string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	entries, err := crdFiles.ReadDir("crds")
	if err != nil {
		return nil, err
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, entry := range entries {
		text, err := crdFiles.ReadFile("crds/" + entry.Name())
		if err != nil {
			return nil, err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			return nil, fmt.Errorf("parsing stub %s: %w", entry.Name(), err)
		}
		if !slices.Contains(withoutGroups, crd.Spec.Group) {
			crds = append(crds, crd)
		}
	}
	return crds, nil
}
