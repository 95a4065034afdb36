package demo

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:embed play.json
var play []byte

const (
	playedID        = "17725325400"
	playedDirectory = playedID + "-watching-the-canary"
	// rounds bounds how long the conversation gets: then it begins again.
	rounds = 12
)

// Play lets one conversation of the workspace that [Write] wrote below dir go on until ctx ends, and
// returns nil then: the events of play.json come at their own pace, over and over, and are written as
// JP writes them, with the lock that says so while a turn lasts (6.2, 6.9).
func Play(ctx context.Context, dir string) error {
	if err := newPlayer(dir).play(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("play the demo: %w", err)
	}
	return nil
}

type player struct {
	events, metadata, lock string // files
}

func newPlayer(dir string) player {
	root := filepath.Join(dir, ".jp")
	conversation := filepath.Join(root, "conversations", playedDirectory)
	return player{
		events:   filepath.Join(conversation, "events.json"),
		metadata: filepath.Join(conversation, "metadata.json"),
		lock:     filepath.Join(root, "locks", "jp-c"+playedID+".lock"),
	}
}

func (p player) play(ctx context.Context) (err error) {
	var script []jsontext.Value
	if err := json.Unmarshal(play, &script); err != nil {
		return err
	}
	first, err := os.ReadFile(p.events)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.lock), 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.unlock()) }()
	var written []byte
	for round := 0; ; round++ {
		if round%rounds == 0 {
			written = first
		}
		last := writtenAt()
		for _, e := range script {
			var head struct {
				Type      string `json:"type"`
				Timestamp string `json:"timestamp"`
			}
			if err := json.Unmarshal(e, &head); err != nil {
				return err
			}
			at, err := time.Parse(storageTime, head.Timestamp)
			if err != nil {
				return err
			}
			if head.Type == "turn_start" {
				if err := p.unlock(); err != nil {
					return err
				}
			}
			if err := sleep(ctx, at.Sub(last)); err != nil {
				return err
			}
			last = at
			now := time.Now()
			if head.Type == "turn_start" {
				if err := p.begin(now); err != nil {
					return err
				}
			}
			stored, err := store(e, now.Sub(at))
			if err != nil {
				return err
			}
			if written, err = appended(written, stored); err != nil {
				return err
			}
			if err := replace(p.events, written); err != nil {
				return err
			}
		}
		if err := p.unlock(); err != nil {
			return err
		}
	}
}

// begin takes the lock, as a query does, and marks the conversation as used.
func (p player) begin(now time.Time) error {
	lock, err := json.Marshal(struct {
		PID int       `json:"pid"`
		At  time.Time `json:"acquired_at"`
	}{os.Getpid(), now.UTC()})
	if err != nil {
		return err
	}
	if err := replace(p.lock, lock); err != nil {
		return err
	}
	data, err := os.ReadFile(p.metadata)
	if err != nil {
		return err
	}
	var metadata map[string]any
	if err := json.Unmarshal(data, &metadata); err != nil {
		return err
	}
	metadata["last_activated_at"] = now.UTC().Format(storageTime)
	if data, err = json.Marshal(metadata, json.Deterministic(true)); err != nil {
		return err
	}
	return replace(p.metadata, pretty(data))
}

func (p player) unlock() error {
	if err := os.Remove(p.lock); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// appended returns the array of events, which holds some, with one more.
func appended(array []byte, event jsontext.Value) ([]byte, error) {
	const end = "\n]\n"
	e := event.Clone()
	if err := e.Indent(jsontext.WithIndentPrefix("  "), jsontext.WithIndent("  ")); err != nil {
		return nil, err
	}
	open, _ := bytes.CutSuffix(array, []byte(end))
	return bytes.Join([][]byte{open, []byte(",\n  "), e, []byte(end)}, nil), nil
}

// replace writes a file so that whoever reads it sees the old or the new one.
func replace(name string, content []byte) error {
	if err := os.WriteFile(name+".tmp", content, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
