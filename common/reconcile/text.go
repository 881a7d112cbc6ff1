// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"regexp"
	"strings"
)

// maxMessage is what the API server accepts in a condition's message.
const maxMessage = 32768

// unstable lists the parts of error texts that differ from one try to the next. Left in, each try would write the status
// and wake every watcher of the object.
var unstable = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`(read|write|dial) (tcp|udp) \S+->`), "$1 $2 "},
	{regexp.MustCompile(`0x[0-9a-f]{6,}`), "0x…"},
	{regexp.MustCompile(`\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?( ?(Z|[+-]\d{2}:?\d{2}))?`), "<time>"},
	{regexp.MustCompile(`lookup (\S+) on \S+:`), "lookup $1:"},
	{regexp.MustCompile(`(retry in|after) (\d+(\.\d+)?(h|m|s|ms|µs|ns))+\b`), "$1 a while"},
	{regexp.MustCompile(`[Rr]equest[ -]?[Ii][Dd]:? "?[0-9a-zA-Z-]{8,}"?`), "request"},
	{regexp.MustCompile(`(stream ID |LastStreamID=)\d+`), "${1}…"},
}

// StableText is the text of err as it may stand in a condition: one line of valid text, without the parts that change
// from try to try, of a length that the API server accepts.
func StableText(err error) string {
	if err == nil {
		return ""
	}
	return stable(err.Error())
}

func stable(text string) string {
	text = strings.ToValidUTF8(text, "")
	for _, u := range unstable {
		text = u.pattern.ReplaceAllString(text, u.replacement)
	}
	return bounded(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
}

func bounded(text string) string {
	if len(text) > maxMessage {
		return strings.ToValidUTF8(text[:maxMessage], "")
	}
	return text
}
