// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/cobaltcore/common/oslo"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1/catalogs"
)

// Catalogues returns the option catalogues that are built in.
var Catalogues = sync.OnceValue(func() oslo.Catalogues {
	catalogues, err := oslo.LoadCatalogues(catalogs.Files)
	if err != nil {
		panic(err)
	}
	return catalogues
})

var releaseName = regexp.MustCompile(`^\d{4}\.[12](-.*)?$`)

// CheckOptions compares spec.extraConfig with what a release knows: unknown names are violations, deprecated ones warnings. A
// release without a catalogue gets one warning and no check.
func CheckOptions(path *field.Path, release string, extraConfig map[string]map[string]string) (field.ErrorList, []string) {
	catalogue := Catalogues().For(release)
	if catalogue == nil {
		return nil, []string{missingCatalogue(release)}
	}
	found := catalogue.Check(extraConfig, oslo.Exempt{Section: isStoreSection, Owned: Owned})
	var violations field.ErrorList
	for _, section := range found.UnknownSections {
		detail := "Barbican " + release + " has no such section"
		violations = append(violations, field.Invalid(path, section, detail))
	}
	for _, option := range found.UnknownOptions {
		detail := fmt.Sprintf("section [%s] of Barbican %s has no such option", option.Section, release)
		violations = append(violations, field.Invalid(path.Key(option.Section), option.Key, detail))
	}
	var warnings []string
	for _, deprecated := range found.Deprecated {
		warnings = append(warnings, deprecation(path, release, deprecated))
	}
	return violations, warnings
}

// Warnings tells the author of sections that a credential will stand in plain sight.
func Warnings(path *field.Path, sections map[string]map[string]string) []string {
	var warnings []string
	for _, option := range oslo.PlainSight(sections, Credentials) {
		warnings = append(warnings, fmt.Sprintf("%s: %s carries a credential, which will stand in the custom resource and in a file that every pod mounts", path, option))
	}
	return warnings
}

func isStoreSection(section string) bool { return strings.HasPrefix(section, storeSection) }

func missingCatalogue(release string) string {
	if !releaseName.MatchString(release) {
		return fmt.Sprintf("%q is not a release: option names in spec.extraConfig are not checked", release)
	}
	return fmt.Sprintf("no option catalogue for release %s is built in: option names in spec.extraConfig are not checked", release)
}

func deprecation(path *field.Path, release string, found oslo.Deprecation) string {
	text := fmt.Sprintf("%s: %s is deprecated in Barbican %s", path, found.Option, release)
	if found.Replacement == "" {
		return text + " and has no replacement"
	}
	return text + "; use " + found.Replacement
}
