// SPDX-License-Identifier: Apache-2.0

package oslo

import (
	"maps"
	"strconv"
)

// LoggingFile is the name of a logging configuration file.
const LoggingFile = "logging.conf"

// Logging says what a service logs. It logs to standard error.
type Logging struct {
	Level   string            // of the root logger
	JSON    bool              // JSON lines instead of text
	Loggers map[string]string // levels of single loggers by Python name
}

// quietLoggers repeats the part of oslo.log's default_log_levels that matters to an API: a logging configuration file
// replaces these defaults, and at level DEBUG some of these libraries log what they send.
var quietLoggers = map[string]string{
	"dogpile.core.dogpile": "INFO",
	"iso8601":              "WARNING",
	"keystoneauth":         "WARNING",
	"keystonemiddleware":   "WARNING",
	"oslo_messaging":       "INFO",
	"oslo_policy":          "INFO",
	"requests.packages.urllib3.connectionpool": "WARNING",
	"routes.middleware":                        "WARNING",
	"sqlalchemy":                               "WARNING",
	"stevedore":                                "WARNING",
	"urllib3.connectionpool":                   "WARNING",
	"urllib3.util.retry":                       "WARNING",
}

// Bytes writes the file that [DEFAULT] log_config_append names.
func (l Logging) Bytes() []byte {
	loggers := maps.Clone(quietLoggers)
	maps.Copy(loggers, l.Loggers)

	var d Document
	keys := []byte("root")
	for i, name := range sortedKeys(loggers) {
		// Numbered: a Python name may hold characters that a list of keys or a section's name cannot.
		key := strconv.Itoa(i)
		keys = append(append(keys, ','), key...)
		section := "logger_" + key
		d.Set(section, "qualname", name)
		d.Set(section, "level", loggers[name])
		d.Set(section, "handlers", "")
	}
	d.Set("loggers", "keys", string(keys))
	d.Set("logger_root", "level", l.Level)
	d.Set("logger_root", "handlers", "stderr")
	d.Set("handlers", "keys", "stderr")
	d.Set("handler_stderr", "class", "StreamHandler")
	d.Set("handler_stderr", "args", "(sys.stderr,)")
	d.Set("handler_stderr", "level", "NOTSET")
	d.Set("handler_stderr", "formatter", "line")
	d.Set("formatters", "keys", "line")
	d.Set("formatter_line", "class", l.formatter())
	return d.ConfigParserBytes()
}

func (l Logging) formatter() string {
	if l.JSON {
		return "oslo_log.formatters.JSONFormatter"
	}
	return "oslo_log.formatters.ContextFormatter"
}
