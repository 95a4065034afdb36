package jp

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"
)

const (
	storageName       = ".jp"
	conversationsName = "conversations"
	archiveName       = ".archive"
	locksName         = "locks"
)

// workspace is where a workspace lies and what JP calls it.
type workspace struct {
	dir string // absolute; holds .jp
	id  string // empty if it has none: then there is no silo
}

func (w workspace) storage() string { return filepath.Join(w.dir, storageName) }

func findWorkspace(dir string) (workspace, error) {
	if dir == "" {
		dir = "."
	}
	start, err := filepath.Abs(dir)
	if err != nil {
		return workspace{}, fmt.Errorf("the directory %s cannot be found: %w", dir, err)
	}
	if fi, err := os.Stat(start); err != nil {
		return workspace{}, fmt.Errorf("the directory %s cannot be opened: %w", dir, cause(err))
	} else if !fi.IsDir() {
		return workspace{}, fmt.Errorf("%s is not a directory", dir)
	}
	for at := start; ; {
		fi, err := os.Stat(filepath.Join(at, storageName))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			// The workspace of a directory above would be another one.
			return workspace{}, fmt.Errorf("it cannot be seen whether %s is there: %w", filepath.Join(at, storageName), cause(err))
		}
		if err == nil && fi.IsDir() {
			w := workspace{dir: at}
			w.id, err = readID(filepath.Join(at, storageName, ".id"))
			return w, err
		}
		up := filepath.Dir(at)
		if up == at {
			return workspace{}, fmt.Errorf("no JP workspace: neither %s nor a directory above it has a %s directory", start, storageName)
		}
		at = up
	}
}

// readID reads a workspace's id: the last line of the file, five characters of 0-9 and a-z (6.1).
// A missing file is a workspace without id: it can be read, but no user-local copies can be found.
// A malformed one is an error, because JP answers it with a new id and so loses the old copies.
func readID(path string) (string, error) {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("the workspace's id in %s cannot be read: %w", path, cause(err))
	}
	if !fi.Mode().IsRegular() {
		return "", fmt.Errorf("the workspace's id in %s cannot be read: it is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("the workspace's id in %s cannot be read: %w", path, cause(err))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return "", fmt.Errorf("the workspace's id in %s cannot be read: %w", path, cause(err))
	}
	text := strings.TrimRight(string(b), "\r\n")
	id := text[strings.LastIndexByte(text, '\n')+1:]
	if len(id) != 5 || strings.ContainsFunc(id, func(r rune) bool { return !('0' <= r && r <= '9' || 'a' <= r && r <= 'z') }) {
		return "", fmt.Errorf("the workspace's id in %s is malformed: its last line must be five characters of 0-9 and a-z", path)
	}
	return id, nil
}

// cause drops the operation and the path that the system's errors repeat.
func cause(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// UserDataDir returns JP's user data directory (6.1): JP_USER_DATA_DIR, else jp in XDG_DATA_HOME if
// that is absolute, else the platform's place. It is empty if the environment names none.
func UserDataDir(getenv func(string) string) string {
	return userDataDir(runtime.GOOS, getenv)
}

func userDataDir(goos string, getenv func(string) string) string {
	if d := getenv("JP_USER_DATA_DIR"); d != "" {
		return d
	}
	if d := getenv("XDG_DATA_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "jp")
	}
	in := func(variable string, elem ...string) string {
		d := getenv(variable)
		if d == "" {
			return ""
		}
		return filepath.Join(append([]string{d}, elem...)...)
	}
	switch goos {
	case "windows":
		return in("LOCALAPPDATA", "jp", "data")
	case "darwin":
		return in("HOME", "Library", "Application Support", "jp")
	}
	return in("HOME", ".local", "share", "jp")
}

// findSilo returns the directory of the workspace's user-local copies, below dir, which is the
// workspace directory of JP's user data; empty if there is none. Several may carry the id: the one
// named as the workspace comes first, then the one changed last, then the first by name (6.1). The
// error says that there may be one, or a better one, which cannot be seen.
func findSilo(dir string, w workspace) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var unseen error
	exact := []string{filepath.Base(w.dir) + "-" + w.id, slug(filepath.Base(w.dir)) + "-" + w.id}
	type silo struct {
		name  string
		exact bool
		mtime int64
	}
	var found []silo
	for _, e := range entries {
		name := e.Name()
		if name != w.id && !strings.HasSuffix(name, "-"+w.id) || strings.HasPrefix(name, ".") {
			continue
		}
		fi, err := os.Stat(filepath.Join(dir, name)) // a link is JP's or the user's own: it counts
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			unseen = err
		}
		if err != nil || !fi.IsDir() {
			continue
		}
		found = append(found, silo{name, slices.Contains(exact, name), fi.ModTime().UnixNano()})
	}
	if len(found) == 0 {
		return "", unseen
	}
	best := slices.MaxFunc(found, func(a, b silo) int {
		if a.exact != b.exact {
			if a.exact {
				return 1
			}
			return -1
		}
		if a.mtime != b.mtime {
			if a.mtime > b.mtime {
				return 1
			}
			return -1
		}
		return strings.Compare(b.name, a.name)
	})
	return filepath.Join(dir, best.name), unseen
}

func slug(name string) string {
	return strings.TrimRight(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return '-'
	}, name), "-")
}
