package child

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
)

// User is a user without privileges.
type User struct {
	Name     string
	UID, GID uint32
}

// Unprivileged gives the first of some users that exists, for servers that
// refuse to run as root; nil if we are not root, and need no other.
func Unprivileged(names ...string) (*User, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		return &User{Name: name, UID: uint32(uid), GID: uint32(gid)}, err
	}
	return nil, fmt.Errorf("we are root, and none of the users %v exists to run a server that refuses to be", names)
}

// Own gives a file or directory to the user; nil has nothing to own.
func (u *User) Own(path string) error {
	if u == nil {
		return nil
	}
	return os.Chown(path, int(u.UID), int(u.GID))
}
