package sse_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"serve-web/sse"
)

var (
	histories = flag.Int("histories", 60, "how many random histories to play")
	seed      = flag.Uint64("seed", 0, "play the histories from this seed; 0 means a new one")
)

// TestHistories plays random histories of appends and wake-ups against clients that are slow, stall,
// leave and come back. What each client got in the end is the log from where it began, without
// gap or double, although streams were cut inside a message.
func TestHistories(t *testing.T) {
	from := cmp.Or(*seed, rand.Uint64())
	for i := range *histories {
		seed := from + uint64(i)
		synctest.Test(t, func(t *testing.T) { playHistory(t, seed) })
		if t.Failed() {
			t.Fatalf("failed with -seed %d", seed)
		}
	}
}

func playHistory(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	pause := func(r *rand.Rand, most time.Duration) {
		if r.IntN(3) > 0 {
			time.Sleep(time.Duration(r.Int64N(int64(most))))
		}
	}
	l := &logs{limit: random.IntN(8)} // 0 is no limit
	readPause := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	l.before = func(string, string) {
		mu.Lock()
		d := time.Duration(readPause.Int64N(int64(time.Second)))
		mu.Unlock()
		time.Sleep(d)
	}
	s := serve(t, sse.Config{Reader: l, Heartbeat: 5 * time.Second, WriteTimeout: 3 * time.Second})
	topics := []string{"a", "b", "c"}
	counts := map[string]int{}
	for _, topic := range topics {
		counts[topic] = 20 + random.IntN(60)
		l.append(topic, lines(topic, random.IntN(10))...)
		counts[topic] += len(l.lines[topic])
	}

	var clients sync.WaitGroup
	for i := range 6 {
		r := rand.New(rand.NewPCG(seed, uint64(10+i)))
		many := i%2 == 1
		follow := []string{topics[i%3]}
		if many {
			follow = topics
		}
		begin := map[string]int{}
		for _, topic := range follow {
			begin[topic] = r.IntN(len(l.lines[topic]) + 1)
		}
		clients.Go(func() {
			at := map[string]int{}
			for topic, n := range begin {
				at[topic] = n
			}
			missing := func() bool {
				for topic, n := range at {
					if n < counts[topic] {
						return true
					}
				}
				return false
			}
			for missing() {
				path, id := "/", ""
				var addresses []string
				for _, topic := range follow {
					if many {
						addresses = append(addresses, fmt.Sprintf("%s@%d", topic, at[topic]))
						continue
					}
					// The address keeps the first position, as a browser's reconnection does.
					addresses = append(addresses, fmt.Sprintf("%s@%d", topic, begin[topic]))
					if at[topic] > begin[topic] {
						id = strconv.Itoa(at[topic])
					}
				}
				if many {
					path = "/many"
				}
				c := s.open(path, id, addresses...)
				for stay := r.IntN(20); stay >= 0 && missing(); stay-- {
					m, err := c.next()
					if err != nil {
						break
					}
					if m.Type == "heartbeat" {
						continue
					}
					topic, data := follow[0], m.Data
					if many {
						v, err := demultiplex(m)
						if err != nil {
							t.Errorf("client %d got %q: %v", i, m, err)
							return
						}
						topic, data, id = v.Topic, v.Data, v.ID
					} else {
						id = c.id
					}
					want := topic + strconv.Itoa(at[topic])
					if at[topic]++; data != want || id != strconv.Itoa(at[topic]) {
						t.Errorf("client %d got %q with id %q, want %q with id %d", i, data, id, want, at[topic])
						c.leave()
						return
					}
					// Now and then longer than the write timeout.
					pause(r, time.Duration(r.IntN(5)+1)*time.Second)
				}
				c.leave()
				pause(r, 3*time.Second)
			}
		})
	}

	for left := true; left; {
		left = false
		for _, topic := range topics {
			have := len(l.lines[topic])
			n := min(random.IntN(5), counts[topic]-have)
			for i := range n {
				l.append(topic, topic+strconv.Itoa(have+i))
			}
			pause(random, time.Second)
			if n > 0 {
				s.hub.Wake(topic)
			}
			left = left || have+n < counts[topic]
		}
	}
	clients.Wait()
	s.stop()
	if got := s.hub.Stats(); got.Streams != 0 || got.Topics != 0 {
		t.Errorf("Stats() = %+v, want no streams and topics", got)
	}
	for _, err := range s.failed() {
		if !strings.Contains(err.Error(), sse.ErrClosed.Error()) {
			t.Errorf("Serve() = %v, want nil", err)
		}
	}
}
