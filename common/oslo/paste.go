// SPDX-License-Identifier: Apache-2.0

package oslo

import (
	"errors"
	"fmt"
	"strings"
)

// FactoryKey names the factory of a filter in a paste file.
const FactoryKey = "paste.filter_factory"

// Positions of a filter, seen from the filters of the service itself.
const (
	Before = "before"
	After  = "after"
)

// Filter is a WSGI filter that a user adds to a pipeline.
type Filter struct {
	Name, Factory, Position string
	Config                  map[string]string
}

// Pipeline returns the value of a pipeline: the filters placed before, the base, the filters placed after, the application.
// It fails on filters that PasteDeploy would not load or would take for something else.
func Pipeline(base, application string, filters ...Filter) (string, error) {
	if strings.TrimSpace(application) == "" {
		return "", errors.New("a pipeline needs an application")
	}
	var before, after strings.Builder
	for i, filter := range filters {
		if err := filter.check(filters[:i]); err != nil {
			return "", err
		}
		if filter.Position == Before {
			before.WriteString(filter.Name + " ")
		} else {
			after.WriteString(filter.Name + " ")
		}
	}
	if base != "" {
		base += " "
	}
	return before.String() + base + after.String() + application, nil
}

// AddFilter writes the section of a filter. A factory among the configuration is ignored: Factory is the one.
func (d *Document) AddFilter(filter Filter) {
	section := "filter:" + filter.Name
	for key, value := range filter.Config {
		d.Set(section, key, value)
	}
	d.Set(section, FactoryKey, filter.Factory)
}

func (f Filter) check(others []Filter) error {
	switch {
	case strings.TrimSpace(f.Name) == "":
		return errors.New("a middleware needs a name")
	case strings.TrimSpace(f.Factory) == "":
		return fmt.Errorf("middleware %q needs a filter factory", f.Name)
	case SectionProblem(f.Name) != "" || strings.Contains(f.Name, " "):
		return fmt.Errorf("middleware name %q must be one word of printable ASCII characters without brackets", f.Name)
	case ValueProblem(f.Factory) != "":
		return fmt.Errorf("filter factory of middleware %q %s", f.Name, ValueProblem(f.Factory))
	case f.Position != Before && f.Position != After:
		return fmt.Errorf("position of middleware %q must be %s or %s", f.Name, Before, After)
	}
	for _, other := range others {
		if other.Name == f.Name {
			return fmt.Errorf("middleware %q is listed twice", f.Name)
		}
	}
	return f.checkConfig()
}

func (f Filter) checkConfig() error {
	for _, problem := range OptionProblems(f.Name, f.Config) {
		return fmt.Errorf("configuration %q of middleware %q: %s", problem.Key, f.Name, problem.Detail)
	}
	for _, key := range sortedKeys(f.Config) {
		if value := f.Config[key]; strings.TrimSpace(value) != value {
			return fmt.Errorf("configuration %q of middleware %q must not begin or end with white space", key, f.Name)
		}
	}
	return nil
}
