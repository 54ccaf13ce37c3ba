package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client/admin"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

func typeCommand() *cobra.Command {
	return reads(command("type KEY", "Print the data type of a key", `
Print the data type of a key. If the key does not exist, the exit code is 1.`,
		`  linchpin type fruit`, 1, 1), func(s *session, keys []string, out *outcome) error {
		return s.printType(keys[0], &out.Results[0])
	})
}

func (s *printer) printType(key string, r *pb.Result) error {
	if s.json {
		it := s.keyItem(key)
		it.Found = &r.Found
		if r.Found {
			it.Type = string(typeOf(r.Type, r.TypeName))
		}
		if err := s.object(it); err != nil || r.Found {
			return err
		}
		return &quietError{ExitNotFound}
	}
	if !r.Found {
		return missing(key)
	}
	return s.printf("%s\n", typeOf(r.Type, r.TypeName))
}

func typesCommand() *cobra.Command {
	return connects(command("types [TYPE]", "List the data types, or the methods of one", `
List the data types of the node, including your own. With TYPE, list its methods with their arguments and
locks, and for each lock the locks that it commutes with, always, or only on different parts of the value, such
as two members. Operations whose locks commute do not block each other.`, `
  linchpin types
  linchpin types set`, 0, 1), false, func(ctx context.Context, s *session, args []string) error {
		name := strings.Join(args, "")
		types, err := s.admin().Types(ctx, name)
		if err != nil {
			return err
		}
		return s.printTypes(types, name != "")
	})
}

func (s *printer) printTypes(types []admin.Type, methods bool) error {
	if s.json {
		return objects(s, types, func(t *admin.Type) any { return t })
	}
	if !methods {
		t := s.table("TYPE", "HOLDS")
		for i := range types {
			t.row(types[i].Name, types[i].Doc)
		}
		return t.flush()
	}
	for i := range types {
		if err := s.printMethods(&types[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *printer) printMethods(info *admin.Type) error {
	if err := s.printf("%s: %s\n\n", info.Name, info.Doc); err != nil {
		return err
	}
	t := s.table("METHOD", "LOCK", "DOES")
	for _, m := range info.Methods {
		t.row(m.Usage, m.Lock, m.Doc)
	}
	if err := t.flush(); err != nil {
		return err
	}
	if err := s.printf("\n"); err != nil {
		return err
	}
	t = s.table("LOCK", "COMMUTES WITH", "AND ON OTHER PARTS WITH")
	for _, k := range info.Locks {
		t.row(k.Name, orNone(k.Commutes), orNone(k.CommutesApart))
	}
	return t.flush()
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names, ", ")
}
