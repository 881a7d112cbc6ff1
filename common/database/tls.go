// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"path"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/oslo"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// CAKey is the key of a CA bundle in its Secret, and its file name in pods.
const CAKey = "ca.crt"

// readableByGroup lets an unprivileged process read the files through the fsGroup of its pod.
const readableByGroup int32 = 0o440

// TLSVolume holds the CA bundle and the client certificate of a connection that uses TLS.
func TLSVolume(name string, tls api.DatabaseTLSSpec) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: new(readableByGroup),
		Sources: []corev1.VolumeProjection{
			project(tls.CABundleSecretRef.Name, CAKey),
			project(tls.ClientCertSecretRef.Name, corev1.TLSCertKey, corev1.TLSPrivateKeyKey),
		},
	}}}
}

func project(secret string, keys ...string) corev1.VolumeProjection {
	items := make([]corev1.KeyToPath, len(keys))
	for i, key := range keys {
		items[i] = corev1.KeyToPath{Key: key, Path: key}
	}
	return corev1.VolumeProjection{Secret: &corev1.SecretProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Items: items,
	}}
}

// TLSDigest returns the digest of the files in the TLSVolume, empty for a connection without TLS. A pod that carries it in
// its template is replaced when a certificate is renewed. As long as a file is missing the outcome waits: pods would hang.
func TLSDigest(ctx context.Context, c target.Cluster, owner client.Object, spec api.DatabaseSpec) (string, reconcile.Outcome) {
	if !spec.TLSEnabled() {
		return "", reconcile.Outcome{}
	}
	ca, o := await(ctx, c, owner, spec.TLS.CABundleSecretRef.Name, CAKey)
	if !o.Done() {
		return "", o
	}
	pair, o := await(ctx, c, owner, spec.TLS.ClientCertSecretRef.Name, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	if !o.Done() {
		return "", o
	}
	return apply.Digest([][]byte{ca.Data[CAKey], pair.Data[corev1.TLSCertKey], pair.Data[corev1.TLSPrivateKeyKey]}), o
}

// tlsQuery are the parameters that PyMySQL takes for each grade of protection; dir is where the TLSVolume is mounted.
func tlsQuery(spec api.DatabaseSpec, dir string) map[string]string {
	if !spec.TLSEnabled() {
		return nil
	}
	verify := oslo.VerifyDefault
	switch spec.TLSMode() {
	case api.DatabaseTLSVerifyCA:
		verify = oslo.VerifyCA
	case api.DatabaseTLSVerifyFull:
		verify = oslo.VerifyFull
	}
	return oslo.TLSQuery(path.Join(dir, CAKey), path.Join(dir, corev1.TLSCertKey), path.Join(dir, corev1.TLSPrivateKeyKey), verify)
}
