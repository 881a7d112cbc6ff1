// SPDX-License-Identifier: Apache-2.0

package oslo

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Catalogue lists the options that one release of a service knows.
type Catalogue struct {
	Service  string                      `json:"service"`
	Release  string                      `json:"release"`
	Note     string                      `json:"note,omitempty"` // how the list came about when not from the release itself
	Sections map[string]CatalogueSection `json:"sections"`
}

// CatalogueSection lists the options of a section, sorted, and those among the accepted names that are deprecated.
type CatalogueSection struct {
	Options    []string          `json:"opts"`
	Deprecated map[string]string `json:"deprecated,omitempty"` // old name -> replacement, "" when there is none
}

// Catalogues holds a service's catalogues by release, YYYY.N.
type Catalogues map[string]*Catalogue

// LoadCatalogues reads every *.json of a file system, usually an embedded one.
func LoadCatalogues(files fs.FS) (Catalogues, error) {
	names, err := fs.Glob(files, "*.json")
	if err != nil {
		return nil, fmt.Errorf("listing catalogues: %w", err)
	}
	catalogues := make(Catalogues, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading catalogue: %w", err)
		}
		var catalogue Catalogue
		if err := json.Unmarshal(text, &catalogue); err != nil {
			return nil, fmt.Errorf("parsing catalogue %s: %w", name, err)
		}
		if catalogue.Release+".json" != name || len(catalogue.Sections) == 0 {
			return nil, fmt.Errorf("catalogue %s is for release %q with %d sections", name, catalogue.Release, len(catalogue.Sections))
		}
		catalogues[catalogue.Release] = &catalogue
	}
	return catalogues, nil
}

// For returns the catalogue of a release, whose patch suffix does not matter, or nil when there is none.
func (c Catalogues) For(release string) *Catalogue {
	release, _, _ = strings.Cut(release, "-")
	return c[release]
}

// Exempt says which names a catalogue does not know and need not know. Both fields may be nil.
type Exempt struct {
	Section func(section string) bool
	Owned   OwnedKeys
}

// Findings is what a catalogue says about a user's sections. Each list is sorted.
type Findings struct {
	UnknownSections []string
	UnknownOptions  []Option
	Deprecated      []Deprecation
}

// Deprecation is an option that still works. Replacement is empty when there is none.
type Deprecation struct {
	Option
	Replacement string
}

// Check compares a user's sections with the catalogue.
func (c *Catalogue) Check(sections map[string]map[string]string, exempt Exempt) Findings {
	var found Findings
	for _, name := range sortedKeys(sections) {
		if exempt.Section != nil && exempt.Section(SectionName(name)) {
			continue
		}
		known, ok := c.Sections[SectionName(name)]
		if !ok {
			found.unknownSection(name, sections[name], exempt)
			continue
		}
		for _, key := range sortedKeys(sections[name]) {
			found.option(Option{Section: name, Key: key}, known, exempt)
		}
	}
	return found
}

// unknownSection accepts a section that holds owned options and nothing else: the service knows it.
func (f *Findings) unknownSection(name string, options map[string]string, exempt Exempt) {
	for key := range options {
		if _, owned := exempt.Owned.Lookup(name, key); !owned {
			f.UnknownSections = append(f.UnknownSections, name)
			return
		}
	}
	if len(options) == 0 {
		f.UnknownSections = append(f.UnknownSections, name)
	}
}

func (f *Findings) option(option Option, known CatalogueSection, exempt Exempt) {
	if _, owned := exempt.Owned.Lookup(option.Section, option.Key); owned {
		return
	}
	if replacement, ok := known.Deprecated[option.Key]; ok {
		f.Deprecated = append(f.Deprecated, Deprecation{Option: option, Replacement: replacement})
		return
	}
	if _, ok := slices.BinarySearch(known.Options, option.Key); !ok {
		f.UnknownOptions = append(f.UnknownOptions, option)
	}
}
