package markdown

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/util"
	"golang.org/x/net/idna"
)

// target is what a link or an image points at, and what may be done with it.
type target struct {
	raw string // as written, entities and backslashes resolved
	// href is what the link goes to; empty if it must not be a link.
	href string
	// host is the name of the host as it is looked up (an international one in its xn-- form), or
	// the address of a mailto link.
	host string
	// foreign says that host is an international name, which can look like another.
	foreign bool
}

// maxURL is how long a link's address may be, in bytes.
const maxURL = 4096

// aim decides what a destination is. A link goes to http or https on a named host, or to an
// address by mailto. Everything else stays text: other schemes; relative and protocol-relative
// addresses, which would ask this server, or a host that was not named; addresses with a user name
// before the host, which exist to deceive; hosts written as numbers that are no plain IP address;
// and the server's own.
func (r *Renderer) aim(raw string) target {
	t := target{raw: raw}
	scheme, _, ok := strings.Cut(raw, ":")
	if !ok || len(raw) > maxURL || strings.ContainsFunc(raw, unfit) || strings.TrimSpace(raw) != raw {
		return t
	}
	raw = string(util.URLEscape([]byte(raw), false))
	switch strings.ToLower(scheme) {
	case "mailto":
		u, err := url.Parse(raw)
		if err != nil || u.Opaque == "" || strings.HasPrefix(u.Opaque, "/") {
			return t
		}
		address, err := url.PathUnescape(u.Opaque)
		if err != nil || !strings.Contains(address, "@") {
			return t
		}
		t.href, t.host = u.String(), address
	case "http", "https":
		u, err := url.Parse(raw)
		if err != nil || u.Host == "" || u.User != nil || u.Opaque != "" {
			return t
		}
		name := u.Hostname()
		ascii, err := strings.ToLower(name), error(nil)
		if strings.Contains(ascii, "xn--") || strings.ContainsFunc(ascii, func(c rune) bool {
			return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '-'
		}) {
			ascii, err = idna.Lookup.ToASCII(name)
		}
		if address, bad := netip.ParseAddr(name); bad == nil && address.Zone() == "" {
			ascii, err = name, nil
		}
		if err != nil || ascii == "" || numeric(ascii) {
			return t
		}
		authority := ascii
		if strings.Contains(ascii, ":") {
			authority = "[" + ascii + "]"
		}
		if port := u.Port(); port != "" {
			authority += ":" + port
		}
		if r.own(authority) {
			return t
		}
		u.Host = authority
		t.host = ascii
		t.foreign = strings.Contains("."+ascii, ".xn--")
		t.href = u.String()
	}
	// The sanitiser writes an address anew; one that it would change is not one that was checked.
	if u, err := url.Parse(t.href); err != nil || u.String() != t.href {
		t.href = ""
	}
	return t
}

// unfit reports a character that no address holds, or that browsers drop or read as another.
func unfit(c rune) bool { return c < ' ' || c == '\\' || c == 0x7f || unseen(c) }

// numeric reports a host that browsers read as an IPv4 address although it is not one in its plain
// form: 0x7f.1, 2130706433, 127.1.
func numeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if last == "" || strings.Trim(last, "0123456789") != "" &&
		(!strings.HasPrefix(last, "0x") || strings.Trim(last[2:], "0123456789abcdef") != "") {
		return false
	}
	_, err := netip.ParseAddr(host)
	return err != nil
}

// loopback reports an authority that names this machine.
func loopback(authority string) bool {
	u, err := url.Parse("//" + authority)
	if err != nil {
		return true
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	a = a.Unmap()
	return err == nil && (a.IsLoopback() || a.IsUnspecified())
}

// hostLike finds what a reader takes for a host or an address in a link's text.
var hostLike = regexp.MustCompile(`(?i)(?:[\p{L}\p{N}_-]+\.)+[\p{L}][\p{L}\p{N}-]+|[a-z][a-z0-9+.-]*://[^\s/]+|\d+\.\d+\.\d+\.\d+`)

// honest reports whether a link's text leaves no doubt about its host: it names no host at all, or
// only the link's own.
func (t target) honest(text string) bool {
	if t.foreign {
		return false
	}
	text = strings.Map(func(c rune) rune {
		switch {
		case unseen(c):
			return -1
		case c >= 0xff01 && c <= 0xff5e:
			return c - 0xfee0 // full-width forms read as ASCII
		case c == '。' || c == '｡' || c == '․':
			return '.'
		case c == '⁄' || c == '∕' || c == '⧸':
			return '/'
		}
		return c
	}, text)
	own := strings.TrimPrefix(strings.ToLower(t.host), "www.")
	for _, found := range hostLike.FindAllString(text, 8) {
		found = strings.ToLower(found)
		if _, after, ok := strings.Cut(found, "://"); ok {
			found = after
		}
		if strings.IndexFunc(found, func(c rune) bool { return c > unicode.MaxASCII }) >= 0 {
			return false
		}
		found = strings.TrimPrefix(found, "www.")
		host, _, _ := strings.Cut(found, ":")
		if host != own && found != "["+own+"]" && !(strings.Contains(own, "@") && strings.HasSuffix(own, "@"+host)) {
			return false
		}
		// What follows a matching host decides nothing: the first part of an address is its host.
		if strings.HasPrefix(text, found) || strings.Contains(text, "://"+found) {
			return true
		}
	}
	return true
}
