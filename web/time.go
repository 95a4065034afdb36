package web

import (
	"strconv"
	"time"

	"serve-web/templates"
)

// presentTime says t as people do, in the zone of now:
//
//	less than a minute away      just now
//	less than an hour ago        5 minutes ago
//	earlier on the same day      3 hours ago
//	on the day before            yesterday 14:03
//	in the same year             13 May
//	else                         13 May 2024
//
// What lies ahead today is "today 14:03". The page's script says the times of an open page anew by
// the same rule.
func presentTime(t, now time.Time) templates.Time {
	p := presentInstant(t, now.Location())
	p.Said = say(t, now)
	return p
}

// presentInstant is [presentTime] without what depends on the present.
func presentInstant(t time.Time, zone *time.Location) templates.Time {
	if t.IsZero() {
		return templates.Time{}
	}
	return templates.Time{
		Machine: t.UTC().Format(time.RFC3339),
		Exact:   t.In(zone).Format("2 January 2006, 15:04:05 MST"),
	}
}

func say(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.In(now.Location())
	ago, days := now.Sub(t), day(now)-day(t)
	switch {
	case -time.Minute < ago && ago < time.Minute:
		return "just now"
	case 0 < ago && ago < time.Hour:
		return count(int(ago/time.Minute), "minute", "minutes") + " ago"
	case days == 0 && ago < 0:
		return t.Format("today 15:04")
	case days == 0:
		return count(int(ago/time.Hour), "hour", "hours") + " ago"
	case days == 1:
		return t.Format("yesterday 15:04")
	case t.Year() == now.Year():
		return t.Format("2 January")
	}
	return t.Format("2 January 2006")
}

// day numbers the days of the calendar of t's zone.
func day(t time.Time) int64 {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60)
}

// count is "1 event", "1,204 events".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + many
}

// grouped writes n, which is not negative, with a comma at each thousand.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// size is a number of bytes: "812 B", "9.4 kB", "1.2 MB".
func size(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10) + " B"
	case n < 999_950:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64) + " kB"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
}
