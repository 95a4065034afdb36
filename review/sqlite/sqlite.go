// Package sqlite keeps what package review decides in one SQLite file, review.db, that is its user's
// alone. Several processes may use it at the same time, and each may end at any moment.
//
// It knows no rule, and chooses no directory. What is wrong with the file it says and leaves as it is: a
// file that a newer version made, one that is damaged, and one that is something else.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"serve-web/review"
)

// Name is the name of the file.
const Name = "review.db"

// Store is a [review.Store]. It makes its file when something is to be kept first: until then there is
// nothing to read. It tries again whenever the file could not be opened, so that comments come back when
// their cause to be off is gone.
type Store struct {
	dir string
	// patience is how long it is waited for another process that writes. Who only reads waits no longer than
	// readPatience: another one can keep readers out, too, and a page must not wait for it.
	patience time.Duration

	mu     sync.Mutex
	closed bool
	open   *files
	// blank is what there is where there is no file.
	blank *files
	// opened says that a file was open before, renewed that another one is since [Store.Changed] was asked.
	opened, renewed bool
}

const readPatience = 250 * time.Millisecond

// files is an open file.
type files struct {
	// writer is one connection, so that what it sees change is another process's doing.
	writer, readers *sql.DB
	// standing is [standingOf] for the readers: every call of a tool asks for it up to ten times.
	standing *sql.Stmt
	// file is which one it is.
	file os.FileInfo
	// version is what PRAGMA data_version of the writer said last.
	version int64
}

// New returns the store of a directory, which is made if it is not there.
func New(dir string) *Store { return &Store{dir: dir, patience: 5 * time.Second} }

// Close ends what is going on and closes the file.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var err error
	for _, f := range []*files{s.open, s.blank} {
		if f != nil {
			err = errors.Join(err, f.close())
		}
	}
	s.open, s.blank = nil, nil
	return err
}

func (f *files) close() error {
	if f.writer == nil {
		return f.readers.Close()
	}
	return errors.Join(f.readers.Close(), f.writer.Close())
}

// reading is files for who only reads: where there is no file, none is made.
func (s *Store) reading(ctx context.Context) (*files, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Stat(filepath.Join(s.dir, Name)); s.closed || !errors.Is(err, fs.ErrNotExist) {
		return s.filesLocked(ctx)
	}
	if s.open != nil {
		s.letGo(s.open)
		s.renewed = true
	}
	if s.blank == nil {
		f := &files{readers: openMemory()}
		err := f.fill(ctx)
		if err != nil {
			return nil, off(ctx, errors.Join(err, f.close()))
		}
		s.blank = f
	}
	return s.blank, nil
}

// files opens the file, if it is not open, and makes it if it is not there.
func (s *Store) files(ctx context.Context) (*files, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.filesLocked(ctx)
}

func (s *Store) filesLocked(ctx context.Context) (*files, error) {
	if s.closed {
		return nil, &review.OffError{Reason: "The program ends"}
	}
	if s.open != nil {
		// Who moves the file away must not have what comes after it in there.
		if now, err := os.Stat(filepath.Join(s.dir, Name)); err == nil && os.SameFile(now, s.open.file) {
			return s.open, nil
		}
		s.letGo(s.open)
	}
	f, err := openFiles(ctx, s.dir, s.patience)
	if err != nil {
		return nil, off(ctx, err)
	}
	s.open = f
	s.opened, s.renewed = true, s.renewed || s.opened
	return f, nil
}

// letGo closes a file once nothing uses it any more. s.mu is locked.
func (s *Store) letGo(f *files) {
	if s.open == f {
		s.open = nil
		f.close()
	}
}

// result is what an operation on a file returns. A file that failed is opened anew for the next one.
func (s *Store) result(ctx context.Context, f *files, err error) error {
	err = off(ctx, err)
	if o := (*review.OffError)(nil); errors.As(err, &o) && !o.ReadOnly {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.letGo(f)
	}
	return err
}

func openFiles(ctx context.Context, dir string, patience time.Duration) (f *files, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	name := filepath.Join(dir, Name)
	file, err := makePrivate(name)
	if err != nil {
		return nil, err
	}
	f = &files{
		writer:  openDB(name, "immediate", 1, patience),
		readers: openDB(name, "deferred", max(4, runtime.GOMAXPROCS(0)), min(patience, readPatience), "query_only(1)"),
		file:    file,
	}
	defer func() {
		if err != nil {
			f.close()
			f = nil
		}
	}()
	if err := f.check(ctx); err != nil {
		return f, err
	}
	// From here on it is ours.
	var mode string
	if err := f.writer.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return f, err
	}
	if mode != "wal" {
		return f, fmt.Errorf("%w: the journal is in mode %s", errUnusable, mode)
	}
	if err := migrate(ctx, f.writer); err != nil {
		return f, err
	}
	if f.standing, err = f.readers.PrepareContext(ctx, standingOf); err != nil {
		return f, err
	}
	return f, f.writer.QueryRowContext(ctx, "PRAGMA data_version").Scan(&f.version)
}

// fill makes a file in memory one that is empty.
func (f *files) fill(ctx context.Context) (err error) {
	if err := migrate(ctx, f.readers); err != nil {
		return err
	}
	f.standing, err = f.readers.PrepareContext(ctx, standingOf)
	return err
}

// makePrivate makes an empty file that is the user's alone, or makes the one that is there so. SQLite gives
// the files beside it the same mode.
func makePrivate(name string) (os.FileInfo, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		err = file.Chmod(0o600)
	}
	return info, err
}

