package msg

import (
	"errors"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Fail makes a failure.
func Fail(r Reason, k kv.Kind, text string) *Failure {
	return &Failure{Reason: r, Kind: uint32(k), Text: text}
}

// FailureOf returns an error as the failure of a request.
func FailureOf(err error) *Failure {
	f := Fail(ReasonRequest, kv.KindOf(err), err.Error())
	e := (*kv.Error)(nil)
	if errors.As(err, &e) {
		f.Text, f.Key, f.Hint = e.Text, e.Key, e.Hint
	}
	return f
}
