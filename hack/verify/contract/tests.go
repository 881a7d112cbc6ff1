// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// mentions are the identifiers and string literals of all tests; comments do not count.
type mentions struct {
	identifiers, literals map[string]bool
}

// inLiteral reports whether a literal contains name as a whole word, as an exposition of metrics does.
func (m mentions) inLiteral(name string) bool {
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `(_bucket|_sum|_count)?\b`)
	for literal := range m.literals {
		if word.MatchString(literal) {
			return true
		}
	}
	return false
}

func readTests(root string) (mentions, error) {
	m := mentions{identifiers: map[string]bool{}, literals: map[string]bool{}}
	for _, folder := range []string{"common", "operators"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			return m.read(path, nil)
		})
		if err != nil {
			return mentions{}, err
		}
	}
	return m, nil
}

func (m mentions) read(path string, source any) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Ident:
			m.identifiers[n.Name] = true
		case *ast.BasicLit:
			if content, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
				m.literals[content] = true
			}
		}
		return true
	})
	return nil
}
