// SPDX-License-Identifier: Apache-2.0

package oslo

import (
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
)

// DSN is where a service finds its MariaDB, and as whom.
type DSN struct {
	User, Password string
	Host, Port     string
	Database       string
	// Query holds parameters beside the character set, which is always utf8.
	Query map[string]string
}

// String returns the SQLAlchemy URL, ready for a configuration file or an environment variable that oslo.config reads.
//
// User and password are percent-encoded down to letters, digits, "-", "_", "." and "~", so no byte of them can be taken for
// anything else, neither by SQLAlchemy nor by oslo.config. Parameters are sorted and keep their slashes, because tools that
// pass the URL through a ConfigParser trip over percent signs.
func (d DSN) String() string {
	var out strings.Builder
	out.WriteString("mysql+pymysql://")
	out.WriteString(percentEncode(d.User) + ":" + percentEncode(d.Password))
	out.WriteString("@" + net.JoinHostPort(d.Host, d.Port) + "/" + d.Database)
	query := maps.Clone(d.Query)
	if query == nil {
		query = map[string]string{}
	}
	query["charset"] = "utf8"
	separator := "?"
	for _, key := range slices.Sorted(maps.Keys(query)) {
		value := strings.ReplaceAll(url.QueryEscape(query[key]), "%2F", "/")
		out.WriteString(separator + url.QueryEscape(key) + "=" + value)
		separator = "&"
	}
	return Escape(out.String())
}

func percentEncode(text string) string {
	// QueryEscape leaves exactly the unreserved characters alone and writes a space as "+".
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

// Verification grades what a client checks of the certificate of its database.
type Verification int

// The grades. PyMySQL knows no connection that is encrypted with a CA at hand and unchecked, so the least is a full check too.
const (
	VerifyDefault Verification = iota // whatever PyMySQL does: the signature and the name
	VerifyCA                          // the signature only
	VerifyFull                        // the signature and the name
)

// TLSQuery returns the parameters that protect a connection, for DSN.Query. The files are paths in the pod.
//
// SQLAlchemy hands them to PyMySQL as one dictionary, which PyMySQL throws away, CA included, once it sees its own
// ssl_verify_cert or ssl_verify_identity. Only ssl_check_hostname grades the check.
func TLSQuery(ca, certificate, key string, verify Verification) map[string]string {
	query := map[string]string{"ssl_ca": ca, "ssl_cert": certificate, "ssl_key": key}
	switch verify {
	case VerifyCA:
		query["ssl_check_hostname"] = "false"
	case VerifyFull:
		query["ssl_check_hostname"] = "true"
	case VerifyDefault:
	}
	return query
}
