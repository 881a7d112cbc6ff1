// SPDX-License-Identifier: Apache-2.0

// Every reason, event and metric that users may rely on occurs in a test.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/c5c3/cobaltcore/hack/internal/vocabulary"
)

func main() {
	untested, promised, err := check(os.Args[1])
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case len(untested) > 0:
		for _, name := range untested {
			fmt.Fprintln(os.Stderr, "in no test:", name)
		}
		os.Exit(1)
	}
	fmt.Printf("%d reasons, events and metrics occur in tests\n", promised)
}

// check returns what no test under root mentions, and how many names it looked for.
func check(root string) (untested []string, promised int, err error) {
	terms, err := terms(root)
	if err != nil {
		return nil, 0, err
	}
	metrics, err := documentedMetrics(filepath.Join(root, "docs", "reference", "metrics.md"))
	if err != nil {
		return nil, 0, err
	}
	mentions, err := readTests(root)
	if err != nil {
		return nil, 0, err
	}
	for _, term := range terms {
		if !mentions.identifiers[term.Identifier] && !mentions.inLiteral(term.Value) {
			untested = append(untested, fmt.Sprintf("%s (%q)", term.Identifier, term.Value))
		}
	}
	for _, metric := range metrics {
		if !mentions.inLiteral(metric) {
			untested = append(untested, metric)
		}
	}
	return untested, len(terms) + len(metrics), nil
}

func terms(root string) ([]vocabulary.Term, error) {
	files, err := vocabulary.Files(root)
	if err != nil {
		return nil, err
	}
	var terms []vocabulary.Term
	for _, file := range files {
		groups, err := vocabulary.Parse(file, nil)
		if err != nil {
			return nil, err
		}
		for _, group := range groups {
			terms = append(terms, slices.Concat(group.Reasons, group.Events)...)
		}
	}
	return terms, nil
}

var metricRow = regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)")

// documentedMetrics returns the names in the first column of the tables of the metrics page: what is documented is promised.
func documentedMetrics(page string) ([]string, error) {
	content, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, match := range metricRow.FindAllSubmatch(content, -1) {
		names = append(names, string(match[1]))
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s names no metric", page)
	}
	return names, nil
}
