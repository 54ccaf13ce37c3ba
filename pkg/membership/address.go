package membership

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// loopback is the host of an address without one, unless connections from other machines are allowed.
const loopback = "127.0.0.1"

func invalid(hint, format string, args ...any) error {
	e := kv.Errorf(kv.KindInvalid, format, args...)
	e.Hint = hint
	return e
}

// ListenAddress returns the address to listen on for a --listen flag. ":PORT" means 127.0.0.1:PORT, or all
// addresses of the machine if open is true (with TLS or --insecure). Without open, only loopback addresses
// are accepted. Port 0 lets the system choose one.
func ListenAddress(s string, open bool) (string, error) {
	host, port, err := split("listen", s)
	if err != nil {
		return "", err
	}
	if host == "" && !open {
		host = loopback
	}
	if !open && !isLoopback(host) {
		return "", invalid("use TLS (--certs-dir), or --insecure if only trusted machines can reach the network",
			"--listen %q accepts connections from other machines, without encryption or authentication", s)
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

// AdvertiseAddress returns the address under which other nodes call this one. advertise is the flag and may
// be empty; bound is the address of the listener. A node without other members may listen on all addresses
// without an advertised one.
func AdvertiseAddress(advertise, bound string, alone, open bool) (string, error) {
	if advertise != "" {
		return normalize("advertise", advertise, open)
	}
	host, port, err := split("listen", bound)
	if err != nil {
		return "", err
	}
	if isUnspecified(host) {
		if !alone {
			return "", invalid("set --advertise HOST:PORT, as in --join",
				"the node listens on all addresses, so other members do not know which one to call")
		}
		host = loopback
	}
	return normalize("listen", net.JoinHostPort(host, strconv.Itoa(port)), open)
}

// JoinList returns the sorted list of initial members for a --join flag. It must contain self, an
// advertised address. For an empty flag it is self only.
func JoinList(join, self string, open bool) ([]string, error) {
	if strings.TrimSpace(join) == "" {
		return []string{self}, nil
	}
	var list []string
	for part := range strings.SplitSeq(join, ",") {
		a, err := normalize("join", strings.TrimSpace(part), open)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	slices.Sort(list)
	for i := 1; i < len(list); i++ {
		if list[i] == list[i-1] {
			return nil, invalid("list each member once", "--join lists %s twice", list[i])
		}
	}
	if len(list) > kv.MaxNodes {
		return nil, invalid("", "--join has %d members; the limit is %d", len(list), kv.MaxNodes)
	}
	if !slices.Contains(list, self) {
		return nil, invalid("list all initial members including this one, or set --advertise to the address in --join",
			"--join %s does not contain this node's own address %s", strings.Join(list, ","), self)
	}
	return list, nil
}

// normalize checks and normalizes an address that other nodes connect to.
func normalize(flag, s string, open bool) (string, error) {
	host, port, err := split(flag, s)
	if err != nil {
		return "", err
	}
	if host == "" {
		if open {
			return "", invalid("add the host: with TLS or --insecure, an address without a host means all addresses",
				"--%s %q has no host to connect to", flag, s)
		}
		host = loopback
	}
	if isUnspecified(host) {
		return "", invalid("set the host name or address at which other members reach this node",
			"--%s %q means all addresses of a machine and cannot be called", flag, s)
	}
	if port == 0 {
		return "", invalid("set the port", "--%s %q has port 0 and cannot be called", flag, s)
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

// split splits HOST:PORT. The host is in lower case and may be empty.
func split(flag, s string) (host string, port int, err error) {
	host, portText, err := net.SplitHostPort(s)
	if err != nil {
		hint := "write HOST:PORT or :PORT"
		if _, bad := strconv.ParseUint(s, 10, 16); bad == nil {
			hint = "write :" + s
		} else if _, bad := netip.ParseAddr(s); bad == nil {
			hint = "write " + net.JoinHostPort(s, "7070")
		}
		return "", 0, invalid(hint, "--%s %q is not an address", flag, s)
	}
	n, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return "", 0, invalid("write HOST:PORT or :PORT, with a number from 1 to 65535",
			"--%s %q has the port %q, which is not a number up to 65535", flag, s, portText)
	}
	if strings.ContainsAny(host, " \t/@") {
		return "", 0, invalid("write HOST:PORT, without a scheme or path", "--%s %q is not an address", flag, s)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.String(), int(n), nil
	}
	return strings.ToLower(host), int(n), nil
}

// isLoopback reports whether a host is a loopback address. The only name that is known to be one is
// localhost.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// isUnspecified reports whether a host means all addresses of a machine.
func isUnspecified(host string) bool {
	if host == "" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsUnspecified()
}
