package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	client "github.com/linchpindb/linchpin/pkg/oldclient"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// askEach asks the connected node and then the other members that it knows,
// at the addresses it knows them by. Of those that cannot be reached only the
// error output tells: what the others answer is of use without them.
func (s *session) askEach(ctx context.Context, ask func(ctx context.Context, db *client.DB, node uint32) error) error {
	st, err := s.db.Status(ctx)
	if err != nil {
		return err
	}
	if err := ask(ctx, s.db, st.NodeId); err != nil {
		return err
	}
	for i := range st.Members {
		m := &st.Members[i]
		if m.Self || m.NodeId == st.NodeId {
			continue
		}
		if err := s.askOther(ctx, m, ask); err != nil {
			fmt.Fprintf(s.cmd.ErrOrStderr(), "linchpin: node n%d is missing: %v\n", m.NodeId, err)
		}
	}
	return nil
}

// otherTimeout bounds what one of several nodes may take to answer.
const otherTimeout = 3 * time.Second

func (s *session) askOther(ctx context.Context, m *pb.Member, ask func(context.Context, *client.DB, uint32) error) error {
	ctx, cancel := context.WithTimeout(ctx, otherTimeout)
	defer cancel()
	db, err := client.Open(ctx, []string{m.Address}, append(slices.Clone(s.opts), client.WithRetries(false))...)
	if err != nil {
		return err
	}
	defer db.Close()
	return ask(ctx, db, m.NodeId)
}
