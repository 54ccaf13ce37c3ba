package client

// Scored is a member with its score. Scores have at most six decimal places.
type Scored[T any] struct {
	Member T
	Score  float64
}

// ScoredSet is a key that holds members, each of them once, in the order of
// their scores, and where these are equal of their bytes.
type ScoredSet[T any] struct{ typed[T] }

// NewScoredSet is the scored set at a key; nothing is done yet.
func NewScoredSet[T any](key string, c Codec[T]) *ScoredSet[T] {
	return &ScoredSet[T]{typed[T]{key, "sorted-set", c}}
}

// Add sets the score of a member, which is added if it is not there.
func (s *ScoredSet[T]) Add(d Doer, score float64, member T) error {
	op, err := s.with("add", []any{score}, member)
	if err != nil {
		return err
	}
	return tell(d, op)
}

// Increment adds to the score of a member, 0 if it is not there. Those who
// increment do not wait for each other.
func (s *ScoredSet[T]) Increment(d Doer, member T, delta float64) error {
	op, err := s.increment("increment", member, delta)
	if err != nil {
		return err
	}
	return tell(d, op)
}

// IncrementGet is Increment which gives the sum.
func (s *ScoredSet[T]) IncrementGet(d Doer, member T, delta float64) (float64, error) {
	op, err := s.increment("increment-get", member, delta)
	if err != nil {
		return 0, err
	}
	x, _, err := askFloat(d, op)
	return x, err
}

func (s *ScoredSet[T]) increment(method string, member T, delta float64) (Op, error) {
	b, err := s.codec.Encode(member)
	if err != nil {
		return Op{}, s.failed(err, "a member cannot be written")
	}
	return s.call(method, b, delta), nil
}

// Remove removes members.
func (s *ScoredSet[T]) Remove(d Doer, members ...T) error { return s.tellOf(d, "remove", members) }

// Score gives the score of a member; ok is false if it is not there.
func (s *ScoredSet[T]) Score(d Doer, member T) (score float64, ok bool, err error) {
	op, err := s.with("score", nil, member)
	if err != nil {
		return 0, false, err
	}
	return askFloat(d, op)
}

// Rank gives the place of a member, 0 for the lowest score; ok is false if it is
// not there.
func (s *ScoredSet[T]) Rank(d Doer, member T) (rank int64, ok bool, err error) {
	return s.place(d, "rank", member)
}

// RevRank is Rank from the highest score.
func (s *ScoredSet[T]) RevRank(d Doer, member T) (rank int64, ok bool, err error) {
	return s.place(d, "rev-rank", member)
}

func (s *ScoredSet[T]) place(d Doer, method string, member T) (int64, bool, error) {
	op, err := s.with(method, nil, member)
	if err != nil {
		return 0, false, err
	}
	return askPlace(d, op)
}

// ByRank gives the members at the places first to last, both included; negative
// numbers count from the end, which is -1.
func (s *ScoredSet[T]) ByRank(d Doer, first, last int) ([]Scored[T], error) {
	return s.scored(d, s.call("range-by-rank", first, last))
}

// ByRankDesc is ByRank from the highest score.
func (s *ScoredSet[T]) ByRankDesc(d Doer, first, last int) ([]Scored[T], error) {
	return s.scored(d, s.call("range-by-rev-rank", first, last))
}

// ByScore gives at most limit members with scores from least to most, both
// included; a limit of 0 is none.
func (s *ScoredSet[T]) ByScore(d Doer, least, most float64, limit int) ([]Scored[T], error) {
	if limit > 0 {
		return s.scored(d, s.call("range-by-score", least, most, limit))
	}
	return s.scored(d, s.call("range-by-score", least, most))
}

// Size tells how many members there are.
func (s *ScoredSet[T]) Size(d Doer) (int64, error) { return askInt(d, s.call("len")) }

// TopK is a key that holds the members with the highest scores, 100 at most,
// each with the highest that it was ever given. Additions do not wait for each
// other.
type TopK[T any] struct{ typed[T] }

// NewTopK is the top-k at a key; nothing is done yet.
func NewTopK[T any](key string, c Codec[T]) *TopK[T] { return &TopK[T]{typed[T]{key, "top-k", c}} }

// Add offers a member with a score.
func (k *TopK[T]) Add(d Doer, score float64, member T) error {
	op, err := k.with("add", []any{score}, member)
	if err != nil {
		return err
	}
	return tell(d, op)
}

// Top gives the best n, the highest score first.
func (k *TopK[T]) Top(d Doer, n int) ([]Scored[T], error) { return k.scored(d, k.call("top", n)) }

// Max gives the best; ok is false if there is none.
func (k *TopK[T]) Max(d Doer) (best Scored[T], ok bool, err error) {
	all, err := k.scored(d, k.call("max"))
	if err != nil || len(all) == 0 {
		return best, false, err
	}
	return all[0], true, nil
}

// scored calls a method that answers members with scores.
func (h *typed[T]) scored(d Doer, op Op) ([]Scored[T], error) {
	a, err := ask(d, op, 0)
	if err != nil {
		return nil, err
	}
	out := make([]Scored[T], len(a)/2)
	for i := range out {
		out[i].Score = a[2*i+1].Float()
		out[i].Member, err = h.element(a[2*i])
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
