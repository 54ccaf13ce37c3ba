package cli

import "time"

// shownAge shows for how long a state lasts, rounded to a second.
func shownAge(d time.Duration) string { return max(d, 0).Round(time.Second).String() }
