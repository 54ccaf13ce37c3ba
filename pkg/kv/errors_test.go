package kv

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryKindHasAName(t *testing.T) {
	seen := map[string]bool{}
	for i, k := range Kinds() {
		require.Equal(t, Kind(i), k)
		require.NotEmpty(t, k.String())
		require.NotContains(t, k.String(), "(")
		require.False(t, seen[k.String()], "two kinds have the name %v", k)
		seen[k.String()] = true
	}
	require.Equal(t, "Kind(200)", Kind(200).String())
}

func TestRetryableKinds(t *testing.T) {
	var retryable []Kind
	for _, k := range Kinds() {
		if k.Retryable() {
			retryable = append(retryable, k)
		}
	}
	require.Equal(t, []Kind{KindAborted, KindUnavailable, KindResourceExhausted}, retryable,
		"an unknown outcome must be queried before a retry")
}

func TestErrorTextHasKeyAndHint(t *testing.T) {
	e := &Error{Kind: KindConditionFailed, Text: "the key is there", Key: []byte("a\x00"), Op: 2, Hint: "read it"}
	require.Equal(t, `ConditionFailed: the key is there (key "a\x00"); read it`, e.Error())
	require.Equal(t, "Aborted: lost 3 times", Errorf(KindAborted, "lost %d times", 3).Error())
	require.Equal(t, -1, Errorf(KindAborted, "").Op)
}

func TestKindOfWrappedError(t *testing.T) {
	e := fmt.Errorf("outer: %w", fmt.Errorf("inner: %w", Errorf(KindTooOld, "old")))
	require.Equal(t, KindTooOld, KindOf(e))
	require.True(t, errors.Is(e, &Error{Kind: KindTooOld}))
	require.False(t, errors.Is(e, &Error{Kind: KindAborted}))
	require.False(t, errors.Is(e, &Error{Kind: KindTooOld, Text: "another"}), "a target with a text matches nothing")
	require.Equal(t, KindOK, KindOf(nil))
	require.Equal(t, KindInternal, KindOf(errors.New("foreign")))
}
