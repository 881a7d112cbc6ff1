// SPDX-License-Identifier: Apache-2.0

package network

import (
	"slices"
	"testing"
)

func TestURLPort(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]int32{
		"https://keystone.example.org/v3": 443, "http://keystone:5000": 5000, "http://keystone/v3": 80, "https://[2001:db8::1]:35357/v3": 35357,
		"": 443, "://": 443, "https://host:99999": 443, "http://host:0": 80, "https://host:": 443, "keystone": 443,
	} {
		if got := URLPort(url); got != want {
			t.Errorf("URLPort(%q) = %d, want %d", url, got, want)
		}
	}
}

func TestHostPorts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		urls []string
		want []int32
	}{
		"none":                  {nil, nil},
		"sorted and distinct":   {[]string{"https://b:8200", "https://a", "https://c:8200", "http://d"}, []int32{80, 443, 8200}},
		"what is no URL is out": {[]string{"::", "", "host:8200", "https://a:8201"}, []int32{8201}},
	} {
		if got := HostPorts(tt.urls); !slices.Equal(got, tt.want) {
			t.Errorf("%s: HostPorts() = %v, want %v", name, got, tt.want)
		}
	}
}

func TestCachePorts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		addresses []string
		want      []int32
	}{
		"none":           {nil, nil},
		"in their order": {[]string{"a:11212", "b:11211", "c:11212"}, []int32{11212, 11211}},
		"without a port": {[]string{"a", "b:", "c:memcache", "[::1]:7"}, []int32{11211, 7}},
	} {
		if got := CachePorts(tt.addresses); !slices.Equal(got, tt.want) {
			t.Errorf("%s: CachePorts() = %v, want %v", name, got, tt.want)
		}
	}
}
