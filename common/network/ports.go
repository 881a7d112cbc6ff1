// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net"
	"net/url"
	"slices"
	"strconv"

	"github.com/samber/lo"

	"github.com/c5c3/cobaltcore/common/api"
)

// Ports of the schemes of a URL that names none.
const (
	portHTTP  int32 = 80
	portHTTPS int32 = 443
)

// URLPort is the port that a URL leads to: its own, else that of its scheme, else that of https.
func URLPort(raw string) int32 {
	parsed, err := url.Parse(raw)
	if err != nil {
		return portHTTPS
	}
	if port, ok := parsePort(parsed.Port()); ok {
		return port
	}
	if parsed.Scheme == "http" {
		return portHTTP
	}
	return portHTTPS
}

// HostPorts are the distinct ports of URLs, ascending. What is no URL with a host is skipped.
func HostPorts(urls []string) []int32 {
	var ports []int32
	for _, raw := range urls {
		if parsed, err := url.Parse(raw); err == nil && parsed.Hostname() != "" {
			ports = append(ports, URLPort(raw))
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// CachePorts are the distinct ports of a cache's addresses, in their order. An address without a port, or with a bad
// one, counts with the default.
func CachePorts(addresses []string) []int32 {
	return lo.Uniq(lo.Map(addresses, func(address string, _ int) int32 {
		_, text, err := net.SplitHostPort(address)
		if err != nil {
			return api.DefaultCachePort
		}
		if port, ok := parsePort(text); ok {
			return port
		}
		return api.DefaultCachePort
	}))
}

func parsePort(text string) (int32, bool) {
	port, err := strconv.ParseUint(text, 10, 16)
	return int32(port), err == nil && port > 0
}
