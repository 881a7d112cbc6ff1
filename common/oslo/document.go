// SPDX-License-Identifier: Apache-2.0

package oslo

import (
	"cmp"
	"slices"
	"strings"
)

// DefaultSection is the one section whose name oslo.config does not fold to lower case.
const DefaultSection = "DEFAULT"

// Document is an INI file under construction: layers of options of which the later win. The zero Document is empty.
type Document struct {
	options []option
}

// NewDocument returns an empty document with room for a number of options.
func NewDocument(options int) *Document {
	return &Document{options: make([]option, 0, options)}
}

// option is one assignment. Without a key it stands for the header of its section.
type option struct {
	section, key, value string
	more                []string
	omitted             bool
}

// Section asks for the header of a section even if the section stays empty.
func (d *Document) Section(section string) {
	d.options = append(d.options, option{section: section})
}

// Set gives an option its value, or several of them for a multi-valued option. Without any value the option is left out,
// also when an earlier layer had set it.
func (d *Document) Set(section, key string, values ...string) {
	o := option{section: section, key: key, omitted: len(values) == 0}
	if len(values) > 0 {
		o.value = values[0]
		// A copy, so that the arguments of the usual call stay on the stack.
		o.more = append([]string(nil), values[1:]...)
	}
	d.options = append(d.options, o)
}

// Overlay lays sections written by a user over what is set so far. Their names are taken as oslo.config takes them.
func (d *Document) Overlay(sections map[string]map[string]string) {
	for _, name := range sortedKeys(sections) {
		section := SectionName(name)
		d.Section(section)
		for key, value := range sections[name] {
			d.Set(section, key, value)
		}
	}
}

// Get returns the values of an option, and whether it will be written.
func (d *Document) Get(section, key string) ([]string, bool) {
	for _, o := range slices.Backward(d.options) {
		if o.section == section && o.key == key {
			return append([]string{o.value}, o.more...), !o.omitted
		}
	}
	return nil, false
}

// Bytes writes the document for oslo.config: sections and options sorted bytewise, a line a value, a blank line between
// sections. It reorders the options inside, so it is not safe for concurrent use.
func (d *Document) Bytes() []byte { return d.write(appendValue) }

// ConfigParserBytes writes the document for a reader built on Python's ConfigParser, such as PasteDeploy or logging.config:
// it keeps quotes as they are and interpolates percent signs, which are doubled. Outer white space of a value is lost.
func (d *Document) ConfigParserBytes() []byte { return d.write(appendParserValue) }

func (d *Document) write(appendValue func(out []byte, value string) []byte) []byte {
	options := d.effective()
	size := 0
	for i := range options {
		size += options[i].size()
	}
	out := make([]byte, 0, size)
	for i := range options {
		o := &options[i]
		if i == 0 || o.section != options[i-1].section {
			if i > 0 {
				out = append(out, '\n')
			}
			out = append(append(append(out, '['), o.section...), "]\n"...)
		}
		out = o.appendTo(out, appendValue)
	}
	return out
}

// effective returns the options in the order they are written, of equal ones the last.
func (d *Document) effective() []option {
	slices.SortStableFunc(d.options, func(a, b option) int {
		return cmp.Or(strings.Compare(a.section, b.section), strings.Compare(a.key, b.key))
	})
	kept := d.options[:0]
	for i, o := range d.options {
		if i+1 < len(d.options) && d.options[i+1].section == o.section && d.options[i+1].key == o.key {
			continue
		}
		kept = append(kept, o)
	}
	d.options = kept
	return kept
}

func (o *option) size() int {
	const brackets, assignment, quotes = 4, 4, 2
	size := len(o.section) + brackets + len(o.key) + assignment + len(o.value) + quotes
	for _, value := range o.more {
		size += len(o.key) + assignment + len(value) + quotes
	}
	return size
}

func (o *option) appendTo(out []byte, appendValue func([]byte, string) []byte) []byte {
	if o.key == "" || o.omitted {
		return out
	}
	out = append(appendValue(append(append(out, o.key...), " = "...), o.value), '\n')
	for _, value := range o.more {
		out = append(appendValue(append(append(out, o.key...), " = "...), value), '\n')
	}
	return out
}

// appendValue quotes what the reader would otherwise strip: outer white space and a pair of outer quotes.
func appendValue(out []byte, value string) []byte {
	if !stripped(value) {
		return append(out, value...)
	}
	return append(append(append(out, '"'), value...), '"')
}

func stripped(value string) bool {
	if value == "" {
		return false
	}
	first, last := value[0], value[len(value)-1]
	return strings.TrimSpace(value) != value || first == last && (first == '"' || first == '\'')
}

func appendParserValue(out []byte, value string) []byte {
	for i := range len(value) {
		if value[i] == '%' {
			out = append(out, '%')
		}
		out = append(out, value[i])
	}
	return out
}

// SectionName returns a section's name as oslo.config compares it: folded to lower case unless it is DEFAULT. Outer white
// space, which no section of a service has, is dropped.
func SectionName(name string) string {
	name = strings.TrimSpace(name)
	if name == DefaultSection {
		return name
	}
	return strings.ToLower(name)
}

// Escape makes a literal safe from oslo.config's interpolation, which applies to files and environment variables alike: a
// dollar is doubled. One behind a backslash takes another backslash instead, for oslo.config reads \$ as an escaped dollar.
func Escape(literal string) string {
	if !strings.Contains(literal, "$") {
		return literal
	}
	return dollars.Replace(literal)
}

var dollars = strings.NewReplacer(`\$`, `\\$`, "$", "$$")
