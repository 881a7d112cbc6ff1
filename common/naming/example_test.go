// SPDX-License-Identifier: Apache-2.0

package naming_test

import (
	"fmt"
	"strings"

	"github.com/c5c3/cobaltcore/common/naming"
)

func ExampleInstance() {
	keys := naming.Instance{App: "barbican", Name: "keys"}
	fmt.Println(keys.Selector())
	fmt.Println(keys.Component(naming.ComponentAPI))
	// Output:
	// map[app.kubernetes.io/instance:keys app.kubernetes.io/name:barbican]
	// map[app.kubernetes.io/component:api app.kubernetes.io/instance:keys app.kubernetes.io/managed-by:barbican-operator app.kubernetes.io/name:barbican]
}

func ExampleBounded() {
	fmt.Println(naming.Bounded("keys", "-db-clean", 52)) // a CronJob's name ends up in names of Jobs
	fmt.Println(naming.Bounded(strings.Repeat("very-", 10)+"long", "-db-clean", 52))
	// Output:
	// keys-db-clean
	// very-very-very-very-very-very-very-ec35f54b-db-clean
}
