package program

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func TestCheckTypes(t *testing.T) {
	var out, errs bytes.Buffer
	s := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}
	require.Equal(t, cli.ExitOK, run(context.Background(), s, []string{"check-types", "--rounds", "200"}))
	for _, d := range adt.Types() {
		require.Contains(t, out.String(), d.Name+": ok (")
	}
	require.Equal(t, cli.ExitUsage, run(context.Background(), s, []string{"check-types", "strings"}))
	require.Contains(t, errs.String(), `there is no type "strings"; there are set, `)
	require.Equal(t, cli.ExitUsage, run(context.Background(), s, []string{"check-types", "--rounds", "0"}))

	wrong, err := adt.Declare(adt.Spec[string]{
		ID: 200, Name: "word", Doc: "A word.", Zero: func() string { return "" },
		Encode: func(s string) []byte { return []byte(s) }, Decode: func(b []byte) (string, error) { return string(b), nil },
		Kinds: []adt.KindSpec{{Name: "put", Changes: true}}, Commute: []adt.Commutes{{A: 1, B: 1, When: adt.Always}},
		Methods: []adt.MethodSpec[string]{{Name: "put", Params: []adt.Param{{Name: "word", Kind: msg.DatumBytes}}, Kind: 1,
			Apply: func(_ string, a adt.Args) (string, error) { return string(a[0].Bytes), nil }}},
	})
	require.NoError(t, err)
	out.Reset()
	require.ErrorContains(t, checkTypes(s, []*adt.Type{wrong}, 1, 500), "the declarations of 1 of 1 types are wrong")
	require.Contains(t, out.String(), "word: WRONG (put)\n")
	require.Contains(t, out.String(), "Different values come of A, then B")

	picky, err := adt.Declare(adt.Spec[string]{
		ID: 200, Name: "picky", Doc: "A word.", Zero: func() string { return "" },
		Encode: func(s string) []byte { return []byte(s) }, Decode: func(b []byte) (string, error) { return string(b), nil },
		Kinds: []adt.KindSpec{{Name: "put", Changes: true}}, Commute: []adt.Commutes{{A: 1, B: 1, When: adt.Always}},
		Methods: []adt.MethodSpec[string]{{Name: "put", Params: []adt.Param{{Name: "word", Kind: msg.DatumBytes}}, Kind: 1,
			Apply: func(_ string, a adt.Args) (string, error) {
				if len(a[0].Bytes) < 10 {
					return "", adt.Errorf(kv.KindInvalid, "too short")
				}
				return string(a[0].Bytes), nil
			}}},
	})
	require.NoError(t, err)
	out.Reset()
	require.NoError(t, checkTypes(s, []*adt.Type{picky}, 1, 500))
	require.Contains(t, out.String(), "picky: ok (put): 500 rounds, 0 beside each other")
	require.Contains(t, out.String(), "  not tried: every call of put failed")
	require.Contains(t, out.String(), `  not tried: "put" and "put" go together, and were never held beside each other`)
}
