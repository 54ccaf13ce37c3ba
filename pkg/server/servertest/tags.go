package servertest

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TagsID is the number of the data type that Tags declares.
const TagsID = 200

// Tags declares a data type as users do: "tags", a set of short words with what
// they weigh in all.
var Tags = sync.OnceValue(func() *adt.Type { return adt.Install(tags) })

// tagged is a value: words, sorted, and a weight.
type tagged struct {
	words  []string
	weight float64
}

const (
	tagAdd adt.Kind = iota + 1
	tagHas
	tagAll
	tagWeigh
)

var tags = adt.Spec[tagged]{
	ID: TagsID, Name: "tags", Doc: "A set of short words, with what they weigh in all.",
	Zero: func() tagged { return tagged{} },
	Encode: func(s tagged) []byte {
		return []byte(strconv.FormatFloat(s.weight, 'g', -1, 64) + "\n" + strings.Join(append(slices.Clone(s.words), ""),
			"\n"))
	},
	Decode:  decodeTags,
	Kinds:   []adt.KindSpec{{Name: "add", Changes: true}, {Name: "has"}, {Name: "all"}, {Name: "weigh", Changes: true}},
	Commute: []adt.Commutes{{A: tagAdd, B: tagAdd, When: adt.Always}, {A: tagAdd, B: tagHas, When: adt.OtherPart}},
	Methods: []adt.MethodSpec[tagged]{
		{Name: "add", Doc: "Adds words.", Kind: tagAdd, Part: parts, Apply: addTags,
			Params: []adt.Param{{Name: "word", Kind: msg.DatumBytes, Many: true}}},
		{Name: "has", Doc: "Answers whether a word is there.", Kind: tagHas, Part: parts,
			Params: []adt.Param{{Name: "word", Kind: msg.DatumBytes}},
			Answer: func(s tagged, a adt.Args) ([]msg.Datum, error) {
				return []msg.Datum{adt.Bool(slices.Contains(s.words, string(a[0].Bytes)))}, nil
			}},
		{Name: "first", Doc: "Answers the first words, and what all of them weigh.", Kind: tagAll,
			Params: []adt.Param{{Name: "n", Kind: msg.DatumInt, Optional: true}}, Answer: firstTags},
		{Name: "weigh", Doc: "Adds to the weight.", Kind: tagWeigh, Apply: weighTags,
			Params: []adt.Param{{Name: "by", Kind: msg.DatumFloat}}},
	},
}

func parts(a adt.Args) (out [][]byte) {
	for i := range a {
		out = append(out, a[i].Bytes)
	}
	return out
}

func decodeTags(b []byte) (s tagged, err error) {
	head, rest, _ := bytes.Cut(b, []byte("\n"))
	d, ok := adt.ParseDatum(string(head), msg.DatumFloat)
	if !ok {
		return s, kv.Errorf(kv.KindCorrupt, "a weight is %q", head)
	}
	s.weight = d.Float
	if lines := strings.Split(string(rest), "\n"); len(lines) > 1 {
		s.words = lines[:len(lines)-1] // each of them has an end
	}
	return s, nil
}

func addTags(s tagged, a adt.Args) (tagged, error) {
	s.words = slices.Clone(s.words)
	for i := range a {
		w := string(a[i].Bytes)
		if len(w) > 100 || strings.Contains(w, "\n") {
			return s, adt.Errorf(kv.KindInvalid, "a word is one line of at most 100 bytes")
		}
		if at, found := slices.BinarySearch(s.words, w); !found {
			s.words = slices.Insert(s.words, at, w)
		}
	}
	return s, nil
}

func firstTags(s tagged, a adt.Args) (out []msg.Datum, _ error) {
	n := len(s.words)
	if len(a) > 0 {
		n = int(min(max(a[0].Int, 0), int64(n)))
	}
	for _, w := range s.words[:n] {
		out = append(out, adt.Bytes([]byte(w)))
	}
	return append(out, adt.Float(s.weight)), nil
}

func weighTags(s tagged, a adt.Args) (tagged, error) {
	s.weight += a[0].Float
	if s.weight > 1000 {
		return s, adt.Errorf(kv.KindOutOfRange, "the weight would be %v, and 1000 is the most", s.weight)
	}
	return s, nil
}
