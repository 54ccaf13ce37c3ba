package step

// Duration sums durations of one kind, in nanoseconds, and keeps samples of them.
type Duration struct {
	Count uint64
	Nanos int64
	// recent are the samples since the last Take, at most maxRecent; taken are those that Take returned.
	recent, taken []int64
}

// maxRecent bounds the samples between two calls of Take.
const maxRecent = 1024

// Add counts a duration.
func (d *Duration) Add(nanos int64) {
	d.Count++
	d.Nanos += nanos
	if len(d.recent) < maxRecent {
		d.recent = append(d.recent, nanos)
	}
}

// Take returns the samples since the last call. They are valid until the next call.
func (d *Duration) Take() []int64 {
	d.recent, d.taken = d.taken[:0], d.recent
	return d.taken
}
