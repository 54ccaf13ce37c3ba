package step

// Duration sums up times of one kind, in nanoseconds, and keeps samples of them.
type Duration struct {
	Count uint64
	Nanos int64
	// recent are the samples since the last Take, at most maxRecent; taken are those before.
	recent, taken []int64
}

const maxRecent = 1024

// Add counts a time.
func (d *Duration) Add(nanos int64) {
	d.Count++
	d.Nanos += nanos
	if len(d.recent) < maxRecent {
		d.recent = append(d.recent, nanos)
	}
}

// Take drains the samples. They are valid until the next call.
func (d *Duration) Take() []int64 {
	d.recent, d.taken = d.taken[:0], d.recent
	return d.taken
}
