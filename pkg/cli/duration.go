package cli

import (
	"strconv"
	"strings"
	"time"
)

// ShownDuration shows how long something took or waited: in µs below 1 ms, in ms below 10 s, and in
// s above, with three significant digits.
func ShownDuration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + " µs"
	case d < 10*time.Second:
		return digits(float64(d)/float64(time.Millisecond)) + " ms"
	}
	return digits(d.Seconds()) + " s"
}

// digits is a number of 1 or more with three significant digits, and all of those before the point.
func digits(x float64) string {
	after := 0
	switch {
	case x < 10:
		after = 2
	case x < 100:
		after = 1
	}
	text := strconv.FormatFloat(x, 'f', after, 64)
	if after > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// microseconds is a number of microseconds, shown.
func microseconds(us uint64) string { return ShownDuration(time.Duration(us) * time.Microsecond) }

// shownAge shows for how long a state lasts, rounded to a second.
func shownAge(d time.Duration) string { return max(d, 0).Round(time.Second).String() }
