package web

import (
	"testing"
	"time"

	"serve-web/templates"
)

func TestPresentTime(t *testing.T) {
	zone := time.FixedZone("CEST", 2*60*60)
	now := time.Date(2026, 8, 3, 12, 0, 0, 0, zone) // 10:00 UTC
	for in, want := range map[string]string{
		"2026-08-03T10:00:00Z": "just now",
		"2026-08-03T09:59:01Z": "just now",
		"2026-08-03T10:00:59Z": "just now", // clocks differ
		"2026-08-03T09:59:00Z": "1 minute ago",
		"2026-08-03T09:39:00Z": "21 minutes ago", // 8.10
		"2026-08-03T09:00:01Z": "59 minutes ago",
		"2026-08-03T09:00:00Z": "1 hour ago",
		"2026-08-02T22:00:00Z": "12 hours ago", // today by the reader's calendar
		"2026-08-02T21:59:00Z": "yesterday 23:59",
		"2026-08-01T22:00:00Z": "yesterday 00:00",
		"2026-08-01T21:59:00Z": "1 August",
		"2026-05-13T09:39:00Z": "13 May",      // 8.10
		"2024-05-13T09:39:00Z": "13 May 2024", // 8.10
		"2025-12-31T21:59:00Z": "31 December 2025",
		"2025-12-31T22:00:00Z": "1 January",
		"2026-08-03T10:01:00Z": "today 12:01",
		"2026-08-04T10:00:00Z": "4 August",
		"2027-01-01T10:00:00Z": "1 January 2027",
	} {
		at, err := time.Parse(time.RFC3339, in)
		if err != nil {
			t.Fatal(err)
		}
		if got := presentTime(at, now).Said; got != want {
			t.Errorf("presentTime(%s).Said = %q, want %q", in, got, want)
		}
	}
	midnight := time.Date(2026, 8, 3, 0, 10, 0, 0, zone)
	if got := presentTime(midnight.Add(-20*time.Minute), midnight).Said; got != "20 minutes ago" {
		t.Errorf("Said across midnight = %q, want 20 minutes ago", got)
	}
	got := presentTime(time.Date(2026, 8, 2, 23, 30, 5, 5e8, time.UTC), now)
	want := templates.Time{Machine: "2026-08-02T23:30:05Z", Exact: "3 August 2026, 01:30:05 CEST", Said: "10 hours ago"}
	if got != want {
		t.Errorf("presentTime() = %+v, want %+v", got, want)
	}
	if got := presentTime(time.Time{}, now); got != (templates.Time{}) {
		t.Errorf("presentTime(zero) = %+v, want nothing", got)
	}
}

func TestSizes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 9449: "9.4 kB", 999_949: "999.9 kB", 999_950: "1.0 MB", 2_500_000: "2.5 MB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0 events", 1: "1 event", 999: "999 events", 1204: "1,204 events", 1_000_000: "1,000,000 events"} {
		if got := count(n, "event", "events"); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}
