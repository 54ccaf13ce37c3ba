package adt

// refute is check.Type. Package check imports this one, so that the tests inside
// cannot import it; those outside set it.
var refute func(t *Type, seed uint64, rounds int) error

// SetRefute sets what tries to refute declarations in the tests inside.
func SetRefute(f func(t *Type, seed uint64, rounds int) error) { refute = f }
