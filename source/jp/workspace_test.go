package jp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"serve-web/source/jp"
)

// 6.1: the workspace is the nearest directory above with a .jp; its id is the last line of .id.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	mk := func(path, id string) string {
		t.Helper()
		at := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Join(at, ".jp"), 0o755); err != nil {
			t.Fatal(err)
		}
		if id != "" {
			if err := os.WriteFile(filepath.Join(at, ".jp", ".id"), []byte(id), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return at
	}
	outer := mk("outer", "# comment\nabc12\n")
	inner := mk("outer/inner", "x y z 0 9\nz09az")
	deep := filepath.Join(inner, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	sibling := filepath.Join(outer, "sibling")
	if err := os.MkdirAll(sibling, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(outer, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	idIsDir := mk("iddir", "")
	if err := os.MkdirAll(filepath.Join(idIsDir, ".jp", ".id"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, name, problem string }{
		{outer, "outer", ""},
		{sibling, "outer", ""},
		{inner, "inner", ""},
		{deep, "inner", ""},
		{mk("noid", ""), "noid", ""},
		{mk("crlf", "abc12\r\n"), "crlf", ""},
		{mk("short", "abc1\n"), "", "malformed"},
		{mk("long", "abc123\n"), "", "malformed"},
		{mk("upper", "ABC12\n"), "", "malformed"},
		{mk("spaced", "abc 2\n"), "", "malformed"},
		{mk("empty", "\n"), "", "malformed"},
		{idIsDir, "", "not a regular file"},
		{filepath.Join(dir, "nowhere"), "", "no such file"},
		{file, "", "not a directory"},
		{dir, "", "no JP workspace"},
	} {
		l, err := jp.Open(jp.Config{Dir: c.dir})
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) || !strings.Contains(err.Error(), filepath.Base(c.dir)) {
				t.Errorf("Open(%s) = %v, want an error that names the place and says %q", c.dir, err, c.problem)
			} else if strings.Contains(err.Error(), "\n") {
				t.Errorf("Open(%s) = %q, want one line", c.dir, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("Open(%s) = %v", c.dir, err)
			continue
		}
		if got := l.Workspace(); got != c.name {
			t.Errorf("Open(%s).Workspace() = %q, want %q", c.dir, got, c.name)
		}
		if err := l.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}
}

// 6.1: the user data directory.
func TestUserDataDir(t *testing.T) {
	for _, c := range []struct {
		goos string
		env  map[string]string
		want string
	}{
		{"linux", map[string]string{"JP_USER_DATA_DIR": "some/where", "XDG_DATA_HOME": "/x", "HOME": "/h"}, "some/where"},
		{"linux", map[string]string{"JP_USER_DATA_DIR": "", "XDG_DATA_HOME": "/x", "HOME": "/h"}, "/x/jp"},
		{"linux", map[string]string{"XDG_DATA_HOME": "relative", "HOME": "/h"}, "/h/.local/share/jp"},
		{"linux", map[string]string{"HOME": "/h"}, "/h/.local/share/jp"},
		{"linux", nil, ""},
		{"darwin", map[string]string{"HOME": "/h"}, "/h/Library/Application Support/jp"},
		{"darwin", map[string]string{"HOME": "/h", "XDG_DATA_HOME": "/x"}, "/x/jp"},
		{"windows", map[string]string{"LOCALAPPDATA": "/l", "HOME": "/h"}, "/l/jp/data"},
	} {
		got := jp.UserDataDirOn(c.goos, func(k string) string { return c.env[k] })
		if got != filepath.FromSlash(c.want) {
			t.Errorf("userDataDir(%s, %v) = %q, want %q", c.goos, c.env, got, c.want)
		}
	}
}

// 6.1: of several silos the one with the workspace's name, then the newest, then the first by name.
func TestSilo(t *testing.T) {
	for _, c := range []struct {
		name  string
		silos map[string]int // name to time
		want  string
	}{
		{"exact name", map[string]int{"project-abc12": 1, "other-abc12": 9, "abc12": 9}, "project-abc12"},
		{"newest", map[string]int{"a-abc12": 1, "b-abc12": 3, "abc12": 2}, "b-abc12"},
		{"bare id", map[string]int{"abc12": 2}, "abc12"},
		{"tie", map[string]int{"b-abc12": 1, "a-abc12": 1, "c-abc12": 1}, "a-abc12"},
		{"none", map[string]int{"xabc12": 1, "project-abc13": 1, "abc12-project": 1}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newArea(t)
			for s := range c.silos {
				dir := filepath.Join(a.user, "workspace", s)
				a.put(filepath.Join(dir, "conversations", "17000000000"), titled(s), pretty(request("q")))
			}
			for s, m := range c.silos {
				a.at(filepath.Join(a.user, "workspace", s), m)
			}
			if got := list(t, a.open())["17000000000"].Title; got != c.want {
				t.Errorf("title = %q, want the one in %q", got, c.want)
			}
		})
	}
}

// A silo that appears after the library was opened is found, and so is a workspace whose directory
// of conversations appears later.
func TestLateRoots(t *testing.T) {
	a := newArea(t)
	l := a.open()
	if got := list(t, l); len(got) != 0 {
		t.Fatalf("List() = %v, want nothing", got)
	}
	a.put(filepath.Join(a.silo, "17000000001"), titled("silo"), pretty(request("q")))
	a.put(filepath.Join(a.workspace, "17000000002"), titled("workspace"), pretty(request("q")))
	got := list(t, l)
	if got["17000000001"].Presence != "local" || got["17000000002"].Presence != "external" || len(got) != 2 {
		t.Errorf("List() = %v, want one local and one external conversation", got)
	}
}

// The links that JP and the user make themselves are followed: storage in the silo, and a root that
// is a link.
func TestRootLinks(t *testing.T) {
	a := newArea(t)
	real := filepath.Join(a.t.TempDir(), "elsewhere")
	a.put(filepath.Join(real, "17000000002"), titled("linked root"), pretty(request("q")))
	if err := os.Symlink(real, a.workspace); err != nil {
		t.Skip(err)
	}
	a.put(filepath.Join(a.silo, "17000000001"), titled("silo"), pretty(request("q")))
	if err := os.Symlink(filepath.Join(a.work, ".jp"), filepath.Join(filepath.Dir(a.silo), "storage")); err != nil {
		t.Fatal(err)
	}
	l := a.open()
	got := list(t, l)
	if len(got) != 2 || got["17000000002"].Title != "linked root" {
		t.Errorf("List() = %v, want both", got)
	}
	if got := texts(read(t, l, "17000000002")); got != "[q]" {
		t.Errorf("Read(17000000002) = %s, want [q]", got)
	}
}
