// SPDX-License-Identifier: Apache-2.0

// Command chart prints what a Helm chart installs, as `helm template` does:
//
//	chart RELEASE FOLDER [-n NAMESPACE] [-f FILE]... [--set KEY=VALUE]... [--include-crds]
//	                     [--kube-version VERSION] [--api-versions GROUP/VERSION[/KIND]]... [--kubeconfig FILE]
//
// Objects come in the order to create them, hooks last, tests not at all. A dependency that the folder does not hold is left out.
// With a kubeconfig, templates that look for objects look in that cluster, as in `helm install`; what they made once stays.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/strvals"
	"k8s.io/client-go/tools/clientcmd"
)

const usage = "usage: chart RELEASE FOLDER [FLAG]..."

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

// request is the command line.
type request struct {
	release, folder, namespace string
	files, sets                list
	crds                       bool
	kubeVersion                string
	apiVersions                list
	kubeconfig                 string
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

func parse(args []string) (request, error) {
	r := request{}
	if len(args) < 2 || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[1], "-") {
		return r, errors.New(usage)
	}
	r.release, r.folder = args[0], args[1]
	flags := flag.NewFlagSet("chart", flag.ContinueOnError)
	flags.StringVar(&r.namespace, "n", "default", "The `namespace` of the release.")
	flags.Var(&r.files, "f", "A `file` of values; later ones win.")
	flags.Var(&r.sets, "set", "A value, as `key=value`; goes before those of files.")
	flags.BoolVar(&r.crds, "include-crds", false, "Print the CRDs of the chart, too.")
	flags.StringVar(&r.kubeVersion, "kube-version", newest(), "The `version` of the cluster, as templates see it.")
	flags.Var(&r.apiVersions, "api-versions", "A `group/version` or kind that the cluster serves besides the usual ones.")
	flags.StringVar(&r.kubeconfig, "kubeconfig", "", "The `file` that leads to the cluster to look for objects in; empty finds none.")
	if err := flags.Parse(args[2:]); err != nil {
		return r, err
	}
	if flags.NArg() > 0 {
		return r, fmt.Errorf("unknown arguments %q: %s", flags.Args(), usage)
	}
	return r, chartutil.ValidateReleaseName(r.release)
}

func run(args []string, out io.Writer) error {
	r, err := parse(args)
	if err != nil {
		return err
	}
	c, err := loader.LoadDir(r.folder)
	if err != nil {
		return fmt.Errorf("loading %s: %w", r.folder, err)
	}
	values, err := r.values(c)
	if err != nil {
		return err
	}
	rendered, err := r.render(c, values)
	if err != nil {
		return err
	}
	hooks, manifests, err := releaseutil.SortManifests(templates(rendered), nil, releaseutil.InstallOrder)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	if r.crds {
		for _, crd := range c.CRDObjects() {
			write(w, crd.Filename, string(crd.File.Data))
		}
	}
	for _, m := range manifests {
		write(w, m.Name, m.Content)
	}
	for _, h := range hooks {
		if !slices.Contains(h.Events, release.HookTest) {
			write(w, h.Path, h.Manifest)
		}
	}
	return w.Flush()
}

// values are what the templates see: the chart's own under those of the files, under those of --set.
func (r *request) values(c *chart.Chart) (chartutil.Values, error) {
	given := map[string]any{}
	for _, file := range r.files {
		more, err := chartutil.ReadValuesFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		given = chartutil.MergeTables(more, given)
	}
	for _, set := range r.sets {
		if err := strvals.ParseInto(set, given); err != nil {
			return nil, fmt.Errorf("--set %s: %w", set, err)
		}
	}
	if err := chartutil.ProcessDependenciesWithMerge(c, given); err != nil {
		return nil, err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(capabilities.APIVersions, r.apiVersions...)
	version, err := chartutil.ParseKubeVersion(r.kubeVersion)
	if err != nil {
		return nil, fmt.Errorf("--kube-version %s: %w", r.kubeVersion, err)
	}
	capabilities.KubeVersion = *version
	if wanted := c.Metadata.KubeVersion; wanted != "" && !chartutil.IsCompatibleRange(wanted, version.String()) {
		return nil, fmt.Errorf("%s wants Kubernetes %s, not %s", c.Name(), wanted, version)
	}
	options := chartutil.ReleaseOptions{Name: r.release, Namespace: r.namespace, Revision: 1, IsInstall: true}
	return chartutil.ToRenderValues(c, given, options, capabilities)
}

func (r *request) render(c *chart.Chart, values chartutil.Values) (map[string]string, error) {
	if r.kubeconfig == "" {
		return engine.Render(c, values)
	}
	config, err := clientcmd.BuildConfigFromFlags("", r.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.kubeconfig, err)
	}
	return engine.RenderWithClient(c, values, config)
}

// newest is the Kubernetes of the client library that this program is built with, as for Helm's own.
func newest() string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, m := range build.Deps {
			if m.Path == "k8s.io/client-go" {
				return strings.Replace(m.Version, "v0.", "v1.", 1)
			}
		}
	}
	return chartutil.DefaultCapabilities.KubeVersion.String()
}

// templates are the rendered files that hold objects.
func templates(rendered map[string]string) map[string]string {
	objects := map[string]string{}
	for name, content := range rendered {
		if path.Base(name) != "NOTES.txt" {
			objects[name] = content
		}
	}
	return objects
}

func write(w io.Writer, source, content string) {
	fmt.Fprintf(w, "---\n# Source: %s\n%s\n", source, strings.TrimSpace(strings.TrimPrefix(content, "---\n")))
}
