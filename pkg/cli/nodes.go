package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/client/admin"
)

// nodeQuery queries a node, with its number.
type nodeQuery func(ctx context.Context, a *admin.Admin, node int) error

// eachNode calls query for the connected node, and then for the other members at the addresses that this
// node has. It reports members that cannot be reached on standard error.
func (s *session) eachNode(ctx context.Context, query nodeQuery) error {
	st, err := s.admin().Status(ctx)
	if err != nil {
		return err
	}
	if err := query(ctx, s.admin(), st.Node); err != nil {
		return err
	}
	for _, m := range st.Members {
		if m.Self || m.Node == st.Node {
			continue
		}
		if err := s.otherNode(ctx, m, query); err != nil {
			fmt.Fprintf(s.cmd.ErrOrStderr(), "linchpin: node n%d does not respond: %v\n", m.Node, err)
		}
	}
	return nil
}

// otherTimeout bounds the response of one of several nodes.
const otherTimeout = 3 * time.Second

func (s *session) otherNode(ctx context.Context, m admin.Member, query nodeQuery) error {
	ctx, cancel := context.WithTimeout(ctx, otherTimeout)
	defer cancel()
	db, err := s.open(ctx, m.Address)
	if err != nil {
		return err
	}
	defer db.Close()
	return query(ctx, admin.New(db), m.Node)
}
