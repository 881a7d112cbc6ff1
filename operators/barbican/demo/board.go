// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// The order in which the conditions are worked on, which is not that of the status.
var order = map[string][]string{
	"Barbican": {
		"SecretsReady", "SecretStoresReady", "DBCleanReady", "DatabaseReady", "DeploymentReady",
		"HTTPRouteReady", "BarbicanAPIReady", "HPAReady", "NetworkPolicyReady", "ExtraConfigHealthy", "Ready",
	},
	"BarbicanSecretStore": {"ProvisioningReady", "CredentialsReady", "ConfigProjected", "Ready"},
}

var kinds = []string{"Barbican", "BarbicanSecretStore"}

// board shows the conditions of the Barbican and its store: a table that is drawn anew on a terminal, one line for each change elsewhere.
type board struct {
	out        io.Writer
	width      int // of the terminal; 0: none
	drawn      int // lines of the last drawing
	begin      time.Time
	conditions map[string][]metav1.Condition
}

func newBoard(out *os.File) *board {
	b := &board{out: out, begin: time.Now(), conditions: map[string][]metav1.Condition{}}
	if term.IsTerminal(int(out.Fd())) {
		b.width = 100
		if width, _, err := term.GetSize(int(out.Fd())); err == nil && width > 40 {
			b.width = width
		}
	}
	return b
}

// follow updates the board until both objects are Ready.
func (b *board) follow(ctx context.Context, c client.WithWatch) error {
	barbicans, err := c.Watch(ctx, &v1alpha1.BarbicanList{}, client.InNamespace(namespace))
	if err != nil {
		return err
	}
	defer barbicans.Stop()
	stores, err := c.Watch(ctx, &v1alpha1.BarbicanSecretStoreList{}, client.InNamespace(namespace))
	if err != nil {
		return err
	}
	defer stores.Stop()
	for {
		var event watch.Event
		var open bool
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, open = <-barbicans.ResultChan():
		case event, open = <-stores.ResultChan():
		}
		switch o := event.Object.(type) {
		case *v1alpha1.Barbican:
			b.update("Barbican", o.Status.Conditions)
		case *v1alpha1.BarbicanSecretStore:
			b.update("BarbicanSecretStore", o.Status.Conditions)
		default:
			if ctx.Err() == nil && !open {
				return errors.New("the API server ended the watch")
			}
		}
		if b.ready() {
			return nil
		}
	}
}

func (b *board) update(kind string, conditions []metav1.Condition) {
	slices.SortFunc(conditions, func(x, y metav1.Condition) int {
		return slices.Index(order[kind], x.Type) - slices.Index(order[kind], y.Type)
	})
	before := b.conditions[kind]
	b.conditions[kind] = conditions
	if b.width > 0 {
		b.draw()
		return
	}
	for _, c := range conditions {
		if !slices.ContainsFunc(before, func(old metav1.Condition) bool {
			return old.Type == c.Type && old.Status == c.Status && old.Reason == c.Reason
		}) {
			fmt.Fprintf(b.out, "%6s  %-19s  %-18s  %-5s  %s: %s\n", b.elapsed(), kind, c.Type, c.Status, c.Reason, c.Message)
		}
	}
}

func (b *board) draw() {
	var lines []string
	for _, kind := range kinds {
		lines = append(lines, bold(kind))
		for _, t := range order[kind] {
			if i := slices.IndexFunc(b.conditions[kind], func(c metav1.Condition) bool { return c.Type == t }); i >= 0 {
				lines = append(lines, b.line(b.conditions[kind][i]))
			}
		}
	}
	if b.drawn > 0 {
		fmt.Fprintf(b.out, "\x1b[%dA\x1b[J", b.drawn)
	}
	fmt.Fprintln(b.out, strings.Join(lines, "\n"))
	b.drawn = len(lines)
}

func (b *board) line(c metav1.Condition) string {
	text := c.Reason + ": " + c.Message
	const before = 30 // mark, type and status
	if room := b.width - before; utf8.RuneCountInString(text) > room {
		text = string([]rune(text)[:max(room-1, 0)]) + "…"
	}
	mark, colour := "…", "33"
	if c.Status == metav1.ConditionTrue {
		mark, colour = "✓", "32"
	}
	return fmt.Sprintf("  \x1b[%sm%s %-18s %-6s\x1b[0m %s", colour, mark, c.Type, c.Status, text)
}

func bold(s string) string { return "\x1b[1m" + s + "\x1b[0m" }

func (b *board) ready() bool {
	for _, kind := range kinds {
		if !slices.ContainsFunc(b.conditions[kind], func(c metav1.Condition) bool { return c.Type == "Ready" && c.Status == metav1.ConditionTrue }) {
			return false
		}
	}
	return true
}

// unmet lists what is not True, or not reported at all.
func (b *board) unmet() string {
	var lines strings.Builder
	for _, kind := range kinds {
		for _, t := range order[kind] {
			i := slices.IndexFunc(b.conditions[kind], func(c metav1.Condition) bool { return c.Type == t })
			switch {
			case i < 0:
				fmt.Fprintf(&lines, "  %s %s is not reported\n", kind, t)
			case b.conditions[kind][i].Status != metav1.ConditionTrue:
				c := b.conditions[kind][i]
				fmt.Fprintf(&lines, "  %s %s is %s, %s: %s\n", kind, t, c.Status, c.Reason, c.Message)
			}
		}
	}
	return lines.String()
}

func (b *board) elapsed() time.Duration { return time.Since(b.begin).Round(100 * time.Millisecond) }
