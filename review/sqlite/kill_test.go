package sqlite_test

import (
	"bufio"
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"serve-web/review"
	"serve-web/review/sqlite"
)

// victimDir names the store of a process that is to be killed, and victimAgent its agent.
const (
	victimDir   = "SERVE_WEB_VICTIM_DIR"
	victimAgent = "SERVE_WEB_VICTIM_AGENT"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		live(dir, os.Getenv(victimAgent), os.Stdout)
		return
	}
	os.Exit(m.Run())
}

// live sends, claims and answers bundles without an end. Each line that it writes is of something that was
// kept.
func live(dir, agent string, out io.Writer) {
	d := desk(sqlite.New(dir))
	m := d.Mailbox(agent)
	for n := 0; ; n++ {
		b, err := trySend(d, agent, 1+n%3)
		if err != nil {
			fmt.Fprintln(out, "failed", err)
			return
		}
		line := "sent " + b.ID
		for _, t := range b.Threads {
			line += " " + t.ID
		}
		fmt.Fprintln(out, line)
		given, err := m.Claim(ctx)
		if err != nil {
			fmt.Fprintln(out, "failed", err)
			return
		}
		if given == nil {
			continue // the other process was faster
		}
		fmt.Fprintln(out, "claimed", given.ID)
		if n%7 == 6 {
			if _, err := m.Fail(ctx, given.ID, "No."); err == nil {
				fmt.Fprintln(out, "ended", given.ID)
			}
			continue
		}
		all := true
		for _, t := range given.Threads {
			if _, _, err := m.Resolve(ctx, t.ID); err != nil {
				all = false // the other process gave it back meanwhile
			}
		}
		if all {
			fmt.Fprintln(out, "ended", given.ID)
		}
	}
}

// record is what processes said that was kept.
type record struct {
	mu      sync.Mutex
	sent    map[string][]string
	claimed map[string]bool
	ended   map[string]bool
	failed  []string
}

// read takes the whole lines of a process until it is gone.
func (r *record) read(out io.Reader) {
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return // what is cut was not said
		}
		words := strings.Fields(line)
		r.mu.Lock()
		switch words[0] {
		case "sent":
			r.sent[words[1]] = words[2:]
		case "claimed":
			r.claimed[words[1]] = true
		case "ended":
			r.ended[words[1]] = true
		default:
			r.failed = append(r.failed, line)
		}
		r.mu.Unlock()
	}
}

// Two processes use one store, and each is killed again and again, wherever it is: no bundle is lost, or
// split, or claimed twice, and none comes back.
func TestKilledInALoop(t *testing.T) {
	dir := t.TempDir()
	d, s := open(t, dir)
	a := addAgent(t, d, "a")
	must(t, s.Close())
	r := &record{sent: map[string][]string{}, claimed: map[string]bool{}, ended: map[string]bool{}}
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	random := rand.New(rand.NewPCG(7, 7))
	for range rounds {
		var wg sync.WaitGroup
		for range 2 {
			life := time.Duration(40+random.IntN(120)) * time.Millisecond
			wg.Go(func() { r.run(t, dir, a.ID, life) })
		}
		wg.Wait()
		r.check(t, dir)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d bundles were sent, %d claimed, %d ended", len(r.sent), len(r.claimed), len(r.ended))
	if len(r.sent) < rounds || len(r.ended) < rounds {
		t.Errorf("%d bundles were sent, %d ended, want more, or this shows nothing", len(r.sent), len(r.ended))
	}
}

// run starts a process and kills it some time after it said something.
func (r *record) run(t *testing.T, dir, agent string, life time.Duration) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), victimDir+"="+dir, victimAgent+"="+agent)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Error(err)
		return
	}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Error(err)
		return
	}
	first := make([]byte, 1)
	if _, err := io.ReadFull(out, first); err != nil {
		t.Errorf("the process said nothing: %v\n%s", err, &stderr)
	}
	kill := time.AfterFunc(life, func() { c.Process.Kill() })
	defer kill.Stop()
	r.read(io.MultiReader(bytes.NewReader(first), out))
	c.Process.Kill() // it ends by itself only where it failed
	c.Wait()
}

func (r *record) check(t *testing.T, dir string) {
	t.Helper()
	if len(r.failed) > 0 {
		t.Errorf("a process said %s", r.failed)
	}
	s := sqlite.New(dir)
	defer s.Close()
	d := desk(s)
	all, err := d.Dispatches(ctx, "", "")
	must(t, err)
	kept := map[string]review.Dispatch{}
	active := 0
	for _, b := range all {
		kept[b.ID] = b
		if b.Claims > 1 {
			t.Errorf("%s was claimed %d times", b.ID, b.Claims)
		}
		if b.State == review.Claimed || b.State == review.Delivered {
			active++
		}
	}
	if active > 1 {
		t.Errorf("the agent holds %d bundles", active)
	}
	for id, threads := range r.sent {
		b, err := d.Dispatch(ctx, id)
		if err != nil {
			t.Errorf("%s was sent and is lost: %v", id, err)
			continue
		}
		var got []string
		for _, thread := range b.Threads {
			got = append(got, thread.ID)
		}
		if !slices.Equal(got, threads) || b.Size != len(threads) {
			t.Errorf("%s has the threads %v, want %v", id, got, threads)
		}
	}
	for id := range r.claimed {
		if kept[id].Claims != 1 {
			t.Errorf("%s was claimed, and its claim is lost", id)
		}
	}
	for id := range r.ended {
		if !kept[id].State.Ended() {
			t.Errorf("%s ended, and is %s", id, kept[id].State)
		}
	}
	var verdict string
	db := raw(t, dir)
	must(t, db.QueryRow("PRAGMA integrity_check").Scan(&verdict))
	var orphans int
	err = db.QueryRow("SELECT count(*) FROM pragma_foreign_key_check").Scan(&orphans)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatal(err)
	}
	if verdict != "ok" || orphans != 0 {
		t.Errorf("integrity_check = %s, %d orphans, want ok", verdict, orphans)
	}
	must(t, db.Close())
}
