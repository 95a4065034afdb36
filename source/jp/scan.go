package jp

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
)

// scan is what a list says of a log (6.4).
type scan struct {
	events int
	last   time.Time // of the last element
	// first is the beginning of the first request, known only if hasFirst.
	first    string
	hasFirst bool
	problem  string // the end of a sentence
}

const (
	scanWindow = 256 << 10
	// scanKeep is what a window keeps of the one before: more than the longest thing looked for.
	scanKeep = 16
	// firstWithin is how far a scan looks for the first request, in bytes.
	firstWithin = 8 << 20
)

// scanner counts the elements of logs. It keeps one window in memory, and is for one goroutine.
type scanner struct {
	work   *work
	window []byte
}

// scan counts the elements of the log that f holds, in one pass.
func (s *scanner) scan(f *os.File, size int64, first bool) (scan, error) {
	if s.window == nil {
		s.window = make([]byte, scanKeep+scanWindow)
	}
	var sc scan
	n, last, err := s.pretty(f)
	if err == errLayout {
		var marked bool
		n, last, marked, err = s.tokens(f)
		if marked {
			sc.problem = markSkipped
		}
	}
	if b := (broken{}); errors.As(err, &b) || isForm(err) {
		sc.problem, err = andProblem(sc.problem, err.Error()), nil
	}
	if err != nil {
		return scan{}, err
	}
	sc.events = n
	if n > 0 {
		sc.last = s.timestamp(f, last, size)
	}
	if first {
		sc.first, sc.hasFirst = s.first(f), true
	}
	return sc, nil
}

// pretty counts the elements of a log in JP's layout, and says where the last one begins.
func (s *scanner) pretty(f *os.File) (n int, last int64, err error) {
	var offset int64 // of what follows the kept bytes
	kept := 0
	for {
		read, err := io.ReadFull(f, s.window[scanKeep:])
		s.work.bytes.Add(int64(read))
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return 0, 0, err
		}
		ended := err != nil
		w := s.window[scanKeep-kept : scanKeep+read]
		base := offset - int64(kept)
		if offset == 0 && !bytes.HasPrefix(w, []byte(prettyOpen+prettyElement)) {
			return 0, 0, errLayout
		}
		// A boundary that touches the window's end is left to the next one, which sees it whole.
		for at := 0; ; {
			i := bytes.Index(w[at:], []byte(prettyElement))
			if i < 0 {
				break
			}
			at += i
			start := base + int64(at) + int64(len(prettyElement)) - 1
			if start > last {
				if n > 0 && !(w[at-1] == ',' && closes(w[:at-1])) {
					return 0, 0, errLayout
				}
				n, last = n+1, start
			}
			at += len(prettyElement)
		}
		if ended {
			w = bytes.TrimSuffix(w, []byte("\n"))
			w, closed := bytes.CutSuffix(w, []byte(prettyClose))
			if !closed || !closes(w) {
				return 0, 0, errLayout
			}
			return n, last, nil
		}
		offset += int64(read)
		kept = copy(s.window[:scanKeep], s.window[read:])
	}
}

func (s *scanner) tokens(f *os.File) (n int, last int64, marked bool, err error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, 0, false, err
	}
	r, marked, err := blanked(counting{f, s.work})
	if err != nil {
		return 0, 0, false, err
	}
	err = eachToken(r, func(start, _ int64) { n, last = n+1, start })
	return n, last, marked, err
}

// isForm reports whether err is about a file's form and not about reading it.
func isForm(err error) bool {
	pe := (*os.PathError)(nil)
	return err != nil && !errors.As(err, &pe)
}

type counting struct {
	r    io.Reader
	work *work
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.work.bytes.Add(int64(n))
	return n, err
}

// timestamp returns the time of the element that begins at from, zero if it has
// none. JP writes it first, so that little is read.
func (s *scanner) timestamp(f *os.File, from, size int64) time.Time {
	d := jsontext.NewDecoder(counting{io.NewSectionReader(f, from, size-from), s.work}, tolerant)
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return time.Time{}
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			break
		}
		if name.String() != "timestamp" {
			if d.SkipValue() != nil {
				break
			}
			continue
		}
		v, err := d.ReadValue()
		if err != nil {
			break
		}
		t, _ := conversation.ParseTime(unquote(v))
		return t
	}
	return time.Time{}
}

// first returns the beginning of the first request.
func (s *scanner) first(f *os.File) string {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return ""
	}
	r, _, err := blanked(counting{io.LimitReader(f, firstWithin), s.work})
	if err != nil {
		return ""
	}
	d := jsontext.NewDecoder(r, tolerant)
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '[' {
		return ""
	}
	for {
		v, err := d.ReadValue()
		if err != nil {
			return ""
		}
		if !bytes.Contains(v, []byte(`"chat_request"`)) {
			continue
		}
		if r, ok := conversation.Decode(0, v).Body.(conversation.Request); ok {
			return beginning(r.Text)
		}
	}
}
