// SPDX-License-Identifier: Apache-2.0

// Writes the tables of docs/reference between their markers, from constants, step tables and their documentation: reference ROOT.
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
	contents, conditions := map[string]string{}, map[string]string{}
	for _, file := range files {
		groups, err := vocabulary.Parse(file, nil)
		if err != nil {
			return err
		}
		contents[marker(root, filepath.Dir(file))] = sections(groups)
		for _, group := range groups {
			for _, condition := range group.Conditions {
				conditions[condition.Identifier] = condition.Value
			}
		}
	}
	if err := update(filepath.Join(root, "docs", "reference", "conditions.md"), contents); err != nil {
		return err
	}

	folders, err := stepTables(root)
	if err != nil {
		return err
	}
	tables := map[string]string{}
	for _, folder := range folders {
		if tables[marker(root, folder)], err = steps(folder, conditions); err != nil {
			return err
		}
	}
	return update(filepath.Join(root, "docs", "reference", "steps.md"), tables)
}

// update fills every marker of a page; a content without its marker is an error.
func update(page string, contents map[string]string) error {
	before, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	after := string(before)
	for name, content := range contents {
		if after, err = fill(after, name, content); err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
	}
	return os.WriteFile(page, []byte(after), 0o644)
}

// marker is the folder that a table comes from, relative to root.
func marker(root, folder string) string {
	relative, err := filepath.Rel(root, folder)
	if err != nil {
		return folder
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
		terms(&out, append(group.Reasons, group.Events...))
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

func terms(out *strings.Builder, terms []vocabulary.Term) {
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
