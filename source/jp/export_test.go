package jp

import (
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
)

// Wire is wire.
func Wire(raw []byte) (jsontext.Value, error) { return wire(raw) }

// DecodeURLSafe is decodeURLSafe.
func DecodeURLSafe(s string) (string, bool) { return decodeURLSafe(s) }

// UserDataDirOn is userDataDir.
func UserDataDirOn(goos string, getenv func(string) string) string { return userDataDir(goos, getenv) }

// Pretty returns the elements of data by JP's layout; ok is false if it is not in that layout.
func Pretty(data []byte) (elements []string, ok bool) {
	spans, err := pretty(data)
	return cut(data, spans), err == nil
}

// Tokens returns the elements of data by the tokenizer.
func Tokens(data []byte) ([]string, error) {
	spans, err := tokens(data)
	return cut(data, spans), err
}

func cut(data []byte, spans []span) []string {
	var out []string
	for _, s := range spans {
		out = append(out, string(data[s.start:s.end]))
	}
	return out
}

// Metadata returns what metadata.json says, as a summary, and its problem.
func Metadata(b []byte) (conversation.Summary, string) {
	m := decodeMetadata(b)
	return conversation.Summary{Title: m.title, LastActivated: m.activated, PinnedAt: m.pinned,
		ArchivedAt: m.archived, ExpiresAt: m.expires, Labels: m.labels}, m.problem
}

// IsID is isID.
func IsID(s string) bool { return isID(s) }

// SetBudget bounds the logs that are kept, in bytes.
func (l *Library) SetBudget(n int64) { l.budget = n }

// Kept returns how many logs are kept.
func (l *Library) Kept() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept.Len()
}

// SetVerifyAfter sets how long after an append the rest is compared.
func (l *Library) SetVerifyAfter(d time.Duration) { l.verifyAfter = d }

// Prove compares now what verifyLater would.
func (l *Library) Prove(id string) { l.prove(l.entry(id)) }

// Blind makes the library unable to watch directories, and sets how often it looks at them instead.
func (l *Library) Blind(err error, every time.Duration) {
	l.watch.newWatcher = func() (*fsnotify.Watcher, error) { return nil, err }
	l.watch.poll = every
}

// SetNet sets how often directories are looked at although they are watched.
func (l *Library) SetNet(every time.Duration) { l.watch.net = every }

// Forget lets go of every log, so that the next reading opens the files.
func (l *Library) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		l.drop(e)
	}
}

// Skim is skim.
func Skim(raw []byte) (conversation.Sketch, bool) { return skim(raw) }

// Decoded is the event of an element.
func Decoded(raw []byte) conversation.Event { return decode(0, raw) }

// KeptBytes is the memory that the kept logs take, as it is accounted for.
func (l *Library) KeptBytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}
