package client

import "context"

// asking makes a unary call until there is a response, or no point in another attempt.
func asking[A any](ctx context.Context, db *DB, call func(context.Context, *session) (A, error)) (A, error) {
	if err := db.inAttempt(ctx); err != nil {
		return *new(A), err
	}
	r := newRetrier(ctx, db)
	defer r.stop()
	for {
		s, failed := r.use()
		if failed != nil {
			return *new(A), failed
		}
		answer, err := call(r.bounded(), s)
		s.unuse()
		if err == nil {
			return answer, nil
		}
		if e := failure(r.bounded(), err); !r.again(e) {
			return answer, e
		}
	}
}
