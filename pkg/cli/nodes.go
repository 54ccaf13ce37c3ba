package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	client "github.com/linchpindb/linchpin/pkg/oldclient"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// eachNode calls query for the connected node, and then for the other members at the addresses that this
// node has. It reports members that cannot be reached on standard error.
func (s *session) eachNode(ctx context.Context, query func(ctx context.Context, db *client.DB, node uint32) error) error {
	st, err := s.db.Status(ctx)
	if err != nil {
		return err
	}
	if err := query(ctx, s.db, st.NodeId); err != nil {
		return err
	}
	for i := range st.Members {
		m := &st.Members[i]
		if m.Self || m.NodeId == st.NodeId {
			continue
		}
		if err := s.otherNode(ctx, m, query); err != nil {
			fmt.Fprintf(s.cmd.ErrOrStderr(), "linchpin: node n%d does not respond: %v\n", m.NodeId, err)
		}
	}
	return nil
}

// otherTimeout bounds the response of one of several nodes.
const otherTimeout = 3 * time.Second

func (s *session) otherNode(ctx context.Context, m *pb.Member, query func(context.Context, *client.DB, uint32) error) error {
	ctx, cancel := context.WithTimeout(ctx, otherTimeout)
	defer cancel()
	db, err := client.Open(ctx, []string{m.Address}, append(slices.Clone(s.opts), client.WithRetries(false))...)
	if err != nil {
		return err
	}
	defer db.Close()
	return query(ctx, db, m.NodeId)
}
