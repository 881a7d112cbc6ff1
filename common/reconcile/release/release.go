// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// firstYear is the year of OpenStack's first release.
const firstYear = 2010

// Release is a release of OpenStack, such as 2026.1, with the suffix that packagers add to it. The zero value is none.
type Release struct {
	Year, Minor int
	Suffix      string // without its dash; plays no part in comparisons
}

// Parse reads YYYY.N or YYYY.N-suffix, where N is 1 or 2 and the year is not before 2010.
func Parse(text string) (Release, error) {
	number, suffix, _ := strings.Cut(text, "-")
	year, minor, ok := strings.Cut(number, ".")
	if !ok || len(year) != 4 || (minor != "1" && minor != "2") {
		return Release{}, fmt.Errorf("%q is no release: expected YYYY.1 or YYYY.2", text)
	}
	y, err := strconv.ParseUint(year, 10, 16)
	if err != nil || y < firstYear {
		return Release{}, fmt.Errorf("%q is no release: the year must be %d or later", text, firstYear)
	}
	return Release{Year: int(y), Minor: int(minor[0] - '0'), Suffix: suffix}, nil
}

// Compare orders releases by age, older first; the suffix does not count.
func (r Release) Compare(other Release) int {
	return cmp.Or(cmp.Compare(r.Year, other.Year), cmp.Compare(r.Minor, other.Minor))
}

// Next is the release that follows, half a year later.
func (r Release) Next() Release {
	if r.Minor == 1 {
		return Release{Year: r.Year, Minor: 2}
	}
	return Release{Year: r.Year + 1, Minor: 1}
}

// String returns the release without its suffix.
func (r Release) String() string {
	return strconv.Itoa(r.Year) + "." + strconv.Itoa(r.Minor)
}
