package adt

// refute is check.Type. Package check imports this package, so internal tests cannot import it;
// external tests set it.
var refute func(t *Type, seed uint64, rounds int) error

// SetRefute sets refute.
func SetRefute(f func(t *Type, seed uint64, rounds int) error) { refute = f }
