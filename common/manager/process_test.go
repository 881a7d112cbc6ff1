// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestMemoryIsGivenBackAtTheEndOfABurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		given := 0
		through := newBurst(func() { given++ }).before(func(in any) (any, error) { return in, nil })
		come := func(objects int, apart time.Duration) {
			for range objects {
				if out, err := through("x"); out != "x" || err != nil {
					t.Fatalf("got %v, %v", out, err)
				}
				time.Sleep(apart) //nolint:forbidigo // of the bubble: no time passes
			}
			synctest.Wait()
		}
		for _, step := range []struct {
			what    string
			objects int
			apart   time.Duration
			want    int
		}{
			{"a few objects, far apart", burstObjects - 1, time.Minute, 0},
			{"many that still come", burstObjects, burstOver / 2, 0},
			{"the last one", 1, burstOver, 1},
			{"a few more", 10, time.Minute, 1},
			{"another burst", burstObjects, burstOver / 2, 1},
			{"its end", 1, burstOver, 2},
		} {
			if come(step.objects, step.apart); given != step.want {
				t.Fatalf("after %s: given back %d times, want %d", step.what, given, step.want)
			}
		}
	})
}
