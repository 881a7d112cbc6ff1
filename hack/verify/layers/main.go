// SPDX-License-Identifier: Apache-2.0

// Imports go down the layers only, and the weight of a third-party module stays in the package that needs it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is what the rules need of a line of go list -deps.
type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func main() {
	packages, err := list(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	complaints := check(packages)
	for _, complaint := range complaints {
		fmt.Fprintln(os.Stderr, complaint)
	}
	if len(complaints) > 0 {
		os.Exit(1)
	}
}

// list returns the packages of common and of every operator, without their tests.
func list(root string) ([]listed, error) {
	operators, err := filepath.Glob(filepath.Join(root, "operators", "*"))
	if err != nil {
		return nil, err
	}
	args := []string{"list", "-e", "-json=ImportPath,Imports,Deps", "./common/..."}
	for _, operator := range operators {
		args = append(args, operator+"/...")
	}
	command := exec.Command("go", args...)
	command.Dir = root
	command.Env = append(os.Environ(), "GOWORK="+filepath.Join(root, "go.work"))
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	return decode(strings.NewReader(string(out)))
}

func decode(r io.Reader) ([]listed, error) {
	var packages []listed
	for decoder := json.NewDecoder(r); ; {
		var p listed
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("reading the output of go list: %w", err)
		}
		packages = append(packages, p)
	}
}