func openDB(name, lock string, conns int, patience time.Duration, more ...string) *sql.DB {
	query := url.Values{
		"_txlock":   {lock},
		"_error_rc": {"1"},
		"_dqs":      {"0"},
		"_pragma": append(more,
			fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds()),
			"foreign_keys(1)",
			"synchronous(FULL)", // what was said to be kept is kept when the power fails, too
			"trusted_schema(0)",
			"cell_size_check(1)",
		),
	}
	path := filepath.ToSlash(name)
	if path[0] != '/' {
		path = "/" + path // file:///C:/…
	}
	at := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	return openConns(at.String(), conns)
}

// openMemory opens one that is as long there as its only connection.
func openMemory() *sql.DB { return openConns(":memory:", 1) }

func openConns(name string, conns int) *sql.DB {
	db, err := sql.Open("sqlite", name)
	if err != nil {
		panic(err) // the driver is not there
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db
}

// Errors of files.
var (
	errNewer   = errors.New("a newer version made the file")
	errForeign = errors.New("the file is not serve-web's")
	// errUnusable is in errors that have no other reason, as when another call has just closed the file.
	errUnusable = errors.New("the file cannot be used")
)

// check refuses a file that is not ours, before anything in it is changed.
func (f *files) check(ctx context.Context) error {
	version, err := identify(ctx, f.readers)
	if err == nil && version > len(migrations()) {
		err = errNewer
	}
	return err
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// identify returns the version of the file; 0 if it is empty.
func identify(ctx context.Context, q queryer) (version int, err error) {
	var application, objects int
	err = q.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM sqlite_schema), (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version)").
		Scan(&objects, &application, &version)
	if err == nil && application != applicationID && (objects > 0 || application != 0 || version != 0) {
		err = errForeign
	}
	return version, err
}

// migrate brings a file to the version of this program.
func migrate(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	version, err := identify(ctx, tx) // again: another process may have been first
	steps := migrations()
	switch {
	case err != nil:
		return err
	case version > len(steps):
		return errNewer
	case version == len(steps):
		return nil
	}
	for _, step := range steps[version:] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(steps))); err != nil {
		return err
	}
	return tx.Commit()
}

// View implements [review.Store].
func (s *Store) View(ctx context.Context, f func(review.Tx) error) error {
	open, err := s.reading(ctx)
	if err != nil {
		return err
	}
	return s.result(ctx, open, open.view(ctx, f))
}

func (f *files) view(ctx context.Context, do func(review.Tx) error) error {
	tx, err := f.readers.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnusable, err)
	}
	defer tx.Rollback()
	return do(&queries{ctx, tx, f.standing})
}

// Update implements [review.Store].
func (s *Store) Update(ctx context.Context, f func(review.Tx) error) error {
	open, err := s.files(ctx)
	if err != nil {
		return err
	}
	return s.result(ctx, open, open.update(ctx, f))
}

func (f *files) update(ctx context.Context, do func(review.Tx) error) error {
	tx, err := f.writer.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnusable, err)
	}
	defer tx.Rollback()
	// A newer program can have taken over meanwhile.
	version, err := identify(ctx, tx)
	if err != nil {
		return err
	}
	if version > len(migrations()) {
		return errNewer
	}
	if err := do(&queries{ctx, tx, nil}); err != nil {
		return err
	}
	return tx.Commit()
}

// Changed implements [review.Store].
func (s *Store) Changed(ctx context.Context) (bool, error) {
	open, err := s.reading(ctx)
	if err != nil {
		return false, err
	}
	if open.writer == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		changed := s.renewed
		s.renewed = false
		return changed, nil
	}
	var version int64
	if err := open.writer.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
		return false, s.result(ctx, open, fmt.Errorf("%w: %w", errUnusable, err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := version != open.version || s.renewed
	open.version, s.renewed = version, false
	return changed, nil
}

// off says why comments are off, if err is about the store. Errors of the rules, and of a context that
// ended, stay what they are.
func off(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	o := &review.OffError{Err: err}
	var known *sqlite.Error
	var path *fs.PathError
	switch {
	case errors.Is(err, errNewer):
		o.Reason = "A newer version of serve-web made " + Name + ", and this one does not know what is in it: use the newer one"
	case errors.Is(err, errForeign):
		o.Reason = Name + " is not serve-web's: move it away, or choose another directory with --state"
	case errors.Is(err, fs.ErrPermission):
		o.Reason = "The directory of " + Name + " is not allowed to be written"
	case errors.As(err, &path):
		o.Reason = Name + " cannot be opened: " + path.Err.Error()
	case errors.As(err, &known):
		o.Reason, o.ReadOnly = reason(known.Code())
	case errors.Is(err, sql.ErrConnDone), errors.Is(err, sql.ErrTxDone):
		o.Reason = "The program ends"
	case errors.Is(err, errUnusable):
		o.Reason = Name + " cannot be used"
	default:
		return err
	}
	return o
}

// reason says what a code of SQLite means for the person, and whether only writing does not work.
func reason(code int) (text string, readOnly bool) {
	switch code & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return "Another program holds " + Name + ": try again, or end that program", true
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return Name + " is damaged: move it away to start anew, and keep it, for much of it may be rescued", false
	case sqlite3.SQLITE_FULL:
		return "The disk is full", true
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return Name + " is not allowed to be written", true
	case sqlite3.SQLITE_CANTOPEN:
		return Name + " cannot be opened", false
	case sqlite3.SQLITE_IOERR:
		return "The disk does not read or write " + Name, false
	}
	return Name + " cannot be used", false
}
