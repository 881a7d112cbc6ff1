// SPDX-License-Identifier: Apache-2.0

// Writes an image archive that `ctr images import` takes: oci -out FILE -ref REFERENCE... [FLAGS] [ENTRYPOINT...]
//
// The same files give the same bytes: entries are sorted, belong to root, are readable by everyone and carry no time, and
// what belongs to the machine that made a root folder stays out. No folder is copied on the way.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

// request is what the command line asks for.
type request struct {
	out, user, root         string
	references, environment list
	without, files, dirs    list
	entrypoint              []string
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "oci:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	r, err := parse(arguments)
	if err != nil {
		return err
	}
	layers, err := r.layers()
	if err != nil {
		return err
	}
	img, err := image(r, layers)
	if err != nil {
		return err
	}
	return save(r.out, img, r.references)
}

func parse(arguments []string) (*request, error) {
	r := &request{}
	flags := flag.NewFlagSet("oci", flag.ContinueOnError)
	flags.StringVar(&r.out, "out", "", "archive to write")
	flags.StringVar(&r.user, "user", "", "user that runs the entrypoint, UID:GID")
	flags.StringVar(&r.root, "root", "", "folder that becomes the first layer")
	flags.Var(&r.references, "ref", "reference of the image, repeatable")
	flags.Var(&r.environment, "env", "variable of the entrypoint, NAME=VALUE, repeatable")
	flags.Var(&r.without, "without", "pattern of paths to leave out of the first layer, repeatable")
	flags.Var(&r.files, "file", "file or folder for the last layer, SOURCE=PATH, repeatable")
	flags.Var(&r.dirs, "dir", "folder to make in the last layer, PATH=UID:GID:MODE, repeatable")
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	r.entrypoint = flags.Args()
	if r.out == "" || len(r.references) == 0 {
		return nil, fmt.Errorf("-out and -ref are needed")
	}
	return r, nil
}

// layers returns what the image consists of, from the bottom up.
func (r *request) layers() ([]tree, error) {
	var layers []tree
	base := tree{}
	if r.root != "" {
		found, err := rootTree(r.root, r.without)
		if err != nil {
			return nil, err
		}
		base = found
		layers = append(layers, base)
	}
	own := tree{}
	for _, argument := range r.files {
		if err := own.addFile(argument); err != nil {
			return nil, err
		}
	}
	for _, argument := range r.dirs {
		if err := own.addDir(argument); err != nil {
			return nil, err
		}
	}
	own.addParents(base)
	if len(own) > 0 {
		layers = append(layers, own)
	}
	return layers, nil
}
