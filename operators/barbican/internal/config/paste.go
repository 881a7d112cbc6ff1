// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"

	"github.com/samber/lo"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/oslo"
)

// pasteFile lays out barbican-api-paste.ini as the release ships it, with the middleware of the spec in the pipeline that
// serves /v1.
func pasteFile(release string, middleware []api.Middleware) ([]byte, error) {
	filters := lo.Map(middleware, func(m api.Middleware, _ int) oslo.Filter {
		return oslo.Filter{Name: m.Name, Factory: m.FilterFactory, Position: string(m.Position), Config: m.Config}
	})
	l := layoutOf(release)
	keystone, err := oslo.Pipeline(l.front+" authtoken context microversion", "apiapp", filters...)
	if err != nil {
		return nil, err
	}
	d := oslo.NewDocument(len(l.settings) + len(filters) + 1)
	for _, s := range l.settings {
		d.Set(s.section, s.key, s.value)
	}
	for _, filter := range filters {
		// Barbican's own filters keep their sections whatever a user calls his.
		if !l.has("filter:" + filter.Name) {
			d.AddFilter(filter)
		}
	}
	d.Set("pipeline:barbican-api-keystone", "pipeline", keystone)
	return d.ConfigParserBytes(), nil
}

type setting struct{ section, key, value string }

// layout is what differs between releases.
type layout struct {
	front    string // the filters that every pipeline begins with
	settings []setting
}

// requestIDRelease is the first release with the request_id filter and without the profiler.
const requestIDRelease = "2026.1"

func layoutOf(release string) layout {
	if releaseName.MatchString(release) && release >= requestIDRelease {
		return currentLayout
	}
	return formerLayout
}

var currentLayout = newLayout("cors request_id http_proxy_to_wsgi",
	setting{"pipeline:barbican-api-keystone-audit", "pipeline", "cors request_id http_proxy_to_wsgi authtoken context microversion audit apiapp"},
	setting{"filter:request_id", oslo.FactoryKey, "oslo_middleware.request_id:RequestId.factory"},
)

var formerLayout = newLayout("cors http_proxy_to_wsgi",
	setting{"pipeline:barbican-api-keystone-audit", "pipeline", "http_proxy_to_wsgi authtoken context microversion audit apiapp"},
	setting{"pipeline:barbican-profile", "pipeline", "cors http_proxy_to_wsgi unauthenticated-context microversion egg:Paste#cgitb egg:Paste#httpexceptions profile apiapp"},
	setting{"filter:profile", "use", "egg:repoze.profile"},
	setting{"filter:profile", "log_filename", "myapp.profile"},
	setting{"filter:profile", "cachegrind_filename", "cachegrind.out.myapp"},
	setting{"filter:profile", "discard_first_request", "true"},
	setting{"filter:profile", "path", "/__profile__"},
	setting{"filter:profile", "flush_at_shutdown", "true"},
	setting{"filter:profile", "unwind", "false"},
)

func newLayout(front string, settings ...setting) layout {
	settings = append(settings,
		setting{"pipeline:barbican_version", "pipeline", front + " microversion versionapp"},
		setting{"pipeline:barbican_api", "pipeline", front + " unauthenticated-context microversion apiapp"},
	)
	return layout{front: front, settings: append(settings, pasteSettings...)}
}

func (l layout) has(section string) bool {
	return slices.ContainsFunc(l.settings, func(s setting) bool { return s.section == section })
}

// pasteSettings is what all releases have in common.
var pasteSettings = []setting{
	{"composite:main", "use", "egg:Paste#urlmap"},
	{"composite:main", "/", "barbican_version"},
	{"composite:main", "/healthcheck", "healthcheck"},
	{"composite:main", "/v1", "barbican-api-keystone"},
	{"app:apiapp", "paste.app_factory", "barbican.api.app:create_main_app"},
	{"app:versionapp", "paste.app_factory", "barbican.api.app:create_version_app"},
	{"app:healthcheck", "paste.app_factory", "oslo_middleware:Healthcheck.app_factory"},
	{"app:healthcheck", "backends", "disable_by_file"},
	{"app:healthcheck", "disable_by_file_path", "/etc/barbican/healthcheck_disable"},
	{"filter:simple", oslo.FactoryKey, "barbican.api.middleware.simple:SimpleFilter.factory"},
	{"filter:unauthenticated-context", oslo.FactoryKey, "barbican.api.middleware.context:UnauthenticatedContextMiddleware.factory"},
	{"filter:context", oslo.FactoryKey, "barbican.api.middleware.context:ContextMiddleware.factory"},
	{"filter:microversion", oslo.FactoryKey, "barbican.api.middleware.microversion:MicroversionMiddleware.factory"},
	{"filter:audit", oslo.FactoryKey, "keystonemiddleware.audit:filter_factory"},
	{"filter:audit", "audit_map_file", "/etc/barbican/api_audit_map.conf"},
	{"filter:authtoken", oslo.FactoryKey, "keystonemiddleware.auth_token:filter_factory"},
	{"filter:cors", oslo.FactoryKey, "oslo_middleware.cors:filter_factory"},
	{"filter:cors", "oslo_config_project", "barbican"},
	{"filter:http_proxy_to_wsgi", oslo.FactoryKey, "oslo_middleware:HTTPProxyToWSGI.factory"},
}
