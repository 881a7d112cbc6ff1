// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func condition(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message}
}

func newTestBoard(width int) (*board, *bytes.Buffer) {
	out := &bytes.Buffer{}
	return &board{out: out, width: width, begin: time.Now(), conditions: map[string][]metav1.Condition{}}, out
}

func TestABoardWithoutATerminalPrintsEachChangeOnce(t *testing.T) {
	t.Parallel()
	b, out := newTestBoard(0)
	waiting := condition("DatabaseReady", metav1.ConditionFalse, "ClusterNotReady", "waiting for MariaDB")
	b.update("Barbican", []metav1.Condition{waiting, condition("SecretsReady", metav1.ConditionTrue, "SecretsAvailable", "there")})
	b.update("Barbican", []metav1.Condition{waiting})
	b.update("Barbican", []metav1.Condition{condition("DatabaseReady", metav1.ConditionTrue, "DatabaseSynced", "done")})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{"SecretsAvailable: there", "ClusterNotReady: waiting for MariaDB", "DatabaseSynced: done"}
	if len(lines) != len(want) {
		t.Fatalf("got %d lines, want %d:\n%s", len(lines), len(want), out)
	}
	for i := range want {
		if !strings.HasSuffix(lines[i], want[i]) {
			t.Errorf("line %d is %q, want it to end with %q", i, lines[i], want[i])
		}
	}
}

func TestABoardOnATerminalRedrawsWithoutWrapping(t *testing.T) {
	t.Parallel()
	b, out := newTestBoard(60)
	b.update("Barbican", []metav1.Condition{condition("SecretsReady", metav1.ConditionFalse, "SecretStoreNotReady", strings.Repeat("long ", 40))})
	if strings.Contains(out.String(), "\x1b[3A") {
		t.Error("the first drawing goes up over what was there before")
	}
	b.update("Barbican", []metav1.Condition{condition("SecretsReady", metav1.ConditionTrue, "SecretsAvailable", "there")})
	if !strings.Contains(out.String(), "\x1b[3A\x1b[J") {
		t.Errorf("the second drawing does not replace the three lines of the first: %q", out)
	}
	for line := range strings.SplitSeq(out.String(), "\n") {
		if text := strings.NewReplacer("\x1b[33m", "", "\x1b[32m", "", "\x1b[0m", "").Replace(line); strings.HasPrefix(text, "  ") && len([]rune(text)) > 60 {
			t.Errorf("%d columns in a terminal of 60: %q", len([]rune(text)), text)
		}
	}
}

func TestABoardKnowsWhatIsUnmet(t *testing.T) {
	t.Parallel()
	b, _ := newTestBoard(0)
	for _, kind := range kinds {
		var all []metav1.Condition
		for _, conditionType := range order[kind] {
			all = append(all, condition(conditionType, metav1.ConditionTrue, "Fine", ""))
		}
		if b.ready() {
			t.Fatal("ready before both kinds are")
		}
		b.update(kind, all)
	}
	if !b.ready() || b.unmet() != "" {
		t.Fatalf("not ready although all is True:\n%s", b.unmet())
	}
	b.update("BarbicanSecretStore", []metav1.Condition{condition("Ready", metav1.ConditionFalse, "NotAllReady", "not yet")})
	if b.ready() {
		t.Error("ready although a store is not")
	}
	for _, want := range []string{"BarbicanSecretStore Ready is False, NotAllReady: not yet", "BarbicanSecretStore CredentialsReady is not reported"} {
		if !strings.Contains(b.unmet(), want) {
			t.Errorf("%q lacks %q", b.unmet(), want)
		}
	}
}
