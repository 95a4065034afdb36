package sqlite

import "time"

// Impatient makes a store wait for others only so long.
func (s *Store) Impatient(d time.Duration) *Store {
	s.patience = d
	return s
}

// Reason is what a code of SQLite means.
func Reason(code int) (text string, readOnly bool) { return reason(code) }

// StandingOf is the statement that a notice counts with.
const StandingOf = standingOf

// CloseUnder closes the file that is open, and tells nobody.
func (s *Store) CloseUnder() { s.open.close() }
