// SPDX-License-Identifier: Apache-2.0

// Package database gives a service its MariaDB schema: the objects that mariadb-operator turns into a database, a user and
// their grant, the Secret with the connection, the migration Job, and the clean-up at the end. Nothing here drops a schema
// unless the specification says so in as many words.
package database
