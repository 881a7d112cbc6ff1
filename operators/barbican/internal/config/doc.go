// SPDX-License-Identifier: Apache-2.0

// Package config renders the configuration of Barbican: what the custom resource and its ready key stores say becomes the
// files of one content-hashed Secret. It also holds what the operator knows about options: which ones it sets itself, which
// carry credentials, and which ones a release has. The webhooks and the renderer judge input by the same functions.
//
// Rendering is pure and holds no secret: passwords, the database URL and the secret ID reach the service by environment.
package config
