// SPDX-License-Identifier: Apache-2.0

// Package vocabulary reads the condition types, reasons and event reasons that an API package declares in its
// conditions.go, with their documentation.
package vocabulary

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
)

// Term is one documented string constant.
type Term struct {
	Identifier, Value, Doc string
}

// Group is one const declaration: a condition with its reasons, or the reasons of events.
type Group struct {
	Doc                         string
	Conditions, Reasons, Events []Term
}

// Files are the conditions.go of common and of every operator of the repository at root, common first.
func Files(root string) ([]string, error) {
	operators, err := filepath.Glob(filepath.Join(root, "operators", "*", "api", "*", "conditions.go"))
	if err != nil {
		return nil, err
	}
	return append([]string{filepath.Join(root, "common", "api", "conditions.go")}, operators...), nil
}

// Parse returns the groups of a file in their order. An undocumented reason or an unknown prefix is an error.
func Parse(file string, source any) ([]Group, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var groups []Group
	for _, decl := range parsed.Decls {
		constants, ok := decl.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST {
			continue
		}
		group, err := parseGroup(constants)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(group.Conditions)+len(group.Reasons)+len(group.Events) > 0 {
			groups = append(groups, group)
		}
	}
	return groups, nil
}

func parseGroup(constants *ast.GenDecl) (Group, error) {
	group := Group{Doc: text(constants.Doc)}
	for _, spec := range constants.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok || len(value.Names) != 1 || len(value.Values) != 1 {
			continue
		}
		literal, ok := value.Values[0].(*ast.BasicLit)
		if !ok {
			continue
		}
		content, err := strconv.Unquote(literal.Value)
		if err != nil {
			continue
		}
		if err := group.add(Term{Identifier: value.Names[0].Name, Value: content, Doc: text(value.Doc)}); err != nil {
			return Group{}, err
		}
	}
	return group, nil
}

func (g *Group) add(t Term) error {
	switch {
	case strings.HasPrefix(t.Identifier, "Condition"):
		g.Conditions = append(g.Conditions, t)
		return nil
	case strings.HasPrefix(t.Identifier, "Reason"):
		g.Reasons = append(g.Reasons, t)
	case strings.HasPrefix(t.Identifier, "Event"):
		g.Events = append(g.Events, t)
	default:
		return nil
	}
	if t.Doc == "" {
		return fmt.Errorf("%s has no documentation", t.Identifier)
	}
	return nil
}

func text(comment *ast.CommentGroup) string {
	return strings.Join(strings.Fields(comment.Text()), " ")
}
