// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"context"
	"fmt"
	"time"

	"github.com/c5c3/cobaltcore/common/reconcile/probe"
)

func ExampleCache() {
	woken := make(chan string)
	cache := probe.NewCache[string, string](func(key string) { woken <- key }, probe.Options{Patience: time.Millisecond})
	arrive := make(chan string)
	question := probe.Question[string]{About: "https://bao:8200", Ask: func(context.Context) (string, time.Duration) {
		return <-arrive, time.Minute
	}}

	fmt.Println(cache.Get(context.Background(), "store", question)) // the reconcile goes on
	arrive <- "unsealed"
	fmt.Println(<-woken) // and is repeated
	fmt.Println(cache.Get(context.Background(), "store", question))
	// Output:
	//  false
	// store
	// unsealed true
}
