package sim

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/world"
)

// TestAllMethodsAreDrawn: clients of the simulation call every method of every data type, and the model implements all
// of them. A new method needs a drawing (drawings) and an implementation in the model (objectTypes).
func TestAllMethodsAreDrawn(t *testing.T) {
	all := map[string]bool{}
	for _, declared := range adt.Types() {
		require.NotNil(t, newObject(declared.ID), "the model has no %s", declared.Name)
		for _, m := range declared.Methods {
			all[m.FullName()] = true
			require.Contains(t, drawings, m.FullName(), "it would never be called")
		}
	}
	for name := range drawings {
		require.True(t, all[name], "%s is drawn, and there is no such method", name)
	}
	c := &client{w: &sim{opt: Options{Data: Data{Registers: 1, Counters: 1, Objects: 1}},
		World: &world.World{Random: world.Random{Rng: rand.New(rand.NewPCG(1, 2))}}}}
	called := map[string]bool{}
	for range 100 * len(all) {
		op := c.someCall(false)
		m, err := adt.Find(&op)
		require.NoError(t, err)
		called[m.FullName()] = true
	}
	require.Equal(t, all, called)
}

// TestModelMatchesDataTypes: random calls, one after another on one value, have the same results in the model as in the
// data type. Each method changes the value at least once, or returns different results.
func TestModelMatchesDataTypes(t *testing.T) {
	for _, declared := range adt.Types() {
		t.Run(declared.Name, func(t *testing.T) {
			d := &drawer{rand.New(rand.NewPCG(3, uint64(declared.ID))), fewNames, ""}
			model, value := newObject(declared.ID), entry.Value{}
			changed, answers := map[string]bool{}, map[string]map[string]bool{}
			for range 1000 * len(declared.Methods) {
				if d.IntN(50) == 0 { // the key is deleted
					model, value = newObject(declared.ID), entry.Value{}
				}
				m := declared.Methods[d.IntN(len(declared.Methods))]
				op, ok := d.drawCall(m, []byte("k"))
				require.True(t, ok)
				next := model.clone()
				want, kind := next.call(m.Name, op.Args)
				p, _ := (&adt.Request{Method: m, Args: op.Args, Value: &value}).Plan(nil)
				require.Equal(t, kind, kv.KindOf(p.Err), "%v of %v", op, model)
				if kind != kv.KindOK {
					continue
				}
				if !m.Distinct { // the results of a distinct one are compared within a run
					require.Equal(t, fmt.Sprint(want), fmt.Sprint(p.Answer), "%v of %v", op, model)
				}
				if answers[m.Name] == nil {
					answers[m.Name] = map[string]bool{}
				}
				answers[m.Name][fmt.Sprint(p.Answer)] = true
				after, err := adt.Apply(declared.ID, &value, p.Calls)
				require.NoError(t, err)
				if after.Type != entry.TypeDeleted {
					after.Version = kv.Version{Write: 1}
				}
				changed[m.Name] = changed[m.Name] || fmt.Sprint(next) != fmt.Sprint(model)
				model, value = next, after
				require.Equal(t, model.empty(), !value.Exists())
				if value.Exists() {
					require.NoError(t, compareObject(cell{object: model}, &value))
				}
			}
			for _, m := range declared.Methods {
				require.True(t, changed[m.Name] || len(answers[m.Name]) > 1,
					"%s never changed a value and always returned the same",
					m.Name)
				require.Equal(t, m.Changes, changed[m.Name], "%s changes the value", m.Name)
			}
		})
	}
}
