// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// gate is one number of the table. Counts are exact. Times, memory and CPU are held against the figure of the best known
// other operator, taken once on two cores, and not against a run beside it.
type gate struct {
	name  string
	what  string
	other string
	limit float64
	unit  string
	only  int // the one size that the limit holds for; 0: all
}

var gates = []gate{
	{name: "a1 calls", what: "cold, children ready at once: API calls", other: "46", limit: 24},
	{name: "a1 writes", what: "of these writes", other: "-", limit: 20},
	{name: "a1 conflicts", what: "of these conflicts", other: "2"},
	{name: "a2 wall", what: "cold, each child ready 2 s late: wall", other: "95", limit: 7, unit: "s"},
	{name: "a2 calls", what: "API calls", other: "94", limit: 26},
	{name: "b1 calls", what: "converged passes: API calls", other: "12 a pass"},
	{name: "b process CPU", what: "the same with watches and queue, whole process: CPU", other: "-", limit: math.Inf(1), unit: "ms"},
	{name: "b process allocations", what: "allocations", other: "-", limit: math.Inf(1)},
	{name: "b2 CPU", what: "pass of Barbican and store: CPU", other: "20", limit: 2, unit: "ms"},
	{name: "b2 allocations", what: "allocations", other: "6700", limit: 670},
	{name: "c1 wall", what: "cold: wall", other: "154", limit: 0.15 * 154, unit: "s", only: 100},
	{name: "c1 calls", what: "API calls a CR", other: "57", limit: 24},
	{name: "c1 conflicts", what: "conflicts", other: "-"},
	{name: "c4 base", what: "memory without a CR", other: "60", limit: 45, unit: "MB"},
	{name: "c4 with", what: "memory with all CRs so far", other: "-", limit: 128, unit: "MB"},
	{name: "c4 a CR", what: "memory a CR", other: "0.16", limit: 0.06, unit: "MB", only: 100},
	{name: "c5 calls", what: "touch of all CRs: API calls beyond", other: "1202"},
	{name: "c6 calls", what: "event of a shared Secret: API calls beyond one read of it", other: "1202"},
	{name: "d writes", what: "restart: writes", other: "1265"},
	{name: "d reads", what: "reads beyond one a referenced Secret", other: "-"},
	{name: "e Barbican", what: "status writes a converge: Barbican", other: "7", limit: 4},
	{name: "e store", what: "store", other: "-", limit: 2},
	{name: "e Events", what: "Events of converged passes", other: "1 a pass"},
	{name: "g miss", what: "render all files and hash: allocations", other: "305", limit: 120},
	{name: "g hit", what: "the same again: allocations", other: "-"},
	{name: "h", what: "pipeline overhead a step: allocations", other: "0"},
}

// measurement is a value at a number of Barbicans, 0 where that does not matter.
type measurement struct {
	n     int
	value float64
}

type results map[string][]measurement

func (r results) put(name string, n int, value float64) {
	r[name] = append(r[name], measurement{n, value})
}

// report is the table of all operators.
type report struct {
	operators []string
	measured  []results
	busy      bool // the machine had other work: times say nothing
}

// print writes the table and says whether the first operator holds every gate.
func (t report) print(out io.Writer) bool {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "#\tCase\tN\tOther\tLimit")
	for _, path := range t.operators {
		fmt.Fprint(w, "\t", filepath.Base(path))
	}
	fmt.Fprintln(w, "\t")
	failed := 0
	for _, g := range gates {
		for i, m := range t.measured[0][g.name] {
			verdict := g.verdict(m)
			if t.busy && verdict == "MISSED" && g.unit == "s" {
				verdict = "busy machine"
			}
			if verdict == "MISSED" {
				failed++
			}
			number, _, _ := strings.Cut(g.name, " ")
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s", number, g.what, size(m.n), g.other, g.allowed(m), g.show(m.value))
			for _, other := range t.measured[1:] {
				fmt.Fprint(w, "\t", g.showAt(other[g.name], i))
			}
			fmt.Fprintf(w, "\t%s\n", verdict)
		}
	}
	_ = w.Flush()
	missing := slices.DeleteFunc(slices.Clone(gates), func(g gate) bool { return len(t.measured[0][g.name]) > 0 })
	for _, g := range missing {
		fmt.Fprintf(out, "not measured: %s, %s\n", g.name, g.what)
	}
	if failed > 0 {
		fmt.Fprintf(out, "%d gates missed\n", failed)
	}
	return failed == 0
}

func (g gate) holds(m measurement) bool {
	return !math.IsInf(g.limit, 1) && (g.only == 0 || g.only == m.n)
}

func (g gate) verdict(m measurement) string {
	switch {
	case !g.holds(m):
		return ""
	case m.value <= g.limit:
		return "ok"
	default:
		return "MISSED"
	}
}

func (g gate) allowed(m measurement) string {
	if !g.holds(m) {
		return "-"
	}
	return "<= " + g.show(g.limit)
}

func (g gate) show(value float64) string {
	text := fmt.Sprintf("%.4g", value)
	if g.unit != "" {
		text += " " + g.unit
	}
	return text
}

func (g gate) showAt(all []measurement, i int) string {
	if i >= len(all) {
		return "-"
	}
	return g.show(all[i].value)
}

func size(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
