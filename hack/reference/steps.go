// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// row is one row of a step table: a literal with a Name and a Condition, whose Run is a documented method.
type row struct {
	name, condition, method string
	parallel                bool
}

// table is the rows that one method returns.
type table struct {
	method string
	rows   []row
}

// stepTables returns the folders that hold a table.go.
func stepTables(root string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(root, "operators", "*", "internal", "*", "table.go"))
	for i, file := range files {
		files[i] = filepath.Dir(file)
	}
	return files, err
}

// steps renders the step tables of a folder; conditions maps the identifiers of condition types to their values.
func steps(folder string, conditions map[string]string) (string, error) {
	files, err := parseFolder(folder)
	if err != nil {
		return "", err
	}
	var tables []table
	docs := map[string]string{}
	for _, file := range files {
		tables = append(tables, fileTables(file)...)
		maps.Copy(docs, methodDocs(file))
	}
	if len(tables) == 0 {
		return "", fmt.Errorf("%s: no row found", folder)
	}
	var out strings.Builder
	for _, t := range tables {
		if len(tables) > 1 {
			fmt.Fprintf(&out, "%s\n\n", sentence(strings.TrimPrefix(docs[t.method], t.method+" is "), ""))
		}
		if err := t.write(&out, conditions, docs); err != nil {
			return "", fmt.Errorf("%s: %w", folder, err)
		}
	}
	return out.String(), nil
}

func (t table) write(out *strings.Builder, conditions, docs map[string]string) error {
	out.WriteString("| Row | Condition | What it does |\n|---|---|---|\n")
	for _, r := range t.rows {
		condition, ok := conditions[r.condition]
		if !ok {
			return fmt.Errorf("row %s reports %s, which no conditions.go declares", r.name, r.condition)
		}
		name := r.name
		if r.parallel {
			name += " (parallel)"
		}
		fmt.Fprintf(out, "| %s | `%s` | %s |\n", name, condition, sentence(docs[r.method], r.method))
	}
	out.WriteString("\n")
	return nil
}

func parseFolder(folder string) ([]*ast.File, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, entry.Name()), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// fileTables finds the tables of a file in their order.
func fileTables(file *ast.File) []table {
	var tables []table
	for _, decl := range file.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if rows := rowsIn(function.Body, false); len(rows) > 0 {
			tables = append(tables, table{function.Name.Name, rows})
		}
	}
	return tables
}

// rowsIn finds the rows below a node in their order; those inside a call are members of a parallel group.
func rowsIn(node ast.Node, parallel bool) []row {
	var rows []row
	ast.Inspect(node, func(below ast.Node) bool {
		switch n := below.(type) {
		case *ast.CallExpr:
			if n != node {
				rows = append(rows, rowsIn(n, true)...)
				return false
			}
		case *ast.CompositeLit:
			if r, ok := rowOf(n); ok {
				r.parallel = parallel
				rows = append(rows, r)
				return false
			}
		}
		return true
	})
	return rows
}

func rowOf(literal *ast.CompositeLit) (row, bool) {
	var r row
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			return row{}, false
		}
		key, ok := pair.Key.(*ast.Ident)
		if !ok {
			return row{}, false
		}
		switch key.Name {
		case "Name":
			if name, ok := pair.Value.(*ast.BasicLit); ok {
				r.name, _ = strconv.Unquote(name.Value)
			}
		case "Condition":
			r.condition = identifier(pair.Value)
		case "Run":
			r.method = identifier(pair.Value)
		}
	}
	return r, r.name != "" && r.condition != "" && r.method != ""
}

// identifier is the last name of an expression such as api.ConditionReady.
func identifier(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func methodDocs(file *ast.File) map[string]string {
	docs := map[string]string{}
	for _, decl := range file.Decls {
		if function, ok := decl.(*ast.FuncDecl); ok && function.Doc != nil {
			docs[function.Name.Name] = strings.Join(strings.Fields(function.Doc.Text()), " ")
		}
	}
	return docs
}

// sentence turns a doc comment, which starts with the name of what it documents, into a sentence of its own.
func sentence(doc, name string) string {
	text := strings.TrimLeft(strings.TrimPrefix(doc, name), ": ")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.ReplaceAll(text[1:], "|", `\|`)
}
