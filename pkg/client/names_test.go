package client

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// TestNamesAreThoseOfTheStore: of types, by their numbers, and of each method in the table.
func TestNamesAreThoseOfTheStore(t *testing.T) {
	for n, want := range map[pb.DataType]Type{pb.DataType_VALUE: TypeValue, pb.DataType_COUNTER: TypeCounter,
		pb.DataType_SET: TypeSet,
		pb.DataType_MAP: TypeMap, pb.DataType_SORTED_SET: TypeSortedSet, pb.DataType_TOP_K: TypeTopK,
		pb.DataType_SUMMARY:         TypeSummary,
		pb.DataType_BOUNDED_COUNTER: TypeBoundedCounter, pb.DataType_IDS: TypeIDs, pb.DataType_LIST: TypeList} {
		require.Equal(t, want, typeOf(n, ""))
		_, err := adt.FindType(string(want))
		require.NoError(t, err)
	}
	require.Equal(t, Type("distinct"), typeOf(200, "distinct"))
	types := map[string]Type{"TypeValue": TypeValue, "TypeCounter": TypeCounter, "TypeSet": TypeSet, "TypeMap": TypeMap,
		"TypeSortedSet": TypeSortedSet,
		"TypeTopK":      TypeTopK, "TypeSummary": TypeSummary, "TypeBoundedCounter": TypeBoundedCounter, "TypeIDs": TypeIDs,
		"TypeList": TypeList}
	f, err := parser.ParseFile(token.NewFileSet(), "names.go", nil, 0)
	require.NoError(t, err)
	checked := 0
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		name, ok := call.Args[1].(*ast.BasicLit)
		typ, isName := call.Args[0].(*ast.Ident)
		if ok && isName && call.Fun.(*ast.Ident).Name == "newMethod" {
			_, err := adt.FindNamed(string(types[typ.Name]), name.Value[1:len(name.Value)-1])
			require.NoError(t, err, typ.Name)
			checked++
		}
		return true
	})
	require.Greater(t, checked, 50)
}
