// SPDX-License-Identifier: Apache-2.0

// The code that is an operator's own stays small: what two operators would type alike belongs in common.
package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// limit is the number of code lines of one operator, without blank lines and comments.
const limit = 3800

// notOperator holds folders of an operator's module that are not its code: the API is vocabulary, the demo a stand-in world.
var notOperator = map[string]bool{"api": true, "demo": true, "testdata": true}

func main() {
	root := os.Args[1]
	operators, err := filepath.Glob(filepath.Join(root, "operators", "*", "go.mod"))
	if err != nil || len(operators) == 0 {
		fmt.Fprintln(os.Stderr, "no operator found in", root)
		os.Exit(1)
	}
	failed := false
	for _, module := range operators {
		folder := filepath.Dir(module)
		lines, err := moduleLines(folder)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("%s: %d lines of code, limit %d\n", filepath.Base(folder), lines, limit)
		failed = failed || lines > limit
	}
	if failed {
		fmt.Fprintln(os.Stderr, "too large: move what is not the operator's vocabulary to common")
		os.Exit(1)
	}
}

func moduleLines(folder string) (int, error) {
	total := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && notOperator[entry.Name()]:
			return fs.SkipDir
		case entry.IsDir() || !own(entry.Name()):
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		total += codeLines(source)
		return nil
	})
	return total, err
}

func own(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "zz_generated")
}

// codeLines counts the lines that hold at least one token.
func codeLines(source []byte) int {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)

	seen := map[int]bool{}
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return len(seen)
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue // inserted by the scanner
		}
		first := file.Line(pos)
		for i := range strings.Count(literal, "\n") + 1 {
			seen[first+i] = true
		}
	}
}
