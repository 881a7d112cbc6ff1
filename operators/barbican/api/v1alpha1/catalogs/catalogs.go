// SPDX-License-Identifier: Apache-2.0

// Package catalogs embeds the options that each release of Barbican knows, one JSON file a release. hack/catalogues writes
// them; common/oslo reads them.
package catalogs

import "embed"

// Files holds <release>.json for every known release.
//
//go:embed *.json
var Files embed.FS
