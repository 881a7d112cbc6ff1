// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/cobaltcore/common/apply"
)

var errBroken = errors.New("broken")

func TestNewPipelineChecksTheTable(t *testing.T) {
	t.Parallel()
	ok := says("A", "AReady", Outcome{})
	for _, tt := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"empty table", nil, "no steps"},
		{"no name", []step{says("", "AReady", Outcome{})}, "lacks a name"},
		{"no condition", []step{says("A", "", Outcome{})}, `step "A" lacks`},
		{"nothing to run", []step{{Name: "A", Condition: "AReady"}}, `step "A" lacks`},
		{"same name", []step{ok, says("A", "BReady", Outcome{})}, `two steps are named "A"`},
		{"same name in a group", []step{ok, Parallel(says("A", "BReady", Outcome{}))}, `two steps are named "A"`},
		{"same condition in a group", []step{Parallel(ok, says("B", "AReady", Outcome{}))}, "two members of a group report AReady"},
		{"group in a group", []step{Parallel(Parallel(ok))}, "a group stands inside a group"},
		{"aggregate as a condition", []step{says("A", "Ready", Outcome{})}, "Ready is made of the others"},
		{"empty group", []step{Parallel[*thing, values]()}, "a group is empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := NewPipeline(&observed{}, tt.steps...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("NewPipeline() = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestEverythingDerivesFromTheTable(t *testing.T) {
	t.Parallel()
	o := &observed{}
	p, err := NewPipeline(o, says("A", "XReady", Ready("R", "")), Parallel(says("B", "YReady", Error(errBroken)), says("C", "XReady", Outcome{})), says("D", "ZReady", Outcome{}))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Steps(); !slices.Equal(got, []string{"A", "B", "C", "D"}) {
		t.Errorf("Steps() = %q", got)
	}
	if got := p.Conditions(); !slices.Equal(got, []string{"XReady", "YReady", "ZReady"}) {
		t.Errorf("Conditions() = %q", got)
	}
	p.run(t.Context(), &pass{Object: newThing()})
	slices.Sort(o.runs)
	if want := []string{"A/XReady failed:false", "B/YReady failed:true", "C/XReady failed:false"}; !slices.Equal(o.runs, want) {
		t.Errorf("observed %q, want %q", o.runs, want)
	}
}

// One pass over a table: which steps run, what the conditions say, when it comes back.
func TestRules(t *testing.T) {
	t.Parallel()
	ready := Ready("Found", "")
	for _, tt := range []struct {
		name    string
		steps   []step
		want    map[string]string // conditions; a missing one is not set
		after   time.Duration
		err     string
		stopped bool
	}{
		{
			name:  "all true",
			steps: []step{says("A", "X", ready), says("B", "Y", ready)},
			want:  map[string]string{"X": "True/Found", "Y": "True/Found", "Ready": "True/AllReady"},
		}, {
			name:  "no opinion is none",
			steps: []step{says("A", "X", Outcome{}), says("B", "Y", ready)},
			want:  map[string]string{"Y": "True/Found", "Ready": "False/NotAllReady"},
		}, {
			name:  "the first False of a shared condition wins",
			steps: []step{says("A", "X", ready), says("B", "X", NotReady("First", "")), says("C", "X", NotReady("Second", "")), says("D", "X", ready)},
			want:  map[string]string{"X": "False/First", "Ready": "False/NotAllReady"},
		}, {
			name:  "a shared condition is true when all of its rows have reported",
			steps: []step{says("A", "X", ready), says("B", "X", Outcome{}), says("C", "X", Ready("Last", ""))},
			want:  map[string]string{"X": "True/Last", "Ready": "True/AllReady"},
		}, {
			name:    "a row that was not reached keeps it from being true",
			steps:   []step{says("A", "X", ready), says("B", "Y", Wait(time.Second, "Waiting", "")), says("C", "X", ready)},
			want:    map[string]string{"Y": "False/Waiting", "Ready": "False/NotAllReady"},
			after:   time.Second,
			stopped: true,
		}, {
			name:  "a row that failed without an opinion keeps it from being true",
			steps: []step{says("A", "X", ready), Parallel(says("B", "X", Error(errBroken)), says("C", "Y", ready))},
			want:  map[string]string{"Y": "True/Found", "Ready": "False/NotAllReady"},
			err:   "B: broken", stopped: true,
		}, {
			name:  "a poll goes on (R13)",
			steps: []step{says("A", "X", Poll(10*time.Second, "RollingOut", "")), says("B", "Y", ready)},
			want:  map[string]string{"X": "False/RollingOut", "Y": "True/Found", "Ready": "False/NotAllReady"},
			after: 10 * time.Second,
		}, {
			name:  "the shortest wait wins",
			steps: []step{says("A", "X", ready.After(time.Minute)), says("B", "Y", Poll(3*time.Second, "P", "")), says("C", "Z", ready.After(time.Hour).After(7*time.Second))},
			want:  map[string]string{"X": "True/Found", "Y": "False/P", "Z": "True/Found", "Ready": "False/NotAllReady"},
			after: 3 * time.Second,
		}, {
			name:  "a hold stops without coming back",
			steps: []step{says("A", "X", Hold("Held", "")), says("B", "Y", ready)},
			want:  map[string]string{"X": "False/Held", "Ready": "False/NotAllReady"}, stopped: true,
		}, {
			name:  "a failure stops and tells",
			steps: []step{says("A", "X", Fail("Broken", errBroken)), says("B", "Y", ready)},
			want:  map[string]string{"X": "False/Broken", "Ready": "False/NotAllReady"},
			err:   "A: broken", stopped: true,
		}, {
			name: "errors of a group join",
			steps: []step{
				Parallel(says("A", "X", Fail("Broken", errBroken)), says("B", "Y", Error(errors.New("as well"))), says("C", "Z", ready)),
				says("D", "V", ready),
			},
			want: map[string]string{"X": "False/Broken", "Z": "True/Found", "Ready": "False/NotAllReady"},
			err:  "A: broken\nB: as well", stopped: true,
		}, {
			name:  "an error of nil is none",
			steps: []step{says("A", "X", Error(nil)), says("B", "Y", ready)},
			want:  map[string]string{"Y": "True/Found", "Ready": "False/NotAllReady"},
		}, {
			name:  "advice stands beside and does not count",
			steps: []step{says("A", "X", ready.Advise(metav1.Condition{Type: "Advice", Status: metav1.ConditionFalse, Reason: "Odd"}))},
			want:  map[string]string{"X": "True/Found", "Advice": "False/Odd", "Ready": "True/AllReady"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			object := newThing(func(t *thing) { t.Generation = 7 })
			l := mustPipeline(t, tt.steps...).run(t.Context(), &pass{Object: object})
			l.write(object)
			got := map[string]string{}
			for _, c := range object.Status.Conditions {
				got[c.Type] = string(c.Status) + "/" + c.Reason
				if c.ObservedGeneration != 7 {
					t.Errorf("%s was observed at generation %d", c.Type, c.ObservedGeneration)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			message := ""
			if err := l.err(); err != nil {
				message = err.Error()
			}
			if l.after != tt.after || message != tt.err || l.stopped != tt.stopped || object.Status.ObservedGeneration != 7 {
				t.Errorf("comes back after %s, error %q, stopped %v", l.after, message, l.stopped)
			}
		})
	}
}

// A step that fails without an opinion leaves no Ready standing at a new generation (R1).
func TestReadyDemandsTheCurrentGeneration(t *testing.T) {
	t.Parallel()
	object := newThing(func(t *thing) { t.Generation = 1 })
	run := func(o Outcome) string {
		mustPipeline(t, says("A", "X", Ready("Found", "")), says("B", "Y", o)).run(t.Context(), &pass{Object: object}).write(object)
		ready := meta.FindStatusCondition(object.Status.Conditions, "Ready")
		return string(ready.Status) + ": " + ready.Message
	}
	if got := run(Ready("Found", "")); got != "True: All conditions are True" {
		t.Error(got)
	}
	if got := run(Error(errBroken)); got != "True: All conditions are True" {
		t.Errorf("a passing error at the same generation: %s", got)
	}
	object.Generation = 2
	if got := run(Error(errBroken)); got != "False: Not True: Y (not reported for the current generation)" {
		t.Error(got)
	}
	refused := fmt.Errorf("applying it: %w", &apply.ForeignError{Child: "Thing a/b", Owner: "Owner a/b"})
	if got := run(Error(refused)); got != "False: Not True: Y (not reported for the current generation: B: "+refused.Error()+")" {
		t.Error(got)
	}
	object.Status.Conditions = nil
	if got := run(Error(refused)); got != "False: Not True: Y (not reported yet: B: "+refused.Error()+")" {
		t.Error(got)
	}
	object.Status.Conditions = nil
	if got := run(NotReady("Missing", "")); got != "False: Not True: Y (Missing)" {
		t.Error(got)
	}
	object.Status.Conditions = nil
	if got := run(Outcome{}); got != "False: Not True: Y (not reported yet)" {
		t.Error(got)
	}
}

// Steps pass on the words of others, which tell of each try and know no limit (R1).
func TestTheWordsOfOthersAreMadeStable(t *testing.T) {
	t.Parallel()
	object := newThing()
	run := func(words string) string {
		mustPipeline(t, says("A", "X", Wait(time.Second, "Waiting", "ExternalSecret: "+words))).run(t.Context(), &pass{Object: object}).write(object)
		return meta.FindStatusCondition(object.Status.Conditions, "X").Message
	}
	if one, other := run("denied, RequestID: 8a7d3c9f-1\n"), run("denied, RequestID: 99993c9f-2\n"); one != other {
		t.Errorf("each try writes the status: %q, %q", one, other)
	}
	if got := run(strings.Repeat("long ", maxMessage)); len(got) > maxMessage {
		t.Errorf("the API server will refuse a message of %d bytes, again and again", len(got))
	}
}

// Members meet in the middle, which they could not one after the other, and each has an object of its own (R15).
func TestGroupMembersRunTogetherOnCopies(t *testing.T) {
	t.Parallel()
	var meeting sync.WaitGroup
	meeting.Add(2)
	member := func(name, condition string) step {
		return step{Name: name, Condition: condition, Run: func(_ context.Context, p *pass) Outcome {
			meeting.Done()
			meeting.Wait()
			p.Object.Status.Note, p.Object.Labels = name, map[string]string{"by": name}
			p.Values.path = append(p.Values.path, name)
			return Ready("Found", p.Object.Status.Note)
		}}
	}
	p := &pass{Object: newThing(), Values: values{path: []string{"before"}}}
	l := mustPipeline(t, Parallel(member("A", "X"), member("B", "Y"))).run(t.Context(), p)
	l.write(p.Object)
	if p.Object.Status.Note != "" || p.Object.Labels != nil || len(p.Values.path) != 1 {
		t.Errorf("a member changed the pass: %+v", p)
	}
	for _, c := range p.Object.Status.Conditions[:2] {
		if want := map[string]string{"X": "A", "Y": "B"}[c.Type]; c.Message != want {
			t.Errorf("%s says %q, want %q", c.Type, c.Message, want)
		}
	}
}

func TestAPanicIsAnErrorWithItsStack(t *testing.T) {
	t.Parallel()
	panics := func(context.Context, *pass) Outcome { panic("at the disco") }
	finished := make(chan struct{})
	slow := step{Name: "Slow", Condition: "Y", Run: func(context.Context, *pass) Outcome {
		close(finished)
		return Ready("Found", "")
	}}
	for name, table := range map[string][]step{
		"row":    {{Name: "Panics", Condition: "X", Run: panics}},
		"member": {Parallel(step{Name: "Panics", Condition: "X", Run: panics}, slow)},
	} {
		l := mustPipeline(t, table...).run(t.Context(), &pass{Object: newThing()})
		err := l.err()
		if err == nil || !l.stopped || !strings.HasPrefix(err.Error(), "Panics: panic: at the disco\n") || !strings.Contains(err.Error(), "pipeline_test.go") {
			t.Errorf("%s: %v", name, err)
		}
	}
	<-finished
}

func TestStepsHandOverValues(t *testing.T) {
	t.Parallel()
	add := func(name string) step {
		return step{Name: name, Condition: "X", Run: func(_ context.Context, p *pass) Outcome {
			p.Values.path = append(p.Values.path, name)
			return Outcome{}
		}}
	}
	p := &pass{Object: newThing()}
	mustPipeline(t, add("A"), add("B")).run(t.Context(), p)
	if !slices.Equal(p.Values.path, []string{"A", "B"}) {
		t.Errorf("handed over %q", p.Values.path)
	}
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		o     Outcome
		done  bool
		stops bool
	}{
		"zero":     {Outcome{}, true, false},
		"ready":    {Ready("R", "m"), true, false},
		"not":      {NotReady("R", "m"), false, false},
		"poll":     {Poll(1, "R", "m"), false, false},
		"wait":     {Wait(1, "R", "m"), false, true},
		"hold":     {Hold("R", "m"), false, true},
		"fail":     {Fail("R", errBroken), false, true},
		"error":    {Error(errBroken), false, true},
		"no error": {Error(nil), true, false},
		"warned":   {Ready("R", "m").Warn().Announce(warning, "R", "m"), true, false},
	} {
		if tt.o.Done() != tt.done || tt.o.Stops() != tt.stops {
			t.Errorf("%s: Done() = %v, Stops() = %v", name, tt.o.Done(), tt.o.Stops())
		}
	}
	// Outcomes are values: what is derived from one leaves it alone.
	base := Ready("R", "m")
	for range 3 { // of a length that append leaves room behind
		base = base.Announce(warning, "A", "").Advise(metav1.Condition{Type: "X"})
	}
	first := base.Announce(warning, "B", "").Advise(metav1.Condition{Type: "Y"})
	second := base.Announce(warning, "C", "").Advise(metav1.Condition{Type: "Z"})
	if len(base.Advice()) != 3 || first.Advice()[3].Type != "Y" || second.Advice()[3].Type != "Z" ||
		first.extra.events[3].reason != "B" || second.extra.events[3].reason != "C" {
		t.Errorf("outcomes share what they carry: %+v, %+v", first.extra, second.extra)
	}
}
