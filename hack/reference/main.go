// SPDX-License-Identifier: Apache-2.0

// Writes the tables of docs/reference between their markers, from the constants' documentation: reference ROOT.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/c5c3/cobaltcore/hack/internal/vocabulary"
)

func main() {
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(root string) error {
	files, err := vocabulary.Files(root)
	if err != nil {
		return err
	}
	page := filepath.Join(root, "docs", "reference", "conditions.md")
	content, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	filled := string(content)
	for _, file := range files {
		groups, err := vocabulary.Parse(file, nil)
		if err != nil {
			return err
		}
		if filled, err = fill(filled, marker(root, file), sections(groups)); err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
	}
	return os.WriteFile(page, []byte(filled), 0o644)
}

// marker is the folder of the API package, relative to root.
func marker(root, file string) string {
	relative, err := filepath.Rel(root, filepath.Dir(file))
	if err != nil {
		return file
	}
	return filepath.ToSlash(relative)
}

// fill replaces what stands between the two markers of name.
func fill(page, name, content string) (string, error) {
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->"
	before, rest, ok := strings.Cut(page, begin)
	if !ok {
		return "", fmt.Errorf("no marker %q", strings.TrimSpace(begin))
	}
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("no marker %q", end)
	}
	return before + begin + "\n" + content + end + after, nil
}

func sections(groups []vocabulary.Group) string {
	var out strings.Builder
	for _, group := range groups {
		fmt.Fprintf(&out, "### %s\n\n%s\n\n", heading(group), plain(group.Doc))
		for _, condition := range group.Conditions {
			if len(group.Conditions) > 1 {
				fmt.Fprintf(&out, "- %s\n", plain(condition.Doc))
			}
		}
		if len(group.Conditions) > 1 {
			out.WriteString("\n")
		}
		table(&out, append(group.Reasons, group.Events...))
	}
	return out.String()
}

// heading is the condition types of a group; a group without any is named by the start of its documentation.
func heading(group vocabulary.Group) string {
	var types []string
	for _, condition := range group.Conditions {
		types = append(types, condition.Value)
	}
	if len(types) > 0 {
		return strings.Join(types, ", ")
	}
	subject, _, _ := strings.Cut(group.Doc, " tells")
	subject, _, _ = strings.Cut(subject, " (")
	subject, _, _ = strings.Cut(subject, ", ")
	return strings.TrimSuffix(subject, ".")
}

func table(out *strings.Builder, terms []vocabulary.Term) {
	if len(terms) == 0 {
		return
	}
	out.WriteString("| Reason | Meaning |\n|---|---|\n")
	for _, term := range terms {
		meaning := strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(term.Doc, term.Identifier), ":"))
		meaning = strings.ReplaceAll(meaning, "|", `\|`)
		fmt.Fprintf(out, "| `%s` | %s |\n", term.Value, strings.ToUpper(meaning[:1])+meaning[1:])
	}
	out.WriteString("\n")
}

// plain drops the prefix of Go identifiers, which a user never sees.
func plain(doc string) string {
	return strings.TrimPrefix(doc, "Condition")
}
