// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// entry is a file, a link or a folder of an image.
type entry struct {
	source   string // file to read, empty for links and folders
	link     string
	size     int64
	mode     fs.FileMode // permissions
	uid, gid int
	dir      bool
}

// tree maps paths without a leading slash to what is there.
type tree map[string]entry

// foreign are the paths of a root folder that belong to the machine or the moment it was made on, or to no running container.
var foreign = []string{
	"dev/*", "proc/*", "sys/*", "run/*", "tmp/*", "var/tmp/*", "root/*", "boot/*",
	"etc/resolv.conf", "etc/hosts", "etc/hostname", "etc/machine-id", "etc/mtab", "etc/fstab", "etc/apt", "etc/.pwd.lock",
	"etc/shadow", "etc/shadow-", "etc/gshadow", "etc/gshadow-", "etc/passwd-", "etc/group-", "etc/ssh",
	"usr/sbin/policy-rc.d", "var/log/*", "var/cache/*", "var/backups/*", "var/lib/apt", "var/lib/dpkg", "var/lib/systemd",
	"var/lib/dbus", "var/lib/ucf",
}

// rootTree returns the files of a root folder. Whoever runs in it may read all of them, as the packages' own users are not
// those of the image; what only its owner could read is a secret or a lock, and stays out.
func rootTree(root string, without []string) (tree, error) {
	excluded := pattern(slices.Concat(foreign, without))
	found := tree{}
	return found, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == root {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case !excluded.MatchString(name) && info.Mode().Perm()&0o077 != 0:
			return found.add(name, file)
		case d.IsDir():
			return fs.SkipDir
		}
		return nil
	})
}

// pattern compiles globs in which * matches within a path element and ** any number of them.
func pattern(globs []string) *regexp.Regexp {
	translate := strings.NewReplacer(`\*\*/`, `(?:.*/)?`, `\*`, `[^/]*`)
	var parts []string
	for _, glob := range globs {
		parts = append(parts, translate.Replace(regexp.QuoteMeta(strings.TrimPrefix(glob, "/"))))
	}
	return regexp.MustCompile(`^(?:` + strings.Join(parts, "|") + `)$`)
}

// add puts one file under name. What is no file, folder or link has no place in an image.
func (t tree) add(name, file string) error {
	info, err := os.Lstat(file)
	if err != nil {
		return err
	}
	e := entry{mode: info.Mode().Perm() | 0o444}
	if e.mode&0o100 != 0 {
		e.mode |= 0o111
	}
	switch info.Mode().Type() {
	case 0:
		e.source, e.size = file, info.Size()
	case fs.ModeDir:
		e.dir, e.mode = true, e.mode|0o555|info.Mode()&fs.ModeSticky
	case fs.ModeSymlink:
		if e.link, err = os.Readlink(file); err != nil {
			return err
		}
		e.mode = 0o777
	default:
		return nil
	}
	t[name] = e
	return nil
}

// addFile puts a file, or all files of a folder, where the argument SOURCE=PATH says.
func (t tree) addFile(argument string) error {
	source, target, ok := strings.Cut(argument, "=")
	if !ok {
		return fmt.Errorf("%q is not SOURCE=PATH", argument)
	}
	if resolved, err := filepath.EvalSymlinks(source); err == nil {
		source = resolved
	}
	return filepath.WalkDir(source, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(source, file)
		if err != nil {
			return err
		}
		return t.add(strings.TrimPrefix(path.Join(target, name), "/"), file)
	})
}

// addDir makes a folder as the argument PATH=UID:GID:MODE says.
func (t tree) addDir(argument string) error {
	name, rest, _ := strings.Cut(argument, "=")
	e := entry{dir: true}
	var mode uint32
	if _, err := fmt.Sscanf(rest, "%d:%d:%o", &e.uid, &e.gid, &mode); err != nil {
		return fmt.Errorf("%q is not PATH=UID:GID:MODE: %w", argument, err)
	}
	e.mode = fs.FileMode(mode & 0o777)
	if mode&0o1000 != 0 {
		e.mode |= fs.ModeSticky
	}
	t[strings.Trim(name, "/")] = e
	return nil
}

// addParents adds the folders above every entry, except those that base has: their owner and mode stay as they are there.
func (t tree) addParents(base tree) {
	for _, name := range slices.Collect(maps.Keys(t)) {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			_, below := base[dir]
			if _, here := t[dir]; !here && !below {
				t[dir] = entry{dir: true, mode: 0o755}
			}
		}
	}
}

// write writes the tree as a tar archive that depends on nothing but names, contents and modes.
func (t tree) write(w io.Writer) error {
	archive := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if err := t[name].write(archive, name); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return archive.Close()
}

func (e entry) write(archive *tar.Writer, name string) error {
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: name, Linkname: e.link, Size: e.size,
		Mode: int64(e.mode.Perm()), Uid: e.uid, Gid: e.gid, ModTime: time.Unix(0, 0),
	}
	if e.mode&fs.ModeSticky != 0 {
		header.Mode |= 0o1000
	}
	switch {
	case e.dir:
		header.Typeflag, header.Name = tar.TypeDir, name+"/"
	case e.link != "":
		header.Typeflag = tar.TypeSymlink
	}
	if err := archive.WriteHeader(header); err != nil || e.source == "" {
		return err
	}
	file, err := os.Open(e.source)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(archive, file)
	return err
}
