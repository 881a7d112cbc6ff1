// SPDX-License-Identifier: Apache-2.0

package api

// ImageSpec pins a container image by tag or by digest.
// +kubebuilder:validation:XValidation:rule="has(self.tag) != has(self.digest)",message="exactly one of tag and digest must be set"
type ImageSpec struct {
	// Repository of the image, with registry host and port when it needs one.
	// Example: ghcr.io/c5c3/barbican.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+([._:/-][a-z0-9]+)*$`
	Repository string `json:"repository"`

	// Tag of the image, for example 2026.1 or 2026.1-p1. A tag that reads as a
	// release must match openStackRelease. Exclusive with digest.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`
	// +optional
	Tag string `json:"tag,omitempty"`

	// Digest that pins the image, sha256: and 64 hexadecimal digits. It says
	// nothing about the release, so the check of the tag against openStackRelease
	// is skipped. Exclusive with tag.
	// +kubebuilder:validation:Pattern=`^sha256:[a-f0-9]{64}$`
	// +optional
	Digest string `json:"digest,omitempty"`
}

// Reference returns the image as a container runtime takes it: repository@digest when a digest is set, repository:tag otherwise.
func (s ImageSpec) Reference() string {
	if s.Digest != "" {
		return s.Repository + "@" + s.Digest
	}
	return s.Repository + ":" + s.Tag
}
