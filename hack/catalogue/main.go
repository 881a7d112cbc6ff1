// SPDX-License-Identifier: Apache-2.0

// Turns what oslo-config-generator prints as JSON into option catalogues: catalogue SERVICE FOLDER RELEASE=FILE...
//
// A release that has no file is written RELEASE=OLDER+NEWER, each of the two given before: it gets the union of them, less
// the options that are named behind it, RELEASE=OLDER+NEWER-section.option.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// generated is the part of the generator's output that matters here.
type generated struct {
	Options map[string]struct {
		Options []struct {
			Dest                 string
			DeprecatedForRemoval bool `json:"deprecated_for_removal"`
		} `json:"opts"`
	} `json:"options"`
	Deprecated map[string][]struct {
		Name             string
		ReplacementGroup string `json:"replacement_group"`
		ReplacementName  string `json:"replacement_name"`
	} `json:"deprecated_options"`
}

type catalogue struct {
	Service  string              `json:"service"`
	Release  string              `json:"release"`
	Note     string              `json:"note,omitempty"`
	Sections map[string]*section `json:"sections"`
}

type section struct {
	Options    []string          `json:"opts"`
	Deprecated map[string]string `json:"deprecated,omitempty"`
}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "catalogue:", err)
		os.Exit(1)
	}
}

func run(service, folder string, releases []string) error {
	made := map[string]*catalogue{}
	for _, argument := range releases {
		release, source, _ := strings.Cut(argument, "=")
		c, err := read(source, made)
		if err != nil {
			return fmt.Errorf("release %s: %w", release, err)
		}
		c.Service, c.Release = service, release
		made[release] = c
		text, err := json.MarshalIndent(c, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, release+".json"), append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func read(source string, made map[string]*catalogue) (*catalogue, error) {
	if older, rest, ok := strings.Cut(source, "+"); ok {
		newer, absent, _ := strings.Cut(rest, "-")
		if made[older] == nil || made[newer] == nil {
			return nil, fmt.Errorf("its neighbours %s and %s must come first", older, newer)
		}
		return union(made[older], made[newer], strings.Split(absent, ",")), nil
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return nil, err
	}
	var g generated
	if err := json.Unmarshal(text, &g); err != nil {
		return nil, fmt.Errorf("parsing %s: %w", source, err)
	}
	return g.catalogue(), nil
}

func (g generated) catalogue() *catalogue {
	c := &catalogue{Sections: map[string]*section{}}
	for name, options := range g.Options {
		for _, option := range options.Options {
			key := underscored(option.Dest)
			c.section(name).Options = append(c.section(name).Options, key)
			if option.DeprecatedForRemoval {
				c.section(name).Deprecated[key] = ""
			}
		}
	}
	for name, options := range g.Deprecated {
		for _, option := range options {
			replacement := underscored(option.ReplacementName)
			if option.ReplacementGroup != name {
				replacement = "[" + option.ReplacementGroup + "] " + replacement
			}
			key := underscored(option.Name)
			// Some options name themselves as their predecessor, spelt with dashes.
			if key != replacement {
				c.section(name).Deprecated[key] = replacement
			}
		}
	}
	return c.sorted()
}

func (c *catalogue) section(name string) *section {
	if c.Sections[name] == nil {
		c.Sections[name] = &section{Options: []string{}, Deprecated: map[string]string{}}
	}
	return c.Sections[name]
}

func (c *catalogue) sorted() *catalogue {
	for _, s := range c.Sections {
		slices.Sort(s.Options)
		s.Options = slices.Compact(s.Options)
	}
	return c
}

// union knows what either knows. An option is deprecated as in the newer, or as in the older if that is where it comes from.
func union(older, newer *catalogue, absent []string) *catalogue {
	absent = slices.DeleteFunc(absent, func(option string) bool { return option == "" })
	c := &catalogue{Note: fmt.Sprintf("Union of %s and %s: this release is not packaged.", older.Release, newer.Release)}
	if len(absent) > 0 {
		c.Note += " Known to be absent: " + strings.Join(absent, ", ") + "."
	}
	c.Sections = map[string]*section{}
	for _, neighbour := range []*catalogue{older, newer} {
		for name, s := range neighbour.Sections {
			into := c.section(name)
			into.Options = append(into.Options, s.Options...)
			maps.Copy(into.Deprecated, s.Deprecated)
		}
	}
	for _, option := range absent {
		name, key, _ := strings.Cut(option, ".")
		s := c.section(name)
		s.Options = slices.DeleteFunc(s.Options, func(option string) bool { return option == key })
		delete(s.Deprecated, key)
	}
	return c.sorted()
}

func underscored(name string) string {
	return strings.ReplaceAll(name, "-", "_")
}
